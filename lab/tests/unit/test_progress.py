"""What the progress of a run says, and when it ends."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime, tzinfo
from pathlib import Path

import pytest

from tests.support import recorded
from tests.support.replay import RUN, as_recorded, console, replaying
from vtlab.measuring.progress import BlockOutcome, Progress
from vtlab.planning import k6_timing, light_load
from vtlab.runs import store
from vtlab.runs.estimates import extra_phase_seconds, window_overrun_seconds
from vtlab.runs.measure import measure_run

__all__ = ["as_recorded"]


def test_progress_says_what_was_measured_and_when_it_ends(tmp_path: Path) -> None:
    store.create(tmp_path, RUN.manifest)
    screen, text = console()
    with Progress(screen, [100, 100]) as progress:
        measure_run(tmp_path, store.read(tmp_path), replaying(RUN.blocks), progress)
    assert "2 blocks to measure, about 3 minutes, until " in text.getvalue()
    assert "threads: block 1 of 2: starting platform and virtual" in text.getvalue()
    assert "threads: block 2 of 2: platform 49.38/s, 0.404 s; virtual 99.25/s, 0.201 s · ends about" in text.getvalue()


def test_progress_says_that_open_load_may_take_longer() -> None:
    screen, text = console()
    with Progress(screen, [100, 100], is_least=True):
        pass
    assert "2 blocks to measure, at least 3 minutes, until " in text.getvalue()


def test_the_first_block_has_more_than_its_trials() -> None:
    windows = {"warmup_users": 200, "measure": "5s", "ramp_up": "400ms", "single_user_phase": "9s"}
    rounds = {"full": {"users": 1000, "round": {"platform": "5s", "virtual": "1s"}}}
    run = replace(recorded.run(experiment=recorded.experiment(load=rounds, windows=windows), blocks=1), blocks=[])
    # Alone, light load, and a trial of platform.
    assert extra_phase_seconds(run) == pytest.approx(
        2 * 9 + light_load.SEQUENTIAL_SECONDS + k6_timing.START_UP + 0.4 + 2 * 5 + 5
    )
    measured = RUN.blocks[0].model_copy(update={"light": []})
    assert extra_phase_seconds(replace(RUN, blocks=[measured])) == pytest.approx(
        light_load.extra_phase_seconds(RUN.experiment, False, True)
    )
    light_phases = {"light": [t.model_copy(update={"phase": "light"}) for t in measured.trials]}
    assert extra_phase_seconds(replace(RUN, blocks=[measured.model_copy(update=light_phases)])) == 0


def test_how_much_longer_windows_are_is_known_after_the_first_warm_up() -> None:
    assert window_overrun_seconds(RUN) == 0
    run = recorded.under_open_load(recorded.run(blocks=1))
    assert window_overrun_seconds(replace(run, blocks=[])) is None
    longer = [t.model_copy(update={"end": t.end + 6000}) for t in run.blocks[0].trials]
    assert window_overrun_seconds(replace(run, blocks=[run.blocks[0].model_copy(update={"trials": longer})])) == (
        pytest.approx(24)
    )


class Noon(datetime):
    """A clock that stands still."""

    @classmethod
    def now(cls, tz: tzinfo | None = None) -> Noon:
        return cls(2026, 1, 1, 12, tzinfo=tz)


def test_an_attempt_that_ended_early_does_not_shorten_the_rest(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("vtlab.measuring.progress.datetime", Noon)
    with Progress(console()[0], [3600, 3600]) as progress:
        assert progress._end() == " · ends about 14:00"
        progress.block_done(BlockOutcome("blocking", RUN.blocks[0], ["k6 died"], accepted=0, planned="2"))
        assert progress._end() == " · ends about 14:00"
        progress.give_up(2)
        assert progress._left == [], "an invalid run takes no more time"


def test_a_block_of_unknown_length_takes_as_long_as_the_one_before(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("vtlab.measuring.progress.datetime", Noon)
    monkeypatch.setattr("vtlab.measuring.progress.time.monotonic", iter([0.0, 1800.0, 1800.0, 5400.0, 5400.0]).__next__)
    screen, text = console()
    with Progress(screen, [None, None, None]) as progress:
        progress.step("block 1 of 3")
        progress.block_done(BlockOutcome("blocking", RUN.blocks[0], accepted=1, planned="3"))
        progress.block_done(BlockOutcome("blocking", RUN.blocks[0], accepted=2, planned="3"))
    begin, step, first, second = text.getvalue().splitlines()
    assert begin.endswith("3 blocks to measure")
    assert step.endswith("block 1 of 3")
    assert first.endswith(" · ends about 13:00")
    assert second.endswith(" · ends about 13:00")

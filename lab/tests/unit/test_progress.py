"""What the progress of a call says, on a terminal and without one, and when the call ends."""

from __future__ import annotations

import io
import re
import sys
from collections.abc import Callable
from dataclasses import replace
from datetime import datetime, tzinfo
from pathlib import Path
from types import ModuleType

import pytest
from rich.console import Console

from tests.support import recorded, replay
from tests.support.film import BUDGET, Clock, FilmedProgress, Frame, film_blocks, film_try, terminal
from tests.support.replay import RUN, as_recorded, console, replaying
from vtlab.analysis import run_status
from vtlab.analysis.statistics import stopping_rule
from vtlab.commands import compare, history, report
from vtlab.measuring.progress import BlockOutcome, Progress, in_short
from vtlab.measuring.schedule import RunTime, TimeLeft
from vtlab.model.outcome import Key
from vtlab.planning import k6_timing, light_load
from vtlab.report.words import so_far
from vtlab.runs import store
from vtlab.runs.estimates import extra_phase_seconds, run_time, window_overrun_seconds
from vtlab.runs.measure import measure_run

__all__ = ["as_recorded"]


class Noon(datetime):
    """A clock that stands still."""

    @classmethod
    def now(cls, tz: tzinfo | None = None) -> Noon:
        return cls(2026, 1, 1, 12, tzinfo=tz)


@pytest.fixture(autouse=True)
def noon(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("vtlab.measuring.progress.datetime", Noon)


def test_progress_says_what_was_measured_and_when_it_ends(tmp_path: Path) -> None:
    store.create(tmp_path, RUN.manifest)
    screen, text = console()
    with Progress(screen) as progress:
        progress.begin_runs([RunTime([100, 100])])
        measure_run(tmp_path, store.read(tmp_path), replaying(RUN.blocks), progress)
    assert "2 blocks to measure, about 3 minutes, until 12:03\n" in text.getvalue()
    assert "threads: block 1 of 2: starting platform and virtual" in text.getvalue()
    assert "threads: block 2 of 2: platform 49.4/s, 404 ms; virtual 99.2/s, 201 ms · ends about" in text.getvalue()


@pytest.mark.parametrize(
    ("times", "line"),
    [
        ([RunTime([100, 100])], "2 blocks to measure, about 3 minutes, until 12:03"),
        ([RunTime([100, 100], is_least=True)], "2 blocks to measure, at least 3 minutes, until 12:03"),
        ([RunTime([100, 100], 400, is_least=True)], "measuring blocks until about 12:06"),
        ([RunTime([None])], "1 block to measure"),
        ([RunTime()], "0 blocks to measure"),
    ],
)
def test_the_plan_says_how_long_it_takes(times: list[RunTime], line: str) -> None:
    screen, text = console()
    Progress(screen, clock=Clock()).begin_runs(times)
    assert text.getvalue() == f"12:00:00  {line}\n"


@pytest.mark.parametrize(
    ("time", "end"),
    [
        (RunTime([60, 60]), " · ends about 12:01"),
        (RunTime([60, 60], is_least=True), " · ends after 12:01"),
        (RunTime([60], is_least=True), ""),
        (RunTime([60], 240, is_least=True), " · ends by about 12:03"),
        (RunTime([None, None]), " · ends about 12:01"),
    ],
)
def test_a_block_says_when_the_call_ends(time: RunTime, end: str) -> None:
    screen, text = console()
    clock = Clock()
    progress = Progress(screen, clock=clock)
    progress.begin_runs([time])
    clock.now = 60
    progress.end_block(BlockOutcome("threads", RUN.blocks[0], accepted=1))
    progress.end_block(BlockOutcome("threads", RUN.blocks[0], ["k6 died", "no trial"]))
    _, measured, rejected = text.getvalue().splitlines()
    assert measured == f"12:00:00  threads: block 1: virtual 99.4/s, 201 ms; platform 49.8/s, 402 ms{end}"
    assert rejected == "12:00:00  threads: block 1 rejected: k6 died (and 1 more)"


def test_a_block_is_said_in_figures_as_people_write_them() -> None:
    """Seen: "1.301e+04/s, 0.00297 s"."""
    screen, text = console()
    trials = [
        t.model_copy(update={"throughput": 13_012.4, "latency": t.latency.model_copy(update={"mean": mean})})
        for t, mean in zip(RUN.blocks[0].trials, (0.00297, 1.2345, 1.2345, 0.00297), strict=True)
    ]
    block = RUN.blocks[0].model_copy(update={"trials": trials})
    Progress(screen).end_block(BlockOutcome("threads", block, accepted=1))
    assert text.getvalue().endswith("virtual 13,012/s, 2.97 ms; platform 13,012/s, 1.23 s\n")


@pytest.mark.parametrize("columns", [60, 80, 120])
def test_a_call_has_one_line_from_its_start_to_its_end(columns: int) -> None:
    frames = film_try(columns).frames
    drawn = [frame for frame in frames if not frame.stays]
    assert all(len(frame.lines) == 1 and len(frame.lines[0]) <= columns for frame in drawn)
    for frame in drawn:
        assert f"0:{frame.seconds // 60:02.0f}:{frame.seconds % 60:05.2f}"[:7] in frame.lines[0], "the time stays"
        assert frame.lines[0].endswith(" left") or frame.seconds > BUDGET or frame is drawn[-1]
    phases = ["preparing", "searching lo", "block 1: s", "block 1: w", "block 1: m", "block 2: s", "block 3: m", "anal"]
    assert in_order(phases, [line(frame) for frame in drawn])
    said = [frame.lines[0] for frame in frames if frame.stays]
    lines = ["measuri", "block 1", "time fo", "block 2", "not set", "time fo", "block 3", "settled"]
    assert [text[:7] for text in said] == lines, "the second block was shorter: more fit"
    assert [text.rpartition(" · ")[2] for text in said if " · " in text] == 3 * ["ends by about 12:08"]


def line(frame: Frame) -> str:
    """Returns the line without its spinner."""
    return frame.lines[0][2:]


def in_order(beginnings: list[str], lines: list[str]) -> bool:
    """Tells whether there are lines with these beginnings, in this order."""
    rest = iter(lines)
    return all(any(text.startswith(beginning) for text in rest) for beginning in beginnings)


def test_the_ratio_is_provisional_after_one_block_and_has_an_interval_after_two() -> None:
    frames = film_try(80).frames
    first, second = (
        next(number for number, frame in enumerate(frames) if frame.stays and frame.lines[0].startswith(f"block {n}:"))
        for n in (1, 2)
    )
    assert not any("so far" in line(frame) for frame in frames[:first])
    after_one = [line(frame) for frame in frames[first + 1 : second] if not frame.stays]
    assert all("so far: capacity −0.6 % (provisional)" in text for text in after_one)
    assert "so far: capacity −1 % (−10 to +10)" in line(frames[second + 1])
    narrow = [line(frame) for frame in film_try(60).frames if not frame.stays]
    assert any("−0.9 % (−2.1 to +0.3)" in text for text in narrow)
    assert not any("capacity" in text for text in narrow)


def test_a_run_that_has_blocks_already_shows_their_ratio_from_its_start() -> None:
    """A resumed run."""
    run = replay.run(blocks=3)
    progress = FilmedProgress(80, Clock())
    film_blocks(run, progress, RunTime([60]), measured=2)
    assert "so far: capacity 2.00× (1.93–2.09)" in line(progress.frames[1])


def test_runs_of_one_call_are_told_apart() -> None:
    progress = Progress(terminal(80), clock=Clock())
    assert progress.title("cpu", "block 1") == "block 1", "a single run needs no name"
    progress.begin_runs([RunTime([60]), RunTime([60])])
    assert progress.title("cpu", "block 1") == "cpu: block 1"
    assert Progress(console()[0]).title("cpu", "block 1") == "cpu: block 1", "logs of calls are read side by side"


def test_a_failing_variant_and_a_run_without_a_ratio_have_words_of_their_own() -> None:
    run = recorded.run(blocks=3, failing=dict.fromkeys((1, 2, 3), "oom"))
    failed = run_status.claims_so_far(run, run.blocks)
    assert so_far.criterion_and_ratio(failed) == ("", "virtual fails")
    without = failed[0].model_copy(update={"fails": [], "ratio": None})
    assert so_far.criterion_and_ratio([without]) == ("", "")
    known = without.model_copy(update={"ratio": 1.02, "percentile": "p95", "is_provisional": True})
    tail = known.model_copy(update={"key": Key(criterion="tail", load="typical")})
    three = [without, tail, tail.model_copy(update={"of": "virtual-2"})]
    assert so_far.criterion_and_ratio(three) == ("tail (p95) of virtual", "+2.0 % (provisional)")


@pytest.mark.parametrize(
    ("left", "text"),
    [
        (None, ""),
        (TimeLeft(372.9, "at most"), "≤ 6:12 left"),
        (TimeLeft(60, "about"), "≈ 1:00 left"),
        (TimeLeft(3725, "at least"), "≥ 1:02:05 left"),
        (TimeLeft(0, "at most"), "finishing"),
        (TimeLeft(0, "at least"), ""),
    ],
)
def test_the_time_left_is_short(left: TimeLeft | None, text: str) -> None:
    assert in_short(left) == text


def test_the_line_goes_away_and_the_lines_above_it_stay() -> None:
    screen = terminal(60)
    with Progress(screen, "starting", clock=Clock()) as progress:
        progress.say("block 1: platform 49/s")
        progress.show("a phase that is much longer than the terminal is wide, so it is cut off somewhere")
    assert isinstance(screen.file, io.StringIO)
    written = screen.file.getvalue()
    drawn = [re.sub("\x1b\\[[^A-Za-z]*[A-Za-z]", "", text) for text in re.split("[\r\n]", written)]
    assert "12:00:00  block 1: platform 49/s" in drawn
    lines = [text for text in drawn if "0:00:00" in text]
    assert lines[0].split() == ["⠋", "starting", "0:00:00"]
    assert {len(text) for text in lines} == {60}, "each takes the width of the terminal"
    assert written.endswith("\x1b[1A\x1b[2K"), "the last one is erased"


def test_a_quiet_console_gets_nothing_and_what_others_print_is_not_swallowed(
    capsys: pytest.CaptureFixture[str],
) -> None:
    out = io.StringIO()
    quiet = Console(file=out, quiet=True, force_terminal=True, force_interactive=True)
    with Progress(quiet) as progress:
        progress.begin_runs([RunTime([60])])
        progress.step("block 1")
        print("the verdict")
    assert out.getvalue() == ""
    assert capsys.readouterr().out == "the verdict\n"


def test_standard_output_that_is_a_file_stays_one_beside_a_line_on_standard_error() -> None:
    before = sys.stdout
    with Progress(terminal(80), clock=Clock()):
        assert sys.stdout is before


def test_without_a_terminal_a_phase_is_no_line() -> None:
    screen, text = console()
    with Progress(screen) as progress:
        progress.show("analysing")
        progress.show_ratio("capacity", "1.88×")
    assert text.getvalue() == ""


def test_the_time_of_a_run_is_its_budget_without_the_blocks_that_it_has(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("vtlab.runs.estimates.block_seconds", lambda *_: 60.0)
    rule = stopping_rule.sequential_rule(1, within=480.0)
    run = recorded.run("pool", blocks=1, planned=12, rule=rule)
    time = run_time(tmp_path, run)
    assert (time.budget, len(time.blocks), time.is_least) == (480.0 - 160.954, 1, True)
    assert run_time(tmp_path, replace(run, manifest=run.manifest.model_copy(update={"rule": None}))).budget is None
    assert run_time(tmp_path, recorded.run(blocks=2)) == RunTime(), "nothing is left to measure"


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


def _report(folder: Path) -> None:
    report.report(folder / "a")


def _compare(folder: Path) -> None:
    compare.compare(folder / "a", folder / "b")


@pytest.mark.parametrize(
    ("module", "call", "phases"),
    [
        (report, _report, ["judging the runs of a"]),
        (compare, _compare, ["judging both runs"]),
        (history, history.history, ["judging run 1 of 2: a", "judging run 2 of 2: b"]),
    ],
)
def test_a_command_that_judges_runs_says_so_on_a_terminal(
    module: ModuleType, call: Callable[[Path], None], phases: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = recorded.run(blocks=3)
    for name in ("a", "b"):
        store.create(tmp_path / name, run.manifest.model_copy(update={"run_id": name}))
        for block in run.blocks:
            store.append_block(tmp_path / name, block)
    screen = terminal(80)
    monkeypatch.setattr(module, "console", screen)
    call(tmp_path)
    assert isinstance(screen.file, io.StringIO)
    written = screen.file.getvalue()
    assert [phase for phase in phases if phase in written] == phases
    assert "\x1b[1A\x1b[2K" in written, "the line is erased before or below what the command prints"

"""How a run goes through its blocks, and what its progress says. (On real targets: test_stub_block, test_faults.)"""

from __future__ import annotations

import math
import os
import re
import signal
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime, tzinfo
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from tests.support import builders
from vtlab import results, runner
from vtlab.analysis import sequential, standing
from vtlab.analysis.validity import checks, failing
from vtlab.errors import BlockFault, InvalidRun, VariantFailed
from vtlab.host import processes
from vtlab.model.experiment import Experiment
from vtlab.model.records import Block, Diagnosis, Failure, Instance, K6Document, Trial
from vtlab.model.run import BlockSeries, Run
from vtlab.planning import load, plan
from vtlab.planning.load import AS_PLANNED, LightLoad, Pace
from vtlab.progress import Progress
from vtlab.targets.in_flight import fill_in_flight_before

RUN = builders.run(blocks=2)
#: How long one user is alone.
ALONE = RUN.experiment.windows.single_user_phase
#: Windows of an experiment whose trials give up what is unanswered.
GIVING_UP = {
    "warmup_users": 200,
    "warmup_load": "6s",
    "warmup_cycles": 0,
    "measure": "30s",
    "trials": 1,
    "wait_for_answers": False,
}


@pytest.fixture(autouse=True)
def as_recorded(monkeypatch: pytest.MonkeyPatch) -> None:
    """The order of each block is the one that it had."""
    monkeypatch.setattr(plan, "order", lambda variants, seed, block, trials: RUN.blocks[block - 1].order)


class Played:
    """A target, and its blocks: those of a run that was. Cycles are played one after the other."""

    def __init__(self, blocks: Sequence[Block]) -> None:
        self.blocks = list(blocks)

    def start(self, experiment: Experiment, block: int, attempt: int) -> Played:
        self.now = self.blocks.pop(0)
        self.cycles = 0
        return self

    @property
    def instances(self) -> list[Instance]:
        return self.now.instances

    @property
    def differences(self) -> list[str]:
        return self.now.differences

    @property
    def failures(self) -> list[Failure]:
        return []

    def drop(self, variant: str) -> None:
        raise AssertionError("nothing failed")

    def raise_cpu(self) -> float | None:
        return None

    def restore_cpu(self) -> None:
        raise AssertionError("nothing was raised")

    def load(
        self,
        *,
        order: Sequence[str],
        warmup_cycles: int,
        single: str | None,
        own_cycles: int = 0,
        light: LightLoad | None = None,
        wait_for_answers: bool = True,
        pace: Pace = AS_PLANNED,
    ) -> K6Document:
        parts: dict[str, list[Trial]] = {"warmup": [], "single": [], "trials": [], "light": []}
        if warmup_cycles + own_cycles:
            variants = len({t.variant for t in self.now.warmup})
            first, self.cycles = self.cycles, self.cycles + warmup_cycles + own_cycles
            parts["warmup"] = self.now.warmup[first * variants : self.cycles * variants]
        elif light:
            parts["light"] = [t for t in self.now.light if t.variant in light.rates]
        else:
            parts |= {"single": self.now.single if single else [], "trials": self.now.trials if order else []}
        return K6Document(version=1, experiment="blocking", run_id="r", block=1, order=[], agreed=True, **parts)

    def diagnose(self, paces: Mapping[str, Pace]) -> dict[str, Diagnosis]:
        raise AssertionError("every variant is explained")

    def trial_without_drain(self, variant: str, position: int, pace: Pace = AS_PLANNED) -> K6Document:
        raise AssertionError("all trials are of one call")

    def check_instances(self) -> list[Instance]:
        return self.now.instances

    def series(self, begin_ms: int, end_ms: int) -> BlockSeries:
        return {}


def console() -> tuple[Console, StringIO]:
    text = StringIO()
    return Console(file=text, width=200), text


def test_a_signal_while_a_block_is_stored_costs_no_block(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    class Stop(Exception):
        pass

    def stop(*_: object) -> None:
        raise Stop

    def interrupted(descriptor: int) -> None:
        os.kill(os.getpid(), signal.SIGINT)

    results.create(tmp_path, RUN.manifest)
    before = signal.signal(signal.SIGINT, stop)
    monkeypatch.setattr(results.os, "fsync", interrupted)
    try:
        with pytest.raises(Stop), Progress(console()[0], [1, 1]) as progress:
            runner.measure(tmp_path, Played(RUN.blocks), progress, "blocking")
    finally:
        signal.signal(signal.SIGINT, before)
    assert [block.block for block in results.read(tmp_path).blocks] == [1]


def test_progress_says_what_was_measured_and_when_it_ends(tmp_path: Path) -> None:
    results.create(tmp_path, RUN.manifest)
    screen, text = console()
    with Progress(screen, [100, 100]) as progress:
        runner.measure(tmp_path, Played(RUN.blocks), progress, "blocking")
    assert "2 blocks to measure, about 3 minutes, until " in text.getvalue()
    assert "blocking: block 1 of 2: starting platform and virtual" in text.getvalue()
    assert "blocking: block 2 of 2: virtual 998.8/s, 1 s; platform 199.6/s, 5.01 s · ends about" in text.getvalue()


def test_progress_says_that_open_load_may_take_longer() -> None:
    screen, text = console()
    with Progress(screen, [100, 100], is_least=True):
        pass
    assert "2 blocks to measure, at least 3 minutes, until " in text.getvalue()


def test_the_first_block_has_more_than_its_trials() -> None:
    windows = {"warmup_users": 200, "measure": "5s", "ramp_up": "400ms", "single_user_phase": "9s"}
    rounds = {"model": "closed", "users": 1000, "round": {"platform": "5s", "virtual": "1s"}}
    run = replace(builders.run(builders.experiment(load=rounds, windows=windows), blocks=1), blocks=[])
    # Alone, light load, and a trial of platform.
    assert runner.seconds_beside(run) == pytest.approx(2 * 9 + load.LIGHT_SECONDS + load.COMING_UP + 0.4 + 2 * 5 + 5)
    measured = RUN.blocks[0].model_copy(update={"light": []})
    assert runner.seconds_beside(replace(RUN, blocks=[measured])) == pytest.approx(
        load.beside_seconds(RUN.experiment, False, True)
    )
    lit = {"light": [t.model_copy(update={"phase": "light"}) for t in measured.trials]}
    assert runner.seconds_beside(replace(RUN, blocks=[measured.model_copy(update=lit)])) == 0


def test_how_much_longer_windows_are_is_known_after_the_first_warm_up() -> None:
    assert runner.seconds_longer(RUN) == 0
    run = builders.run(builders.arrivals(), blocks=1)
    assert runner.seconds_longer(replace(run, blocks=[])) is None
    longer = [t.model_copy(update={"end": t.end + 6000}) for t in run.blocks[0].trials]
    assert runner.seconds_longer(replace(run, blocks=[run.blocks[0].model_copy(update={"trials": longer})])) == (
        pytest.approx(24)
    )


class Noon(datetime):
    """A clock that stands still."""

    @classmethod
    def now(cls, tz: tzinfo | None = None) -> Noon:
        return cls(2026, 1, 1, 12, tzinfo=tz)


def test_an_attempt_that_ended_early_does_not_shorten_the_rest(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("vtlab.progress.datetime", Noon)
    with Progress(console()[0], [3600, 3600]) as progress:
        assert progress._end() == " · ends about 14:00"
        progress.block_done("blocking", RUN.blocks[0], ["k6 died"], [], 0, "2")
        assert progress._end() == " · ends about 14:00"
        progress.give_up(2)
        assert progress._left == [], "an invalid run takes no more time"


def test_a_block_of_unknown_length_takes_as_long_as_the_one_before(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("vtlab.progress.datetime", Noon)
    monkeypatch.setattr("vtlab.progress.time.monotonic", iter([0.0, 1800.0, 1800.0, 5400.0, 5400.0]).__next__)
    screen, text = console()
    with Progress(screen, [None, None, None]) as progress:
        progress.step("block 1 of 3")
        progress.block_done("blocking", RUN.blocks[0], [], [], 1, "3")
        progress.block_done("blocking", RUN.blocks[0], [], [], 2, "3")
    begin, step, first, second = text.getvalue().splitlines()
    assert begin.endswith("3 blocks to measure")
    assert step.endswith("block 1 of 3")
    assert first.endswith(" · ends about 13:00")
    assert second.endswith(" · ends about 13:00")


class InTurn(Played):
    """Also writes down what is asked of it."""

    def __init__(self, blocks: Sequence[Block]) -> None:
        super().__init__(blocks)
        self.calls: list[str] = []

    def load(  # type: ignore[override]
        self, *, order: Sequence[str], single: str | None, own_cycles: int = 0, **rest: Any
    ) -> K6Document:
        if rest.get("light"):
            self.calls.append("light load")
        elif not own_cycles:
            self.calls.append(f"load {' '.join(order)}, {single}")
        document = super().load(order=order, single=single, own_cycles=own_cycles, **rest)
        return document.model_copy(update={"trials": [t for t in document.trials if t.variant in order]})

    def trial_without_drain(self, variant: str, position: int, pace: Pace = AS_PLANNED) -> K6Document:
        self.calls.append(f"trial {position} of {variant}")
        document = super().load(order=[variant], warmup_cycles=0, single=None)
        trial = next(t for t in document.trials if t.variant == variant)
        return document.model_copy(update={"single": [], "trials": [trial.model_copy(update={"position": position})]})


def test_without_a_drain_each_trial_is_a_call_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first, second = "virtual", "platform"
    monkeypatch.setattr(plan, "order", lambda *_: [first, second])
    windows = GIVING_UP
    run = builders.run(builders.experiment(windows=windows), blocks=1)
    results.create(tmp_path, run.manifest)
    target = InTurn(run.blocks)
    with Progress(console()[0], [1]) as progress:
        runner.measure(tmp_path, target, progress, "blocking")
    assert target.calls == [f"load , {ALONE}", f"trial 1 of {first}", f"trial 2 of {second}"]
    (block,) = results.read(tmp_path).blocks
    assert [(t.variant, t.position) for t in block.trials] == [(first, 1), (second, 2)]
    assert block.single == run.blocks[0].single


def test_too_many_rejected_blocks_end_a_run(tmp_path: Path) -> None:
    results.create(tmp_path, RUN.manifest)
    squeezed = builders.spoiled(RUN.blocks[0], "generator")
    waited: list[float] = []
    with pytest.raises(InvalidRun, match="3 blocks were rejected"), Progress(console()[0], [1, 1]) as progress:
        runner.measure(tmp_path, Played([squeezed] * 5), progress, "blocking", wait=waited.append)
    assert waited == [2.0, 4.0, 6.0]
    assert len(results.read(tmp_path).blocks) == 3, "each is kept with its reasons"


class Breaking(Played):
    """A target whose variants, or k6, break when it is their turn: ``breaks`` says in which call, each call once."""

    def __init__(self, blocks: Sequence[Block], **breaks: BlockFault | Failure) -> None:
        super().__init__(blocks)
        self.breaks = breaks
        self.said: list[str] = []
        self.light: list[LightLoad] = []
        self.paces: list[Pace] = []
        self.left: list[str] = []

    def start(self, experiment: Experiment, block: int, attempt: int) -> Breaking:
        super().start(experiment, block, attempt)
        self.left = [instance.variant for instance in self.instances]
        return self

    @property
    def instances(self) -> list[Instance]:
        return [i for i in self.now.instances if i.variant not in {f.variant for f in self.failures}]

    @property
    def failures(self) -> list[Failure]:
        failure = self.breaks.get("start")
        return [failure] if isinstance(failure, Failure) else []

    def drop(self, variant: str) -> None:
        self.said.append(f"drop {variant}")
        self.left.remove(variant)

    def load(
        self,
        *,
        order: Sequence[str],
        warmup_cycles: int,
        single: str | None,
        own_cycles: int = 0,
        light: LightLoad | None = None,
        wait_for_answers: bool = True,
        pace: Pace = AS_PLANNED,
    ) -> K6Document:
        self.paces.append(pace)
        if light:
            call, kind = "light", f"light load for {' '.join(light.rates)}"
            self.light.append(light)
        elif own_cycles or warmup_cycles:
            cheap = f"{warmup_cycles} cheap and " if warmup_cycles else ""
            call, kind = "warmup", f"{cheap}{own_cycles} own cycles"
        elif single and not order:
            call, kind = "single", f"a single user for {single}"
        else:
            call, kind = "trials", f"trials {' '.join(order)}"
        self.said.append(f"{kind} of {' '.join(self.left)}")
        broken = self.breaks.pop(call, None)
        if isinstance(broken, BlockFault):
            raise broken
        document = super().load(
            order=order, warmup_cycles=warmup_cycles, single=single, own_cycles=own_cycles, light=light, pace=pace
        )
        kept = {part: [t for t in getattr(document, part) if t.variant in self.left] for part in ("warmup", "single")}
        return document.model_copy(update={**kept, "trials": [t for t in document.trials if t.variant in order]})

    def diagnose(self, paces: Mapping[str, Pace]) -> dict[str, Diagnosis]:
        self.said.append(f"thread dumps of {' '.join(paces)}")
        return {name: Diagnosis(dumps=20, threads=40.0, places=[]) for name in paces}


def one_block(target: Breaking, tmp_path: Path, exp: Experiment | None = None) -> tuple[Block, str]:
    """What became of a run of one block, which counts, and what was said."""
    run = builders.run(exp, blocks=1)
    results.create(tmp_path, run.manifest)
    said, text = console()
    with Progress(said, [1]) as progress:
        runner.measure(tmp_path, target, progress, "blocking")
    (block,) = results.read(tmp_path).blocks
    assert checks.reasons(block, run.experiment) == []
    return block, text.getvalue()


def test_what_the_pre_flight_showed_is_recorded(tmp_path: Path) -> None:
    good = builders.run(blocks=1).blocks[0]
    seen = good.model_copy(update={"differences": ["virtual answered 500 to GET /a"]})
    block, _ = one_block(Breaking([seen]), tmp_path)
    assert block.differences == ["virtual answered 500 to GET /a"]


def test_a_variant_that_does_not_start_fails_and_the_other_is_measured(tmp_path: Path) -> None:
    failure = Failure(variant="virtual", reason="it ended with exit code 1: no", moment="while it started")
    target = Breaking(RUN.blocks, start=failure)
    block, said = one_block(target, tmp_path)
    assert block.failures == [failure]
    assert {t.variant for t in (*block.warmup, *block.single, *block.trials)} == {"platform"}
    assert target.said == [
        "3 own cycles of platform",
        "trials platform platform of platform",
        f"a single user for {ALONE} of platform",
        "light load for platform of platform",
    ]
    assert "block 1 of 1: virtual failed, while it started: it ended with exit code 1: no" in said


def test_a_variant_that_breaks_in_the_warm_up_leaves_and_the_other_is_measured(tmp_path: Path) -> None:
    target = Breaking(RUN.blocks, warmup=VariantFailed("virtual", "out of heap memory (256m)", "w4"))
    block, said = one_block(target, tmp_path)
    assert block.failures == [
        Failure(variant="virtual", reason="out of heap memory (256m)", moment="warm-up cycle 2")
    ], "the fourth phase of two variants"
    assert {t.variant for t in (*block.warmup, *block.trials)} == {"platform"}
    assert target.said == [
        "3 own cycles of platform virtual",
        "drop virtual",
        "3 own cycles of platform",
        "trials platform platform of platform",
        f"a single user for {ALONE} of platform",
        "light load for platform of platform",
    ]
    assert "virtual failed, warm-up cycle 2: out of heap memory (256m)" in said
    assert "platform 200.2/s" in said


@pytest.mark.parametrize(("phase", "moment"), [("2", "trial 2"), ("s1", "the single-user phase"), (None, "the trials")])
def test_a_variant_that_breaks_in_a_trial_leaves_and_the_other_has_its_trials(
    phase: str | None, moment: str, tmp_path: Path
) -> None:
    target = Breaking(RUN.blocks, trials=VariantFailed("platform", "it ended with exit code 137 (killed)", phase))
    block, _ = one_block(target, tmp_path)
    assert [(f.variant, f.moment) for f in block.failures] == [("platform", moment)]
    assert [t.variant for t in block.trials] == ["virtual", "virtual"]
    assert block.order == RUN.blocks[0].order, "as planned"


def test_without_a_drain_a_variant_that_breaks_meanwhile_does_not_cost_the_other_its_trial(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(plan, "order", lambda *_: ["virtual", "platform"])

    class OneByOne(Breaking):
        def trial_without_drain(self, variant: str, position: int, pace: Pace = AS_PLANNED) -> K6Document:
            self.said.append(f"trial {position} of {variant}")
            if position == 1 and "platform" in self.left:
                raise VariantFailed("platform", "it ended with exit code 1")
            document = super(Breaking, self).load(order=[variant], warmup_cycles=0, single=None)
            trial = next(t for t in document.trials if t.variant == variant)
            return document.model_copy(update={"single": [], "trials": [trial]})

    windows = GIVING_UP
    exp = builders.experiment(windows=windows)
    target = OneByOne(builders.run(exp, blocks=1).blocks)
    block, _ = one_block(target, tmp_path, exp)
    assert target.said[-3:] == ["trial 1 of virtual", "drop platform", "trial 1 of virtual"]
    assert [t.variant for t in block.trials] == ["virtual"]
    assert [(f.variant, f.moment) for f in block.failures] == [("platform", "trial 1")]


def test_a_variant_without_a_steady_state_gets_no_trials(tmp_path: Path) -> None:
    good = builders.block(cycles=7)
    unsteady = builders.broken(good, "virtual", "unsteady")
    in_turn = sorted(unsteady.warmup, key=lambda t: t.begin)
    target = Breaking([unsteady.model_copy(update={"warmup": in_turn, "trials": good.trials})])
    windows = {"warmup_users": 200, "warmup_load": "6s", "warmup_cycles": 2, "measure": "30s", "max_cycles": 2}
    block, said = one_block(target, tmp_path, builders.experiment(windows=windows))
    assert target.said == [
        "2 cheap and 3 own cycles of platform virtual",
        "1 own cycles of platform virtual",
        "1 own cycles of platform virtual",
        "drop virtual",
        "trials platform platform of platform",
        f"a single user for {ALONE} of platform",
        "light load for platform of platform",
    ]
    assert [t.position for t in block.warmup] == list(range(1, 15))
    assert block.failures == [], "what its cycles show is for the checks"
    assert "virtual failed, the warm-up: no steady state after 7 warm-up cycles" in said


@pytest.mark.parametrize(("last_that_compiles", "further"), [(5, 1), (6, 2), (7, 2)])
def test_the_warm_up_goes_on_while_a_compiler_works(tmp_path: Path, last_that_compiles: int, further: int) -> None:
    """The JIT compiler rests before the trials; where it does not, the checks judge its CPU in them."""
    windows = {"warmup_users": 200, "warmup_load": "6s", "warmup_cycles": 2, "measure": "30s", "max_cycles": 2}
    experiment = builders.experiment(windows=windows)
    (good,) = builders.run(experiment, blocks=1).blocks
    warmup = []
    for place, trial in enumerate(sorted(builders.block(cycles=7).warmup, key=lambda t: t.begin)):
        compiles = trial.variant == "virtual" and place // 2 < last_that_compiles
        warmup.append(
            trial.model_copy(update={"server": trial.server | {"jit_cpu": 0.2 if compiles else 0.01, "cpu_cores": 0.9}})
        )
    target = Breaking([good.model_copy(update={"warmup": warmup})])
    block, said = one_block(target, tmp_path, experiment)
    assert target.said[1 : further + 1] == ["1 own cycles of platform virtual"] * further
    assert target.said[further + 1].startswith("trials ")
    assert len(block.warmup) == 2 * (5 + further)
    assert "rejected" not in said


def test_a_variant_without_an_ok_answer_leaves_at_once(tmp_path: Path) -> None:
    silent = [
        t.model_copy(update={"ok": 0, "throughput": 0.0, "failed": {"status-404": 900}})
        if t.variant == "virtual"
        else t
        for t in RUN.blocks[0].warmup
    ]
    target = Breaking([RUN.blocks[0].model_copy(update={"warmup": silent})])
    block, said = one_block(target, tmp_path)
    assert target.said[1:3] == ["drop virtual", "trials platform platform of platform"]
    assert {f.variant for f in failing.failures(block, RUN.experiment)} == {"virtual"}
    assert "virtual failed" in said


def test_both_variants_may_break(tmp_path: Path) -> None:
    failure = Failure(variant="virtual", reason="it ended with exit code 1", moment="while it started")
    broken = VariantFailed("platform", "it ended with exit code 1", "w1")
    block, _ = one_block(Breaking(RUN.blocks, start=failure, warmup=broken), tmp_path)
    assert [f.variant for f in block.failures] == ["virtual", "platform"]
    assert (block.warmup, block.trials) == ([], [])


def test_a_variant_that_fails_in_the_first_three_blocks_ends_the_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = builders.run(blocks=6)
    results.create(tmp_path, run.manifest)
    monkeypatch.setattr(plan, "order", lambda *_: RUN.blocks[0].order)
    said, text = console()

    class Always(Breaking):
        def start(self, experiment: Experiment, block: int, attempt: int) -> Breaking:
            self.breaks = {"trials": VariantFailed("virtual", "out of heap memory (256m)", "1")}
            return super().start(experiment, block, attempt)

    with Progress(said, [1] * 6) as progress:
        runner.measure(tmp_path, Always([RUN.blocks[0]] * 6), progress, "blocking")
        assert progress._left == []
    measured = results.read(tmp_path)
    assert [block.block for block in measured.blocks] == [1, 2, 3]
    assert "no further blocks: a variant failed in each of the first 3" in text.getvalue()
    assert standing.blocks_left(measured) == 0
    assert standing.blocks_left(replace(measured, blocks=measured.blocks[:2])) == 4


@pytest.mark.parametrize(("noise", "looks"), [(0.001, [2]), (0.02, [2, 3])])
def test_a_run_with_looks_ends_when_it_is_settled(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, noise: float, looks: list[int]
) -> None:
    run = builders.run(blocks=12, noise=noise, rule=sequential.rule(1))
    monkeypatch.setattr(plan, "order", lambda variants, seed, block, trials: run.blocks[block - 1].order)
    results.create(tmp_path, run.manifest)
    said, text = console()
    with Progress(said, [100, 100, 50], is_least=True) as progress:
        runner.measure(tmp_path, Played(run.blocks), progress, "blocking")
        assert progress._left == [50], "the run after it"
    measured = results.read(tmp_path)
    assert len(measured.blocks) == looks[-1]
    assert all(block.seconds is not None for block in measured.blocks)
    assert standing.blocks_left(measured) == 0
    assert "blocking: block 2 of at most 12: starting" in text.getvalue()
    assert f"blocking: settled after {looks[-1]} blocks" in text.getvalue()
    between = "blocking: not settled after 2 blocks, the next look is after 3"
    assert (between in text.getvalue()) == (len(looks) > 1)


def test_a_run_with_looks_ends_with_three_failures_of_three(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run = builders.run(blocks=12, rule=sequential.rule(1))
    results.create(tmp_path, run.manifest)
    monkeypatch.setattr(plan, "order", lambda *_: RUN.blocks[0].order)
    said, text = console()

    class Always(Breaking):
        def start(self, experiment: Experiment, block: int, attempt: int) -> Breaking:
            self.breaks = {"trials": VariantFailed("virtual", "out of heap memory (256m)", "1")}
            return super().start(experiment, block, attempt)

    with Progress(said, [1] * 2) as progress:
        runner.measure(tmp_path, Always([RUN.blocks[0]] * 12), progress, "blocking")
        assert progress._left == []
    assert len(results.read(tmp_path).blocks) == 3
    assert text.getvalue().count("no further blocks: a variant failed in each of the first 3") == 1


def test_a_variant_that_has_not_been_alone_is_so_in_the_next_block(tmp_path: Path) -> None:
    results.create(tmp_path, RUN.manifest)

    class Once(Breaking):
        def start(self, experiment: Experiment, block: int, attempt: int) -> Breaking:
            if block == 1:
                self.breaks = {"warmup": VariantFailed("virtual", "it ended with exit code 1")}
            return super().start(experiment, block, attempt)

    target = Once(RUN.blocks)
    with Progress(console()[0], [1, 1]) as progress:
        runner.measure(tmp_path, target, progress, "blocking")
    assert [phrase for phrase in target.said if phrase.startswith("a single user")] == [
        f"a single user for {ALONE} of platform",
        f"a single user for {ALONE} of platform virtual",
    ]


# --- beside the trials -------------------------------------------------------


def measured(target: Played, folder: Path, run: Run) -> tuple[list[Block], str]:
    """The blocks of a run, and what was said."""
    results.create(folder, run.manifest)
    said, text = console()
    with Progress(said, [1] * run.manifest.blocks) as progress:
        runner.measure(folder, target, progress, "blocking", wait=lambda _: None)
    return results.read(folder).blocks, text.getvalue()


def beside(target: Breaking) -> list[str]:
    """What was measured beside the trials."""
    return [phrase for phrase in target.said if phrase.startswith(("light", "thread"))]


def test_light_load_comes_once_in_a_run_and_of_a_block_that_counts(tmp_path: Path) -> None:
    squeezed = builders.spoiled(RUN.blocks[0], "generator")
    blocks, _ = measured(target := Breaking([squeezed, *RUN.blocks]), tmp_path, RUN)
    assert beside(target) == ["light load for platform virtual of platform virtual"]
    assert [len(block.light) for block in blocks] == [0, len(RUN.blocks[0].light), 0]
    (light,) = target.light
    assert light.settle > 1000, "longer than a request alone"
    assert all(max(rates) > 0 for rates in light.rates.values())


def test_a_variant_without_light_load_has_it_in_the_next_block(tmp_path: Path) -> None:
    first = RUN.blocks[0]
    second = RUN.blocks[1].model_copy(update={"light": first.light})
    broken = VariantFailed("virtual", "it ended with exit code 1", "1")
    target = Breaking([first, second], trials=broken)
    blocks, _ = measured(target, tmp_path, RUN)
    assert beside(target) == ["light load for platform of platform", "light load for virtual of platform virtual"]
    assert [{t.variant for t in block.light} for block in blocks] == [{"platform"}, {"virtual"}]


def test_light_load_in_a_later_block_settles_by_the_single_user_before(tmp_path: Path) -> None:
    second = RUN.blocks[1].model_copy(update={"light": RUN.blocks[0].light})
    target = Breaking([RUN.blocks[0], second], light=BlockFault("k6 ended with exit code 107"))
    blocks, _ = measured(target, tmp_path, RUN)
    assert [len(block.single) for block in blocks] == [len(RUN.blocks[0].single), 0]
    assert target.light[0].settle == target.light[1].settle


def test_a_fault_of_k6_beside_the_trials_costs_no_block(tmp_path: Path) -> None:
    target = Breaking(RUN.blocks, light=BlockFault("k6 ended with exit code 107"))
    block, said = one_block(target, tmp_path)
    assert (block.light, block.diagnosis, block.faults, block.failures) == ([], {}, [], [])
    assert "not measured beside the trials: k6 ended with exit code 107" in said


def test_a_variant_that_breaks_under_light_load_fails(tmp_path: Path) -> None:
    target = Breaking(RUN.blocks, light=VariantFailed("virtual", "out of heap memory (256m)", "l3"))
    block, said = one_block(target, tmp_path)
    assert block.failures == [Failure(variant="virtual", reason="out of heap memory (256m)", moment="light load")]
    assert target.said[-1] == "drop virtual"
    assert {t.variant for t in block.trials} == {"platform", "virtual"}, "it had its trials"
    assert "virtual failed, light load: out of heap memory (256m)" in said


def test_only_a_variant_that_nothing_explains_is_diagnosed(tmp_path: Path) -> None:
    slow = {**builders.services(RUN.experiment), "virtual": builders.Service(threads=None, cpu=0.0003, most=300.0)}
    run = builders.run(behaviour=slow, blocks=2)
    blocks, _ = measured(target := Breaking(run.blocks), tmp_path, run)
    assert beside(target) == ["light load for platform virtual of platform virtual", "thread dumps of virtual"]
    assert [list(block.diagnosis) for block in blocks] == [["virtual"], []]


class WithMore(Breaking):
    """A target whose variants get more CPU; ``cores``: how many, None for a machine without."""

    def __init__(self, blocks: Sequence[Block], cores: float | None = 1.5, **breaks: BlockFault | Failure) -> None:
        super().__init__(blocks, **breaks)
        self.cores = cores
        self.waits: list[bool] = []
        self.is_raised = False

    def raise_cpu(self) -> float | None:
        self.said.append(f"raise {' '.join(self.left)}")
        self.is_raised = self.cores is not None
        return self.cores

    def restore_cpu(self) -> None:
        self.said.append("restore")
        self.is_raised = False

    def load(
        self, *, warmup_cycles: int, own_cycles: int = 0, wait_for_answers: bool = True, **rest: Any
    ) -> K6Document:  # type: ignore[override]
        if not warmup_cycles and not own_cycles:
            self.waits.append(wait_for_answers)
        document = super().load(warmup_cycles=warmup_cycles, own_cycles=own_cycles, **rest)
        raised = [t.model_copy(update={"raised_cpu": self.cores}) for t in document.warmup]
        return document.model_copy(update={"warmup": raised}) if self.is_raised else document


#: The cheap cycles have so many requests for each variant.
COUNTED = {"warmup_users": 200, "warmup_load": "6s", "warmup_cycles": 2, "warmup_requests": 6000, "measure": "30s"}


def test_the_cheap_cycles_have_more_cpu_and_those_that_judge_have_the_limit(tmp_path: Path) -> None:
    exp = builders.experiment(windows=COUNTED)
    run = builders.run(exp, blocks=1)
    target = WithMore([run.blocks[0].model_copy(update={"warmup": builders.block(cycles=4).warmup})])
    block, _ = one_block(target, tmp_path, exp)
    assert target.said[:5] == [
        "raise platform virtual",
        "2 cheap and 0 own cycles of platform virtual",
        "restore",
        "2 own cycles of platform virtual",
        "trials virtual platform platform virtual of platform virtual",
    ]
    assert [t.raised_cpu for t in block.warmup] == [1.5] * 4 + [None] * 4
    assert [t.position for t in block.warmup] == list(range(1, 9))


class Compiling(WithMore):
    """A target whose JIT compilers lack CPU until so many calls have given them more."""

    def __init__(self, blocks: Sequence[Block], calls: int) -> None:
        super().__init__(blocks)
        self.calls = calls

    def load(self, **rest: Any) -> K6Document:  # type: ignore[override]
        document = super().load(**rest)
        self.calls -= self.is_raised
        if self.calls <= 0:
            return document
        busy = {"cpu_cores": 1.5, "cpu_limit": 1.5, "jit_cpu": 0.5}
        warmup = [t.model_copy(update={"server": {**t.server, **busy}}) for t in document.warmup]
        return document.model_copy(update={"warmup": warmup})


@pytest.mark.parametrize(("calls", "made"), [(1, 1), (2, 2), (3, 3)])
def test_the_cycles_with_more_cpu_go_on_until_the_compilers_rest(tmp_path: Path, calls: int, made: int) -> None:
    exp = builders.experiment(windows=COUNTED)
    warmup = builders.block(cycles=2 * made + 2).warmup
    block, printed = one_block(
        target := Compiling([builders.run(exp, blocks=1).blocks[0].model_copy(update={"warmup": warmup})], calls),
        tmp_path,
        exp,
    )
    assert target.said.count("2 cheap and 0 own cycles of platform virtual") == made
    assert [t.raised_cpu for t in block.warmup] == [1.5] * 4 * made + [None] * 4
    assert f"warm-up, cycle {2 * made + 1} of {2 * made + 2} to" in printed


def test_the_cycles_with_more_cpu_end_though_the_compilers_do_not_rest(tmp_path: Path) -> None:
    exp = builders.experiment(windows=COUNTED)
    warmup = builders.block(cycles=2 * runner.RAISED_CALLS + 12).warmup
    one_block(
        target := Compiling([builders.run(exp, blocks=1).blocks[0].model_copy(update={"warmup": warmup})], 9),
        tmp_path,
        exp,
    )
    assert target.said.count("2 cheap and 0 own cycles of platform virtual") == runner.RAISED_CALLS


def test_compilers_are_not_waited_for_where_the_load_is_the_bound(tmp_path: Path) -> None:
    rounds = {"platform": "5s", "virtual": "1s"}
    exp = builders.experiment(windows=COUNTED, load={"model": "closed", "users": 1000, "round": rounds})
    (good,) = builders.run(exp, blocks=1).blocks
    target = Compiling([good.model_copy(update={"warmup": builders.block(exp=exp, cycles=4).warmup})], 9)
    one_block(target, tmp_path, exp)
    assert target.said.count("2 cheap and 0 own cycles of platform virtual") == 1


@pytest.mark.parametrize(
    ("cores", "windows"),
    [
        (None, COUNTED),
        (1.5, COUNTED | {"warmup_requests": None}),
        (1.5, COUNTED | {"warmup_cycles": 0}),
    ],
)
def test_without_more_cpu_or_equal_requests_all_cycles_have_the_limit(
    tmp_path: Path, cores: float | None, windows: dict[str, Any]
) -> None:
    exp = builders.experiment(windows=windows)
    (good,) = builders.run(exp, blocks=1).blocks
    target = WithMore([good.model_copy(update={"warmup": builders.block(cycles=5).warmup})], cores)
    block, _ = one_block(target, tmp_path, exp)
    cheap = f"{windows['warmup_cycles']} cheap and " if windows["warmup_cycles"] else ""
    assert next(said for said in target.said if "cycles" in said) == f"{cheap}3 own cycles of platform virtual"
    assert "restore" not in target.said
    assert {t.raised_cpu for t in block.warmup} == {None}


def test_open_load_has_no_more_cpu_in_its_warm_up(tmp_path: Path) -> None:
    exp = builders.arrivals(windows=COUNTED)
    (good,) = builders.run(exp, blocks=1).blocks
    target = WithMore([good.model_copy(update={"warmup": builders.block(exp=exp, cycles=5).warmup})])
    one_block(target, tmp_path, exp)
    assert target.said[0] == "2 cheap and 3 own cycles of platform virtual"


def test_a_variant_that_breaks_with_more_cpu_leaves_and_the_limit_comes_back(tmp_path: Path) -> None:
    exp = builders.experiment(windows=COUNTED)
    (good,) = builders.run(exp, blocks=1).blocks
    warmup = [t for t in builders.block(cycles=4).warmup if t.variant == "platform"]
    broken = VariantFailed("virtual", "out of heap memory (256m)", "w2")
    target = WithMore([good.model_copy(update={"warmup": warmup})], warmup=broken)
    block, _ = one_block(target, tmp_path, exp)
    assert block.failures == [Failure(variant="virtual", reason="out of heap memory (256m)", moment="warm-up cycle 1")]
    assert target.said[:6] == [
        "raise platform virtual",
        "2 cheap and 0 own cycles of platform virtual",
        "drop virtual",
        "2 cheap and 0 own cycles of platform",
        "restore",
        "2 own cycles of platform",
    ]


def test_a_limit_that_does_not_come_back_rejects_the_block(tmp_path: Path) -> None:
    class Stuck(WithMore):
        def restore_cpu(self) -> None:
            raise BlockFault("platform: its control group has 1.5 cores, 1 cores were set")

    exp = builders.experiment(windows=COUNTED)
    run = builders.run(exp, blocks=1)
    results.create(tmp_path, run.manifest.model_copy(update={"max_rejected": 0}))
    with pytest.raises(InvalidRun, match="its control group has"), Progress(console()[0], [1]) as progress:
        runner.measure(tmp_path, Stuck(run.blocks), progress, "blocking", wait=lambda _: None)
    (block,) = results.read(tmp_path).blocks
    assert block.trials == []


def test_the_last_trial_is_not_waited_for_where_nothing_comes_after_it(tmp_path: Path) -> None:
    _, _ = measured(target := WithMore(RUN.blocks, None), tmp_path, RUN)
    # The first block has a single user and light load after its trials, the second has them alone.
    assert target.waits == [True, True, True, False]


def test_an_open_load_is_waited_for_always(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run = builders.run(builders.arrivals(), blocks=2)
    monkeypatch.setattr(plan, "order", lambda variants, seed, block, trials: run.blocks[block - 1].order)
    _, _ = measured(target := WithMore(run.blocks, None), tmp_path, run)
    assert target.waits == [True] * 4, "trials, a single user and light load, then trials alone"


def test_every_variant_is_diagnosed_once_where_that_was_asked_for(tmp_path: Path) -> None:
    run = always(builders.run(blocks=2))
    blocks, text = measured(target := Breaking(run.blocks), tmp_path, run)
    assert beside(target)[-1] == "thread dumps of platform virtual"
    assert [list(block.diagnosis) for block in blocks] == [["platform", "virtual"], []]
    assert "no thread dumps" not in text


def test_it_is_said_which_variant_has_no_thread_dumps(tmp_path: Path) -> None:
    class Silent(Breaking):
        def diagnose(self, paces: Mapping[str, Pace]) -> dict[str, Diagnosis]:
            return {name: diagnosis for name, diagnosis in super().diagnose(paces).items() if name == "virtual"}

    run = always(builders.run(blocks=1))
    _, text = measured(Silent(run.blocks), tmp_path, run)
    assert "no thread dumps of platform: vtlab could not ask the JVM, or the JVM ended" in text


def test_a_trial_with_dumps_of_many_requests_is_longer_at_the_pace_of_the_others(tmp_path: Path) -> None:
    given: dict[str, Pace] = {}

    class Noting(Breaking):
        def diagnose(self, paces: Mapping[str, Pace]) -> dict[str, Diagnosis]:
            given.update(paces)
            return super().diagnose(paces)

    # Windows of 5 s: platform and virtual have 1000 requests in flight.
    run = always(builders.run(builders.experiment(windows={"measure": "5s", "warmup_cycles": 0}), blocks=1))
    measured(Noting(run.blocks), tmp_path, run)
    assert {name: pace.measure for name, pace in given.items()} == pytest.approx(
        {"platform": 20_000, "virtual": 20_000}, rel=0.1
    )
    assert {pace.seed for pace in given.values()} == {run.manifest.seed}


def test_the_time_of_the_trials_with_dumps_is_expected(tmp_path: Path) -> None:
    once = builders.run(blocks=0)
    assert runner.seconds_beside(always(once)) > runner.seconds_beside(once)


def always(run: Run) -> Run:
    """That run, with thread dumps of every variant."""
    return replace(run, manifest=run.manifest.model_copy(update={"diagnosis": "always"}))


class Killed(Breaking):
    """A variant does not survive its thread dumps, or k6 its call for them."""

    fault: BlockFault | None = None
    is_killed = False

    def diagnose(self, paces: Mapping[str, Pace]) -> dict[str, Diagnosis]:
        self.is_killed = True
        if self.fault:
            raise self.fault
        return super().diagnose(paces)

    def check_instances(self) -> list[Instance]:
        return [i.model_copy(update={"alive": not self.is_killed}) for i in super().check_instances()]


@pytest.mark.parametrize("fault", [None, BlockFault("k6 ended with exit code 107")])
def test_what_breaks_under_thread_dumps_costs_neither_block_nor_variant(
    tmp_path: Path, fault: BlockFault | None
) -> None:
    slow = {**builders.services(RUN.experiment), "virtual": builders.Service(threads=None, cpu=0.0003, most=300.0)}
    run = builders.run(behaviour=slow, blocks=1)
    target = Killed(run.blocks)
    target.fault = fault
    (block,), _ = measured(target, tmp_path, run)
    assert target.is_killed
    assert (checks.reasons(block, run.experiment), failing.failures(block, run.experiment)) == ([], [])
    assert list(block.diagnosis) == ([] if fault else ["virtual"])


def test_without_a_drain_nothing_is_measured_beside_the_trials(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(plan, "order", lambda *_: ["virtual", "platform"])
    windows = GIVING_UP
    run = builders.run(builders.experiment(windows=windows), blocks=1)
    (block,), text = measured(target := InTurn(run.blocks), tmp_path, always(run))
    assert "light load" not in target.calls
    assert "no thread dumps of platform and virtual: each ends with its trials" in text
    assert len(block.trials) == 2


def test_open_load_settles_and_has_a_longer_window_as_the_warm_up_tells(tmp_path: Path) -> None:
    run = builders.run(builders.arrivals(), blocks=1)
    ((block,), _) = measured(target := Breaking(run.blocks), tmp_path, run)
    warming, *others = target.paces
    assert warming == Pace(run.manifest.seed)
    assert others == [load.pace(run.experiment, run.manifest.seed, block.warmup[-2:])] * 3, (
        "trials, a single user, light load"
    )
    assert others[0].settle > 1000, "the longest answer of the warm-up"


@pytest.mark.parametrize(
    ("rate", "said"),
    [
        (150, r"blocking: block 1 of 1: windows of 3\d s show an overload from 5 % on"),
        (40, r"windows of 60 s show an overload from [6-9] % on"),
    ],
)
def test_a_longer_window_is_said_with_what_it_shows(tmp_path: Path, rate: float, said: str) -> None:
    run = builders.run(builders.arrivals(load={"model": "open", "rate": rate, "users": 1500}), blocks=1)
    _, text = measured(Breaking(run.blocks), tmp_path, run)
    assert re.search(said, text)


def test_closed_load_is_spread_over_the_rounds_that_the_warm_up_showed(tmp_path: Path) -> None:
    windows = {**RUN.experiment.document()["windows"], "warmup_users": 1000}
    run = builders.run(builders.experiment(windows=windows), blocks=1)
    ((block,), _) = measured(target := Breaking(run.blocks), tmp_path, run)
    warming, *others = target.paces
    assert warming == Pace(run.manifest.seed)
    rounds = others[0].rounds
    assert rounds == pytest.approx({"platform": 5004, "virtual": 1001}, rel=0.01)
    assert set(others) == {others[0]}, "trials and light load"
    assert {t.variant: t.round for t in block.trials} == {name: ms / 1000 for name, ms in rounds.items()}
    assert {t.round for t in (*block.warmup, *block.single)} == {None}


def test_closed_load_has_the_windows_of_its_experiment(tmp_path: Path) -> None:
    measured(target := Breaking(RUN.blocks), tmp_path, RUN)
    assert set(target.paces) == {Pace(RUN.manifest.seed)}


def test_what_the_other_server_still_works_on_counts() -> None:
    class Server:
        """Platform is idle; virtual works on, if anybody looked."""

        seen: float | None = 5.0
        scraped = math.inf

        def in_flight(self, variant: str, after_ms: int, until_ms: int) -> float | None:
            if variant == "platform" or not after_ms:
                return 0.0
            return self.seen if self.scraped > after_ms else None

    trials = [trial.model_copy(update={"server": {}}) for trial in RUN.blocks[0].trials[:2]]
    first, second = (
        trials[0].model_copy(update={"variant": "virtual"}),
        trials[1].model_copy(update={"variant": "platform"}),
    )
    document = K6Document(
        version=1,
        experiment="e",
        run_id="r",
        block=1,
        order=[],
        agreed=True,
        warmup=[],
        single=[],
        trials=[first, second],
    )
    server = Server()
    fill_in_flight_before(document, server, {})  # type: ignore[arg-type]
    assert first.server["in_flight_before"] == 0
    assert second.server["in_flight_before"] == 5
    server.seen = None
    fill_in_flight_before(document, server, {})  # type: ignore[arg-type]
    assert second.server["in_flight_before"] == 0, "no scrape saw it, but every answer had come"
    first.failed["timeout"] = 1
    fill_in_flight_before(document, server, {})  # type: ignore[arg-type]
    assert second.server["in_flight_before"] is None, "the server may still work on a timed-out request"
    first.failed["timeout"] = 0
    first.failed["status-500"] = 1
    fill_in_flight_before(document, server, {})  # type: ignore[arg-type]
    assert second.server["in_flight_before"] == 0, "an error status is an answer"
    first.failed_outside = 1
    fill_in_flight_before(document, server, {})  # type: ignore[arg-type]
    assert second.server["in_flight_before"] is None, "of what failed outside the window nobody knows the reason"
    fill_in_flight_before(document, server, {}, longest_ms=first.drained - first.begin + 1)  # type: ignore[arg-type]
    assert second.server["in_flight_before"] == 0, "in a phase so short nothing has timed out"
    first.failed_outside = 0
    first.given_up = 1
    fill_in_flight_before(document, server, {})  # type: ignore[arg-type]
    assert second.server["in_flight_before"] is None, "and so may one that was given up"
    first.given_up = 0
    alone = document.model_copy(update={"trials": [second]})
    server.seen = 5.0
    fill_in_flight_before(alone, server, {"virtual": first})  # type: ignore[arg-type]
    assert second.server["in_flight_before"] == 5, "of an earlier call of k6, too"
    server.seen = 1.0
    server.scraped = first.drained + 100
    fill_in_flight_before(document, server, {})  # type: ignore[arg-type]
    assert second.server["in_flight_before"] == 0, "a server ends a request a little after its answer"


def test_signals_are_held_back_within_each_other() -> None:
    came: list[int] = []
    before = signal.signal(signal.SIGTERM, lambda number, _: came.append(number))
    try:
        with processes.uninterrupted():
            with processes.uninterrupted():
                os.kill(os.getpid(), signal.SIGTERM)
            assert came == [], "the outer one holds it still"
        assert came == [signal.SIGTERM]
    finally:
        signal.signal(signal.SIGTERM, before)

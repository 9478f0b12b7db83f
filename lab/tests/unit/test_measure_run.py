"""How a run goes through its blocks. (On real targets: test_stub_block, test_faults.)"""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Sequence
from contextlib import nullcontext
from pathlib import Path

import pytest

from tests.support import recorded, replay
from tests.support.recorded_target import Playback, RecordedBlock, RecordedTarget
from tests.support.replay import GIVING_UP, RUN, SINGLE_USER_PHASE, as_recorded, console, one_block, replaying
from vtlab.analysis.statistics import stopping_rule
from vtlab.analysis.validity import checks
from vtlab.errors import InvalidRun, VariantFailed
from vtlab.host import processes
from vtlab.measuring.progress import Progress
from vtlab.model.experiment import Experiment
from vtlab.model.k6_documents import K6Document
from vtlab.model.records import Block, Trial
from vtlab.planning import trial_order
from vtlab.planning.load_call import LoadCall
from vtlab.runs import store
from vtlab.runs.measure import measure_run

__all__ = ["as_recorded"]


def test_a_signal_while_a_block_is_stored_costs_no_block(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    class Stop(Exception):
        pass

    def stop(*_: object) -> None:
        raise Stop

    def interrupted(descriptor: int) -> None:
        os.kill(os.getpid(), signal.SIGINT)

    store.create(tmp_path, RUN.manifest)
    before = signal.signal(signal.SIGINT, stop)
    monkeypatch.setattr(store.os, "fsync", interrupted)
    try:
        with pytest.raises(Stop), Progress(console()[0]) as progress:
            measure_run(tmp_path, store.read(tmp_path), replaying(RUN.blocks), progress)
    finally:
        signal.signal(signal.SIGINT, before)
    assert [block.block for block in store.read(tmp_path).blocks] == [1]


def test_without_a_drain_each_trial_is_a_call_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first, second = "virtual", "platform"
    monkeypatch.setattr(trial_order, "order", lambda *_: [first, second])
    run = replay.run(replay.experiment(windows=GIVING_UP))
    store.create(tmp_path, run.manifest)
    target = replaying(run.blocks)
    with Progress(console()[0]) as progress:
        measure_run(tmp_path, store.read(tmp_path), target, progress)
    assert target.journal.events[1:] == [
        "end of the warm-up",
        f"a single user for {SINGLE_USER_PHASE} of platform virtual",
        f"trial 1 of {first}",
        f"trial 2 of {second}",
    ]
    (block,) = store.read(tmp_path).blocks
    assert [(t.variant, t.position) for t in block.trials] == [(first, 1), (second, 2)]
    assert block.single == run.blocks[0].single


def test_too_many_rejected_blocks_end_a_run(tmp_path: Path) -> None:
    store.create(tmp_path, RUN.manifest)
    squeezed = recorded.spoiled(RUN.blocks[0], "generator")
    waited: list[float] = []
    with pytest.raises(InvalidRun, match="3 blocks were rejected"), Progress(console()[0]) as progress:
        measure_run(tmp_path, store.read(tmp_path), replaying([squeezed] * 5), progress, wait=waited.append)
    assert waited == [2.0, 4.0, 6.0]
    assert len(store.read(tmp_path).blocks) == 3, "each is kept with its reasons"


class Timed(RecordedTarget):
    """Takes ten seconds for the start, and for each call, by a clock of its own."""

    def __init__(self, blocks: Sequence[Block]) -> None:
        super().__init__(blocks, Playback(change=self._take))
        self.clock = 0.0

    def start(self, experiment: Experiment, block: int, attempt: int) -> RecordedBlock:
        self.clock += 10
        return super().start(experiment, block, attempt)

    def _take(self, call: LoadCall, document: K6Document) -> K6Document:
        self.clock += 10
        return document


@pytest.mark.parametrize("counting", [0, 1])
def test_an_attempt_that_does_not_fit_is_not_made(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, counting: int
) -> None:
    manifest = RUN.manifest.model_copy(update={"rule": stopping_rule.sequential_rule(1, within=9.0), "blocks": 12})
    store.create(tmp_path, manifest)
    block = RUN.blocks[0]
    target = Timed([block if counting else recorded.spoiled(block, "generator"), *RUN.blocks])
    monkeypatch.setattr(time, "monotonic", lambda: target.clock)
    out, text = console()
    none = nullcontext() if counting else pytest.raises(InvalidRun, match="1 block was rejected, none counts, and too")
    with none, Progress(out) as progress:
        measure_run(tmp_path, store.read(tmp_path), target, progress, wait=lambda _: None)
    assert len(store.read(tmp_path).blocks) == 1
    assert f"no further blocks: {1 + counting} would take longer than --max-time allows" in text.getvalue()


def test_the_time_of_what_is_measured_once_is_recorded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    target = Timed(replay.run().blocks)
    monkeypatch.setattr(time, "monotonic", lambda: target.clock)
    block, _ = one_block(target, tmp_path)
    # A call for single users, one for light load; start, warm-up and trials are of every block.
    assert (block.once_seconds, block.seconds) == (20.0, target.clock)
    assert block.repeated_seconds >= 30.0


class Rising(RecordedTarget):
    """Computes. Its virtual variant becomes so much faster in the first trials, and is steady in those after them."""

    def __init__(self, compilers_rest: bool) -> None:
        """``compilers_rest``: in its warm-up and in its trials."""
        super().__init__(replay.run().blocks, Playback(change=self._rise))
        self.compilers_rest = compilers_rest
        self.measured = 0

    def _rise(self, call: LoadCall, document: K6Document) -> K6Document:
        self.measured += bool(call.trial_order)
        trials = [*document.trials]
        if call.trial_order and self.measured == 1:
            last = max(i for i, t in enumerate(trials) if t.variant == "virtual")
            changed = {"throughput": trials[last].throughput * 1.12, "ok": round(trials[last].ok * 1.12)}
            trials[last] = trials[last].model_copy(update=changed)
        phases = {"warmup": document.warmup, "trials": trials}
        if self.compilers_rest:
            phases = {name: [self._at_rest(trial) for trial in phase] for name, phase in phases.items()}
        return document.model_copy(update=phases)

    @staticmethod
    def _at_rest(trial: Trial) -> Trial:
        return trial.model_copy(update={"server": {**trial.server, "jit_cpu": 0.0}, "compilers_first": True})


def test_trials_that_become_faster_are_warm_up_and_measured_once_more(tmp_path: Path) -> None:
    target = Rising(compilers_rest=True)
    block, printed = one_block(target, tmp_path)
    assert target.measured == 2
    assert "the trials became faster: they count as warm-up" in " ".join(printed.split())
    kept = block.warmup[-4:]
    assert [(t.phase, t.position) for t in kept] == [("warmup", len(block.warmup) - 3 + n) for n in range(4)]
    assert [t.variant for t in kept] == [t.variant for t in block.trials] == block.order


def test_trials_that_outgrow_the_warm_up_reject_the_attempt(tmp_path: Path) -> None:
    target = Rising(compilers_rest=False)
    run = replay.run()
    store.create(tmp_path, run.manifest.model_copy(update={"max_rejected": 0}))
    with pytest.raises(InvalidRun, match=r"rose by 1\d\.\d %"), Progress(console()[0]) as progress:
        measure_run(tmp_path, store.read(tmp_path), target, progress, wait=lambda _: None)
    assert target.measured == 1


@pytest.mark.parametrize("is_stolen", [True, False])
@pytest.mark.parametrize(
    ("disturbed_calls", "rejected", "budget"),
    [(1, [False], None), (3, [False], None), (4, [True, False], None), (1, [False], 1.0), (2, [True, False], 1.0)],
)
def test_disturbed_trials_are_measured_again_on_the_same_jvms(
    tmp_path: Path, disturbed_calls: int, rejected: list[bool], budget: float | None, is_stolen: bool
) -> None:
    """They cost 20 seconds, another block two minutes or more. Without time left for that, once."""
    changed: list[LoadCall] = []

    def disturbed(call: LoadCall, document: K6Document) -> K6Document:
        if not call.trial_order or len(changed) == disturbed_calls:
            return document
        changed.append(call)
        first, *others = document.trials
        stolen = recorded.changed_trial(first, machine={"steal": 0.02 if is_stolen else 0.0})
        # Who stands without a core also begins late.
        return document.model_copy(update={"trials": [stolen, *others], "agreed": False})

    run = replay.run(blocks=1)
    target = replaying(run.blocks * 2, change=disturbed)
    blocks, printed = replay.measured(target, tmp_path, run, budget)
    assert [bool(checks.reasons(block, run.experiment)) for block in blocks] == rejected
    assert [len(block.trials) for block in blocks] == [len(run.blocks[0].trials)] * len(blocks)
    assert printed.count("the trials are measured once more: ") == min(disturbed_calls, 3 if budget is None else 1)


def test_users_who_disagree_in_the_warm_up_cost_no_block(tmp_path: Path) -> None:
    """Seen: a block of five minutes was rejected for users who began a cycle of the warm-up half a second apart."""
    run = replay.run(blocks=1)

    def apart(call: LoadCall, document: K6Document) -> K6Document:
        return document.model_copy(update={"agreed": not call.cycles or bool(call.trial_order)})

    blocks, printed = replay.measured(replaying(run.blocks, change=apart), tmp_path, run)
    assert [checks.reasons(block, run.experiment) for block in blocks] == [[]]
    assert "measured once more" not in printed


def late_trials(seconds: float) -> Block:
    """A block whose trials were drained after so many seconds, and had every answer after their window."""
    good = replay.run().blocks[0]
    late = [
        t.model_copy(
            update={
                "ok": 0,
                "latency": recorded.latency(0, 5.0),
                "failed": {},
                "drained": t.begin + round(1000 * seconds),
            }
        )
        for t in good.trials
    ]
    return good.model_copy(update={"trials": late})


def refused_after(folder: Path, *blocks: Block) -> int:
    """Measures a run whose attempts all end so; returns how many there were."""
    store.create(folder, replay.run().manifest)
    with (
        pytest.raises(InvalidRun, match=r"no attempt can count: .*raise windows\.measure") as refused,
        Progress(console()[0]) as progress,
    ):
        measure_run(folder, store.read(folder), replaying(blocks), progress, wait=lambda _: None)
    assert refused.value.fix == "change the experiment and run it again"
    return len(store.read(folder).blocks)


def test_an_attempt_that_must_end_alike_is_not_repeated(tmp_path: Path) -> None:
    """Seen: 30 arrivals a second of 5 s and cycles of 3 s took three attempts, and no block counted."""
    assert refused_after(tmp_path, late_trials(61)) == 1, "no window is as long"


def test_late_answers_lengthen_the_windows_once(tmp_path: Path) -> None:
    assert refused_after(tmp_path, late_trials(40), late_trials(40)) == 2
    windows = store.read(tmp_path).experiment.windows
    assert (windows.warmup_load, windows.measure) == ("40s", "40s")


def test_a_block_that_no_longer_counts_is_measured_anew_by_its_number(tmp_path: Path) -> None:
    """Seen: a check had become stricter since the first call, and the block of a resumed run had the number of another
    that counted. It counted for nothing."""
    store.create(tmp_path, RUN.manifest)
    for block in (recorded.spoiled(RUN.blocks[0], "steal"), RUN.blocks[1]):
        store.append_block(tmp_path, block)
    with Progress(console()[0]) as progress:
        measure_run(tmp_path, store.read(tmp_path), replaying(RUN.blocks[:1]), progress, wait=lambda _: None)
    assert [(block.block, block.attempt) for block in store.read(tmp_path).blocks] == [(1, 1), (2, 1), (1, 2)]


def test_what_the_pre_flight_showed_is_recorded(tmp_path: Path) -> None:
    good = replay.run().blocks[0]
    seen = good.model_copy(update={"differences": ["virtual answered 500 to GET /a"]})
    block, _ = one_block(replaying([seen]), tmp_path)
    assert block.differences == ["virtual answered 500 to GET /a"]


def test_a_variant_that_has_not_been_alone_is_so_in_the_next_block(tmp_path: Path) -> None:
    store.create(tmp_path, RUN.manifest)

    target = replaying(RUN.blocks, {"warm-up": VariantFailed("virtual", "it ended with exit code 1")})
    with Progress(console()[0]) as progress:
        measure_run(tmp_path, store.read(tmp_path), target, progress)
    assert [phrase for phrase in target.journal.events if phrase.startswith("a single user")] == [
        f"a single user for {SINGLE_USER_PHASE} of platform",
        f"a single user for {SINGLE_USER_PHASE} of platform virtual",
    ]


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


def test_one_late_cycle_lengthens_the_windows_though_another_attempt_might_count(tmp_path: Path) -> None:
    """The first answers of a cold JVM came after its cycle: fresh JVMs are as cold."""
    run = replay.run()
    (good,) = run.blocks
    cold = next(t for t in good.warmup if t.variant == "virtual")
    late = {"ok": 0, "throughput": 0.0, "latency": recorded.latency(0, 5.0), "drained": cold.begin + 6000}
    warmup = [t.model_copy(update=late) if t is cold else t for t in good.warmup]
    target = replaying([good.model_copy(update={"warmup": warmup}), good])
    blocks, printed = replay.measured(target, tmp_path, run)
    assert [(block.block, block.attempt) for block in blocks] == [(1, 1), (1, 2)]
    assert store.read(tmp_path).experiment.windows.warmup_load == "6s"
    assert "from now on a warm-up cycle lasts 6s" in " ".join(printed.split())

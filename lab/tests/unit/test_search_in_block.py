"""The search for a load as the first part of the first block. (On real JVMs: tests/contract/test_try.py.)"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from tests.support import recorded, replay
from tests.support.recorded_target import Playback, RecordedBlock, RecordedTarget
from tests.support.replay import COUNTED, as_recorded, console
from tests.unit.test_load_search import Pair, growing
from vtlab.analysis.laws.single_user import response_alone
from vtlab.errors import BadInput, BlockFault, Interrupted, InvalidRun, PrerequisiteMissing, VariantFailed
from vtlab.measuring import searched_pair
from vtlab.measuring.block_state import BlockState
from vtlab.measuring.progress import Progress
from vtlab.model.curve import Curve, Point
from vtlab.model.experiment import Experiment
from vtlab.model.k6_documents import K6Document
from vtlab.model.records import Block, Failure
from vtlab.model.run import Run
from vtlab.planning.load_call import CallPacing, LoadCall
from vtlab.runs import measure, store
from vtlab.runs.measure import measure_run
from vtlab.runs.report import report_runs

__all__ = ["as_recorded"]

#: Both have their knee at 10 users: twice as many are chosen, as many as the recorded trials have.
SERVICES = dict.fromkeys(("platform", "virtual"), growing(19.5, most=195))
CHOSEN = 20
Broken = Callable[[CallPacing], None]


def unbroken(_: CallPacing) -> None:
    """Breaks nothing."""


class SearchedBlock(Pair):
    """A recorded block, on whose variants a load can be searched before."""

    def __init__(self, started: RecordedBlock, broken: Broken) -> None:
        super().__init__(SERVICES, broken)
        for name in ("block", "playback", "journal", "instances", "loaded", "_faults"):
            setattr(self, name, getattr(started, name))

    def replay(self, call: LoadCall) -> K6Document:
        return super().replay(call) if call.pacing.users else RecordedBlock.replay(self, call)


class SearchedTarget(RecordedTarget):
    """A target that starts such blocks."""

    def __init__(self, blocks: Sequence[Block], broken: Broken = unbroken, **playback: Any) -> None:
        super().__init__(blocks, Playback(**playback))
        self.broken = broken
        #: Whether the load was still to be searched at each start.
        self.starts: list[bool] = []

    def start(self, experiment: Experiment, block: int, attempt: int) -> RecordedBlock:
        self.starts.append(experiment.is_searched)
        self.journal.events.append(f"start {block}-{attempt}")
        return SearchedBlock(super().start(experiment, block, attempt), self.broken)


def searched_run(blocks: int = 1, warm_up: int = 3, **changes: Any) -> Run:
    return replay.run(replay.experiment(**{"load": {"full": "auto"}, **changes}), blocks, warm_up)


def measured(target: RecordedTarget, folder: Path, run: Run) -> tuple[Run, str]:
    """Measures a run; returns it as stored, and what was printed."""
    if not (folder / store.MANIFEST).exists():
        store.create(folder, run.manifest)
    screen, text = console()
    with Progress(screen) as progress:
        measure_run(folder, store.read(folder), target, progress, wait=lambda _: None)
    return store.read(folder), text.getvalue()


def test_the_search_is_the_first_part_of_the_first_block_on_the_same_jvms(tmp_path: Path) -> None:
    run = searched_run(blocks=2)
    finished, printed = measured(target := SearchedTarget(run.blocks), tmp_path, run)
    assert target.starts == [True, False], "the second block has fresh JVMs, and no search"
    events = target.journal.events
    chosen = events.index(f"{CHOSEN} users chosen")
    second = events.index("start 2-1")
    assert events[1:3] == ["2 trial-load cycles of platform virtual", "end of the warm-up"]
    assert events[chosen - 1].startswith("trials ")
    assert events[chosen + 1] == "3 trial-load cycles of platform virtual", "the block's own warm-up goes on"
    assert not any(call.pacing.users for call in target.journal.loads[-(len(events) - second) :])
    assert "searching load: 1 user" in printed
    assert "throughput over users, as the search saw it:" in printed
    assert f"vtlab chose {CHOSEN} users for the blocks" in printed
    assert len(finished.blocks) == 2
    first = finished.blocks[0]
    assert [trial.users for trial in first.trials] == [CHOSEN] * 4
    assert {cycle.users for cycle in first.warmup} == {CHOSEN}, "cycles of the search are not the block's"


def test_the_run_keeps_what_the_search_chose(tmp_path: Path) -> None:
    run = searched_run()
    finished, _ = measured(SearchedTarget(run.blocks), tmp_path, run)
    curve = finished.manifest.curve
    assert curve is not None
    assert (curve.chosen, curve.ended, max(curve.users)) == (CHOSEN, "levelled off", 20)
    assert finished.experiment.load.users == CHOSEN
    plan = json.loads((tmp_path / "plan.json").read_text(encoding="utf-8"))
    assert plan["load"]["users"] == CHOSEN
    lines = (tmp_path / store.SEARCH).read_text(encoding="utf-8").splitlines()
    assert len(lines) == len(curve.points)
    kept = {"experiment", "curve", "percentiles"}
    assert finished.manifest.model_dump(exclude=kept) == run.manifest.model_dump(exclude=kept)


def test_the_part_of_the_warm_up_with_more_cpu_comes_once_before_the_search(tmp_path: Path) -> None:
    run = searched_run(warm_up=5, windows={**COUNTED, "warmup_users": 20, "measure": "5s"})
    target = SearchedTarget(run.blocks, raised_cores=1.5)
    measured(target, tmp_path, run)
    events = target.journal.events
    assert events.count("raise platform virtual") == 1
    assert events.index("restore") < events.index("end of the warm-up") < events.index(f"{CHOSEN} users chosen")
    assert events[1:3] == ["raise platform virtual", "2 cheap and 0 trial-load cycles of platform virtual"]


@pytest.mark.parametrize(
    "requests",
    [
        ['POST /orders {"item": 17}'],
        ["GET /orders/17", {"PUT /orders/17": {"body": {"item": 18}}}],
        ["DELETE /orders/17"],
    ],
)
def test_requests_that_write_are_searched_on_jvms_that_the_block_does_not_use(
    tmp_path: Path, requests: list[Any]
) -> None:
    run = searched_run(warm_up=5, requests=requests, windows={**COUNTED, "warmup_users": 20, "measure": "5s"})
    target = SearchedTarget([run.blocks[0], run.blocks[0]], raised_cores=1.5)
    finished, printed = measured(target, tmp_path, run)
    assert target.starts == [True, False]
    events = target.journal.events
    second = events.index("start 1-1", 1)
    assert events.index(f"{CHOSEN} users chosen") == second - 1, "the block has nothing of the pair that was searched"
    assert [events[:second].count(event) for event in ("raise platform virtual", "restore")] == [1, 1]
    assert [events[second:].count(event) for event in ("raise platform virtual", "restore")] == [1, 1]
    assert "the block gets fresh JVMs: the requests of the search may have changed data" in printed
    (block,) = finished.blocks
    assert len(block.trials) == 4
    assert len(block.warmup) == 2 * (2 + 2), "cycles with more CPU and with the trials' load, of the fresh pair alone"


def test_a_variant_that_breaks_at_a_level_gets_a_fresh_jvm_for_the_block(tmp_path: Path) -> None:
    def broken(pacing: CallPacing) -> None:
        if 16 in pacing.users:
            raise VariantFailed("virtual", "it ended with exit code 9")

    run = searched_run()
    finished, printed = measured(target := SearchedTarget([run.blocks[0]] * 2, broken), tmp_path, run)
    assert target.starts == [True, False]
    assert "fresh JVMs: a variant failed in the search (virtual: it ended with exit code 9)" in printed
    (block,) = finished.blocks
    assert {trial.variant for trial in block.trials} == {"platform", "virtual"}
    assert block.failures == [], "what a level broke is no failure of the block"


def interrupted(call: LoadCall, document: K6Document) -> K6Document:
    """Stops a run in the first call after its search: the user saw what vtlab chose, and no block is measured."""
    if not call.pacing.users:
        raise Interrupted("interrupted by SIGINT")
    return document


@pytest.mark.parametrize("requests", [["GET /orders/17"], ['POST /orders {"item": 17}']])
def test_a_run_that_is_interrupted_after_its_search_goes_on_with_what_it_chose(
    tmp_path: Path, requests: list[str]
) -> None:
    run = searched_run(requests=requests)
    with pytest.raises(Interrupted) as ended, measure._resumable(tmp_path):
        measured(SearchedTarget([run.blocks[0]] * 2, change=interrupted), tmp_path, run)
    assert ended.value.message.endswith(f"the search and every finished block are kept in {tmp_path}")
    assert ended.value.fix == f"vtlab resume {tmp_path}"
    between, searched = store.read(tmp_path), (tmp_path / store.SEARCH).read_bytes()
    assert (between.blocks, between.experiment.load.users) == ([], CHOSEN)
    finished, printed = measured(target := SearchedTarget(run.blocks), tmp_path, run)
    assert target.starts == [False]
    assert not any(call.pacing.users for call in target.journal.loads), "no level is measured again"
    assert "searching" not in printed
    assert finished.manifest.curve == between.manifest.curve
    assert finished.experiment == between.experiment, "users, windows and ramp-up as the search chose them"
    assert (tmp_path / store.SEARCH).read_bytes() == searched
    assert [(block.block, block.attempt, block.search_seconds) for block in finished.blocks] == [(1, 1, 0.0)]


def test_a_resumed_run_plans_its_typical_load_by_the_curve(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    curves: list[Curve | None] = []
    monkeypatch.setattr(
        "vtlab.planning.typical_load.plan",
        lambda experiment, blocks, curve, at_once: curves.append(curve),
    )
    run = searched_run(load={"full": "auto", "typical": {"share": 0.6}})
    with pytest.raises(Interrupted):
        measured(SearchedTarget(run.blocks, change=interrupted), tmp_path, run)
    assert curves == []
    finished, _ = measured(SearchedTarget(run.blocks), tmp_path, run)
    assert curves == [finished.manifest.curve]
    assert finished.manifest.curve is not None


def test_a_rejected_block_costs_no_search_and_a_broken_search_is_made_again(tmp_path: Path) -> None:
    faults = [BlockFault("k6 ended with exit code 107")]

    def broken(pacing: CallPacing) -> None:
        if 8 in pacing.users and faults:
            raise faults.pop()

    run = searched_run()
    squeezed = recorded.spoiled(run.blocks[0], "generator")
    target = SearchedTarget([run.blocks[0], squeezed, run.blocks[0]], broken)
    finished, printed = measured(target, tmp_path, run)
    assert target.starts == [True, True, False]
    assert [bool(block.trials) for block in finished.blocks] == [False, True, True]
    assert "rejected: k6 ended with exit code 107" in printed


def test_a_search_is_in_the_time_of_its_attempt_alone() -> None:
    block = Block(block=1, attempt=1, order=[], seconds=300.0, once_seconds=40.0, search_seconds=60.0)
    assert (block.seconds_without_search, block.repeated_seconds) == (240.0, 200.0)


@pytest.mark.parametrize(
    ("failures", "error", "words"),
    [
        ([Failure(variant="virtual", reason="out of heap memory (64m)", moment="warm-up cycle 1")], PrerequisiteMissing,
         "virtual failed, warm-up cycle 1: out of heap memory"),
        ([], BadInput, "no request was answered as expected by virtual in the warm-up"),
    ],
)  # fmt: skip
def test_no_load_is_searched_for_some_of_the_variants(
    failures: list[Failure], error: type[Exception], words: str
) -> None:
    state = BlockState(recorded.experiment(), 1, Progress(console()[0]), "block 1", Block(block=1, attempt=1, order=[]))
    state.variants = ["platform", "virtual"]
    searched_pair.refuse_missing(state)
    state.variants.remove("virtual")
    state.block.failures = failures
    with pytest.raises(error, match=words):
        searched_pair.refuse_missing(state)


def curve(chosen: int, *users: int) -> Curve:
    of = [
        Point(variant=variant, users=level, throughput=9.0, mean=0.1, p99=None, failed=0.0)
        for level in users
        for variant in ("platform", "virtual")
    ]
    return Curve(points=of, ended="load generator", seconds=30, chosen=chosen)


def test_jvms_that_had_more_users_than_trials_and_warm_up_have_or_that_ended_are_not_kept() -> None:
    run = replay.run(replay.experiment(windows={**replay.LONG_WINDOWS, "warmup_users": 50}))
    block = RecordedTarget(run.blocks).start(run.experiment, 1, 1)
    assert searched_pair.traces(block, run.experiment, curve(64, 1, 64)) is None
    assert searched_pair.traces(block, run.experiment, curve(8, 1, 50)) is None, "the warm-up has as many"
    why = searched_pair.traces(block, run.experiment, curve(64, 1, 64, 128))
    assert why == "the search went up to 128 users, and the trials have 64"
    block.instances[0] = block.instances[0].model_copy(update={"oom_kills": 1})
    assert str(searched_pair.traces(block, run.experiment, curve(64, 1, 64))).startswith(block.instances[0].variant)


def test_jvms_that_may_still_serve_requests_of_the_search_are_not_kept() -> None:
    run = replay.run()
    block = RecordedTarget(run.blocks).start(run.experiment, 1, 1)
    levels = run.blocks[0].trials
    assert searched_pair.traces(block, run.experiment, curve(20, 1, 20), levels) is None
    lost = levels[1].model_copy(update={"completed": levels[1].started - 1})
    why = searched_pair.traces(block, run.experiment, curve(20, 1, 20), [levels[0], lost])
    assert str(why).startswith(
        f"{lost.variant} may still serve requests of the search: {lost.started:,} requests started"
    )


def test_what_ends_before_the_load_is_known_is_no_run(tmp_path: Path) -> None:
    run = searched_run()
    for name, error in (("stopped", Interrupted("interrupted by SIGINT")), ("wrong", BadInput("no answer", "mend it"))):
        folder = store.create(tmp_path / name, run.manifest)
        with pytest.raises(type(error)) as ended, measure._resumable(folder):
            raise error
        assert "vtlab resume" not in f"{ended.value} {ended.value.fix}"
        assert not (folder / store.MANIFEST).exists()
    assert not (tmp_path / "stopped").exists()
    assert (tmp_path / "wrong" / store.EXPERIMENT).exists(), "with its logs"
    assert ended.value.fix == f"mend it; logs are in {folder / 'logs'}"


def test_what_ends_later_can_be_resumed(tmp_path: Path) -> None:
    folder = store.create(tmp_path / "run", replay.run().manifest)
    for error, words in ((Interrupted("interrupted"), "vtlab resume"), (BadInput("no", "mend"), "mend; then resume")):
        with pytest.raises(type(error)) as ended, measure._resumable(folder):
            raise error
        assert ended.value.fix.startswith(words)
        assert (folder / store.MANIFEST).exists()


def test_a_run_whose_search_never_succeeds_is_given_up_with_a_report(tmp_path: Path) -> None:
    def broken(_: CallPacing) -> None:
        raise BlockFault("k6 ended with exit code 107")

    run = searched_run()
    with pytest.raises(InvalidRun, match="k6 ended with exit code 107"):
        measured(SearchedTarget([run.blocks[0]] * 4, broken), tmp_path, run)
    (analysis,) = report_runs(tmp_path, console()[0])
    assert (analysis.verdict.n, len(analysis.verdict.rejected)) == (0, 3)
    assert "k6 ended with exit code 107" in (tmp_path / "report.md").read_text(encoding="utf-8")


def test_a_single_user_of_the_search_does_not_tell_what_a_request_takes_alone() -> None:
    """Why the block measures single users again: a rule that asks whether the compilers rest would let this pass."""
    run = store.read(Path(__file__).parent / "recorded/petclinic")
    assert run.manifest.curve
    (searched,) = (point for point in run.manifest.curve.points_of("virtual") if point.users == 1)
    assert searched.jit is not None
    assert round(searched.jit, 3) == 0.006, "docs/explanation/method/block.md"
    alone = response_alone([phase for phase in run.blocks[0].single if phase.variant == "virtual"])
    assert searched.mean
    assert alone
    assert round(searched.mean, 5) == 0.00087
    assert alone / searched.mean == pytest.approx(1.12, abs=0.005)

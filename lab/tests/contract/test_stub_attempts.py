"""Attempts at a block of a service that starts at once: the warm-up's way to the trials, and variants that break."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from tests.support.experiments import stub
from tests.support.privileges import needs_root
from tests.support.runs import RunFolder
from tests.support.stalls import least_disturbed
from vtlab.analysis.validity import checks, completeness, failing
from vtlab.measuring.attempt import Attempt
from vtlab.measuring.attempt_plan import AttemptPlan
from vtlab.measuring.progress import Progress
from vtlab.model.experiment import Experiment
from vtlab.model.k6_documents import K6Document
from vtlab.model.records import Block
from vtlab.planning import trial_order, typical_load
from vtlab.planning.load_call import LoadCall
from vtlab.targets.local.block import LocalBlock

pytestmark = [pytest.mark.timeout(900), needs_root]

VARIANTS = ("platform", "virtual")


def attempted(
    folder: Path, described: Experiment, *broken: str, least: int = 1, **plan: Any
) -> tuple[Experiment, Block]:
    """An attempt at the first block, and its experiment. It is repeated in longer windows where variants that are not
    ``broken`` had phases without an OK answer, or trials with fewer than ``least``. ``plan``: other parts of its
    plan."""

    def measure(number: int) -> tuple[Experiment, Block]:
        planned = described if number == 1 else longer(described, 3 * number)
        root = folder / str(number)
        root.mkdir()
        run = RunFolder(root, planned)
        order = trial_order.order(planned.variants, 1, 1, planned.windows.trials)
        with run.target() as target:
            attempt = AttemptPlan(
                experiment=planned, seed=1, block=1, attempt=number, order=order, **{"with_single_user": True, **plan}
            )
            block, _ = Attempt(attempt, Progress(Console(quiet=True)), "stub").measure(target)
            run.look()
        run.nothing_left(*(f"service {variant}" for variant in planned.variants), "k6", "prometheus")
        return planned, block

    return least_disturbed(measure, lambda measured: unanswered(*measured, broken, least))


def longer(described: Experiment, seconds: int) -> Experiment:
    """The experiment with phases of so many seconds, and answers that may take longer than the machine stalls."""
    windows = described.windows.model_copy(update={"warmup_load": f"{seconds}s", "measure": f"{seconds}s"})
    return described.model_copy(update={"windows": windows, "max_response": "10s"})


def unanswered(planned: Experiment, block: Block, broken: Sequence[str], least: int) -> list[str]:
    """Lists what a machine that stalls makes of variants: phases without answers, of those that are to break without
    errors either, and why the others failed."""
    failures = [failure for failure in failing.failures(block, planned) if failure.variant not in broken]
    phases = [(phase, 1) for phase in (*block.warmup, *block.typical)] + [(trial, least) for trial in block.trials]
    short = [
        phase
        for phase, needed in phases
        if phase.ok < needed and not (phase.variant in broken and (any(phase.failed.values()) or phase.failed_outside))
    ]
    return [
        *(f"{phase.variant}, {phase.phase} {phase.position}: {phase.ok} answers" for phase in short),
        *(f"{failure.variant} failed, {failure.moment}: {failure.reason}" for failure in failures),
    ]


def test_trials_whose_pace_is_known_follow_the_warm_up_in_one_call_of_k6(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where the rounds of all variants are known, one call of k6 has the warm-up's own cycles and the trials."""
    calls_of: dict[int, list[tuple[int, Sequence[str]]]] = {}
    loaded = LocalBlock.load

    def load(block: LocalBlock, call: LoadCall) -> K6Document:
        calls_of.setdefault(block.start.attempt, []).append((call.trial_load_cycles, list(call.trial_order)))
        return loaded(block, call)

    monkeypatch.setattr(LocalBlock, "load", load)
    rounds = dict.fromkeys(VARIANTS, "50ms")
    paced = stub(load={"full": {"users": 10, "round": rounds}}, windows={"warmup_load": "3s"})
    _, block = attempted(tmp_path, paced)
    calls = calls_of[block.attempt]
    order = trial_order.order(paced.variants, 1, 1, 1)
    assert [trial.variant for trial in block.trials] == order
    assert calls[0] == (1, order), "a cycle that the load bounds, and then the trials"
    # However slow the machine is: the single users come last, and light load is the next block's.
    assert calls[-1] == (0, [])
    assert block.trials[0].begin >= block.warmup[-1].end


def test_typical_load_follows_the_trials_at_a_share_of_their_throughput(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Typical load of a block follows its trials, at six tenths of what the first variant serves, with probes."""
    for length in ("SHORTEST", "LONGEST"):
        monkeypatch.setattr(typical_load, length, 2.0)
    planned = stub(load={"full": {"users": 10}, "typical": {"share": 0.6}})
    _, block = attempted(tmp_path, planned)
    (trial,) = (trial for trial in block.trials if trial.variant == "platform")
    assert [phase.variant for phase in block.typical] == block.order
    assert min(phase.begin for phase in block.typical) > max(trial.drained for trial in block.trials)
    assert max(phase.drained for phase in block.typical) < min(phase.begin for phase in block.single)
    for phase in block.typical:
        assert phase.rate == pytest.approx(0.6 * trial.throughput, rel=0.005)
        assert (phase.phase, phase.window) == ("typical", 2.0)
        assert phase.answers
        assert sum(phase.answers.histogram.counts) == phase.ok > 0
        assert phase.probe
        assert phase.probe.sent + phase.probe.skipped == 10


def test_the_last_block_of_a_run_has_a_second_set_of_trials_in_the_time_that_is_left(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A block with time left has as many trials again, which mirror the first set and are complete and drained."""

    def missing(block: Block, experiment: Experiment) -> list[str]:
        """Leaves out the checks that a busy machine does not pass."""
        judged = (completeness.TRIALS, completeness.NO_REQUEST_LOST, completeness.DRAIN_MEASURED)
        return [value.reason for check in judged for value in check.beyond(block, experiment)]

    monkeypatch.setattr(checks, "reasons", missing)
    described = stub(load={"full": {"users": 10}})
    # Nothing is left once these trials are measured.
    plan = {"with_single_user": False, "idle": lambda block: 600.0 if len(block.trials) == len(VARIANTS) else 0.0}
    planned, block = attempted(tmp_path, described, **plan)
    first, second = trial_order.order(planned.variants, 1, 1, 1)
    assert [trial.variant for trial in block.trials] == block.order == [first, second, second, first]
    assert [trial.position for trial in block.trials] == [1, 2, 3, 4]
    assert missing(block, planned) == []
    assert block.diagnosis == {}


#: How one variant of a block breaks, its reason, and the moment: phases follow one another in parts of a second.
BROKEN = {
    "refusing": (
        {"STUB_REFUSES_TO_START": "many threads are not a number"},
        "it ended with exit code 1: many threads are not a number",
        "while it started",
    ),
    "dying": ({"STUB_DIE_AFTER": "20"}, "it ended with exit code 9", r"the warm-up|warm-up cycle \d"),
    "eating": (
        {"STUB_EAT_AFTER": "20"},
        "the kernel killed it at its memory limit of 64Mi",
        r"the warm-up|warm-up cycle \d|while it started",
    ),
}


def broken(variant: str, **settings: str) -> dict[str, dict[str, Any]]:
    return {variant: {"threads": "virtual", "settings": settings}}


def test_variants_that_break_leave_the_block_and_the_other_is_measured(tmp_path: Path) -> None:
    """Services that end while they start or in the warm-up are failures with their reason and moment, and the variant
    that is left is warmed up and measured."""
    properties = {
        name: of for variant, (settings, *_) in BROKEN.items() for name, of in broken(variant, **settings).items()
    }
    _, block = attempted(tmp_path, stub(variants=["platform", *BROKEN], properties=properties), *BROKEN)
    assert sorted(failure.variant for failure in block.failures) == sorted(BROKEN)
    for failure in block.failures:
        _, reason, moment = BROKEN[failure.variant]
        assert re.fullmatch(reason, failure.reason), failure
        assert re.fullmatch(moment, failure.moment), failure
    assert block.faults == []
    assert {phase.variant for phase in (*block.warmup, *block.single, *block.trials)} == {"platform"}
    assert len(block.trials) == 1
    assert block.trials[0].ok > 0


def test_a_variant_that_hangs_fails_by_its_time_outs(tmp_path: Path) -> None:
    """A service that stops answering fails by its time-outs, and the other variant is warmed up and measured."""
    # Virtual answers 40 requests, some of its warm-up; then every slot is held for ever. Each cycle takes a time-out.
    hanging = stub(
        properties=broken("virtual", STUB_HANG_AFTER="40"), max_response="500ms", windows={"warmup_cycles": 0}
    )
    planned, block = attempted(tmp_path, hanging, "virtual")
    failures = failing.failures(block, planned)
    assert {failure.variant for failure in failures} == {"virtual"}, failures
    assert any("of the answers were errors" in failure.reason for failure in failures), failures
    assert block.faults == []
    assert {trial.variant for trial in block.trials} == {"platform"}
    assert block.trials[0].ok > 0


def test_a_variant_that_answers_errors_fails_with_their_status(tmp_path: Path) -> None:
    """A service that answers nothing but errors fails with their status, and the other variant is measured."""
    planned, block = attempted(tmp_path, stub(properties=broken("virtual", STUB_STATUS="500")), "virtual")
    failures = failing.failures(block, planned)
    assert {failure.variant for failure in failures} == {"virtual"}, failures
    assert any("status-500" in failure.reason for failure in failures), failures
    assert {trial.variant for trial in block.trials} == {"platform"}


def test_errors_that_the_experiment_allows_do_not_fail_a_variant(tmp_path: Path) -> None:
    """A service that answers one error in ten does not fail where max_errors allows it, and its errors are counted."""
    allowing = stub(settings={"STUB_FAIL_EVERY": "10"}, max_errors=0.3, windows={"measure": "3s"})
    # Of a few answers the share may be any.
    planned, block = attempted(tmp_path, allowing, least=50)
    assert failing.failures(block, planned) == []
    for trial in block.trials:
        assert set(trial.failed) == {"status-500"}
        assert 0.02 < trial.failed["status-500"] / (trial.ok + trial.failed["status-500"]) < 0.3
    assert {trial.variant for trial in block.trials} == set(VARIANTS)

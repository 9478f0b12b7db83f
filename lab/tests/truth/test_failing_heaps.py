"""Heaps that are too small for 1,000 users: what a block says of the variant that dies, and of the other."""

from __future__ import annotations

from pathlib import Path

import pytest
from rich.console import Console

from tests.support.experiments import tiny
from tests.support.planted_cases import PLATFORM, VIRTUAL
from tests.support.privileges import needs_root
from tests.support.runs import RunFolder
from tests.support.short_runs import judged
from tests.support.stalls import undisturbed
from vtlab.analysis.laws.phases import mean_level
from vtlab.analysis.validity import checks, failing, generator, interference
from vtlab.measuring.attempt import Attempt
from vtlab.measuring.attempt_plan import AttemptPlan
from vtlab.measuring.progress import Progress
from vtlab.model.experiment import Experiment
from vtlab.model.records import Block
from vtlab.planning import trial_order

pytestmark = [pytest.mark.timeout(1200), needs_root]

USERS, THREADS = 1000, 200
#: Requests a second of a wait of 1 s, where the heap is large enough.
RATES = {PLATFORM: THREADS / 1.0, VIRTUAL: USERS / 1.0}
#: Checks of what something else on the machine may do.
MACHINE = (*generator.GENERATOR, interference.STEAL, interference.CORE_WAIT)
#: Share of the time in collections up to which a variant serves what its threads allow.
FEW_PAUSES = 0.03


def planned(heap: str) -> Experiment:
    """Returns an experiment with so large a heap. A round of the users of platform threads takes 5 s."""
    return tiny(
        requests=[{"path": "/thread", "query": {"duration": "1s"}}],
        load={"full": {"users": USERS, "round": {PLATFORM: "5s"}}},
        windows={"warmup_cycles": 1, "warmup_users": 20, "warmup_load": "2s", "measure": "5s"},
        limits={"heap": heap},
        max_response="15s",
    )


@pytest.mark.parametrize("heap", ["64m", "96m", "144m"])
def test_whichever_variant_dies_the_other_stands(tmp_path: Path, heap: str) -> None:
    """A variant that runs out of memory, with 1,000 users and a heap of 64 to 144 MB, fails in a block that counts. The
    other's throughput is given, and the decision follows."""
    experiment = planned(heap)

    def judge(block: Block) -> None:
        assert checks.reasons(block, experiment) == [], told(block, experiment)
        failed = failing.failed(block, experiment)
        assert VIRTUAL in failed or heap == "144m", "1,000 requests at a time do not fit into it"
        reasons = [failure.reason for failure in failing.failures(block, experiment)]
        # With little more room a variant may live on and answer too late, or with errors.
        assert any("memory" in reason for reason in reasons) or heap == "144m", told(block, experiment)
        assert not any("did not last" in reason for reason in reasons), "a JVM that ended says why"
        for name in set(experiment.variants) - failed:
            stands(block, name)
        decides(experiment, block, failed)

    with RunFolder(tmp_path, experiment).target() as target:

        def measure(attempt: int) -> Block:
            order = trial_order.order(experiment.variants, 1, 1, experiment.windows.trials)
            plan = AttemptPlan(
                experiment=experiment, seed=1, block=1, attempt=attempt, order=order, with_single_user=False
            )
            block, _ = Attempt(plan, Progress(Console(quiet=True)), "heap").measure(target)
            return block

        undisturbed(measure, judge, lambda block: by_the_machine(block, experiment))


def by_the_machine(block: Block, experiment: Experiment) -> list[str]:
    """Lists what something else on the machine did to a block. Nothing else is a reason to measure it again: in another
    attempt the heap is as small."""
    beyond = (value for check in MACHINE for value in check.beyond(block, experiment))
    return [f"{value.where}: {value.reason}" for value in beyond]


def told(block: Block, experiment: Experiment) -> str:
    """Describes a block: what failed, and each phase."""
    lines = [f"{f.variant} failed, {f.moment}: {f.reason}" for f in failing.failures(block, experiment)]
    for t in (*block.warmup, *block.trials):
        figures = {"cpu": t.server.get("cpu_cores"), "gc": t.server.get("gc_share"), "scraped": t.is_scraped}
        answers = f"{t.ok} OK of {t.completed}, {t.failed}, {t.failed_outside} outside"
        lines.append(f"{t.phase} {t.position} {t.variant}, {t.users} users: {answers}; {figures}; {t.machine}")
    return "\n".join(lines)


def stands(block: Block, variant: str) -> None:
    """Asserts that a variant has its trial, and what its threads allow where collections leave it the time."""
    (trial,) = (trial for trial in block.trials if trial.variant == variant)
    pauses = mean_level([trial], "gc_share")
    assert 0 < trial.throughput <= 1.05 * RATES[variant]
    # Where collections took all of its CPU nobody could read them.
    hindered = pauses is None or pauses > FEW_PAUSES
    assert hindered or trial.throughput == pytest.approx(RATES[variant], rel=0.1), pauses


def decides(experiment: Experiment, block: Block, failed: set[str]) -> None:
    """Asserts what follows where each of two blocks ends so."""
    analysis = judged(experiment, [block, block.model_copy(update={"block": 2})])
    (decision,) = analysis.verdict.decisions
    if len(failed) == 1:
        (loser,) = failed
        expected = "leave it off" if loser == VIRTUAL else "turn it on"
        assert (decision.advice, decision.rule, decision.loser) == (expected, 1, loser), decision
        assert decision.fault == "fails"
        (other,) = set(experiment.variants) - failed
        assert analysis.verdict.variants[other].throughput > 0
    elif failed:
        assert decision.advice == "no decision", decision

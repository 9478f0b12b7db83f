"""Runs of planted cases: a few short blocks, all of the same JVMs, and the verdict that follows from them."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from dataclasses import replace

from tests.support import recorded
from tests.support.short_lab import SHORT, Jvms, Lab, ShortBlock
from tests.support.stalls import least_disturbed, skipped_if_missed
from vtlab.analysis import verdict
from vtlab.analysis.criteria.conclusions import Conclusions, judge
from vtlab.analysis.criteria.judged import Judged
from vtlab.analysis.criteria.levels import levels_at
from vtlab.analysis.validity import checks, failing, interference, steady_state
from vtlab.analysis.variant_results import variant_result
from vtlab.model.experiment import Experiment
from vtlab.model.outcome import Key, Outcome
from vtlab.model.records import Block, Trial
from vtlab.model.run import Analysis, Run
from vtlab.planning import percentiles, trial_order

#: Cycles that only warm cold JVMs. After two, a third attempt on slow cores was not steady yet.
COLD_CYCLES = 6


@contextlib.contextmanager
def analysed(lab: Lab, jvms: Jvms, planned: Experiment, blocks: int) -> Iterator[Analysis]:
    """Analyses a run of so many blocks, measured as ``measured`` does, for the statements within the context."""
    with measured(lab, jvms, planned, blocks) as made:
        yield judged(planned, made)


@contextlib.contextmanager
def measured(lab: Lab, jvms: Jvms, planned: Experiment, blocks: int) -> Iterator[list[Block]]:
    """Measures so many blocks, the first with warm-up and single-user phases. All are of the same JVMs, so the warm-up
    of the first stands for all. As in a run, what the checks reject is measured again; so is a block in which a variant
    failed.

    Where others used the machine in the last attempt, too, its block counts here. A test whose statements within the
    context hold then passes; one whose statements do not is skipped, as a run would have rejected the block.
    """
    used: list[str] = []

    def block(wanted: ShortBlock, number: int) -> Block:
        # Others outlasted the waits of one block: the next has fewer.
        made = least_disturbed(
            lambda attempt: lab.measured(wanted, number, attempt),
            lambda made: _against(made, planned),
            attempts=2 if used else 4,
        )
        if reasons := _against(made, planned):
            checks_of_others = (interference.STEAL, interference.CORE_WAIT)
            assert any(True for check in checks_of_others for _ in check.beyond(made, planned)), reasons
            used.append("; ".join(reasons))
        return _with_the_machine_alone(made) if reasons else made

    cycles = steady_state.expected_cycles(planned, is_raised=False) + (0 if lab.are_running(jvms) else COLD_CYCLES)
    cold = ShortBlock(jvms, planned, _order(planned, 1), single=SHORT, trial_load_cycles=cycles)
    first = block(cold, 1)
    made = [first, *(block(_further(cold, first, number), number) for number in range(2, blocks + 1))]
    with skipped_if_missed(used):
        yield made


def _against(measured: Block, planned: Experiment) -> list[str]:
    """Lists the reasons for which a run would measure the block again, and the failures of variants."""
    return checks.reasons(measured, planned) + [failure.reason for failure in failing.failures(measured, planned)]


def _with_the_machine_alone(block: Block) -> Block:
    """Returns the block without the figures that tell of others: what was not measured is not judged."""

    def alone(trials: Sequence[Trial]) -> list[Trial]:
        return [
            trial.model_copy(
                update={"machine": trial.machine | {"steal": None}, "server": trial.server | {"core_wait": None}}
            )
            for trial in trials
        ]

    phases = {"warmup": block.warmup, "single": block.single, "trials": block.trials}
    return block.model_copy(update={name: alone(trials) for name, trials in phases.items()})


def concluded(lab: Lab, jvms: Jvms, planned: Experiment, blocks: int) -> tuple[Conclusions, list[Block]]:
    """Judges so many blocks without cycles under the load of the trials, whose requests take seconds: as a run they
    would not be warm enough. Returns the blocks, too."""

    def block(wanted: ShortBlock, number: int) -> Block:
        return least_disturbed(
            lambda attempt: lab.measured(wanted, number, attempt), lambda made: lab.disturbances(made, planned)
        )

    cold = ShortBlock(jvms, planned, _order(planned, 1), single=None)
    first = block(cold, 1)
    made = [first, *(block(_further(cold, first, number), number) for number in range(2, blocks + 1))]
    run = _run(planned, made)
    results = {variant: variant_result(planned, made, variant) for variant in planned.variants}
    return judge(Judged(planned, run.manifest, made, levels_at(run, blocks)), results), made


def _order(planned: Experiment, number: int) -> Sequence[str]:
    return trial_order.order(planned.variants, 1, number, 1)


def _further(cold: ShortBlock, first: Block, number: int) -> ShortBlock:
    """Returns a further block of the JVMs that the first has warmed."""
    return replace(cold, order=_order(cold.planned, number), single=None, warmed=first.warmup)


def judged(planned: Experiment, blocks: list[Block]) -> Analysis:
    """Analyses a run of these blocks, whose number was fixed."""
    (analysis,) = verdict.analyse_all([_run(planned, blocks)])
    return analysis


def _run(planned: Experiment, blocks: list[Block]) -> Run:
    shown = percentiles.of_loads(planned, blocks[0], None)
    manifest = recorded.manifest(planned, blocks=len(blocks), percentiles=shown, rule=None, typical=None)
    return Run(manifest, planned, blocks, {})


def outcome(analysis: Analysis, name: str) -> Outcome:
    """Returns an outcome of the run's only pair by its name, as of assertions: ``tail.full``."""
    return next(o for o in analysis.verdict.outcomes if str(o.key) == name)


def judgements(analysis: Analysis) -> dict[str, str | None]:
    """Returns what each criterion of the run's only pair is judged, by its name."""
    return {str(o.key): o.judgement for o in analysis.verdict.outcomes}


def names(keys: list[Key]) -> list[str]:
    """Returns criteria by their names."""
    return [str(key) for key in keys]

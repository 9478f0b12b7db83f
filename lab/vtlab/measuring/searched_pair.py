"""The variants on which a load is searched: whether all are there, and whether the search left traces in them."""

from __future__ import annotations

from collections.abc import Sequence

from vtlab.analysis.validity.completeness import NO_REQUEST_LOST
from vtlab.errors import BadInput, PrerequisiteMissing
from vtlab.measuring.block_state import BlockState
from vtlab.model import units
from vtlab.model.curve import Curve
from vtlab.model.experiment import Experiment
from vtlab.model.records import Block, Trial
from vtlab.report.words import figures
from vtlab.targets.protocol import StartedBlock


def refuse_missing(state: BlockState) -> None:
    """Raises PrerequisiteMissing where a variant failed before the search, BadInput where one answered nothing as
    expected in the warm-up: a load is searched for all variants."""
    if failures := state.block.failures:
        raise PrerequisiteMissing(
            "no load can be searched: " + "; ".join(f"{f.variant} failed, {f.moment}: {f.reason}" for f in failures),
            f"give it more memory, or measure with fewer users: {_fewer_users(state.experiment)}",
        )
    if silent := [variant for variant in state.experiment.variants if variant not in state.variants]:
        raise BadInput(
            f"no request was answered as expected by {' and '.join(silent)} in the warm-up",
            "correct the request, or name the expected answer in a file: expect: {status: 201}",
        )


def refuse_without_levels(curve: Curve, experiment: Experiment) -> None:
    """Raises PrerequisiteMissing where a variant broke before any level was measured. BadInput where nothing was
    answered as expected, and where every variant answered with errors: they are the service's, whatever its threads."""
    if curve.ended == "failed" and not curve.points:
        raise PrerequisiteMissing(
            f"{curve.why}, after a warm-up with at most {experiment.windows.warmup_users} users",
            f"give it more memory, or measure with fewer users: {_fewer_users(experiment)}",
        )
    if not any(point.throughput for point in curve.points):
        raise BadInput(
            f"no request was answered as expected: {curve.why or 'there was no answer'}",
            "correct the request, or name the expected answer in a file: expect: {status: 201}",
        )
    last = [curve.points_of(variant)[-1] for variant in experiment.variants if curve.points_of(variant)]
    if curve.ended != "failed" or not last or min(point.failed for point in last) <= experiment.max_errors:
        return
    shares = figures.listed([f"{units.percent(point.failed, 1)} by {point.variant}" for point in last])
    raise BadInput(
        f"answers are errors at {last[0].users} users: {shares}",
        "find the cause, or allow errors in the file: max_errors: 0.02",
    )


def traces(started: StartedBlock, experiment: Experiment, curve: Curve, levels: Sequence[Trial] = ()) -> str | None:
    """Says why a block cannot go on with the variants of its search; None where it can. ``levels``: its trials, of
    which the block's own check asks whether each request came to its end.

    BlockFault where the target cannot tell whether they still run.
    """
    if found := traces_of(experiment, curve):
        return found
    searched = Block(block=1, attempt=1, order=[], trials=list(levels))
    if lost := next(NO_REQUEST_LOST.beyond(searched, experiment), None):
        return f"{lost.variant} may still serve requests of the search: {lost.reason}"
    broken = [i.variant for i in started.check_instances() if not i.alive or i.oom_kills]
    return f"{' and '.join(broken)} ended, or had a process killed for lack of memory" if broken else None


def traces_of(experiment: Experiment, curve: Curve) -> str | None:
    """Says the same by what the search measured."""
    if experiment.workload.is_writing:
        return "the requests of the search may have changed data"
    if curve.ended == "failed":
        return f"a variant failed in the search ({curve.why})"
    highest = max(curve.users)
    if highest > max(curve.chosen, experiment.windows.warmup_users):
        return f"the search went up to {highest:,} users, and the trials have {curve.chosen:,}"
    return None


def _fewer_users(experiment: Experiment) -> str:
    return f"--users {max(2, experiment.windows.warmup_users // 4)}"

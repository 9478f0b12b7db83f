"""Status of a run: which of its blocks count, what ends it, and whether it has ended."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass

from vtlab.analysis.criteria import outcomes, prospects
from vtlab.analysis.criteria.judged import Judged
from vtlab.analysis.criteria.levels import levels_at
from vtlab.analysis.statistics import stopping_rule
from vtlab.analysis.validity import checks, failing
from vtlab.model.experiment import Experiment
from vtlab.model.outcome import Outcome
from vtlab.model.records import Block
from vtlab.model.run import Run
from vtlab.model.verdict import Rejection, RunEnd

#: Blocks in which a variant must have failed, at least and all of the first so many, for the run to end.
BLOCKS_THAT_FAILED = 3


@dataclass(frozen=True)
class RunStatus:
    """Blocks of a run that count, and its end."""

    #: Reasons against each block of the run, in its order.
    reasons: list[list[str]]
    #: Where its blocks without a reason against them are, the first of each number.
    sound: list[int]
    end: RunEnd | None


def status_of(run: Run) -> RunStatus:
    """Judges every block of the run."""
    reasons = [checks.reasons(block, run.experiment) for block in run.blocks]
    first: dict[int, int] = {}
    for index, block in enumerate(run.blocks):
        if not reasons[index]:
            first.setdefault(block.block, index)
    sound = list(first.values())
    return RunStatus(reasons, sound, _run_end(run, sound))


def _run_end(run: Run, sound: Sequence[int]) -> RunEnd | None:
    rule = run.manifest.rule
    if rule is None:
        return None
    blocks = [run.blocks[index] for index in sound]

    told = stopping_rule.Blocks(
        claims=lambda look: claims_so_far(run, blocks[:look]),
        fails=lambda look: is_ended_by_failing(run.experiment, blocks[:look]),
        chance=lambda claim, blocks: prospects.chance(rule, claim, blocks),
    )
    return stopping_rule.run_end(rule, _times(run, sound), told)


def claims_so_far(run: Run, accepted: Sequence[Block]) -> list[Outcome]:
    """Judges the claims of a run by these blocks, with the intervals of the look that they reach."""
    return outcomes.claims(Judged(run.experiment, run.manifest, accepted, levels_at(run, len(accepted))))


def time_now(run: Run, status: RunStatus) -> stopping_rule.Time:
    """Returns the seconds that a run has taken so far, and that another block of it takes."""
    return _times(run, status.sound)[-1]


def _times(run: Run, sound: Sequence[int]) -> list[stopping_rule.Time]:
    """Computes the seconds spent and the seconds expected for another block: when the run began, and after each block
    that counts with the attempts that followed it."""
    times = []
    for begin, end in itertools.pairwise([-1, *sound, len(run.blocks)]):
        spent = sum(block.seconds or 0.0 for block in run.blocks[:end])
        if begin >= 0:
            another = run.blocks[begin].repeated_seconds
        else:
            # What is measured once has not been yet. An attempt may have ended early: the longest tells more.
            another = max((block.seconds_without_search for block in run.blocks[:end]), default=0.0)
        times.append(stopping_rule.Time(spent, another))
    return times


def run_end(run: Run) -> RunEnd | None:
    """Decides at which look a run ended, or how far it is; None where its number of blocks was fixed."""
    return status_of(run).end


def select_blocks(run: Run, status: RunStatus) -> tuple[list[Block], list[Rejection]]:
    """Selects the blocks that count: the first of those without a reason against them, one per block number.

    Any further block is set aside with that reason, so that measuring on cannot change a verdict.
    """
    most = status.end.blocks if status.end else run.manifest.blocks
    counting = set(status.sound[:most])
    rejected: list[Rejection] = []
    for index, (block, reasons) in enumerate(zip(run.blocks, status.reasons, strict=True)):
        if index in counting:
            continue
        if not reasons and index in status.sound:
            reasons = [f"the run already has its {most} blocks"]
        elif not reasons:
            reasons = ["an earlier attempt at this block already counts"]
        rejected.append(Rejection(block=block.block, attempt=block.attempt, reasons=reasons))
    return [run.blocks[index] for index in sorted(counting)], rejected


def blocks_left(run: Run, status: RunStatus | None = None) -> int:
    """Counts the blocks that the run still needs, in all or up to its next look; 0 where it has ended. ``status``: of
    the run, where it is known."""
    status = status or status_of(run)
    rule, reached = run.manifest.rule, status.end
    if rule and reached:
        return 0 if reached.ended else stopping_rule.next_look(rule.looks, reached.blocks) - reached.blocks
    accepted = [run.blocks[index] for index in status.sound]
    return 0 if is_ended_by_failing(run.experiment, accepted) else max(0, run.manifest.blocks - len(accepted))


def is_ended_by_failing(experiment: Experiment, accepted: Sequence[Block]) -> bool:
    """Tells whether further blocks are not needed: in every pair one of the two failed in all of the first three
    blocks that count."""
    first = [failing.failed(block, experiment) for block in accepted[:BLOCKS_THAT_FAILED]]
    always = set.intersection(*first) if len(first) == BLOCKS_THAT_FAILED else set()
    over, *others = experiment.variants
    return over in always or always.issuperset(others)

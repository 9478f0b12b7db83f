"""Plan of a run's time: the blocks that fit into it, and the precision that they will give."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from vtlab.analysis import run_status
from vtlab.analysis.criteria import prospects
from vtlab.analysis.run_status import RunStatus
from vtlab.analysis.statistics import stopping_rule
from vtlab.model.manifest import SequentialRule
from vtlab.model.outcome import Outcome
from vtlab.model.records import Block
from vtlab.model.run import Run

#: Seconds of a call beside its attempts, and by which they may differ: in the time that is proposed for another call.
MARGIN = 30.0


@dataclass(frozen=True)
class TimePlan:
    """Blocks that fit into the time of a run, up to a look at them."""

    #: Number of blocks, with those that count so far, and seconds until then.
    blocks: int
    seconds: float
    #: Half-width that the interval of ``capacity`` most likely has then, 0.05 for 5 %; None where nothing tells it.
    precision: float | None
    #: Blocks of the next look, the seconds that it takes beyond the time of the run, and minutes of a run that has time
    #: for it; None, 0 and 0 after the last look.
    following: int | None = None
    lacking: float = 0.0
    minutes: int = 0


def plan(run: Run, status: RunStatus) -> TimePlan | None:
    """Plans the blocks of a run that has counting ones and a time budget; None of any other, and where it has ended for
    another reason than its time."""
    rule, blocks = run.manifest.rule, len(status.sound)
    is_open = status.end is not None and status.end.ended in (None, "within")
    if rule is None or rule.within is None or not blocks or not is_open:
        return None
    time = run_status.time_now(run, status)
    ahead = [look for look in rule.looks if look > blocks]
    seconds_at = {look: (look - blocks) * time.block for look in ahead}
    fitting = [look for look in ahead if time.spent + seconds_at[look] <= rule.within]
    last = max(fitting, default=blocks)
    following = next((look for look in ahead if look not in fitting), None)
    needed = time.spent + seconds_at[following] if following else rule.within
    claims = run_status.claims_so_far(run, [run.blocks[index] for index in status.sound])
    return TimePlan(
        blocks=last,
        seconds=seconds_at.get(last, 0.0),
        precision=_precision(rule, claims, last),
        following=following,
        lacking=needed - rule.within,
        minutes=math.ceil((needed + MARGIN) / 60) if following else 0,
    )


def _precision(rule: SequentialRule, claims: Sequence[Outcome], blocks: int) -> float | None:
    capacity = next((claim for claim in claims if claim.key.criterion == "capacity"), None)
    return prospects.half_width(rule, capacity, blocks) if capacity else None


def idle_seconds(run: Run, block: Block) -> float:
    """Returns the seconds that a run leaves idle where an attempt at a block, which took as long as it says so far,
    counts and is the last: no further block fits then. 0 where one does, and without a time budget.

    ``run``: with the attempts before it. Only the clock decides, never what a block shows. Time to repeat the attempt
    is kept, where there is so much.
    """
    rule = run.manifest.rule
    if rule is None or rule.within is None:
        return 0.0
    spent = sum(attempt.seconds or 0.0 for attempt in [*run.blocks, block])
    time = stopping_rule.Time(spent, block.repeated_seconds)
    if stopping_rule.fits(rule, block.block, time):
        return 0.0
    left = rule.within - spent
    return max(0.0, left - time.block if left >= time.block else left)

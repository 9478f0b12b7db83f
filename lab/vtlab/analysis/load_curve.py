"""Levels of users that a search asks for, and what its curve tells. Pure functions.

Sources
    [1] P. Denning, J. Buzen: The Operational Analysis of Queueing Network Models. ACM Computing Surveys 10 (1978).
        (asymptotic bounds: throughput grows as N X(1) up to N* = X_max / X(1) users, and not beyond X_max)
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

from vtlab.model.curve import Curve, Point

#: Twice the users that raise throughput by less than that share over the best before: the variant has levelled off.
LEVELLED = 0.1
#: Variants whose throughputs differ by less than that at a level agree there: one window of two seconds tells no more.
AGREE = 0.1
#: Share of the CPU limit that the JIT compiler may take from the requests of a level that tells a difference: what it
#: takes from one variant alone is no more than what counts as one.
MOST_JIT = AGREE
#: Users at most.
MOST_USERS = 4096
#: Levels between the last where the variants agree and the first where they part.
BETWEEN = 2
#: Users of the blocks, in knees: well beyond the larger one, so that what limits the variants shows.
KNEES = 2.0


def next_users(points: Sequence[Point], variants: Sequence[str], warmed: int = 1) -> list[int]:
    """Chooses the users of the next levels while they are doubled: from one on until no variant serves 10 % more than
    with fewer users. Several at once while they take little: each call of k6 takes some seconds. Empty where the end is
    reached, or ``MOST_USERS``.

    No level has more users than the levels so far would choose, but up to ``warmed``, with which the variants were
    warmed up: the trials follow on the same JVMs, and more users would leave larger heaps and pools.
    """
    levels = sorted({point.users for point in points})
    if not levels:
        return [1]
    if len(levels) > 1 and all(_has_levelled_off(points, variant, levels) for variant in variants):
        return []
    last, most = levels[-1], min(MOST_USERS, max(warmed, chosen_users(points, variants)))
    at_once = 3 if last < 32 else 2 if last < 128 else 1
    doubled = [users for step in range(1, at_once + 1) if (users := last * 2**step) <= most]
    return doubled or ([most] if most > last else [])


def _has_levelled_off(points: Sequence[Point], variant: str, levels: Sequence[int]) -> bool:
    """Compares the last level with the best before: a rise from a level that was low by chance is none."""
    *before, last = (_throughput(points, variant, users) for users in levels)
    best = max((rate for rate in before if rate is not None), default=None)
    return best is not None and last is not None and last < (1 + LEVELLED) * best


def _throughput(points: Sequence[Point], variant: str, users: int) -> float | None:
    return next((p.throughput for p in points if p.variant == variant and p.users == users), None)


def levels_of_parting(points: Sequence[Point], variants: Sequence[str]) -> tuple[int, int] | None:
    """Finds the last level up to which the first two variants agree, and the next, from which on they never do again;
    None where they agree at the last level, or at none."""
    levels = sorted({point.users for point in points})
    agree = [_agree(points, variants, users) for users in levels]
    if not agree or agree[-1] or True not in agree:
        return None
    last = max(index for index, same in enumerate(agree) if same)
    return levels[last], levels[last + 1]


def _agree(points: Sequence[Point], variants: Sequence[str], users: int) -> bool:
    """Tells whether throughputs differ by less than ``AGREE`` and one answer of the fewest: a window cuts one off."""
    level = {p.variant: p for p in points if p.users == users and p.variant in variants[:2]}
    rates = [level[variant].throughput if variant in level else 0.0 for variant in variants[:2]]
    fewest = min((point.answers for point in level.values()), default=0)
    return max(rates) <= (1 + AGREE + (1 / fewest if fewest else 0)) * min(rates)


def levels_between(points: Sequence[Point], variants: Sequence[str]) -> list[int]:
    """Chooses two more levels where the variants part, evenly on a logarithmic scale; fewer where there are no whole
    numbers of users between."""
    edges = levels_of_parting(points, variants)
    if edges is None:
        return []
    low, high = edges
    levels = {round(low * (high / low) ** (step / (BETWEEN + 1))) for step in range(1, BETWEEN + 1)}
    return sorted(level for level in levels if low < level < high)


def knee(points: Sequence[Point], variant: str) -> float | None:
    """Computes N*, the users from which on the variant cannot serve more, its largest throughput over that of a single
    user [1]; None where a single user got no answer."""
    single_user_throughput = _throughput(points, variant, 1)
    most = max((p.throughput for p in points if p.variant == variant), default=0.0)
    return most / single_user_throughput if single_user_throughput else None


def bounds(points: Sequence[Point], variant: str) -> list[tuple[float, float]]:
    """Computes the corners of a variant's asymptotic bounds [1], as users and requests per second: N times the
    throughput of a single user, up to the most that was served. Empty where a single user got no answer."""
    single_user_throughput, end = _throughput(points, variant, 1), knee(points, variant)
    if not single_user_throughput or end is None:
        return []
    last = max(p.users for p in points if p.variant == variant)
    corners = [(1.0, single_user_throughput), (end, single_user_throughput * end)]
    return [*corners, (float(last), single_user_throughput * end)] if last > end else corners


def chosen_users(points: Sequence[Point], variants: Sequence[str], sound: int | None = None) -> int:
    """Chooses the users of the blocks: twice the larger knee, in two digits; with at least two, so that there is a
    queue, and at most the largest level that was measured without a failure of a variant, twice. ``sound``: the most
    users that the load generator could send, where it came to its end; with more no block would count."""
    knees = [users for variant in variants if (users := knee(points, variant)) is not None]
    most = 2 * max((point.users for point in points), default=1) if sound is None else sound
    return min(max(2, _two_digits(KNEES * max(knees, default=1.0))), max(2, most))


def _two_digits(value: float) -> int:
    unit = int(10 ** max(0, math.floor(math.log10(value)) - 1))
    return math.ceil(round(value / unit, 6)) * unit


@dataclass(frozen=True)
class Stretch:
    """Levels next to each other with one outcome, from ``low`` to ``high`` users."""

    low: int
    high: int
    #: Which of the first two variants serves more; None where no difference is clear.
    better: str | None


def stretches(curve: Curve, variants: Sequence[str]) -> list[Stretch]:
    """Joins the levels of a curve at which both of the first two variants were measured, and which serves more there.

    A window of two seconds scatters by a tenth and more, as of a service that computes. So what a level shows that
    neither the one before nor the one after it does is taken for chance; the first and the last stand as they are.
    Levels of variants that were not compiled (``cold_levels``) tell nothing.
    """
    levels = _outcomes(curve, variants)
    merged: list[Stretch] = []
    for index, outcome in enumerate(levels):
        neighbours = {other.better for other in levels[max(0, index - 1) : index + 2] if other is not outcome}
        is_between = 0 < index < len(levels) - 1
        better = outcome.better if not is_between or outcome.better in neighbours else None
        if merged and merged[-1].better == better:
            merged[-1] = replace(merged[-1], high=outcome.high)
        else:
            merged.append(replace(outcome, better=better))
    return merged


def cold_levels(curve: Curve, variants: Sequence[str]) -> list[int]:
    """Lists the levels at which the JIT compiler of one of the first two variants took more than ``MOST_JIT`` from the
    requests."""
    cold = {p.users for p in curve.points if p.variant in variants[:2] and (p.jit or 0.0) > MOST_JIT}
    return sorted(cold)


def _outcomes(curve: Curve, variants: Sequence[str]) -> list[Stretch]:
    """Judges each level by itself."""
    outcomes: list[Stretch] = []
    cold = cold_levels(curve, variants)
    for users in curve.users:
        if users in cold or any(_throughput(curve.points, variant, users) is None for variant in variants[:2]):
            continue
        better = None
        if not _agree(curve.points, variants, users):
            better = max(variants[:2], key=lambda variant: _throughput(curve.points, variant, users) or 0.0)
        outcomes.append(Stretch(users, users, better))
    return outcomes

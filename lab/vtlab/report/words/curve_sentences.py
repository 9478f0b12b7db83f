"""A search's curve in words: where the variants part, why the search ended, and what it chose."""

from __future__ import annotations

from collections.abc import Sequence

from vtlab.analysis import load_curve as curves
from vtlab.model import units
from vtlab.model.curve import Curve
from vtlab.model.run import Analysis
from vtlab.model.verdict import Comparison
from vtlab.report.words import bottlenecks, figures, phrases

#: Cells of a bar, and parts of one that a character shows.
_BAR, _PARTS = 10, " ▏▎▍▌▋▊▉█"
_ENDED = {
    "levelled off": "no variant serves more with more users",
    "load generator": "the load generator could not send more",
    "failed": "a variant failed",
    "time": "the time for the search was over",
    "most users": f"vtlab asks for {curves.MOST_USERS:,} users at most",
}


def lines(curve: Curve, variants: Sequence[str]) -> list[str]:
    """Draws the curve for a terminal: a line for each level, and what was chosen."""
    width = max(len(variant) for variant in variants) + 24 + _BAR
    rows = ["users  " + "".join(f"{variant:<{width}}" for variant in variants)]
    for users in curve.users:
        cells = [_cell(curve, variant, users) for variant in variants]
        rows.append(f"{users:>5,}  " + "".join(f"{cell:<{width}}" for cell in cells))
    return [*(row.rstrip() for row in rows), *sentences(curve, variants)]


def sentences(curve: Curve, variants: Sequence[str]) -> list[str]:
    """Says where the variants part, why the search ended, and what it chose."""
    why = f": {curve.why}" if curve.why else ""
    # A curve that did not level off has no knee.
    users = "twice the knee" if curve.ended == "levelled off" else "as far as the search came; more may show more"
    return [
        where_variants_part(curve, variants),
        f"The search ended after {curve.seconds:.0f} s: {_ENDED[curve.ended]}{why}. It had one pair of JVMs, and one"
        " window a level: no interval.",
        f"The blocks have {curve.chosen:,} users, as vtlab chose: {users}.",
    ]


def where_variants_part(curve: Curve, variants: Sequence[str]) -> str:
    """Says up to which users no difference of the first two variants is clear, and from which on one serves more; else
    all levels at which one does. Says why, where levels tell nothing."""
    cold = curves.cold_levels(curve, variants)
    if not cold:
        return _settled_levels(curve, variants)
    share = max(point.jit or 0.0 for point in curve.points if point.variant in variants[:2])
    jit_sentence = f"the JIT compilers took up to {units.percent(share)} of the CPU limit from the requests"
    if not curves.stretches(curve, variants):
        return f"Which variant serves more the curve cannot tell: {jit_sentence}."
    return f"{_settled_levels(curve, variants)} {_with_users(cold)} the curve cannot tell: {jit_sentence}."


def _with_users(levels: Sequence[int]) -> str:
    """Begins a sentence about levels: ``With 1, 2 and 4 users``."""
    return "With a single user" if levels == [1] else f"With {figures.listed([f'{n:,}' for n in levels])} users"


def _settled_levels(curve: Curve, variants: Sequence[str]) -> str:
    match curves.stretches(curve, variants):
        case []:
            return "No level was measured."
        case [curves.Stretch(_, last, None)]:
            return f"Up to {_users(last)} the search saw no clear difference."
        case [curves.Stretch(first, _, str(better))]:
            return f"From {_users(first)} on {better} serves more."
        case [curves.Stretch(_, last, None), curves.Stretch(first, _, str(better))]:
            up_to = "With a single user" if last == 1 else f"Up to about {last:,} users"
            return f"{up_to} no clear difference, from about {first:,} on {better} serves more."
        case outcomes:
            levels = [_levels(curve, outcomes, variant) for variant in variants[:2]]
            text = f"Which variant serves more changes with the users: {', '.join(filter(None, levels))}"
            is_all = all(outcome.better for outcome in outcomes)
            return f"{text}." if is_all else f"{text}; with the others there is no clear difference."


def _levels(curve: Curve, outcomes: Sequence[curves.Stretch], variant: str) -> str:
    """Names the levels at which a variant serves more; empty where it does at none."""
    better = [outcome for outcome in outcomes if outcome.better == variant]
    levels = [f"{users:,}" for users in curve.users if any(o.low <= users <= o.high for o in better)]
    return f"{variant} with {figures.listed(levels)} user{'' if levels == ['1'] else 's'}" if levels else ""


def _users(count: int) -> str:
    return "a single user" if count == 1 else f"{count:,} users"


def decision_sentence(analysis: Analysis) -> str | None:
    """Says where the variants part, by the curve; then by how much and what limits the better one, where the blocks
    show a difference. None for a run whose load vtlab did not search."""
    curve, c = analysis.run.manifest.curve, analysis.verdict.primary_comparison
    if curve is None:
        return None
    parted = where_variants_part(curve, analysis.run.experiment.variants)
    if c.ratio is None or c.low is None or c.high is None:
        return parted
    if c.verdict not in ("faster", "slower"):
        unsettled = _without_winner(analysis, c, (c.low, c.high))
        return f"{parted} At {curve.chosen:,} users {unsettled}.{_with_more_users(curve, [c.over, c.of])}"
    return f"{parted} At {curve.chosen:,} users {_with_winner(analysis, c, (c.ratio, c.low, c.high))}."


def _without_winner(analysis: Analysis, c: Comparison, interval: tuple[float, float]) -> str:
    """Says what the blocks show where no variant is better."""
    low, high = interval
    beyond = f"a difference, but not clearly beyond {units.percent(analysis.verdict.margin)}"
    difference = phrases.no_difference(c.metric, low, high) if low <= 1 <= high else beyond
    return f"the blocks show {difference} ({figures.interval(low, high)}, {_blocks(analysis)})"


def _with_winner(analysis: Analysis, c: Comparison, interval: tuple[float, float, float]) -> str:
    """Says by how much one variant is better, and what limits it."""
    ratio, low, high = interval
    if c.verdict == "slower":
        ratio, low, high = 1 / ratio, 1 / high, 1 / low
    better = c.of if c.verdict == "faster" else c.over
    at_least = "at least " if c.is_lower_bound else ""
    result = analysis.verdict.variants[better]
    shared = [result.bottleneck.resource, *result.bottleneck.together]
    limit = figures.listed([bottlenecks.described(result, resource, analysis.run.experiment) for resource in shared])
    return (
        f"{better} serves {at_least}{figures.significant(ratio)} times as much"
        f" ({figures.significant(low)} to {figures.significant(high)}, {_blocks(analysis)}). Limited then by {limit}"
    )


def _blocks(analysis: Analysis) -> str:
    n = analysis.verdict.n
    return f"{n} block" + ("" if n == 1 else "s")


def _with_more_users(curve: Curve, variants: Sequence[str]) -> str:
    """Says how to measure where one variant serves more by the curve, but with more users than the blocks had."""
    last = next(reversed(curves.stretches(curve, variants)), None)
    if last is None or last.better is None or last.low <= curve.chosen:
        return ""
    # For one level nobody knows whether it is chance; and the last may be the one at which k6 or a variant failed.
    if last.low == last.high or curve.ended in ("load generator", "failed"):
        return ""
    return f" With more users the curve has {last.better} ahead: --users {last.low} measures there."


def _cell(curve: Curve, variant: str, users: int) -> str:
    point = next((p for p in curve.points if p.variant == variant and p.users == users), None)
    if point is None:
        return figures.DASH
    most = max(p.throughput for p in curve.points)
    bar = _bar(point.throughput / most) if most else ""
    return f"{bar:<{_BAR}} {figures.rate(point.throughput)}, mean {figures.duration(point.mean)}"


def _bar(share: float) -> str:
    """Draws a share as a bar, in eighths of a character."""
    eighths = round(8 * _BAR * share)
    return (_PARTS[-1] * (eighths // 8) + _PARTS[eighths % 8]).strip()

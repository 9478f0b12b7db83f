"""A search's curve in words: where the variants part, why the search ended, and what it chose."""

from __future__ import annotations

from collections.abc import Sequence

from vtlab.analysis import load_curve as curves
from vtlab.model import units
from vtlab.model.curve import Curve
from vtlab.model.run import Analysis
from vtlab.report.words import figures

#: Cells of a bar, and parts of one that a character shows.
_BAR, _PARTS = 10, " ▏▎▍▌▋▊▉█"
_ENDED = {
    "levelled off": "no variant serves more with more users",
    "load generator": "the load generator could not send more",
    "failed": "a variant failed",
    "time": "the time for the search was up",
    "most users": f"{curves.MOST_USERS:,} users are the maximum",
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
    return [
        _parted_in_its_pair(curve, variants),
        f"The search ended after {curve.seconds:.0f} s: {_ENDED[curve.ended]}{why}. It used one pair of JVMs and one"
        " window per level, so it has no interval.",
        f"vtlab chose {curve.chosen:,} users for the blocks: {_reason(curve)}.",
    ]


def _reason(curve: Curve) -> str:
    """Says why the blocks have so many users; a curve that did not level off has no knee."""
    if curve.ended == "levelled off":
        return "twice the knee"
    return f"the search ended at {max(curve.users):,}; more users may show more"


def _parted_in_its_pair(curve: Curve, variants: Sequence[str]) -> str:
    """Says where the variants part; of a difference, that one pair of JVMs had it, for others differ."""
    parted = where_variants_part(curve, variants)
    if not any(stretch.better for stretch in curves.stretches(curve, variants)):
        return parted
    return f"In the search's one pair of JVMs: {parted[0].lower()}{parted[1:]}"


def where_variants_part(curve: Curve, variants: Sequence[str]) -> str:
    """Says up to which users no difference of the first two variants is clear, and from which on one serves more; else
    all levels at which one does. Says why, where levels tell nothing."""
    cold = curves.cold_levels(curve, variants)
    if not cold:
        return _settled_levels(curve, variants)
    share = max(point.jit or 0.0 for point in curve.points if point.variant in variants[:2])
    jit_sentence = f"the JIT compilers took up to {units.percent(share)} of the CPU limit from the requests"
    if not curves.stretches(curve, variants):
        return f"The curve does not show which variant serves more: {jit_sentence}."
    return f"{_settled_levels(curve, variants)} {_with_users(cold)} the curve does not show it: {jit_sentence}."


def _with_users(levels: Sequence[int]) -> str:
    """Begins a sentence about levels: ``With 1, 2 and 4 users``."""
    return "With a single user" if levels == [1] else f"With {figures.listed([f'{n:,}' for n in levels])} users"


def _settled_levels(curve: Curve, variants: Sequence[str]) -> str:
    match curves.stretches(curve, variants):
        case []:
            return "No level was measured."
        case [curves.Stretch(_, last, None)]:
            return f"The search saw no clear difference up to {_users(last)}."
        case [curves.Stretch(_, _, str(better)) as stretch]:
            return f"{_range(stretch, curve)}, {better} serves more."
        case [curves.Stretch(_, last, None), curves.Stretch(_, _, str(better)) as stretch]:
            up_to = "with a single user" if last == 1 else f"up to about {last:,} users"
            where = _range(stretch, curve, "about ")
            return f"No clear difference {up_to}; {where[0].lower()}{where[1:]}, {better} serves more."
        case outcomes:
            levels = [_levels(curve, outcomes, variant) for variant in variants[:2]]
            text = f"Which variant serves more depends on the users: {', '.join(filter(None, levels))}"
            is_all = all(outcome.better for outcome in outcomes)
            return f"{text}." if is_all else f"{text}; no clear difference at the other levels."


def _range(stretch: curves.Stretch, curve: Curve, about: str = "") -> str:
    """Names the levels of the last stretch: upward only where it reaches the highest level of the search, above which
    a cold level may be."""
    if stretch.high == max(curve.users):
        return f"From {about}{_users(stretch.low)} upward"
    one = f"{about}{_users(stretch.low)}"
    return f"With {one}" if stretch.low == stretch.high else f"From {about}{stretch.low:,} to {stretch.high:,} users"


def _levels(curve: Curve, outcomes: Sequence[curves.Stretch], variant: str) -> str:
    """Names the levels at which a variant serves more; empty where it does at none."""
    better = [outcome for outcome in outcomes if outcome.better == variant]
    levels = [f"{users:,}" for users in curve.users if any(o.low <= users <= o.high for o in better)]
    return f"{variant} with {figures.listed(levels)} user{'' if levels == ['1'] else 's'}" if levels else ""


def _users(count: int) -> str:
    return "a single user" if count == 1 else f"{count:,} users"


def decision_sentence(analysis: Analysis) -> str | None:
    """Says where the variants part, by the curve: of its one pair of JVMs, for others differ, and whether the blocks
    contradict it. None for a run whose load vtlab did not search."""
    curve = analysis.run.manifest.curve
    if curve is None:
        return None
    variants = analysis.run.experiment.variants
    text = _parted_in_its_pair(curve, variants)
    shown = _more_by_blocks(analysis)
    last = next(reversed(curves.stretches(curve, variants)), None)
    if shown is None or last is None or last.better in (None, shown):
        return text
    return f"{text} The blocks do not show that at {_users(curve.chosen)}."


def _more_by_blocks(analysis: Analysis) -> str | None:
    """Returns the variant that serves more in the blocks, of the first two; empty where that is the same, None where it
    is undecided."""
    first, second = analysis.run.experiment.variants[:2]
    capacity = (
        o for o in analysis.verdict.outcomes if o.key.criterion == "capacity" and {o.over, o.of} == {first, second}
    )
    outcome = next(capacity, None)
    if outcome is None:
        return None
    return {"better": outcome.of, "same": "", "worse": outcome.over}.get(outcome.judgement or "")


def users_that_part(analysis: Analysis) -> int | None:
    """Returns the users from which on one variant serves more by the curve, where these are more than the blocks had;
    None where the curve shows none."""
    curve = analysis.run.manifest.curve
    last = next(reversed(curves.stretches(curve, analysis.run.experiment.variants)), None) if curve else None
    if curve is None or last is None or last.better is None or last.low <= curve.chosen:
        return None
    # For one level nobody knows whether it is chance; and the last may be the one at which k6 or a variant failed.
    if last.low == last.high or curve.ended in ("load generator", "failed"):
        return None
    return last.low


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

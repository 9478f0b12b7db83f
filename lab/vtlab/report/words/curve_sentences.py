"""A search's curve in words, as a table and as a picture."""

from __future__ import annotations

from collections.abc import Sequence

from markupsafe import Markup

from vtlab.analysis import load_curve as curves
from vtlab.model import units
from vtlab.model.curve import Curve
from vtlab.model.run import Analysis
from vtlab.report.charts import svg
from vtlab.report.parts.part import Table
from vtlab.report.words import bottlenecks, figures
from vtlab.report.words import headline as words

#: Cells of a bar, and parts of one that a character shows.
_BAR, _PARTS = 10, " ▏▎▍▌▋▊▉█"
#: Of the picture.
LAWS = "Thin lines are the law: so many times the throughput of a single user, up to the most that was served."
_ENDED = {
    "levelled off": "no variant serves more with more users",
    "load generator": "the load generator could not send more",
    "failed": "a variant failed",
    "time": "the time for the search was over",
    "most users": f"vtlab asks for {curves.MOST_USERS:,} users at most",
}


def lines(curve: Curve, variants: Sequence[str]) -> list[str]:
    """The curve for a terminal: a line for each level, and what was chosen."""
    width = max(len(variant) for variant in variants) + 24 + _BAR
    rows = ["users  " + "".join(f"{variant:<{width}}" for variant in variants)]
    for users in curve.users:
        cells = [_cell(curve, variant, users) for variant in variants]
        rows.append(f"{users:>5,}  " + "".join(f"{cell:<{width}}" for cell in cells))
    return [*(row.rstrip() for row in rows), *sentences(curve, variants)]


def sentences(curve: Curve, variants: Sequence[str]) -> list[str]:
    """Where the variants part, why the search ended, and what it chose."""
    why = f": {curve.why}" if curve.why else ""
    # What did not level off has no knee.
    users = "twice the knee" if curve.ended == "levelled off" else "as far as the search came; more may show more"
    return [
        parts(curve, variants),
        f"The search ended after {curve.seconds:.0f} s: {_ENDED[curve.ended]}{why}. It had one pair of JVMs, and one"
        " window a level: no interval.",
        f"The blocks have {curve.chosen:,} users, as vtlab chose: {users}.",
    ]


def parts(curve: Curve, variants: Sequence[str]) -> str:
    """Up to which users no difference of the first two variants is clear, and from which on one serves more; else all
    levels at which one does. Of levels that tell nothing, why."""
    cold = curves.cold_levels(curve, variants)
    if not cold:
        return _told(curve, variants)
    share = max(point.jit or 0.0 for point in curve.points if point.variant in variants[:2])
    taken = f"the JIT compilers took up to {units.percent(share)} of the CPU limit from the requests"
    if not curves.stretches(curve, variants):
        return f"Which variant serves more the curve cannot tell: {taken}."
    return f"{_told(curve, variants)} {_at(cold)} the curve cannot tell: {taken}."


def _at(levels: Sequence[int]) -> str:
    """``With 1, 2 and 4 users``."""
    return "With a single user" if levels == [1] else f"With {figures.listed([f'{n:,}' for n in levels])} users"


def _told(curve: Curve, variants: Sequence[str]) -> str:
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
    """At which levels a variant serves more; empty where at none."""
    better = [outcome for outcome in outcomes if outcome.better == variant]
    levels = [f"{users:,}" for users in curve.users if any(o.low <= users <= o.high for o in better)]
    return f"{variant} with {figures.listed(levels)} user{'' if levels == ['1'] else 's'}" if levels else ""


def _users(count: int) -> str:
    return "a single user" if count == 1 else f"{count:,} users"


def table(curve: Curve, variants: Sequence[str]) -> Table:
    """Throughput and latency of every level."""
    header = ["users", *(f"{variant}, {what}" for variant in variants for what in ("requests/s", "mean", "p99"))]
    rows = []
    for users in curve.users:
        by_variant = {p.variant: p for p in curve.points if p.users == users}
        row = [f"{users:,}"]
        for variant in variants:
            point = by_variant.get(variant)
            row += (
                [figures.rate(point.throughput), figures.duration(point.mean), figures.duration(point.p99)]
                if point
                else [figures.DASH] * 3
            )
        rows.append(row)
    caption = "Throughput and latency over users: one pair of JVMs, one window a level"
    return Table(caption, header, rows, numeric=tuple(range(len(header))))


def picture(curve: Curve, variants: Sequence[str]) -> Markup:
    """Throughput over users, both logarithmic."""
    left, top, width, height = 56.0, 12.0, svg.WIDTH - 76.0, 220.0
    points = [p for p in curve.points if p.throughput > 0]
    if not points:
        return Markup("")
    users = [p.users for p in points]
    rates = [p.throughput for p in points]
    x = svg.Scale(min(users), max(*users, min(users) + 1), left, left + width, log=True)
    ticks = svg.log_ticks(min(rates) / 1.1, max(rates) * 1.1)
    # From tick to tick: a tick beyond the scale would stand on its edge, where another value is.
    y = svg.Scale(ticks[0], ticks[-1], top + height, top, log=True)
    drawn: list[str] = []
    for tick in ticks:
        drawn += [
            svg.line(left, y(tick), left + width, y(tick), "grid"),
            svg.text(left - 6, y(tick) + 4, f"{tick:g}" if tick < 1 else f"{tick:,.0f}", "end", "tick"),
        ]
    for level in curve.users:
        if level in users:
            drawn.append(svg.text(x(level), top + height + 16, svg.number(level), "middle", "tick"))
    for slot, variant in enumerate(variants):
        law = [(x(users), y(rate)) for users, rate in curves.bounds(curve.points, variant)]
        drawn += [svg.path(law, f"law v{slot}")] if law else []
        of = [p for p in curve.points_of(variant) if p.throughput > 0]
        drawn.append(svg.path([(x(p.users), y(p.throughput)) for p in of], f"line v{slot}"))
        drawn += [
            svg.mark(
                slot,
                x(p.users),
                y(p.throughput),
                4,
                f"v{slot} solid",
                f"{variant}, {p.users:,} users: {figures.rate(p.throughput)}",
            )
            for p in of
        ]
    drawn.append(svg.text(left + width / 2, top + height + 34, "users", "middle", "tick"))
    description = " ".join([*sentences(curve, variants), LAWS])
    return svg.chart(top + height + 42, "Requests per second over users", description, *drawn)


def decision(analysis: Analysis) -> str | None:
    """Where the variants part, by the curve; by how much then and what limits the better one, where the blocks show a
    difference. None for a run whose load vtlab did not search."""
    curve, verdict = analysis.run.manifest.curve, analysis.verdict
    if curve is None:
        return None
    parted = parts(curve, analysis.run.experiment.variants)
    c = verdict.primary_comparison
    if c.ratio is None or c.low is None or c.high is None:
        return parted
    blocks = f"{verdict.n} block" + ("" if verdict.n == 1 else "s")
    if c.verdict not in ("faster", "slower"):
        interval = figures.interval(c.low, c.high)
        beyond = f"a difference, but not clearly beyond {units.percent(verdict.margin)}"
        difference = words.no_difference(c.metric, c.low, c.high) if c.low <= 1 <= c.high else beyond
        more = _with_more_users(curve, [c.over, c.of])
        return f"{parted} At {curve.chosen:,} users the blocks show {difference} ({interval}, {blocks}).{more}"
    better, ratio, low, high = (
        (c.of, c.ratio, c.low, c.high) if c.verdict == "faster" else (c.over, 1 / c.ratio, 1 / c.high, 1 / c.low)
    )
    least = "at least " if c.is_lower_bound else ""
    result = verdict.variants[better]
    shared = [result.bottleneck.resource, *result.bottleneck.together]
    limit = figures.listed([bottlenecks.described(result, resource, analysis.run.experiment) for resource in shared])
    return (
        f"{parted} At {curve.chosen:,} users {better} serves {least}{figures.significant(ratio)} times as much"
        f" ({figures.significant(low)} to {figures.significant(high)}, {blocks}). Limited then by {limit}."
    )


def _with_more_users(curve: Curve, variants: Sequence[str]) -> str:
    """Where one variant serves more by the curve, but with more users than the blocks had: how to measure there."""
    last = next(reversed(curves.stretches(curve, variants)), None)
    if last is None or last.better is None or last.low <= curve.chosen:
        return ""
    # Of one level nobody knows whether it is chance; and the last may be the one at which k6 or a variant failed.
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
    """A share as a bar, in eighths of a character."""
    eighths = round(8 * _BAR * share)
    return (_PARTS[-1] * (eighths // 8) + _PARTS[eighths % 8]).strip()

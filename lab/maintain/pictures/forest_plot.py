"""Forest plots of ``docs/evidence/measured.md``: every measured run by criterion, and the runs that had throughput
alone."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from markupsafe import Markup

from maintain.measured_page import Compared, Drawn, Measured
from maintain.pictures.page import document
from vtlab.model.outcome import Judgement
from vtlab.report.charts.forest import TONES
from vtlab.report.charts.svg import circle, element, line, rect, text

BY_CRITERION = "docs/images/measured-by-criterion.svg"
THROUGHPUT = "docs/images/measured-throughput.svg"
_COLUMNS: Mapping[str, tuple[str, str]] = {
    "capacity": ("capacity", "full load"),
    "median": ("median", "typical load"),
    "tail": ("tail", "typical load"),
    "median.full": ("median", "full load"),
    "tail.full": ("tail", "full load"),
    "cpu": ("cpu", "typical load"),
    "memory": ("memory", "both loads"),
}
_LABEL, _CELL, _ROW, _TOP = 214.0, 106.0, 34.0, 68.0
_HALF = 40.0
#: Ends of the axes: factors by which a variant is better or worse.
_NEAR, _FAR = 2.0, 20.0
#: Judgements of runs of versions before 0.3.
_JUDGED: Mapping[str, Judgement] = {"▲": "better", "▼": "worse", "=": "same", "?": "undecided"}
_DESCRIPTION = (
    "To the right of the middle the second variant is better, to the left worse. A line is the 95 % interval, a grey "
    "band the margin within which differences do not matter, an arrow goes beyond the axis, a hollow dot is undecided."
)


@dataclass(frozen=True)
class _Axis:
    middle: float
    half: float
    end: float

    def __call__(self, factor: float) -> float:
        part = max(-1.0, min(1.0, math.log(factor) / math.log(self.end)))
        return self.middle + part * self.half


def by_criterion(runs: Sequence[Measured]) -> str:
    """Draws a row for each pair of a run, and a column for each criterion at its load."""
    pairs = [(run, pair) for run in runs for pair in run.pairs if any(o.drawn for o in pair.outcomes)]
    bottom = _TOP + _ROW * len(pairs)
    width = _LABEL + _CELL * len(_COLUMNS) + 8
    parts = [
        text(8, 24, "Measured runs by criterion", class_="head"),
        text(width - 8, 24, "← worse | better →, by which factor", "end", "tick"),
        *_heads(bottom),
    ]
    for number, (run, pair) in enumerate(pairs):
        y = _TOP + _ROW * number
        parts.append(text(8, y + 15, run.experiment, class_="label"))
        parts.append(text(8, y + 28, f"{pair.of} over {pair.over} · {run.limits.split(',')[0]}", class_="tick"))
        drawn = {outcome.drawn.key: outcome.drawn for outcome in pair.outcomes if outcome.drawn}
        for place, key in enumerate(_COLUMNS):
            parts += _cell(_axis(place), y, drawn.get(key))
    described = "; ".join(f"{run.experiment}, {pair.of} over {pair.over}: {pair.decision}" for run, pair in pairs)
    return document((width, bottom + 26), "Measured runs by criterion", f"{_DESCRIPTION} {described}", *parts)


def _axis(place: int) -> _Axis:
    return _Axis(_LABEL + _CELL * (place + 0.5), _HALF, _NEAR)


def _heads(bottom: float) -> Iterator[Markup]:
    """Draws the heads of the columns, and the lines of their axes."""
    for place, (criterion, load) in enumerate(_COLUMNS.values()):
        axis = _axis(place)
        yield text(axis.middle, 44, criterion, "middle", "label")
        yield text(axis.middle, 58, load, "middle", "tick")
        for factor, label in ((1 / _NEAR, "2×"), (1.0, "1"), (_NEAR, "2×")):
            yield line(axis(factor), _TOP, axis(factor), bottom, "one" if factor == 1 else "grid")
            yield text(axis(factor), bottom + 15, label, "middle", "tick")


def _cell(axis: _Axis, y: float, drawn: Drawn | None) -> Iterator[Markup]:
    """Draws an outcome, with its factor above it where it is better or worse."""
    if drawn is None:
        yield text(axis.middle, y + 21, "–", "middle", "tick")
        return
    yield from _marks(axis, y + 22, drawn)
    if drawn.judgement in ("better", "worse"):
        beyond = "≥ " if drawn.is_lower_bound else ""
        factor = max(drawn.factor, 1 / drawn.factor)
        x = min(max(axis(drawn.factor), axis.middle - _HALF + 16), axis.middle + _HALF - 16)
        tone = f"tick toned {TONES[drawn.judgement]}"
        yield text(x, y + 12, f"{beyond}{factor:.2f}×", "middle", tone)


def _marks(axis: _Axis, y: float, drawn: Drawn) -> Iterator[Markup]:
    """Draws margin, interval and estimate; an arrow where one goes beyond the axis."""
    tone = TONES[drawn.judgement]
    low, high = axis(1 / (1 + drawn.margin)), axis(1 + drawn.margin)
    yield rect(low, y - 8, high - low, 16, "margin")
    yield line(axis(drawn.low), y, axis(drawn.high), y, f"whisker {tone}")
    for end, way in ((drawn.low, -1), (drawn.high, 1)):
        if not 1 / axis.end <= end <= axis.end:
            yield _arrow(axis(end), y, math.copysign(1, math.log(end)), tone)
        else:
            yield line(axis(end), y - way * 4, axis(end), y + way * 4, f"whisker {tone}")
    if 1 / axis.end <= drawn.factor <= axis.end:
        is_settled = drawn.judgement in ("better", "worse", "same")
        yield circle(axis(drawn.factor), y, 3.6, f"estimate {'' if is_settled else 'hollow '}{tone}")


def _arrow(x: float, y: float, way: float, tone: str) -> Markup:
    return element(
        "polygon", points=f"{x:.1f},{y - 4:.1f} {x + 7 * way:.1f},{y:.1f} {x:.1f},{y + 4:.1f}", class_=f"arrow {tone}"
    )


def throughput(runs: Sequence[Measured]) -> str:
    """Draws a row for each comparison that judged throughput alone, as versions before 0.3 did."""
    rows = [(run, c, factor) for run in runs for c in run.comparisons if (factor := _throughput(c))]
    rows.sort(key=lambda row: -row[2].factor)
    row, top = 22.0, 66.0
    bottom, axis = top + row * len(rows), _Axis(596, 240, _FAR)
    title = "Throughput in the runs that judged it alone"
    parts = [text(8, 24, title, class_="head")]
    parts += [text(axis(1 / _FAR), 50, "← less", class_="tick"), text(axis(_FAR), 50, "more →", "end", "tick")]
    for tick in (1 / _FAR, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0, _FAR):
        parts.append(line(axis(tick), top - 6, axis(tick), bottom, "one" if tick == 1 else "grid"))
        parts.append(text(axis(tick), bottom + 15, f"{tick:g}×", "middle", "tick"))
    for number, (run, compared, drawn) in enumerate(rows):
        y = top + row * (number + 0.5)
        parts.append(text(8, y + 4, f"{run.experiment}: {compared.of} over {compared.over}", class_="label"))
        parts += _marks(axis, y, drawn)
    described = "; ".join(f"{run.experiment}, {c.of} over {c.over}: {c.ratio} ({c.interval})" for run, c, _ in rows)
    return document((856, bottom + 26), title, f"{_DESCRIPTION} {described}", *parts)


def _throughput(compared: Compared) -> Drawn | None:
    """Reads the figures of a comparison, as its report printed them; None where it has no interval."""
    ends = [float(number) for number in re.findall(r"(\d+(?:\.\d+)?)×", compared.interval)]
    ratio = re.search(r"(\d+(?:\.\d+)?)×", compared.ratio)
    if compared.metric != "throughput" or len(ends) != 2 or not ratio or min(ends) <= 0:
        return None
    return Drawn(
        key="capacity",
        factor=float(ratio.group(1)),
        low=ends[0],
        high=ends[1],
        margin=0.05,
        judgement=_JUDGED.get(compared.verdict[:1]),
        is_lower_bound="≥" in compared.ratio,
    )

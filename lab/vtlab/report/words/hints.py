"""Why a run ended undecided, whether it was a quick look, and how long blocks take."""

from __future__ import annotations

import math
import statistics

from vtlab.model.blocks import FULL_RUN
from vtlab.model.run import Analysis
from vtlab.model.units import percent
from vtlab.model.verdict import RunEnd


def ending(end: RunEnd | None) -> str | None:
    """Says why a run ended without a verdict; None where its number of blocks was fixed."""
    if end is None:
        return None
    most = end.looks[-1]
    if end.ended == "within":
        return "Stopped: too little time left for another block (--max-time)."
    if end.ended == "futile":
        return f"Stopped early: even {most} blocks would settle it with a probability below {_below(end)}."
    return f"Not settled after {most} blocks, the maximum of a run."


def _below(end: RunEnd) -> str:
    """Rounds the probability that more blocks settle the verdict up to whole percent."""
    return percent(max(0.01, math.ceil(100 * (end.chance or 0.0)) / 100))


def quick_look(analysis: Analysis) -> str | None:
    """Says that this was a quick look, and how long a full run takes; None for six blocks and more."""
    verdict = analysis.verdict
    if not verdict.quick:
        return None
    blocks = f"{verdict.n} block{'' if verdict.n == 1 else 's'}"
    text = f"Quick look: {blocks} instead of the {FULL_RUN} of a full run"
    if seconds := seconds_of(analysis, FULL_RUN):
        text += f", which takes about {time_in_words(seconds)}"
    return text + "."


def seconds_of(analysis: Analysis, blocks: int) -> float | None:
    """Predicts how long that many blocks take, each as long as the median, with what every run measures once; None
    where no length was recorded."""
    measured = [block for block in analysis.accepted or analysis.run.blocks if block.trials]
    lengths = [block.repeated_seconds for block in measured if block.seconds]
    return blocks * statistics.median(lengths) + _extra_seconds(analysis) if lengths else None


def _extra_seconds(analysis: Analysis) -> float:
    """Sums the seconds of the phases that every run measures once: single users, light load, and a trial of each
    variant with dumps. A second set of trials is not among them: it only uses time that is left over."""
    blocks = analysis.accepted
    once = [trials for b in blocks for trials in (b.single, b.light) if trials]
    phases = [(max(t.drained for t in each) - min(t.begin for t in each)) / 1000 for each in once]
    dumped = {variant for b in blocks for variant in b.diagnosis}
    trials = [max((t.drained - t.begin) / 1000 for b in blocks for t in b.trials if t.variant == v) for v in dumped]
    return sum(phases) + sum(trials)


def time_in_words(seconds: float) -> str:
    """Puts a length of time into words: ``40 seconds``, ``1 minute``, ``12 minutes``, ``2.5 hours``."""
    for least, unit, digits in ((7200.0, 3600.0, 1), (59.5, 60.0, 0)):
        if seconds >= least:
            number = f"{seconds / unit:.{digits}f}".removesuffix(".0")
            word = "hour" if unit == 3600 else "minute"
            return f"{number} {word}" + ("" if number == "1" else "s")
    return f"{max(1, round(seconds))} second" + ("" if round(seconds) <= 1 else "s")

"""Advice about a verdict that is not clear, and how long it takes to follow."""

from __future__ import annotations

import math
import statistics

from vtlab.model.blocks import FULL_RUN
from vtlab.model.records import Block, is_cold
from vtlab.model.run import Analysis
from vtlab.model.units import percent
from vtlab.model.verdict import Comparison, RunEnd


def hint(analysis: Analysis) -> str | None:
    """Says what to do about an inconclusive verdict, and how long that takes, or about a variant that was not warm;
    None for any other verdict."""
    v, c = analysis.verdict, analysis.verdict.primary_comparison
    longer = "More warm-up cycles may help: raise windows.max_cycles."
    cold = any(is_cold(v.variants[variant].failures) for variant in (c.of, c.over))
    if c.verdict != "inconclusive":
        return longer if c.verdict == "fails" and cold else None
    if not v.valid:
        return "The report says why blocks were rejected." if v.rejected else "vtlab resume measures missing blocks."
    if len(c.overloaded) > 1:
        return "Lower the rate until one of the two keeps up."
    if cold:
        return longer
    if any(v.variants[variant].failed_blocks for variant in (c.of, c.over)):
        return "Measure more blocks: a variant fails if it failed in at least two of them and in more than half."
    if v.n < 2:
        return _after_one_block(analysis)
    if c.overloaded:
        return f"Lower the rate until {c.overloaded[0]} keeps up in every block."
    why = ending(v.end)
    return f"{why} {_settling(analysis, c)}" if why else _settling(analysis, c)


def _after_one_block(analysis: Analysis) -> str:
    """Says what to do where there is no interval."""
    v = analysis.verdict
    if v.end is None:
        return "Run at least two blocks, better six."
    seconds = seconds_of(analysis, 2)
    takes = f" Two blocks take about {time_in_words(seconds)}." if seconds else ""
    return f"{ending(v.end)}{takes}"


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


def _settling(analysis: Analysis, c: Comparison) -> str:
    """Says how many blocks would settle a verdict, and how long they take; or that they cannot."""
    v = analysis.verdict
    if c.blocks_needed is not None:
        seconds = seconds_of(analysis, c.blocks_needed)
        takes = f", in about {time_in_words(seconds)}" if seconds else ""
        return f"A new run of {c.blocks_needed} blocks would probably settle it{takes} (--blocks {c.blocks_needed})."
    return (
        f"Judging by {v.n} blocks, this machine cannot settle it: the difference is too close to the margin of"
        f" {percent(v.margin)}, or the blocks differ too much."
    )


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
    """Predicts how long that many blocks take, with what a run measures once; None before the first."""
    length = _block_length(analysis)
    return blocks * length + _extra_seconds(analysis) if length else None


def _block_length(analysis: Analysis) -> float | None:
    """Returns the seconds that a block takes, the median."""
    lengths = [_seconds(b) for b in analysis.accepted or analysis.run.blocks if b.trials]
    return statistics.median(lengths) if lengths else None


def _seconds(block: Block) -> float:
    """Measures a block from the first warm-up to the last answer, and the start of its JVMs before."""
    phases = [*block.warmup, *block.single, *block.trials, *block.typical]
    measured = (max(t.drained for t in phases) - min(t.begin for t in phases)) / 1000
    return measured + sum(i.started_in for i in block.instances)


def _extra_seconds(analysis: Analysis) -> float:
    """Sums the seconds of the phases that a run measures once: light load, and a trial of each variant with dumps."""
    blocks = analysis.accepted
    light = [(max(t.drained for t in b.light) - min(t.begin for t in b.light)) / 1000 for b in blocks if b.light]
    dumped = {variant for b in blocks for variant in b.diagnosis}
    trials = [max((t.drained - t.begin) / 1000 for b in blocks for t in b.trials if t.variant == v) for v in dumped]
    return sum(light) + sum(trials)


def time_in_words(seconds: float) -> str:
    """Puts a length of time into words: ``40 seconds``, ``1 minute``, ``12 minutes``, ``2.5 hours``."""
    for least, unit, digits in ((7200.0, 3600.0, 1), (59.5, 60.0, 0)):
        if seconds >= least:
            number = f"{seconds / unit:.{digits}f}".removesuffix(".0")
            word = "hour" if unit == 3600 else "minute"
            return f"{number} {word}" + ("" if number == "1" else "s")
    return f"{max(1, round(seconds))} second" + ("" if round(seconds) <= 1 else "s")

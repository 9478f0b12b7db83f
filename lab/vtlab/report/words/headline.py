"""The verdict of a run as a word and as one line."""

from __future__ import annotations

from vtlab.model.load import ClosedLoad
from vtlab.model.records import is_cold
from vtlab.model.run import Analysis
from vtlab.model.verdict import Comparison, VariantResult, Verdict
from vtlab.report.words import bottlenecks, figures
from vtlab.report.words.failures import failed_share, failure, share_of_starts
from vtlab.report.words.load_limit import limited_by_load
from vtlab.report.words.phrases import (
    BOTH_COLD,
    COLD,
    SYMBOLS,
    change,
    inside_sentence,
    load_words,
    subject,
    verb,
)


def label(analysis: Analysis) -> str:
    """Puts the verdict into a word, with its symbol: ``▲ faster``."""
    c = analysis.verdict.primary_comparison
    outcome = c.verdict or "inconclusive"
    by_overload = c.ratio is None and outcome in ("faster", "slower")
    return f"{SYMBOLS[outcome]} {outcome}" + (" (overloaded)" if by_overload else "")


def headline(analysis: Analysis) -> str:
    """Puts the verdict into one line, to stand next to its label: ``Virtual threads: throughput 4.98× (4.77–5.21)``."""
    v, c = analysis.verdict, analysis.verdict.primary_comparison
    if c.verdict == "fails":
        return _fails(v, c)
    if c.verdict == "inconclusive":
        return _inconclusive(v, c)
    if c.ratio is None:
        return _by_overload(v, c)
    text = f"{subject(c.of)}: {change(c)}"
    if c.verdict == "equivalent":
        return "; ".join(filter(None, [text, limited_by_load(analysis, (c.over, c.of))]))
    return f"{text}; {_lower_bound(analysis, c)}" if c.is_lower_bound else text


def _by_overload(v: Verdict, c: Comparison) -> str:
    """Says which variant does not keep up with the arrivals, and by how much."""
    down = c.over if c.verdict == "faster" else c.of
    return f"{subject(down)} {verb(down, 'are')} {_overloaded(v.variants[down])}"


def _lower_bound(analysis: Analysis, c: Comparison) -> str:
    """Says why the true difference can be larger: the load ran out, or overloaded a variant."""
    if c.overloaded:
        lost = figures.listed([inside_sentence(variant) for variant in c.overloaded])
        return f"at least that much, because {lost} {verb(c.overloaded[0], 'are')} overloaded in some trials"
    experiment = analysis.run.experiment
    load = f"the {load_words(experiment)}" if isinstance(experiment.load, ClosedLoad) else "the arrivals"
    return f"{load} ran out first"


def _overloaded(result: VariantResult) -> str:
    return f"overloaded: {bottlenecks.growing(result.growth)}" if result.growth is not None else "overloaded"


def broken_blocks(v: Verdict, c: Comparison) -> str:
    """Says that a variant failed in blocks that count, or was cold in them; empty where none did."""
    failed = [v.variants[variant].failures for variant in (c.of, c.over) if v.variants[variant].failed_blocks]
    if not failed:
        return ""
    fault = "was not warm" if all(map(is_cold, failed)) else "failed"
    return f"a variant {fault} in " + ("some blocks" if v.n > 1 else "the only block")


def _inconclusive(v: Verdict, c: Comparison) -> str:
    if broken := broken_blocks(v, c):
        counts = ", ".join(_count(v, variant) for variant in (c.of, c.over))
        return f"No verdict, because {broken}: {counts}"
    if c.ratio is None:
        if len(c.overloaded) > 1:
            states = "; ".join(f"{variant} is {_overloaded(v.variants[variant])}" for variant in (c.over, c.of))
            return f"Neither keeps up with the arrivals: {states}"
        return f"{subject(c.of)}: no comparison"
    if c.low is None or c.high is None:
        return f"{subject(c.of)}: {change(c)} in a single block"
    return f"{subject(c.of)}: {change(c)}" + ("" if v.valid else ", with blocks missing")


def _fails(v: Verdict, c: Comparison) -> str:
    failing = [variant for variant in (c.of, c.over) if variant in c.fails]
    if len(failing) > 1 and all(is_cold(v.variants[variant].failures) for variant in failing):
        return f"{BOTH_COLD}: {figures.listed([_count(v, variant) for variant in failing])}"
    if len(failing) > 1:
        return "both fail under this load: " + "; ".join(f"{variant}, {failure(v, variant)}" for variant in failing)
    failed = failing[0]
    other = c.over if failed == c.of else c.of
    survivor = v.variants[other]
    failures = v.variants[failed].failures
    if is_cold(failures):
        text = f"{failed} {COLD} {failed_share(v, failed)}"
    else:
        colon = ":" if len({f.reason for f in failures}) == 1 else ""
        text = f"{failed} fails under this load{colon} {failure(v, failed)}"
    text += f"; {other}, {survivor.failed_blocks} of {v.n}"
    return text + (f", serves {figures.rate(survivor.throughput)}" if survivor.throughput else "")


def _count(v: Verdict, variant: str) -> str:
    result = v.variants[variant]
    return f"{variant} in {result.failed_blocks} of {v.n}{share_of_starts(result)}"

"""Sentences below a verdict's headline: its evidence, or what to do where there is no verdict."""

from __future__ import annotations

from vtlab.analysis.statistics import stopping_rule
from vtlab.model.experiment import MAX_ERRORS, Experiment
from vtlab.model.run import Analysis
from vtlab.model.units import percent
from vtlab.model.verdict import Comparison, Verdict
from vtlab.report.words import bottlenecks, figures, headline, hints, phrases


def sentences(analysis: Analysis) -> list[str]:
    """Explains the evidence of the headline, or what to do where there is no verdict."""
    v, c = analysis.verdict, analysis.verdict.primary_comparison
    texts = [
        comparison_sentence(analysis),
        _wide_interval(v, c),
        *(_failures(v, variant) for variant in (c.of, c.over)),
        _errors(v, (c.over, c.of), analysis.run.experiment),
        hints.hint(analysis),
    ]
    return [text for text in texts if text]


def comparison_sentence(analysis: Analysis) -> str | None:
    """Says what the headline's figure rests on: confidence, blocks, margin, any overload; with the figure itself where
    the headline says failures instead. None where failing decided, and nothing else is known."""
    v, c = analysis.verdict, analysis.verdict.primary_comparison
    if c.ratio is None:
        return _without_ratio(analysis)
    texts = []
    if c.verdict == "fails" or headline.broken_blocks(v, c):
        texts.append(f"{_capitalised(phrases.change(c))} in the blocks in which neither failed.")
    if c.low is not None:
        margin = f"differences up to {percent(v.margin)} are too small to matter"
        texts.append(f"{percent(v.confidence)} interval {_over_blocks(v, c)}; {margin}.")
    if c.overloaded:
        texts.append(
            f"In some blocks {figures.listed(c.overloaded)} could not keep up with the arrivals: there the latency"
            " grows with the length of the window."
        )
    return " ".join(texts) or None


def _without_ratio(analysis: Analysis) -> str | None:
    """Says why there is no ratio; None where failing decided."""
    v, c = analysis.verdict, analysis.verdict.primary_comparison
    over = _over_blocks(v, c)
    if v.n == 0:
        return "No block passed the validity checks, so there is nothing to compare."
    if c.overloaded:
        load = phrases.load_words(analysis.run.experiment)
        rates = [f"{name} answered {figures.rate(v.variants[name].throughput)} of {load}" for name in c.overloaded]
        text = f"{figures.listed(rates)}, {over}; latency grows with the length of the window, so none is given."
        return _capitalised(text)
    if c.verdict == "fails":
        return None
    where = "in the only block" if over == _SINGLE else f"in every block, {over}"
    return f"{_capitalised(phrases.noun(c.metric))} was not measured {where}."


_SINGLE = "from a single block"


def _over_blocks(v: Verdict, c: Comparison) -> str:
    blocks = len(c.log_ratios) or v.n
    return f"over {blocks} blocks" if blocks != 1 else _SINGLE


def _wide_interval(v: Verdict, c: Comparison) -> str | None:
    """Says that the interval of a settled verdict is wider than its target, and why; None where it is not."""
    d = v.end
    if d is None or not v.valid or c.verdict not in ("faster", "slower", "equivalent"):
        return None
    if c.low is None or c.high is None or stopping_rule.is_precise(c.low, c.high, d.precision):
        return None
    why = {
        "futile": f"even {d.looks[-1]} blocks are unlikely to reach it",
        "within": "too little time was left for another block (--max-time)",
    }.get(d.ended or "", f"{v.n} blocks are the maximum of a run")
    return f"The interval is wider than the target of ±{percent(d.precision)}: {why}."


def _failures(v: Verdict, variant: str) -> str | None:
    result = v.variants[variant]
    if not result.failed_blocks:
        return None
    return f"Failures of {variant}: {bottlenecks.failures(result)}."


def _errors(v: Verdict, variants: tuple[str, str], experiment: Experiment) -> str | None:
    """Says the share of errors of both, where there were any or more are allowed than by default."""
    most = experiment.max_errors
    if most <= MAX_ERRORS and not any(v.variants[name].error_ratio for name in variants):
        return None
    shares = ", ".join(f"{name} {figures.share(v.variants[name].error_ratio)}" for name in variants)
    return f"Errors among the answers: {shares}; a variant fails above {figures.share(most)}."


def _capitalised(text: str) -> str:
    return text[0].upper() + text[1:]

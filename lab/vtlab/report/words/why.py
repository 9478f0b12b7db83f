"""Why the decision of a pair is as it is: what limits both, or why a run ended without a decision."""

from __future__ import annotations

import re
from collections.abc import Collection

from vtlab.model.finding import Finding
from vtlab.model.load import NONE
from vtlab.model.outcome import Key
from vtlab.model.run import Analysis
from vtlab.report.words import bottlenecks, hints, phrases
from vtlab.report.words.effects import Pair
from vtlab.report.words.load_limit import limited_by_load

#: Resources that requests wait for in a queue.
_POOLS = ("db-pool", "client-pool", "executor")
#: Finding that the limits of a pair tell, too.
_OVERTAKING = "unfair-pool"
_FULL_TAIL = Key(criterion="tail", load="full")


def sentence(analysis: Analysis) -> str | None:
    """Explains a decision; without a full stop. None where nothing is known."""
    verdict = analysis.verdict
    if not verdict.n or not verdict.valid:
        return None
    pair = Pair(analysis)
    decision = pair.decision
    if decision.rule is None:
        return _ended(analysis) or _sentence(pair, _limits(pair))
    if decision.rule == 1 and decision.fault == "fails":
        loser = decision.loser or decision.of
        return f"{loser}: {bottlenecks.failures(verdict.variants[loser])}"
    text = _sentence(pair, _limits(pair))
    shown = measured_finding(analysis)
    if shown is None or decision.rule == 4 or (shown.id == _OVERTAKING and _overtaking(pair)):
        return text
    return f"{text}. {shown.title}"


def _sentence(pair: Pair, limits: str) -> str:
    """Begins a sentence about what limits the variants: those limits are of full load."""
    because = pair.decision.because
    if because and because[0].load == "typical" and pair.analysis.run.experiment.load_.full != NONE:
        return f"At full load {limits}"
    # The name of a variant stays as it is.
    return limits if limits.startswith(pair.names) else limits[0].upper() + limits[1:]


def measured_finding(analysis: Analysis, without: Collection[str] = ()) -> Finding | None:
    """Returns the first finding that the run itself shows. ``without``: ids that do not count."""
    found = (finding for finding in analysis.verdict.findings if finding.kind == "measured")
    return next((finding for finding in found if finding.id not in without), None)


def _ended(analysis: Analysis) -> str | None:
    """Says why a run with looks ended undecided."""
    text = hints.ending(analysis.verdict.end)
    return text.removesuffix(".") if text else None


def _limits(pair: Pair) -> str:
    """Says what limits both variants, and what garbage collection takes of a CPU that does."""
    variants = pair.analysis.verdict.variants
    by_cpu = [name for name in pair.names if "cpu" in variants[name].bottleneck.resources]
    return _limits_alone(pair) + "".join(bottlenecks.collecting(pair.analysis, name, "; ", name) for name in by_cpu)


def _limits_alone(pair: Pair) -> str:
    names = pair.names
    if by_load := limited_by_load(pair.analysis, names):
        return by_load
    experiment, results = pair.analysis.run.experiment, pair.results
    over, of = (bottlenecks.limiting(result, experiment) for result in results)
    if over is not None and over == of:
        if results[0].bottleneck.resource in _POOLS:
            return f"both wait for {over.removeprefix('its ')}{_overtaking(pair)}"
        return "both are limited by " + re.sub(r"\bits\b", "their", over)
    by_users = f"only by the {phrases.load_words(experiment)}"
    limits = [
        f"by {limit}" if limit else by_users if result.bottleneck.is_load_alone else None
        for limit, result in zip((over, of), results, strict=True)
    ]
    known = [(name, limit) for name, limit in zip(names, limits, strict=True) if limit]
    if not known:
        return "nothing measured explains what limits them"
    (first, limit), *others = known
    if others:
        return f"{first} is limited {limit}, {names[1]} {others[0][1]}"
    unknown = next(name for name in names if name != first)
    return f"{first} is limited {limit}; nothing measured explains what limits {unknown}"


def _overtaking(pair: Pair) -> str:
    """Says that requests overtake each other in the queue of a pool: at equal throughput, some wait longer."""
    tail = next((o for o in pair.analysis.verdict.outcomes if o.key == _FULL_TAIL), None)
    if not pair.is_switch or tail is None or tail.judgement != "worse":
        return ""
    return "; virtual threads overtake each other there"

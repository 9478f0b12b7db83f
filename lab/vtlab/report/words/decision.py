"""The decision that a verdict allows, in one sentence; the same for terminal, Markdown and HTML.

It follows from the verdict and the bottlenecks alone, and is never stronger than the headline: what is the same is the
same at the load that was measured.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from vtlab.analysis.comparable import keeps_up
from vtlab.model.records import is_cold
from vtlab.model.run import Analysis
from vtlab.model.units import percent
from vtlab.model.variant import kind
from vtlab.model.verdict import Comparison
from vtlab.report.words import advice, bottlenecks, phrases
from vtlab.report.words.headline import broken_blocks


@dataclass(frozen=True)
class Decision:
    """Advice and its reason: ``Turn it on``, ``virtual serves more at 20 users``. The headline has the figure."""

    lead: str
    reason: str

    @property
    def text(self) -> str:
        """Joins both to one sentence."""
        return f"{self.lead}: {self.reason}."


def decide(analysis: Analysis) -> Decision:
    """Decides by a run: ``No decision`` wherever the run is not valid, or its verdict is none."""
    verdict, comparison = analysis.verdict, analysis.verdict.primary_comparison
    if not verdict.valid:
        return Decision(_NONE, advice.lacking(analysis))
    if comparison.verdict == "fails":
        return Decision(_NONE, _failing(analysis, comparison))
    if comparison.verdict == "equivalent":
        return Decision(f"It makes no difference at {phrases.load_words(analysis.run.experiment)}", _same(analysis))
    if comparison.verdict in ("faster", "slower"):
        return Decision(_lead(comparison), _difference(analysis, comparison))
    return Decision(_NONE, _undecided(analysis, comparison))


_NONE = "No decision"
_MORE_AND_LESS = {"throughput": ("serves more", "serves less")}


def _lead(comparison: Comparison) -> str:
    """Answers the question of a switch from platform to virtual threads; names the better one of other variants."""
    is_better = comparison.verdict == "faster"
    if (kind(comparison.over), kind(comparison.of)) == ("platform", "virtual"):
        return "Turn it on" if is_better else "Leave it off"
    return f"Prefer {comparison.of if is_better else comparison.over}"


def _difference(analysis: Analysis, comparison: Comparison) -> str:
    load = phrases.load_words(analysis.run.experiment)
    better, worse = comparison.of, comparison.over
    if comparison.verdict == "slower":
        better, worse = worse, better
    if comparison.ratio is None:
        return f"only {better} keeps up with {load}{_limit(analysis, worse)}"
    more, less = _MORE_AND_LESS.get(comparison.metric, ("answers faster", "answers more slowly"))
    what = more if comparison.verdict == "faster" else less
    return f"{comparison.of} {what} at {load}{_limit(analysis, worse)}"


def _limit(analysis: Analysis, variant: str) -> str:
    """Names the bottleneck of the worse variant, where it is known."""
    name = bottlenecks.limiting(analysis.verdict.variants[variant], analysis.run.experiment)
    return f"; {variant} is limited by {name}" if name else ""


def _same(analysis: Analysis) -> str:
    verdict, comparison = analysis.verdict, analysis.verdict.primary_comparison
    results = [verdict.variants[name] for name in (comparison.over, comparison.of)]
    if all(keeps_up(result) for result in results):
        return "both keep up with this load"
    (shared, *others) = {bottlenecks.limiting(result, analysis.run.experiment) for result in results}
    if others or shared is None:
        return f"the difference in {phrases.noun(comparison.metric)} is too small to matter"
    return "both are limited by " + re.sub(r"\bits\b", "their", shared)


def _failing(analysis: Analysis, comparison: Comparison) -> str:
    failing = [name for name in (comparison.over, comparison.of) if name in comparison.fails]
    all_cold = all(is_cold(analysis.verdict.variants[name].failures) for name in failing)
    if len(failing) > 1:
        return phrases.BOTH_COLD if all_cold else "both fail under this load"
    if all_cold:
        return f"{failing[0]} {phrases.COLD}"
    return f"{failing[0]} fails under this load"


def _undecided(analysis: Analysis, comparison: Comparison) -> str:
    verdict = analysis.verdict
    if broken := broken_blocks(verdict, comparison):
        return broken
    if comparison.ratio is None:
        return "neither keeps up with the arrivals" if len(comparison.overloaded) > 1 else "there is nothing to compare"
    if comparison.low is None or comparison.high is None:
        return "one block gives no interval"
    if comparison.low <= 1 <= comparison.high:
        return f"no clear difference at {phrases.load_words(analysis.run.experiment)}"
    is_beyond = comparison.low > 1 + verdict.margin or comparison.high < 1 / (1 + verdict.margin)
    corrected = ", after correction for the number of comparisons" if is_beyond else ""
    difference = f"not clearly by more than {percent(verdict.margin)}{corrected}"
    return f"{phrases.noun(comparison.metric)} differs, but {difference}"

"""Outcomes in words: what a criterion measures, at which load, and by how much a variant differs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby

from vtlab.model.outcome import Decision, Key, LoadName, Outcome
from vtlab.model.run import Analysis
from vtlab.model.variant import kind
from vtlab.model.verdict import VariantResult
from vtlab.report.words import figures
from vtlab.report.words.outcome_rows import load_words

#: What a reader sets to run the second variant of most pairs.
PROPERTY = "spring.threads.virtual.enabled"
#: After a factor, and after a percentage above and below 1.
_MUCH = {
    "capacity": ("times as much", "more", "less"),
    "median": ("times as long", "longer", "shorter"),
    "tail": ("times as long", "longer", "shorter"),
    "cpu": ("times as much CPU per request", "more CPU per request", "less CPU per request"),
    "memory": ("times as much memory", "more memory", "less memory"),
}


@dataclass(frozen=True)
class Pair:
    """Pair of variants whose decision is put into words."""

    analysis: Analysis

    @property
    def decision(self) -> Decision:
        """Returns the decision of the pair (``split_by_pair``)."""
        return self.analysis.verdict.decisions[0]

    @property
    def is_switch(self) -> bool:
        """Tells whether the pair is a switch of the property: from platform to virtual threads, nothing else."""
        return [kind(name) for name in self.names] == ["platform", "virtual"]

    @property
    def names(self) -> tuple[str, str]:
        """Names both variants, the first one first."""
        return self.decision.over, self.decision.of

    @property
    def results(self) -> list[VariantResult]:
        """Returns the results of both, likewise."""
        return [self.analysis.verdict.variants[name] for name in self.names]

    def outcome(self, key: Key) -> Outcome:
        """Returns the outcome of a criterion."""
        return next(o for o in self.analysis.verdict.outcomes if o.key == key)

    def load(self, name: LoadName | None) -> str:
        """Writes a load: ``24 users``, ``29.3/s``; empty where a criterion is about both."""
        return load_words(name, self.analysis.run.experiment, self.analysis.run.manifest)

    def named(self, keys: Sequence[Key]) -> str:
        """Names criteria with their loads: ``capacity at 24 users``, ``the median and p95 at 29.3/s``."""
        return figures.listed(
            [
                figures.listed([measure(self.outcome(key)) for key in of_load]) + _at(self.load(load))
                for load, of_load in groupby(keys, lambda key: key.load)
            ]
        )

    def effect(self, key: Key, with_load: bool = True) -> str:
        """Says how much the second variant differs: ``virtual serves 2.00 times as much at 20 users (1.98–2.02)``,
        ``p95 at 29.3/s is 30 % longer (22–38)``."""
        outcome = self.outcome(key)
        if outcome.ratio is None:
            return outcome.reason or outcome.judgement or ""
        at = _at(self.load(key.load)) if with_load else ""
        much, ends = amount(outcome)
        if key.criterion == "capacity":
            text = f"{outcome.of} serves {much}{at}{ends}"
            return f"{text}; {_with_more_users(outcome)}" if outcome.is_lower_bound else text
        with_variant = "" if self.is_switch else f" with {outcome.of}"
        return f"{measure(outcome)}{at} is {much}{ends}{with_variant}"


def costs(pair: Pair) -> str:
    """Says how much more or less of CPU and memory the second variant takes; empty where that is the same."""
    amounts = ["".join(amount(pair.outcome(key))) for key in pair.decision.beside]
    return f"{pair.decision.of} takes {figures.listed(amounts)}" if amounts else ""


def measure(outcome: Outcome) -> str:
    """Names what a criterion measures: ``p95``, ``the median``."""
    if outcome.key.criterion == "tail":
        return outcome.percentile or "the tail"
    return {"median": "the median", "probe": "the probe"}.get(outcome.key.criterion, outcome.key.criterion)


def amount(outcome: Outcome) -> tuple[str, str]:
    """Writes a ratio as an amount, and its interval: ``2.31 times as long`` and `` (2.04–2.60)``, ``26 % shorter`` and
    `` (22–30)``."""
    times, more, less = _MUCH[outcome.key.criterion]
    ratio, low, high = outcome.ratio or 1.0, outcome.low, outcome.high
    if ratio >= figures.TIMES:
        ends = figures.ends(low, high, lambda value, digits: figures.significant(value, 3 + digits))
        return f"{figures.significant(ratio)} {times}", ends
    if low is not None and high is not None and low < 1 < high:
        return f"{figures.change(ratio, low, high)} {more}", ""
    share = 100 * abs(ratio - 1)
    places = 0 if share >= 9.95 and ratio > 0.01 else 1
    text = f"{share:.{places}f} % {more if ratio > 1 else less}"
    if low is None or high is None:
        return text, ""
    least, most = sorted((100 * abs(low - 1), 100 * abs(high - 1)))
    return text, figures.ends(least, most, lambda value, digits: f"{value:.{places + digits}f}")


def _at(load: str) -> str:
    return f" at {load}" if load else ""


def _with_more_users(outcome: Outcome) -> str:
    """Says which variant the load alone limits."""
    better = outcome.of if (outcome.ratio or 1.0) > 1 else outcome.over
    return f"with more users {better} may serve more"

"""``--assert 'capacity(virtual/platform) >= 1.5'``: a verdict that a pipeline can demand."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from vtlab.analysis import comparable
from vtlab.analysis.metrics import CRITERIA, METRICS, criterion
from vtlab.errors import AssertionFailed, BadInput
from vtlab.model.experiment import Experiment
from vtlab.model.units import in_blocks
from vtlab.model.verdict import Comparison, Verdict

_FORM = re.compile(r"\s*(\w+)\s*\(\s*([\w-]+)\s*(?:/\s*([\w-]+)\s*)?\)\s*(>=|<=|>|<)\s*(\d+(?:\.\d+)?)\s*")


@dataclass(frozen=True)
class Demand:
    """One parsed assertion."""

    text: str
    #: Name of the metric in a verdict: that of ``capacity`` is ``throughput``.
    metric: str
    of: str
    #: Empty for one variant alone, in one run over another.
    over: str
    sign: str
    value: float

    def holds(self, low: float | None, high: float | None) -> bool:
        """Tells whether the whole confidence interval lies on the demanded side; never without an interval."""
        if low is None or high is None:
            return False
        edge = low if self.sign.startswith(">") else high
        return {
            ">=": edge >= self.value,
            ">": edge > self.value,
            "<=": edge <= self.value,
            "<": edge < self.value,
        }[self.sign]


def parse(text: str, *, alone: bool = False) -> Demand:
    """Parses an assertion; BadInput when ``text`` has another form. With ``alone`` it may name one variant only."""
    match = _FORM.fullmatch(text)
    if not match or not (match[3] or alone):
        raise BadInput(f"--assert '{text}' is not an assertion", "write it as 'capacity(virtual/platform) >= 1.5'")
    name, of, over, sign, value = match.groups()
    if name not in METRICS and name not in CRITERIA:
        raise BadInput(
            f"--assert '{text}': no criterion '{name}'", f"write one of {', '.join(map(criterion, METRICS))}"
        )
    if criterion(name) != name:
        new = text.strip().replace(name, criterion(name), 1)
        raise BadInput(f"--assert '{text}': {name} is called {criterion(name)}", f"write '{new}'")
    return Demand(text.strip(), CRITERIA.get(name, name), of, over or "", sign, float(value))


def refuse_unknown(demands: Sequence[Demand], experiments: Sequence[Experiment]) -> None:
    """Raises BadInput for a demand that no run of the experiments could answer: to be asked before measuring."""
    for demand in demands:
        for experiment in experiments:
            if reason := comparable.reason_in_every_run(demand.metric, experiment):
                raise BadInput(
                    f"--assert '{demand.text}': {experiment.name} has no such ratio: {reason}",
                    "write another criterion, such as capacity",
                )
            over, *others = experiment.variants
            if demand.over != over or demand.of not in others:
                raise BadInput(
                    f"--assert '{demand.text}': {experiment.name} does not compare {demand.of} with {demand.over}",
                    "write " + " or ".join(f"{criterion(demand.metric)}({other}/{over})" for other in others),
                )


def check(demands: Sequence[Demand], verdicts: Sequence[Verdict]) -> None:
    """Raises AssertionFailed unless every demand holds in every verdict; BadInput for a metric that was not
    measured."""
    failed = [
        f"{verdict.experiment}: '{demand.text}' does not hold: {reason}"
        for demand in demands
        for verdict in verdicts
        if (reason := reason_broken(demand, verdict))
    ]
    if failed:
        raise AssertionFailed("; ".join(failed), "an assertion holds when the whole interval lies on its side")


def reason_broken(demand: Demand, verdict: Verdict) -> str | None:
    """Explains why a demand does not hold in a verdict; None where it holds. No demand holds for a variant that failed
    in any block. BadInput for a metric that was not measured."""
    if any(failed := [_failed(verdict, name) for name in (demand.over, demand.of)]):
        return " and ".join(filter(None, failed))
    if compared := _comparison(demand, verdict):
        return _reason_against(demand, compared)
    result, base_result = (verdict.variants.get(name) for name in (demand.of, demand.over))
    if result and base_result and (reason := comparable.reason_in_these_results(demand.metric, result, base_result)):
        return f"there is no ratio, as {reason}"
    comparisons = ", ".join(dict.fromkeys(f"{criterion(c.metric)}({c.of}/{c.over})" for c in verdict.comparisons))
    raise BadInput(
        f"--assert '{demand.text}': {verdict.experiment} has no such comparison", f"write one of {comparisons}"
    )


def _reason_against(demand: Demand, compared: Comparison) -> str | None:
    """Explains why a demand does not hold of a comparison; None where all ratios that are possible are as demanded."""
    if not demand.holds(compared.low, compared.high):
        return _interval(compared)
    # The load limits the better variant: the true ratio may lie further from 1 than the interval.
    may_be_larger = (compared.ratio or 0.0) > 1
    if compared.is_lower_bound and may_be_larger == demand.sign.startswith("<"):
        side = "larger" if may_be_larger else "smaller"
        return f"{_interval(compared)} is only the least difference: more load may show a {side} ratio"
    return None


@dataclass(frozen=True)
class Judged:
    """An assertion as a report shows it. ``reason_broken`` says why it does not hold; None where it holds."""

    text: str
    broken: str | None
    #: The ratio and its interval in words; empty where there is none.
    measured: str


def judge(texts: Sequence[str], verdict: Verdict) -> list[Judged]:
    """Judges those of a run's assertions that concern a comparison in this verdict. One that nothing can answer does
    not hold."""
    pairs = {(c.of, c.over) for c in verdict.comparisons if c.metric == verdict.primary}
    outcomes = []
    for text in texts:
        try:
            demand = parse(text)
            if (demand.of, demand.over) not in pairs:
                continue
            compared = _comparison(demand, verdict)
            measured = _interval(compared) if compared else ""
            outcomes.append(Judged(demand.text, reason_broken(demand, verdict), measured))
        except BadInput as error:
            outcomes.append(Judged(text, error.message, ""))
    return outcomes


def _comparison(demand: Demand, verdict: Verdict) -> Comparison | None:
    key = (demand.metric, demand.of, demand.over)
    return next((c for c in verdict.comparisons if (c.metric, c.of, c.over) == key), None)


def _failed(verdict: Verdict, variant: str) -> str:
    """Says in how many blocks the variant failed, and why first; empty where it did not."""
    result = verdict.variants.get(variant)
    if result is None or not result.failed_blocks:
        return ""
    return f"{variant} failed {in_blocks(result.failed_blocks, verdict.n)}: {result.failures[0].reason}"


def _interval(comparison: Comparison) -> str:
    if comparison.ratio is None:
        overloaded = " and ".join(comparison.overloaded)
        return (
            f"there is no ratio: {overloaded} could not keep up with the arrivals"
            if overloaded
            else "nothing was compared"
        )
    if comparison.low is None or comparison.high is None:
        return f"{comparison.ratio:.4g}, no interval from a single block"
    return f"{comparison.ratio:.4g} (95 % interval {comparison.low:.4g} to {comparison.high:.4g})"

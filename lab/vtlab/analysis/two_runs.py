"""One run over another that was measured at another time: unpaired, for the two share no block.

What a run judges within its blocks carries over: the ratio of two variants does not depend on how fast the machine
was that day. Absolute throughput does. It is compared only where the machine is the same, and with the variance between
runs in its interval, which blocks of one run do not show.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from vtlab.analysis.criteria import outcomes
from vtlab.analysis.criteria.criterion import typical_rate
from vtlab.analysis.statistics import paired
from vtlab.analysis.statistics.paired import Variance
from vtlab.analysis.throughput import log_throughput
from vtlab.analysis.validity import failing
from vtlab.errors import BadInput
from vtlab.model.experiment import Experiment
from vtlab.model.load import ClosedLoad
from vtlab.model.outcome import Better, Judgement, Key, Outcome
from vtlab.model.run import Analysis
from vtlab.model.variant import kind

#: Keys of an experiment that two runs to be compared may have of their own: what is compared (two builds, a setting),
#: and what is for reports alone.
_MAY_DIFFER = {"$schema", "description", "expected", "service", "settings", "properties"}
#: What the manifest says of a machine that changes by the minute.
_PASSING = {"load"}
#: Rates of typical load that differ by more than this share are other loads.
_SAME_RATE = 0.10
_CAPACITY = Key(criterion="capacity", load="full")


@dataclass(frozen=True)
class Sample:
    """Log values of the blocks of a run: their mean, their standard deviation as an interval has it, its degrees of
    freedom, and n."""

    mean: float
    sd: float | None
    df: float
    n: int

    @property
    def variance(self) -> Variance | None:
        """Variance of the mean; None from a single block."""
        return None if self.sd is None or self.n < 2 else Variance(self.sd**2 / self.n, self.df)


@dataclass(frozen=True)
class Change:
    """A figure in the later run over the same in the earlier one; 1 is no change. ``over`` is empty where the figure is
    the capacity of one variant, in requests per second; else the figure is a ratio of two variants. ``ratio`` is None
    where one of the runs lacks the figure, ``low`` and ``high`` also where one has a single block."""

    key: Key
    of: str
    over: str
    before: float | None
    after: float | None
    #: Blocks of the earlier and of the later run.
    blocks: tuple[int, int]
    better: Better
    margin: float = paired.MARGIN
    ratio: float | None = None
    low: float | None = None
    high: float | None = None
    p: float | None = None
    #: Judgement of claims and of absolute capacity only.
    judgement: Judgement | None = None

    @property
    def name(self) -> str:
        """The name as in an assertion: ``capacity(virtual/platform)``, ``capacity(virtual)``."""
        return f"{self.key}({self.of}{'/' if self.over else ''}{self.over})"


@dataclass(frozen=True)
class TwoRuns:
    """The later run over the earlier one."""

    before: Analysis
    after: Analysis
    changes: list[Change]
    #: Why there is no absolute capacity; None where there is.
    no_absolute: str | None
    #: Why nothing at typical load is compared; None where it is, or where a run has none.
    no_typical: str | None
    #: What else the two differ in, in words.
    differences: list[str]


def compare(befores: Sequence[Analysis], afters: Sequence[Analysis], between_runs: Variance | None) -> list[TwoRuns]:
    """Compares each of the later runs with the earlier one of its name. ``between_runs`` is the variance of a run's log
    throughput between runs of the same; None where it is unknown.

    The p values of all changes that are judged are adjusted together (Holm). BadInput for runs that do not belong
    together, and for one of which no block counts.
    """
    compared = [_compare(before, after, between_runs) for before, after in _pairs_by_name(befores, afters)]
    judged = [change for two in compared for change in two.changes if change.judgement is not None]
    adjusted = iter(paired.holm([change.p for change in judged]))
    return [
        replace(two, changes=[_adjusted(c, next(adjusted)) if c.judgement is not None else c for c in two.changes])
        for two in compared
    ]


def between_runs(analyses: Sequence[Analysis], reference: Analysis) -> Variance:
    """Estimates the variance of a run's log throughput between runs of one experiment on the machine of ``reference``.

    Over the runs the sample variance of a variant's mean log throughput, with k-1 degrees of freedom for k runs; the
    mean of these variances where the runs have several kinds of variants. It holds what the blocks add to a run's mean,
    too, so that an interval with it is rather too wide. BadInput for fewer than two runs, and for others than these.
    """
    names = {a.verdict.experiment for a in analyses}
    if len(analyses) < 2 or names != {reference.verdict.experiment}:
        raise BadInput(
            f"--aa: found {len(analyses)} runs, of {', '.join(sorted(names)) or 'nothing'}",
            f"name at least two results directories of {reference.verdict.experiment} (vtlab lab aa makes them)",
        )
    for analysis in analyses:
        _refuse_empty(analysis)
        if other := _other_machine(analysis, reference):
            raise BadInput(f"--aa: {analysis.run.manifest.run_id} was measured elsewhere: {other}", "name other runs")
    means = [_means_by_kind(analysis) for analysis in analyses]
    kinds = set.intersection(*(set(by_kind) for by_kind in means))
    if not kinds:
        raise BadInput("--aa: the runs share no kind of variant", "name runs with the same variants")
    variances = [float(np.var([by_kind[k] for by_kind in means], ddof=1)) for k in sorted(kinds)]
    return Variance(math.fsum(variances) / len(variances), len(analyses) - 1)


def _means_by_kind(analysis: Analysis) -> dict[str, float]:
    """Computes the mean log throughput of each kind of variants; without one that failed in every block."""
    by_kind: dict[str, list[float]] = {}
    for variant in analysis.run.experiment.variants:
        if sample := throughput_sample(analysis, variant):
            by_kind.setdefault(kind(variant), []).append(sample.mean)
    return {name: math.fsum(means) / len(means) for name, means in by_kind.items()}


def _pairs_by_name(befores: Sequence[Analysis], afters: Sequence[Analysis]) -> list[tuple[Analysis, Analysis]]:
    if len(befores) == len(afters) == 1:
        return [(befores[0], afters[0])]
    by_name = {a.run.name: a for a in befores}
    if sorted(by_name) != sorted(a.run.name for a in afters):
        raise BadInput(
            f"the directories hold different runs: {', '.join(by_name)}; and {', '.join(a.run.name for a in afters)}",
            "name two results directories of the same call, or one run from each",
        )
    return [(by_name[after.run.name], after) for after in afters]


def _compare(before: Analysis, after: Analysis, between: Variance | None) -> TwoRuns:
    _refuse_other_experiment(before.run.experiment, after.run.experiment)
    for analysis in (before, after):
        _refuse_empty(analysis)
    no_typical = _other_rate(before, after)
    changes = [
        _ratio_of_ratios(a, b)
        for a in before.verdict.outcomes
        for b in after.verdict.outcomes
        if _are_alike(a, b) and not (no_typical and a.key.load == "typical")
    ]
    missing = _no_absolute(before, after, between)
    if between is not None and missing is None:
        changes += [_capacity_change(before, after, v, between) for v in before.run.experiment.variants]
    return TwoRuns(before, after, changes, missing, no_typical, _differences(before, after))


def _are_alike(before: Outcome, after: Outcome) -> bool:
    """Tells whether two outcomes are of the same figure, which has a ratio."""
    one, other = ((o.key, o.of, o.over, o.percentile) for o in (before, after))
    return one == other and before.key.criterion != "probe"


def _other_rate(before: Analysis, after: Analysis) -> str | None:
    """Explains that typical load differs: each run chooses its rate."""
    one, other = (typical_rate(a.run.experiment, a.run.manifest) for a in (before, after))
    if not one or not other or abs(math.log(other / one)) <= math.log1p(_SAME_RATE):
        return None
    return f"the rates differ: {one:.3g}/s, then {other:.3g}/s"


def _ratio_of_ratios(before: Outcome, after: Outcome) -> Change:
    change = Change(
        before.key,
        before.of,
        before.over,
        before.ratio,
        after.ratio,
        (len(before.log_ratios), len(after.log_ratios)),
        before.better,
        max(before.margin, after.margin),
        judgement="undecided" if before.is_claim else None,
    )
    # A variant failed, or there is one block.
    is_judged = before.judgement is not None and after.judgement is not None
    return _with_interval(change, _ratio_sample(before), _ratio_sample(after), [], before.is_claim and is_judged)


def _ratio_sample(outcome: Outcome) -> Sample | None:
    logs = outcome.log_ratios
    return Sample(math.fsum(logs) / len(logs), outcome.sd, outcome.df or 0.0, len(logs)) if logs else None


def throughput_sample(analysis: Analysis, variant: str) -> Sample | None:
    """Computes the log of the mean throughput of each block that counts and in which the variant did not fail; None
    without one."""
    sound = failing.sound_blocks(analysis.accepted, analysis.run.experiment, variant)
    found = log_throughput(sound, variant)
    return Sample(found.mean, found.sd, found.df, len(sound)) if found else None


def _capacity_change(before: Analysis, after: Analysis, variant: str, between: Variance) -> Change:
    first, second = throughput_sample(before, variant), throughput_sample(after, variant)
    has_failed = any(a.verdict.variants[variant].failed_blocks for a in (before, after))
    change = Change(
        _CAPACITY,
        variant,
        "",
        math.exp(first.mean) if first else None,
        math.exp(second.mean) if second else None,
        (first.n if first else 0, second.n if second else 0),
        "higher",
        judgement="undecided",
    )
    # Each of the two runs differs from the mean of all runs.
    return _with_interval(change, first, second, [between, between], is_judged=not has_failed)


def _with_interval(
    change: Change, before: Sample | None, after: Sample | None, more: Sequence[Variance], is_judged: bool
) -> Change:
    if before is None or after is None:
        return change
    difference = after.mean - before.mean
    within = [before.variance, after.variance]
    parts = [part for part in within if part is not None]
    if len(parts) < len(within) or not any(part.value for part in (*parts, *more)):
        return replace(change, ratio=math.exp(difference))
    # Both runs have the one variance between runs, estimated once: it is one part of twice the value.
    shared = [Variance(sum(part.value for part in more), more[0].df)] if more else []
    e = paired.welch(difference, [*parts, *shared], change.margin)
    change = replace(change, ratio=e.ratio, low=e.low, high=e.high)
    if not is_judged:
        return change
    return replace(change, p=e.p, judgement=outcomes.judgement(e.low, e.high, change.margin, change.better))


def _adjusted(change: Change, p: float | None) -> Change:
    is_settled = p is not None and p <= paired.LEVEL
    return replace(change, p=p, judgement=change.judgement if is_settled else "undecided")


def _refuse_empty(analysis: Analysis) -> None:
    if not analysis.accepted:
        raise BadInput(
            f"{analysis.run.manifest.run_id}: no block counts, so there is nothing to compare",
            "see the reasons in its report, and measure again",
        )


def _refuse_other_experiment(before: Experiment, after: Experiment) -> None:
    one, other = _agreed(before), _agreed(after)
    keys = [key for key in {**one, **other} if one.get(key) != other.get(key)]
    if keys:
        raise BadInput(
            f"the runs have different experiments: {before.name} and {after.name} differ in {', '.join(keys)}",
            "name two runs with the same experiment and limits",
        )


def _agreed(experiment: Experiment) -> dict[str, Any]:
    """Returns the keys in which two runs must agree. Of typical load beside full load each run chooses the rate."""
    document = {key: value for key, value in experiment.document().items() if key not in _MAY_DIFFER}
    if experiment.has_full_load:
        document["load"].pop("typical")
    return document


def _no_absolute(before: Analysis, after: Analysis, between: Variance | None) -> str | None:
    if not isinstance(before.run.experiment.load, ClosedLoad):
        return "under open load the arrivals set it"
    if other := _other_machine(before, after):
        return f"the machines differ: {other}"
    if between is None:
        return (
            "the SD between identical runs is unknown: give --spread PERCENT, or --aa with at least two results"
            " directories of vtlab lab aa"
        )
    return None


def _other_machine(before: Analysis, after: Analysis) -> str | None:
    """Describes in what the machines and targets of the two runs differ; None where they are the same."""
    differing = _differing(_surroundings(before), _surroundings(after))
    return "; ".join(differing) or None


def _surroundings(analysis: Analysis) -> dict[str, Any]:
    m = analysis.run.manifest
    facts = {key: value for key, value in m.machine.items() if key not in _PASSING}
    return {**facts, "target": m.target, **m.cluster, "CPU limit": "enforced" if m.cpu_limited else "none"}


def _differences(before: Analysis, after: Analysis) -> list[str]:
    facts = []
    for analysis in (before, after):
        m, document = analysis.run.manifest, analysis.run.experiment.document()
        named = {key: document.get(key, {}) for key in ("service", "settings", "properties")}
        tails = ", ".join(f"{name} at {load} load" for load, name in m.percentiles.items())
        facts.append({**m.versions, "JVM flags": " ".join(m.jvm_flags), "tail": tails, **named})
    return _differing(*facts)


def _differing(before: dict[str, Any], after: dict[str, Any]) -> list[str]:
    keys = [key for key in {**before, **after} if before.get(key) != after.get(key)]
    return [f"{key} {before.get(key) or 'none'}, then {after.get(key) or 'none'}" for key in keys]

"""Outcomes of a pair as rows of text: the same on terminal, page, Markdown and JUnit."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from vtlab.analysis.criteria.criterion import criteria_of, typical_rate
from vtlab.catalogue.resources import REACHED
from vtlab.model.experiment import Experiment
from vtlab.model.manifest import Manifest
from vtlab.model.outcome import CriterionName, Judgement, Key, LoadName, Outcome
from vtlab.model.records import ServerFigure
from vtlab.model.run import Analysis
from vtlab.model.units import percent
from vtlab.report.words import figures, phrases

#: Beside each word, for readers without colour.
SYMBOLS = {"better": "▲", "worse": "▼", "same": "=", "undecided": "?", "fails": "✗", None: "·"}
NO_OUTCOME = "no outcome"
#: A kubelet waits for the answer to a probe for 1 s.
ALL_IN_TIME = "all within 1 s"
#: Criteria in the order of reports.
ORDER = ("capacity", "median", "tail", "median.full", "tail.full", "cpu", "memory", "probe")
#: How values of a criterion are written, and the unit that stands before them.
_FORMS: dict[CriterionName, tuple[str, Callable[[float | None], str]]] = {
    "capacity": ("req/s", lambda value: figures.rate(value).removesuffix("/s")),
    "median": ("", figures.duration),
    "tail": ("", figures.duration),
    "cpu": ("s/1,000", lambda value: figures.DASH if value is None else figures.significant(value)),
    "memory": ("", figures.memory),
    "probe": ("longest", figures.duration),
}


#: Growth of memory from which on it is told, in bytes.
_LEAST_GROWTH = 8 * 2**20


@dataclass(frozen=True)
class OutcomeRow:
    """An outcome in words."""

    outcome: Outcome
    #: ``tail (p95)``.
    criterion: str
    #: ``24 users``, ``29/s``; empty of a criterion over both loads.
    load: str
    #: Before the values; empty where they have their own.
    unit: str
    base_value: str
    value: str
    #: ``−0.9 % (−2.1 to +0.3)``; empty without a ratio.
    change: str
    #: ``same``, ``no outcome``.
    judgement: str
    symbol: str

    @property
    def name(self) -> str:
        """Names the criterion at its load: ``tail (p95) at 24 users``."""
        return f"{self.criterion} at {self.load}" if self.load else self.criterion

    @property
    def in_words(self) -> str:
        """Writes the row as a clause: ``capacity at 24 users: 48.8 and 48.4 req/s, −0.9 % (−2.1 to +0.3): same``."""
        return ": ".join(filter(None, [self.name, self.measured, self.judgement, self.outcome.reason]))

    @property
    def measured(self) -> str:
        """Writes both values, and the change: ``211 ms and 212 ms, +0.5 % (−1 to +2)``."""
        values = f"{self.base_value} and {self.value}"
        both = f"{values} {self.unit}".rstrip() if self.load else f"{self.unit} {values}".lstrip()
        return ", ".join(filter(None, ["" if self.outcome.value is None else both, self.change]))

    @property
    def heading(self) -> str:
        """Names the criterion, with the unit where values have none: ``capacity (req/s)``, ``tail (p95)``."""
        return f"{self.criterion} ({self.unit})" if self.unit else self.criterion


def rows(analysis: Analysis) -> list[OutcomeRow]:
    """Writes the outcomes of an analysis of one pair (``split_by_pair``)."""
    return [_row(outcome, analysis) for outcome in analysis.verdict.outcomes]


def row_of(analysis: Analysis, key: Key) -> OutcomeRow | None:
    """Writes the outcome of one criterion; None where the run has it not."""
    return next((row for row in rows(analysis) if row.outcome.key == key), None)


def shown(analysis: Analysis) -> list[OutcomeRow]:
    """Writes the rows that have something to show beside their name: what was not measured stands below them."""
    return [row for row in rows(analysis) if row.outcome.judgement or row.outcome.value is not None]


def cell(row: OutcomeRow | None) -> str:
    """Writes an outcome with its symbol and its change, for a table of runs: ``▲ better 2.00× (1.98–2.02)``."""
    if row is None or (row.outcome.judgement is None and not row.change):
        return figures.DASH
    word = row.judgement if row.outcome.judgement else ""
    change = row.change.replace(" %", "\u00a0%")
    return f"{row.symbol}\u00a0{' '.join(filter(None, [word, change]))}"


@dataclass(frozen=True)
class ErrorsRow:
    """Errors of both variants, which have no outcome: a variant fails by them, or does not."""

    criterion: str
    load: str
    base_value: str
    value: str
    #: ``requests waiting at a full pool: virtual (40)``, ``memory grew by 2 MiB and 40 MiB``; empty where there is
    #: nothing to say.
    note: str


def errors_row(analysis: Analysis) -> ErrorsRow | None:
    """Writes the errors of an analysis of one pair under full load, with what waited at a full pool beside them, and
    growth of memory; None where nothing was measured. A run without full load has those of its load."""
    if not analysis.verdict.n:
        return None
    experiment = analysis.run.experiment
    over, of = experiment.variants
    base_value, value = (errors(analysis, name) for name in (over, of))
    growths = [_growth(analysis, name) for name in (over, of)]
    has_grown = any((growth or 0.0) >= _LEAST_GROWTH for growth in growths)
    waiting = {name: _waiting(analysis, name) for name in (over, of)}
    waited = [f"{name} ({figures.count(threads)})" for name, threads in waiting.items() if threads]
    notes = [
        f"requests waiting at a full pool: {figures.listed(waited)}" * bool(waited),
        f"memory grew by {figures.listed([figures.memory(growth) for growth in growths])}" * has_grown,
    ]
    return ErrorsRow(
        "errors",
        load_words("full" if experiment.has_full_load else "typical", experiment, analysis.run.manifest),
        base_value,
        value,
        note="; ".join(filter(None, notes)),
    )


def errors(analysis: Analysis, variant: str) -> str:
    """Writes the share of a variant's answers that were errors; a dash where no window of it counts."""
    return figures.share(analysis.verdict.variants[variant].error_ratio if analysis.has_windows(variant) else None)


def _waiting(analysis: Analysis, variant: str) -> float | None:
    """Counts the requests of a variant with errors that wait at a time for a connection of a full pool; None of any
    other. No meter that is recorded tells which of its errors are time-outs of the pool."""
    names: tuple[ServerFigure, ...] = ("utilization_db-pool", "db_pool_pending")
    used, pending = (analysis.over_windows(variant, name) for name in names)
    has_errors = analysis.verdict.variants[variant].error_ratio > 0
    return pending if has_errors and (used or 0.0) >= REACHED and (pending or 0.0) >= 1 else None


def _growth(analysis: Analysis, variant: str) -> float | None:
    """Averages by how much the resident memory of a variant grew from the first window of a block to the last; None
    where no block has two."""
    grown = []
    for block in analysis.accepted:
        sizes = [t.server.get("resident") for t in block.trials if t.variant == variant]
        known = [size for size in sizes if size is not None]
        if len(known) > 1:
            grown.append(max(0.0, known[-1] - known[0]))
    return math.fsum(grown) / len(grown) if grown else None


#: Before the criteria whose outcome follows from no interval.
_STARTS: Mapping[Judgement | None, str] = {None: "No outcome of", "undecided": "Undecided", "same": "The same in"}


def reasons(analysis: Analysis) -> list[str]:
    """Says why criteria of an analysis of one pair have no outcome, or one that is no judgement of the interval:
    ``No outcome of cpu: platform uses less than 10 % of its CPU limit``, ``The same in capacity: the load alone limits
    both``."""
    by_reason: dict[tuple[str, str], list[OutcomeRow]] = {}
    for row in rows(analysis):
        start = _STARTS.get(row.outcome.judgement)
        if row.outcome.reason and start:
            by_reason.setdefault((start, row.outcome.reason), []).append(row)
    loads = Counter(outcome.key.criterion for outcome in analysis.verdict.outcomes)
    return [f"{start} {', '.join(_names(found, loads))}: {reason}" for (start, reason), found in by_reason.items()]


def _names(found: Sequence[OutcomeRow], loads: Mapping[CriterionName, int]) -> list[str]:
    """Names criteria, with the load of those that have another reason, or none, at the other load."""
    here = Counter(row.outcome.key.criterion for row in found)
    by_load: dict[str, list[str]] = {}
    for row in found:
        criterion = row.outcome.key.criterion
        is_everywhere = here[criterion] == loads[criterion]
        by_load.setdefault("" if is_everywhere else f" at {row.load}", []).append(criterion)
    return [figures.listed(list(dict.fromkeys(names))) + at for at, names in by_load.items()]


def margins(analysis: Analysis) -> str:
    """Says up to which difference criteria are the same; empty where none has an interval."""
    run = analysis.run
    judged = {o.key: o.margin for o in analysis.verdict.outcomes if o.margin and o.ratio is not None}
    criteria = [criterion for criterion in criteria_of(run.experiment, run.manifest) if criterion.key in judged]
    by_amount = {c.key.criterion for c in criteria if judged[c.key] > c.share}
    by_margin: dict[str, list[str]] = {}
    for criterion in criteria:
        name = criterion.key.criterion
        amount = _FORMS[name][1](criterion.amount).replace(".00 ", " ")
        more = f" but at least {amount}" if name in by_amount else ""
        by_margin.setdefault(f"{percent(criterion.share)}{more}", []).append(name)
    listed = [f"{margin} ({', '.join(dict.fromkeys(names))})" for margin, names in by_margin.items()]
    return f"Too small to matter: differences up to {figures.listed(listed)}" if listed else ""


def load_words(load: LoadName | None, experiment: Experiment, manifest: Manifest) -> str:
    """Writes a load briefly: ``24 users``, ``29.3/s``; empty where a criterion is about both, or it is not known."""
    if load == "full":
        return phrases.load_words(experiment)
    if load is None:
        return ""
    rate = typical_rate(experiment, manifest)
    return "" if rate is None else figures.rate(rate)


def criterion_name(outcome: Outcome) -> str:
    """Names a criterion with its percentile: ``capacity``, ``tail (p95)``."""
    return outcome.key.criterion + (f" ({outcome.percentile})" if outcome.percentile else "")


def bound_sign(outcome: Outcome) -> str:
    """Marks a ratio that may be further from 1: ``≥ ``, and ``≤ `` below 1; empty of any other."""
    if not outcome.is_one_sided:
        return ""
    return "≤ " if outcome.judgement == "worse" and (outcome.ratio or 1.0) < 1 else "≥ "


def _change(outcome: Outcome, analysis: Analysis) -> str:
    """Writes the change of a criterion, or that each probe had its answer in time; empty of any other without ratio."""
    if outcome.ratio is not None:
        return bound_sign(outcome) + figures.change(outcome.ratio, outcome.low, outcome.high)
    if outcome.key.criterion != "probe":
        return ""
    variants = [analysis.verdict.variants[name] for name in (outcome.over, outcome.of)]
    probes = [probe for variant in variants for probe in variant.probes.values()]
    # A refused connection is no answer, and takes no time.
    return ALL_IN_TIME if probes and not any(probe.over_second for probe in probes) else ""


def _row(outcome: Outcome, analysis: Analysis) -> OutcomeRow:
    run = analysis.run
    unit, form = _FORMS[outcome.key.criterion]
    return OutcomeRow(
        outcome,
        criterion=criterion_name(outcome),
        load=load_words(outcome.key.load, run.experiment, run.manifest),
        unit=unit,
        base_value=form(outcome.base_value),
        value=form(outcome.value),
        change=_change(outcome, analysis),
        judgement=outcome.judgement or NO_OUTCOME,
        symbol=SYMBOLS[outcome.judgement],
    )

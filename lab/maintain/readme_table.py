"""The README's table of what was measured: a row for each service, made of ``docs/evidence/measured.json`` alone.

It stands between ``<!-- measured -->`` and ``<!-- /measured -->``.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from maintain import measured_page
from maintain.measured_page import Judged, Measured, Pair
from maintain.reference.pages import code, table
from vtlab.report.words.outcome_rows import ALL_IN_TIME

PAGE = "README.md"
_PART = re.compile(r"(?<=<!-- measured -->\n).*?(?= <!-- /measured -->)", re.S)
#: Column -> keys of its criteria.
_COLUMNS = {
    "capacity": ("capacity",),
    "median; tail at typical load": ("median", "tail"),
    "at full load": ("median.full", "tail.full"),
    "cpu": ("cpu",),
    "memory": ("memory",),
    "probe": ("probe",),
}
#: Not measured.
_NONE = "–"


@dataclass(frozen=True)
class Service:
    """A row: what a request does, and the run and the pair that it is taken from."""

    words: str
    experiment: str
    limits: str
    of: str = "virtual"


SERVICES = (
    Service("Waits for 1 s; 200 Tomcat threads", "blocking", "1 CPU, 768Mi"),
    Service("Holds 1 of 10 database connections for 100 ms", "behind-a-pool", "1 CPU, 768Mi"),
    Service("Computes for 4 ms", "cpu", "0.5 CPU, 768Mi"),
    Service("Waits for 150 ms, computes for 15 ms", "wait-and-compute", "1 CPU, 768Mi"),
    Service("spring-petclinic", "spring-petclinic", "1 CPU, 1Gi"),
    Service(
        "mysql-slow-query, `SELECT SLEEP(1)` by an old driver on JDK 21",
        "db-slow-query",
        "1 CPU, 768Mi",
        "virtual-jdk21",
    ),
)


def text(repository: Path) -> str:
    """Returns the README with its table. ValueError where it has no place for it."""
    made = part(measured_page.read(repository))
    changed, count = _PART.subn(lambda _: made, (repository / PAGE).read_text(encoding="utf-8"))
    if count != 1:
        raise ValueError(f"{PAGE} has no place for the table: <!-- measured --> and <!-- /measured --> are missing")
    return changed


def part(runs: Sequence[Measured], services: Sequence[Service] = SERVICES) -> str:
    """Writes the table, and the machines below it."""
    taken = [(service, _run(runs, service)) for service in services]
    rows = [_row(service, run) for service, run in taken]
    machines: dict[str, list[str]] = {}
    for _, run in taken:
        machines.setdefault(run.machine, []).append(code(run.experiment))
    *others, last = sorted(machines.items(), key=lambda item: len(item[1]))
    machine_texts = [
        f"others, unless a row names its JDK: {last[0]}" if others else last[0],
        *(f"{', '.join(of)}: {m}" for m, of in others),
    ]
    drawn = table(("service, under 1 CPU or `--cpu`", *_COLUMNS, "decision"), rows).replace(" --- ", "---")
    return f"{drawn}\n\n*Machine*, {'; '.join(reversed(machine_texts))}."


def _run(runs: Sequence[Measured], service: Service) -> Measured:
    return next(r for r in runs if (r.experiment, r.limits, r.noise) == (service.experiment, service.limits, ""))


def _row(service: Service, run: Measured) -> list[str]:
    blocks = f"n = {run.blocks}" + (f", {run.conditions}" if "other programs" in run.conditions else "")
    first = f"{service.words}: {code(run.command)}, {run.date[:10]}, {blocks}"
    pair = next((pair for pair in run.pairs if pair.of == service.of), None)
    if pair is not None:
        return [first, *_cells(pair), pair.decision]
    return [first, *_by_capacity(service, run)]


def _by_capacity(service: Service, run: Measured) -> list[str]:
    """Writes the cells of a run that judged capacity alone."""
    compared = next(c for c in run.comparisons if c.of == service.of)
    judgement = compared.judgement.partition(" ")[2]
    names = (compared.over, compared.of) if judgement == "worse" else (compared.of, compared.over)
    decision = f"Prefer {names[0]} to {names[1]}, by capacity alone"
    return [
        f"**{judgement}** {compared.change}",
        *[_NONE] * (len(_COLUMNS) - 1),
        decision,
    ]


def _cells(pair: Pair) -> Iterator[str]:
    by_key = {_key(outcome, pair): outcome for outcome in pair.outcomes}
    for keys in _COLUMNS.values():
        yield "; ".join(_cell(by_key[key]) for key in keys if key in by_key) or _NONE


def _key(outcome: Judged, pair: Pair) -> str:
    """Returns the key of an outcome: capacity is always that at full load."""
    name = outcome.criterion.split(" ")[0]
    full = [o.load for o in pair.outcomes if o.criterion == "capacity"]
    return f"{name}.full" if name in ("median", "tail") and outcome.load in full else name


def _cell(outcome: Judged) -> str:
    """Writes an outcome in words, with its percentile, and with its change where it is settled by an interval; of
    probes whether all had their answer in time."""
    symbol, _, word = outcome.judgement.partition(" ")
    if outcome.criterion == "probe":
        return "in time" if outcome.change == ALL_IN_TIME else word
    if word in ("better", "worse"):
        word = f"**{word}**"
    percentile = outcome.criterion.partition("(")[2].removesuffix(")")
    shown = outcome.change if outcome.drawn and symbol != "?" else ""
    return " ".join(filter(None, [percentile, word, shown]))

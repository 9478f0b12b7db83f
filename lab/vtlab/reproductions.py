"""The published comparisons beside ours: one row for each variant of each experiment that reproduces one.

Pure functions over analyses. What is published, and why it came out so, stands in the experiment's file; the bottleneck
is what the analysis found.
"""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from itertools import groupby

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from vtlab.analysis import statistics
from vtlab.analysis.laws import is_single_user
from vtlab.catalogue.resources import RESOURCES
from vtlab.errors import BadInput
from vtlab.jmh import Score
from vtlab.model.experiment import Experiment, Publication
from vtlab.model.run import Analysis
from vtlab.report import figures, sections, words


@dataclass(frozen=True)
class Row:
    """One variant. Throughputs in requests per second; None: not published, no law, not measured."""

    number: str
    title: str
    setting: str
    experiment: str
    variant: str
    published: str | None
    #: Only of requests of the same size.
    published_throughput: float | None
    #: By the operational laws: the experiment's, else the bound of the bottleneck, where that does not come from the
    #: very throughput beside it (as of what is consumed or in use under load, and of a single user).
    expected: float | None
    #: Over n blocks, with its confidence interval.
    throughput: float | None
    low: float | None
    high: float | None
    n: int
    bottleneck: str
    utilisation: float | None
    #: What ours ran under and on: "under 1 CPU, 768Mi".
    limits: str
    machine: str
    explanation: str


def publications(experiments: Sequence[Experiment]) -> dict[str, list[Experiment]]:
    """The experiments that reproduce each publication, by its number."""
    found: dict[str, list[Experiment]] = {}
    for each in experiments:
        if each.publication:
            found.setdefault(each.publication.number, []).append(each)
    return dict(sorted(found.items()))


def chosen(experiments: Sequence[Experiment], numbers: Sequence[str], as_published: bool) -> list[Experiment]:
    """The experiments of these publications, of all where none is named. BadInput for a number that is not there."""
    known = publications(experiments)
    for number in numbers:
        if number not in known:
            raise BadInput(f"there is no publication '{number}'", f"there is: {', '.join(known)}")
    every = [each for number in (dict.fromkeys(numbers) or known) for each in known[number]]
    return [each.as_published() for each in every] if as_published else every


def rows(analyses: Sequence[Analysis]) -> list[Row]:
    """One row for each variant: by publication, in the order of the analyses."""
    found = [
        _row(analysis, publication, variant)
        for analysis in analyses
        if (publication := analysis.run.experiment.publication)
        for variant in analysis.run.experiment.variants
    ]
    return sorted(found, key=lambda row: row.number)


def _row(analysis: Analysis, publication: Publication, variant: str) -> Row:
    result = analysis.verdict.variants[variant]
    figure = publication.figures.get(variant)
    blocks = [
        math.fsum(own) / len(own)
        for block in analysis.accepted
        if (own := [t.throughput for t in block.trials if t.variant == variant])
    ]
    experiment = analysis.run.experiment
    limiting = RESOURCES.get(result.bottleneck.resource)
    under_load = ("cpu", "in use", *(["load"] if is_single_user(experiment) else []))
    measured = limiting is not None and limiting.demand in under_load
    comparable = experiment.of_published_size()
    of = analysis.run.manifest.machine
    bound = None if measured else result.bottleneck.bound
    # The mean of logs, as everywhere: throughputs of blocks differ by factors.
    over = statistics.estimate([math.log(x) for x in blocks]) if blocks and min(blocks) > 0 else None
    return Row(
        number=publication.number,
        title=publication.title,
        setting=publication.setting,
        experiment=analysis.verdict.experiment,
        variant=variant,
        published=(figure.said if comparable else f"{figure.said} (other size)") if figure else None,
        published_throughput=figure.throughput if figure and comparable else None,
        expected=result.expected if result.expected is not None else bound,
        throughput=over.ratio if over else None,
        low=over.low if over else None,
        high=over.high if over else None,
        n=len(blocks),
        bottleneck=result.bottleneck.resource,
        utilisation=result.bottleneck.utilisation,
        limits=sections.under(analysis),
        machine=", ".join(of[key] + unit for key, unit in _MACHINE.items() if key in of),
        explanation=publication.explanation,
    )


#: What the manifest says of a machine or a cluster that tells it from others.
_MACHINE = {"cores": " cores", "cpu": "", "memory": ""}
HEAD = ("variant", "published", "expected", "ours", "interval", "n", "bottleneck")


def _cells(row: Row) -> list[str]:
    reached = f" ({figures.share(row.utilisation)})" if row.utilisation is not None else ""
    known = row.low is not None and row.high is not None
    return [
        row.variant,
        row.published or figures.DASH,
        figures.rate(row.expected),
        figures.rate(row.throughput),
        f"{words.rate(row.low or 0.0)} to {words.rate(row.high or 0.0)}" if known else figures.DASH,
        str(row.n),
        row.bottleneck + reached,
    ]


def tables(found: Sequence[Row]) -> Group:
    """For the terminal: a table for each publication's experiment, with its explanation."""
    parts: list[RenderableType] = []
    for name, rows_of in groupby(found, key=lambda row: f"{row.number} {row.experiment}"):
        own = list(rows_of)
        shown = Table(box=None, pad_edge=False)
        for title in HEAD:
            shown.add_column(title, no_wrap=title == "variant")
        for row in own:
            shown.add_row(*_cells(row))
        parts += [Text(f"{name}, ours {_where(own[0])}", "bold"), shown, Text(f"{own[0].explanation}\n")]
    return Group(*parts)


def _where(row: Row) -> str:
    return f"{row.limits}, on {row.machine}"


def markdown(found: Sequence[Row]) -> str:
    """A table for each publication's experiment, with its explanation: what ``docs/reproductions.md`` shows."""
    lines: list[str] = []
    for name in dict.fromkeys(row.experiment for row in found):
        own = [row for row in found if row.experiment == name]
        first = own[0]
        lines += [f"### {first.number}: {first.title} (`{name}`)", ""]
        lines += [f"Published: {first.setting}. Ours {_where(first)}.", ""]
        lines += [f"| {' | '.join(HEAD)} |", f"|{'---|' * len(HEAD)}"]
        lines += [f"| {' | '.join(_cells(row))} |" for row in own]
        lines += ["", first.explanation, ""]
    return "\n".join(lines)


def benchmark(scores: Sequence[Score]) -> Table:
    """What JMH measured, for the terminal."""
    of = sections.benchmark(scores)
    shown = Table(box=None, pad_edge=False, title=sections.BENCHMARK, title_justify="left")
    for title in of.head:
        shown.add_column(title)
    for row in of.rows:
        shown.add_row(*row)
    return shown


def benchmark_markdown(scores: Sequence[Score]) -> str:
    """The same for a document."""
    shown = sections.benchmark(scores)
    lines = [f"### {sections.BENCHMARK} (`make jmh`)", ""]
    lines += [f"| {' | '.join(shown.head)} |", f"|{'---|' * len(shown.head)}"]
    return "\n".join([*lines, *(f"| {' | '.join(row)} |" for row in shown.rows), ""])


def document(found: Sequence[Row], scores: Sequence[Score] = ()) -> str:
    """The rows and what JMH measured as JSON."""
    both = {"rows": [asdict(row) for row in found], "jmh": [asdict(score) for score in scores]}
    return json.dumps(both, indent=2) + "\n"

"""The published comparisons beside ours: measures them, and makes a table row for each variant.

What was published, and why it came out so, is in ``lab/publications/``; the bottleneck is what the analysis names.
"""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from itertools import groupby
from pathlib import Path

import numpy as np
from rich.console import Console, Group, RenderableType
from rich.table import Table
from rich.text import Text

from vtlab import jmh
from vtlab.analysis import metrics
from vtlab.analysis.statistics import paired
from vtlab.catalogue.resources import RESOURCES
from vtlab.errors import BadInput, Interrupted, InvalidRun, LabError
from vtlab.jmh import Score
from vtlab.model import publication
from vtlab.model.experiment import Experiment
from vtlab.model.experiment_files import names as experiment_names
from vtlab.model.load import ClosedLoad
from vtlab.model.publication import Publication
from vtlab.model.run import Analysis
from vtlab.planning import planned_runs
from vtlab.planning.shipped_experiments import EXPERIMENTS, resolve
from vtlab.report import jmh_table
from vtlab.report.words import bottlenecks, figures, labels
from vtlab.runs import store
from vtlab.runs.create import create_runs
from vtlab.runs.measure import measure_and_report
from vtlab.runs.options import Options
from vtlab.runs.report import analyse_runs
from vtlab.targets.local import benchmark

#: Blocks of an experiment whose figures are held against a law.
AGAINST_LAW = 2
#: The wanted half-width of a ratio's interval where they are held against the other variant.
PRECISION = 0.10


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


@dataclass(frozen=True)
class Reproductions:
    """What a folder has of publications: a row for each variant, and what JMH measured for 001."""

    rows: list[Row]
    scores: list[Score]

    @property
    def lacks_jmh(self) -> bool:
        """Whether JMH's rows of publication 001 are missing beside its others."""
        return not self.scores and any(row.number == "001" for row in self.rows)


def publications(experiments: Sequence[Experiment]) -> dict[str, list[Experiment]]:
    """The experiments that reproduce each publication, by its number."""
    known = publication.load()
    by_number: dict[str, list[Experiment]] = {}
    for experiment in experiments:
        if experiment.name in known:
            by_number.setdefault(known[experiment.name].number, []).append(experiment)
    return dict(sorted(by_number.items()))


def numbered(names: Sequence[str]) -> list[str]:
    """The numbers of these publications, each by its name or number. BadInput for one that is not there."""
    known = publication.numbers()
    for name in names:
        if name not in known and name not in known.values():
            there = ", ".join(f"{name} ({number})" for name, number in known.items())
            raise BadInput(f"there is no publication '{name}'", f"there is: {there}")
    return [known.get(name, name) for name in names]


def chosen(experiments: Sequence[Experiment], numbers: Sequence[str], as_published: bool) -> list[Experiment]:
    """The experiments of the publications with these numbers, of all where none is named."""
    known = publications(experiments)
    named = [experiment for number in (dict.fromkeys(numbers) or known) for experiment in known[number]]
    if not as_published:
        return named
    described = publication.load()
    return [described[experiment.name].in_published_size(experiment) for experiment in named]


def run(
    numbers: Sequence[str], options: Options, *, quick: bool, as_published: bool, console: Console
) -> tuple[Path, LabError | None]:
    """Measures the publications of these numbers, all if none. Returns the folder of the results, and what went wrong
    in one of them: the others were measured all the same."""
    experiments = resolve(experiment_names(EXPERIMENTS))
    planned = planned_runs.runs(chosen(experiments, numbers, as_published), [])
    if not quick:
        planned = [_with_two_blocks_by_law(run) for run in planned]
    folder = create_runs(planned, options, "-".join(["reproduce", *dict.fromkeys(numbers)]))
    failed: LabError | None = None
    if not numbers or "001" in numbers:
        console.print("001: JMH, it takes minutes")
        iterations = ("-p", f"iterations={jmh.PUBLISHED_ITERATIONS}") if as_published else ()
        try:
            benchmark.run(folder, options.root, jmh.options(quick, iterations))
        except Interrupted:
            raise
        except LabError as error:
            console.print(f"001: {error}", highlight=False)
            failed = error
    try:
        measure_and_report(folder, options.root, console)
    except InvalidRun as error:
        failed = error
    return folder, failed


def _with_two_blocks_by_law(run: planned_runs.PlannedRun) -> planned_runs.PlannedRun:
    """The run, with a fixed number of blocks where a law is what its figures are held against."""
    return replace(run, blocks=AGAINST_LAW) if publication.load()[run.name].against_law else run


def read(folder: Path) -> Reproductions:
    """What was measured in the folder; BadInput where nothing of it reproduces a publication."""
    reproduced = rows(analyse_runs(folder))
    if not reproduced:
        raise BadInput(f"{folder} has no reproduction of a publication", "vtlab reproduce makes them")
    file = folder / jmh.FILE
    return Reproductions(reproduced, jmh.read(file) if file.is_file() else [])


def write(folder: Path, reproductions: Reproductions) -> None:
    """Writes ``reproductions.md`` and ``reproductions.json``."""
    store.write_atomic(folder / "reproductions.md", markdown(reproductions))
    store.write_atomic(folder / "reproductions.json", document(reproductions))


def rows(analyses: Sequence[Analysis]) -> list[Row]:
    """One row for each variant: by publication, in the order of the analyses."""
    reproduced = [
        _row(analysis, published, variant)
        for analysis in analyses
        if (published := analysis.run.manifest.publication)
        for variant in analysis.run.experiment.variants
    ]
    return sorted(reproduced, key=lambda row: row.number)


def _is_single_user(experiment: Experiment) -> bool:
    """Whether the load is a single user, who sends one request after the other."""
    return isinstance(experiment.load, ClosedLoad) and experiment.load.users == 1


def _row(analysis: Analysis, published: Publication, variant: str) -> Row:
    result = analysis.verdict.variants[variant]
    figure = published.figures.get(variant)
    counted = [block for block in analysis.accepted if any(t.variant == variant for t in block.trials)]
    blocks = [float(np.mean([t.throughput for t in block.trials if t.variant == variant])) for block in counted]
    experiment = analysis.run.experiment
    limiting = RESOURCES.get(result.bottleneck.resource)
    under_load = ("cpu", "pinned", *(["load"] if _is_single_user(experiment) else []))
    comes_from_throughput = limiting is not None and limiting.demand in under_load
    comparable = published.is_published_size(experiment)
    of = analysis.run.manifest.machine
    bound = None if comes_from_throughput else result.bottleneck.bound
    # The mean of logs, as everywhere: throughputs of blocks differ by factors.
    logs = [math.log(x) for x in blocks if x > 0]
    over = None
    if logs and len(logs) == len(blocks):
        # A run may end at any look: the interval of a throughput holds at all of them, too.
        reached = analysis.verdict.decision
        confidence = 1 - reached.level if reached else paired.CONFIDENCE
        floor = metrics.counting_floor("throughput", counted, variant)
        over = paired.estimate(logs, floor, confidence=confidence)
    return Row(
        number=published.number,
        title=published.title,
        setting=published.setting,
        experiment=analysis.verdict.experiment,
        variant=variant,
        published=(figure.text if comparable else f"{figure.text} (other size)") if figure else None,
        published_throughput=figure.throughput if figure and comparable else None,
        expected=result.expected if result.expected is not None else bound,
        throughput=over.ratio if over else None,
        low=over.low if over else None,
        high=over.high if over else None,
        n=len(blocks),
        bottleneck=bottlenecks.resource_names(result.bottleneck),
        utilisation=result.bottleneck.utilisation,
        limits=labels.under(analysis),
        machine=", ".join(of[key] + unit for key, unit in _MACHINE.items() if key in of),
        explanation=published.explanation,
    )


#: What the manifest says of a machine or a cluster that tells it from others.
_MACHINE = {"cores": " cores", "cpu": "", "memory": ""}
HEAD = ("variant", "published", "expected", "ours", "interval", "n", "bottleneck")


def _cells(row: Row) -> list[str]:
    reached = f" ({figures.reached(row.utilisation)})" if row.utilisation is not None else ""
    return [
        row.variant,
        row.published or figures.DASH,
        figures.rate(row.expected),
        figures.rate(row.throughput),
        figures.interval(row.low, row.high, figures.rate),
        str(row.n),
        row.bottleneck + reached,
    ]


def tables(reproductions: Reproductions) -> Group:
    """For the terminal: a table for each publication's experiment, with its explanation; then what JMH measured."""
    parts: list[RenderableType] = []
    for name, group in groupby(reproductions.rows, key=lambda row: f"{row.number} {row.experiment}"):
        of_experiment = list(group)
        shown = Table(box=None, pad_edge=False)
        for title in HEAD:
            shown.add_column(title)
        for row in of_experiment:
            shown.add_row(*_cells(row))
        first = of_experiment[0]
        parts += [Text(f"{name}, ours {_limits_and_machine(first)}", "bold"), shown, Text(f"{first.explanation}\n")]
    return Group(*parts, *([benchmark_table(reproductions.scores)] if reproductions.scores else []))


def _limits_and_machine(row: Row) -> str:
    return f"{row.limits}, on {row.machine}"


def markdown(reproductions: Reproductions) -> str:
    """A table for each publication's experiment, with its explanation: what
    ``docs/explanation/published-comparisons.md`` shows."""
    lines: list[str] = []
    for name in dict.fromkeys(row.experiment for row in reproductions.rows):
        of_experiment = [row for row in reproductions.rows if row.experiment == name]
        first = of_experiment[0]
        lines += [f"### {first.number}: {first.title} (`{name}`)", ""]
        lines += [f"Published: {first.setting}. Ours {_limits_and_machine(first)}.", ""]
        lines += [f"| {' | '.join(HEAD)} |", f"|{'---|' * len(HEAD)}"]
        lines += [f"| {' | '.join(_cells(row))} |" for row in of_experiment]
        lines += ["", first.explanation, ""]
    return "\n".join([*lines, *_benchmark_lines(reproductions.scores)])


def _benchmark_lines(scores: Sequence[Score]) -> list[str]:
    if not scores:
        return []
    shown = jmh_table.benchmark(scores)
    lines = [f"### {jmh_table.BENCHMARK} (`make jmh`)", ""]
    lines += [f"| {' | '.join(shown.head)} |", f"|{'---|' * len(shown.head)}"]
    return [*lines, *(f"| {' | '.join(row)} |" for row in shown.rows), ""]


def benchmark_table(scores: Sequence[Score]) -> Table:
    """What JMH measured, for the terminal."""
    of = jmh_table.benchmark(scores)
    shown = Table(box=None, pad_edge=False, title=jmh_table.BENCHMARK, title_justify="left")
    for title in of.head:
        shown.add_column(title)
    for row in of.rows:
        shown.add_row(*row)
    return shown


def document(reproductions: Reproductions) -> str:
    """The rows and what JMH measured as JSON."""
    both = {
        "rows": [asdict(row) for row in reproductions.rows],
        "jmh": [asdict(score) for score in reproductions.scores],
    }
    return json.dumps(both, indent=2) + "\n"

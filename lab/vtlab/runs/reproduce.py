"""Measures published comparisons again, and stores what was published beside what was measured."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from vtlab.errors import BadInput, InvalidRun
from vtlab.measuring.progress import Progress
from vtlab.model import experiment_files, publication
from vtlab.model.experiment import Experiment
from vtlab.planning import planned_runs
from vtlab.planning.planned_runs import PlannedRun
from vtlab.planning.shipped_experiments import EXPERIMENTS, resolve
from vtlab.report.pages import reproductions
from vtlab.report.parts.reproduced_variants import ReproducedVariant, reproduced_variants
from vtlab.runs import store
from vtlab.runs.create import create_runs
from vtlab.runs.measure import measure_and_report
from vtlab.runs.options import Options
from vtlab.runs.report import analyse_runs

#: Blocks of an experiment whose figures are held against a law.
BLOCKS_AGAINST_LAW = 2


def publication_numbers(names: Sequence[str]) -> list[str]:
    """Returns the numbers of publications, each given by its name or number. BadInput for one that is not there."""
    known = publication.numbers()
    for name in names:
        if name not in known and name not in known.values():
            choices = ", ".join(f"{name} ({number})" for name, number in known.items())
            raise BadInput(f"unknown publication '{name}'", f"known are: {choices}")
    return [known.get(name, name) for name in names]


def experiments_by_publication() -> dict[str, list[Experiment]]:
    """Returns the experiments that reproduce each publication, by its number."""
    known = publication.load()
    by_number: dict[str, list[Experiment]] = {}
    for experiment in resolve(experiment_files.names(EXPERIMENTS)):
        if experiment.name in known:
            by_number.setdefault(known[experiment.name].number, []).append(experiment)
    return dict(sorted(by_number.items()))


def experiments_of(numbers: Sequence[str], as_published: bool) -> list[Experiment]:
    """Returns the experiments of the publications with these numbers, of all where none is named; in the published
    sizes where that is asked for."""
    by_number = experiments_by_publication()
    experiments = [experiment for number in (dict.fromkeys(numbers) or by_number) for experiment in by_number[number]]
    if not as_published:
        return experiments
    known = publication.load()
    return [known[experiment.name].in_published_size(experiment) for experiment in experiments]


def measure_publications(
    numbers: Sequence[str], options: Options, *, as_published: bool, progress: Progress
) -> tuple[Path, InvalidRun | None]:
    """Measures the publications of these numbers, all if none. Returns the folder of the results, and the error of a
    run that was given up: the others were measured all the same."""
    planned = planned_runs.runs(experiments_of(numbers, as_published), [])
    if options.blocks is None:
        planned = [_with_two_blocks_by_law(run) for run in planned]
    folder = create_runs(planned, options, "-".join(["reproduce", *dict.fromkeys(numbers)]))
    try:
        measure_and_report(folder, options.root, progress)
    except InvalidRun as error:
        return folder, error
    return folder, None


def _with_two_blocks_by_law(run: PlannedRun) -> PlannedRun:
    """Fixes the number of blocks where a law is what the figures are held against."""
    return replace(run, blocks=BLOCKS_AGAINST_LAW) if publication.load()[run.name].against_law else run


def read_reproductions(folder: Path) -> list[ReproducedVariant]:
    """Reads what was measured in the folder; BadInput where nothing of it reproduces a publication."""
    variants = reproduced_variants(analyse_runs(folder))
    if not variants:
        raise BadInput(f"{folder} contains no reproduced publication", "measure one: vtlab lab reproduce-publication")
    return variants


def write_reproductions(folder: Path, variants: Sequence[ReproducedVariant]) -> None:
    """Writes ``reproductions.md`` and ``reproductions.json``."""
    store.write_atomic(folder / "reproductions.md", reproductions.markdown(variants))
    store.write_atomic(folder / "reproductions.json", reproductions.json_document(variants))

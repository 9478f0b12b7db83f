"""The beginning of a run: its results directory, after a search for its load where none is named."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

from vtlab.errors import BadInput, Interrupted
from vtlab.host import agent, operating_system
from vtlab.measuring.progress import Progress
from vtlab.planning import curve_to_load
from vtlab.planning.planned_runs import PlannedRun
from vtlab.planning.remarks import remarks
from vtlab.report.words import curve_sentences
from vtlab.runs.create import Searched, create_runs, create_searched_run, prepare, refuse_unanswerable
from vtlab.runs.load_curve import measure_curve
from vtlab.runs.measure import TargetSite
from vtlab.runs.options import Options
from vtlab.services.resolve import resolve_service


def refuse_several_searches(planned: list[PlannedRun]) -> None:
    """Raises BadInput where a load is to be searched for one of several runs."""
    searched = [run.name for run in planned if run.experiment.is_searched]
    if searched and len(planned) > 1:
        raise BadInput(
            f"{' and '.join(searched)}: vtlab searches a load for one run of a call",
            "measure them one after the other, or name the users: load: {full: {users: 200}}",
        )


def begin_run(run: PlannedRun, options: Options, progress: Progress) -> Path:
    """Creates the results directory of a run, after a search for its load where none is named; returns it."""
    progress.schedule.set_budget(options.within)
    experiment = run.experiment
    experiment.refuse_unmeasurable()
    refuse_unanswerable(options, [experiment])
    if not options.cluster:
        operating_system.refuse_other_than_linux()
        if resolve_service(experiment).agent:
            agent.find()
    for remark in remarks(experiment):
        progress.console.print(f"note: {remark}", highlight=False, style="yellow", soft_wrap=True)
    folder = options.root / f"{datetime.now(UTC):%Y%m%dT%H%M%SZ}-{run.name}"
    # The blocks are measured in the same cluster, whatever context is the current one by then.
    options = replace(options, cluster=options.cluster and options.cluster.with_context())
    with _nothing_kept(folder):
        if experiment.is_searched:
            _create_searched(run, options, folder, progress)
        else:
            create_runs([run], options, run.name, folder)
    return folder


def _create_searched(run: PlannedRun, options: Options, folder: Path, progress: Progress) -> None:
    """Searches the load, and creates the run with it in the time that is left of the call."""
    experiment = run.experiment
    prepared = prepare(experiment, options)
    site = TargetSite.of_search(folder, prepared.cluster_ref, options, experiment.java_home)
    curve = measure_curve(experiment, site, progress)
    for line in curve_sentences.lines(curve, experiment.variants):
        progress.console.print(line, highlight=False, soft_wrap=True)
    if options.within is not None:
        options = replace(options, within=progress.schedule.budget_left())
    searched = replace(run, experiment=curve_to_load.with_load(experiment, curve))
    create_searched_run(searched, options, Searched(folder, curve, prepared))


@contextmanager
def _nothing_kept(folder: Path) -> Iterator[None]:
    """Removes the folder of a call that is interrupted before its blocks: it is no run, and could not be resumed."""
    try:
        yield
    except Interrupted as error:
        shutil.rmtree(folder, ignore_errors=True)
        raise Interrupted(
            f"{error.message} before the blocks; nothing was kept", "give the same command again"
        ) from None

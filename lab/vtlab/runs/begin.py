"""The beginning of a call's runs: what the jars of their services say, and their results directory."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

from vtlab.errors import Interrupted
from vtlab.host import agent
from vtlab.measuring.progress import Progress
from vtlab.planning.planned_runs import PlannedRun
from vtlab.planning.remarks import remarks
from vtlab.runs.create import discarded, named, prepare_runs, refuse_before_start, store_runs
from vtlab.runs.found_requests import with_found_requests
from vtlab.runs.options import Options
from vtlab.services.resolve import complete, resolve_service


def begin_runs(planned: Sequence[PlannedRun], options: Options, progress: Progress) -> Path:
    """Creates the results directory of a call's runs; returns it.

    Where they are measured here, completes them by their jars. Where the options say so, finds the requests of a
    service that has none. Where no load is named, the first attempt at a block searches it.
    """
    if options.within is not None:
        progress.schedule.set_budget(options.within * len(planned))
    refuse_before_start(planned, options)
    planned = [_completed(run, options, progress) for run in planned]
    for remark in dict.fromkeys(remark for run in planned for remark in remarks(run.experiment)):
        progress.console.print(f"note: {remark}", highlight=False, style="yellow", soft_wrap=True)
    # The blocks are measured in the same cluster, whatever context is the current one by then.
    options = replace(options, cluster=options.cluster and options.cluster.with_context())
    # The id of a run is to be the name of its folder: what follows takes seconds.
    started = datetime.now(UTC)
    folder = options.root / named(started, "+".join(dict.fromkeys(run.experiment.name for run in planned)))
    try:
        prepared = prepare_runs(planned, options)
        store_runs(planned, prepared, _in_time_left(options, planned, progress), folder, started)
    except Interrupted as error:
        raise discarded(folder, error) from None
    return folder


def _completed(run: PlannedRun, options: Options, progress: Progress) -> PlannedRun:
    """Returns the run with everything that its jar says, and with the requests that its service has where it names
    none."""
    experiment = run.experiment
    if not options.cluster:
        experiment = complete(experiment)
        if resolve_service(experiment).agent:
            agent.find()
    if experiment.workload.is_empty:
        experiment = with_found_requests(experiment, options, progress)
    return replace(run, experiment=experiment)


def _in_time_left(options: Options, planned: Sequence[PlannedRun], progress: Progress) -> Options:
    """Returns the options with the time that each run has left of the call's."""
    if options.within is None:
        return options
    return replace(options, within=progress.schedule.budget_left() / len(planned))

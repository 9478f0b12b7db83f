"""``vtlab try``: the reader's own service, from its jar and a line to a decision."""

from __future__ import annotations

import math
import shutil
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

from rich.console import Console

from vtlab import own_experiment, services
from vtlab.errors import BadInput, BlockFault, Interrupted, PrerequisiteMissing, VariantFailed
from vtlab.host import agent, operating_system
from vtlab.measuring import load_search
from vtlab.model import units
from vtlab.model.curve import Curve
from vtlab.model.experiment import Experiment
from vtlab.own_experiment import Asked
from vtlab.planning import curve_to_load
from vtlab.planning.planned_runs import PlannedRun
from vtlab.report.words import curve_sentences, figures
from vtlab.runs import store
from vtlab.runs.create import create_runs, refuse_unmeasurable, resolve_cluster_ref
from vtlab.runs.measure import TargetSite, measure_and_report, open_target
from vtlab.runs.options import Options
from vtlab.services import own
from vtlab.targets.kubernetes.api.release_ref import ReleaseRef
from vtlab.targets.protocol import Target

#: Of the search, beside the manifest: its trials, one a line.
TRIALS = "search.jsonl"


def measure(asked: Asked, options: Options, console: Console) -> None:
    """Looks at the jar, searches a load where none is asked for, measures blocks, reports. Errors as of ``session``."""
    if not options.cluster:
        operating_system.refuse_other_than_linux()
    began = time.monotonic()
    # The blocks are measured in the same cluster, whatever context is the current one by then.
    options = replace(options, diagnosis="always", cluster=options.cluster and options.cluster.with_context())
    own_experiment.choose_java(asked.java)
    experiment = own_experiment.experiment_of(asked)
    service = services.of(experiment)
    if service.agent and not options.cluster:
        agent.find()
    variables = {n for variant in experiment.variants for n in services.environment(service, experiment, variant)}
    for remark in [*own_experiment.remarks(experiment), *own.remarks(sorted(variables))]:
        console.print(f"note: {remark}", highlight=False, style="yellow", soft_wrap=True)
    folder = options.root / f"{datetime.now(UTC):%Y%m%dT%H%M%SZ}-{experiment.name}"
    with _nothing_kept(folder):
        curve = None
        if asked.is_searched:
            there = resolve_cluster_ref(experiment, options)
            refuse_unmeasurable(experiment, there, options)
            curve = _searched(experiment, there, folder, options, began, console)
            for line in curve_sentences.lines(curve, experiment.variants):
                console.print(line, highlight=False, soft_wrap=True)
            experiment = curve_to_load.with_load(experiment, curve)
            if options.within is not None:
                options = replace(options, within=_left(options, began))
        planned = [PlannedRun(experiment.name, experiment)]
        create_runs(planned, options, experiment.name, folder=folder, curve=curve)
    measure_and_report(folder, options.root, console)


def _left(options: Options, began: float) -> float | None:
    """Seconds of the time that the call has; None where it may take as long as it does."""
    return None if options.within is None else max(0.0, options.within - (time.monotonic() - began))


def _searched(
    experiment: Experiment,
    there: ReleaseRef | None,
    folder: Path,
    options: Options,
    began: float,
    console: Console,
) -> Curve:
    """The curve of a pair of JVMs that the blocks do not use. PrerequisiteMissing where a variant does not start or
    something around the pair breaks, BadInput where no request is answered as expected."""

    def say(text: str) -> None:
        console.print(f"{datetime.now():%H:%M:%S}  {experiment.name}: search: {text}", highlight=False, soft_wrap=True)

    store.create_unmeasured(folder, experiment)
    logs = f"the logs are in {folder / 'logs'}"
    if there:
        logs = f"logs of k6 are in {folder / 'logs'}, where it ran; those of the copies went with their pods"
    try:
        with _target(there, folder, options, say) as target:
            curve = _curve(experiment, folder, target, lambda: _left(options, began), say)
    except VariantFailed as broken:
        raise PrerequisiteMissing(f"{broken.variant} failed: {broken}", logs) from None
    except BlockFault as fault:
        raise PrerequisiteMissing(f"the search broke off: {fault}", logs) from None
    refuse_without_levels(curve, experiment, logs)
    return curve


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


def refuse_without_levels(curve: Curve, experiment: Experiment, logs: str) -> None:
    """PrerequisiteMissing where a variant broke before any level was measured. BadInput where nothing was answered as
    expected, and where every variant answered with errors: they are the service's, whatever its threads."""
    if curve.ended == "failed" and not curve.points:
        raise PrerequisiteMissing(
            f"{curve.why}, after a warm-up with at most {load_search.WARM_UP_USERS} users",
            f"give it more memory, or measure with fewer: --users {load_search.WARM_UP_USERS // 4}; {logs}",
        )
    if not any(point.throughput for point in curve.points):
        raise BadInput(
            f"no request was answered as expected: {curve.why or 'there was no answer'}",
            f"correct the request, or say which answer is right in a file: expect: {{status: 201}}; {logs}",
        )
    last = [curve.of(variant)[-1] for variant in experiment.variants if curve.of(variant)]
    if curve.ended != "failed" or not last or min(point.failed for point in last) <= experiment.max_errors:
        return
    shares = figures.listed([f"{units.percent(point.failed, 1)} by {point.variant}" for point in last])
    raise BadInput(
        f"answers are errors at {last[0].users} users: {shares}",
        f"see why, or allow them in the file of vtlab try: max_errors: 0.02; {logs}",
    )


def _target(
    there: ReleaseRef | None, folder: Path, options: Options, say: Callable[[str], None]
) -> AbstractContextManager[Target]:
    run_id = f"{folder.name}_search" if there else folder.name
    return open_target(TargetSite(folder, options.root, run_id, there, not options.no_cpu_limit), say)


def _curve(
    experiment: Experiment,
    folder: Path,
    target: Target,
    left: Callable[[], float | None],
    say: Callable[[str], None],
) -> Curve:
    say(f"starting {' and '.join(experiment.variants)}")
    started = target.start(experiment, 0, 1)
    if started.failures:
        raise BlockFault("; ".join(f"{f.variant} failed, {f.moment}: {f.reason}" for f in started.failures))
    seconds = left()
    time_limit = load_search.SearchTime(load_search.WITHIN, math.inf if seconds is None else seconds)
    searched = load_search.LoadSearch(started, experiment, say, time_limit)
    try:
        return searched.run()
    finally:
        lines = "".join(trial.model_dump_json() + "\n" for trial in searched.trials)
        store.write_atomic(folder / TRIALS, lines)

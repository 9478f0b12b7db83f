"""Measures the load curve of a service, from which the load of its run is chosen, and stores its trials."""

from __future__ import annotations

from pathlib import Path

from vtlab.errors import BadInput, BlockFault, PrerequisiteMissing, VariantFailed
from vtlab.measuring import load_search
from vtlab.measuring.load_search import LoadSearch, SearchTime
from vtlab.measuring.progress import Progress
from vtlab.model import units
from vtlab.model.curve import Curve
from vtlab.model.experiment import Experiment
from vtlab.model.load import SEARCH_USERS
from vtlab.report.words import figures
from vtlab.runs import store
from vtlab.runs.measure import TargetSite, open_target
from vtlab.targets.protocol import StartedBlock

#: The file of the search's trials, one a line, in the folder of the run.
TRIALS = "search.jsonl"


def measure_curve(experiment: Experiment, site: TargetSite, progress: Progress) -> Curve:
    """Measures the curve on JVMs that the blocks do not use, in the time that the call has left.

    PrerequisiteMissing where a variant does not start or something around the JVMs breaks, BadInput where no request is
    answered as expected.
    """

    def title(text: str) -> str:
        return progress.title(experiment.name, f"searching load: {text}")

    def step(text: str) -> None:
        progress.step(title(text))

    store.create_unmeasured(site.folder, experiment)
    logs = f"the logs are in {site.folder / 'logs'}"
    if site.cluster_ref:
        logs = f"the logs of k6 are in {site.folder / 'logs'}; those of the copies are gone with their pods"
    try:
        with open_target(site, lambda text: progress.say(title(text))) as target:
            step(f"starting {' and '.join(experiment.variants)}")
            started = target.start(experiment, 0, 1)
            _refuse_failures(started)
            time_limit = SearchTime(load_search.WITHIN, progress.schedule.budget_left())
            curve = _run_and_store(LoadSearch(started, experiment, step, time_limit), site.folder)
    except VariantFailed as broken:
        raise PrerequisiteMissing(f"{broken.variant} failed: {broken}", logs) from None
    except BlockFault as fault:
        raise PrerequisiteMissing(f"the search stopped: {fault}", logs) from None
    refuse_without_levels(curve, experiment, logs)
    return curve


def _refuse_failures(started: StartedBlock) -> None:
    if started.failures:
        raise BlockFault("; ".join(f"{f.variant} failed, {f.moment}: {f.reason}" for f in started.failures))


def _run_and_store(search: LoadSearch, folder: Path) -> Curve:
    """Runs the search; stores its trials even where it breaks off."""
    try:
        return search.run()
    finally:
        lines = "".join(trial.model_dump_json() + "\n" for trial in search.trials)
        store.write_atomic(folder / TRIALS, lines)


def refuse_without_levels(curve: Curve, experiment: Experiment, logs: str) -> None:
    """Raises PrerequisiteMissing where a variant broke before any level was measured. BadInput where nothing was
    answered as expected, and where every variant answered with errors: they are the service's, whatever its threads."""
    if curve.ended == "failed" and not curve.points:
        raise PrerequisiteMissing(
            f"{curve.why}, after a warm-up with at most {SEARCH_USERS} users",
            f"give it more memory, or measure with fewer users: --users {SEARCH_USERS // 4}; {logs}",
        )
    if not any(point.throughput for point in curve.points):
        raise BadInput(
            f"no request was answered as expected: {curve.why or 'there was no answer'}",
            f"correct the request, or name the expected answer in a file: expect: {{status: 201}}; {logs}",
        )
    last = [curve.points_of(variant)[-1] for variant in experiment.variants if curve.points_of(variant)]
    if curve.ended != "failed" or not last or min(point.failed for point in last) <= experiment.max_errors:
        return
    shares = figures.listed([f"{units.percent(point.failed, 1)} by {point.variant}" for point in last])
    raise BadInput(
        f"answers are errors at {last[0].users} users: {shares}",
        f"find the cause, or allow errors in the file: max_errors: 0.02; {logs}",
    )

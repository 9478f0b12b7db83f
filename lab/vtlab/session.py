"""One call of vtlab: plans its runs, measures them one after another, reports. Also resumes them after a stop."""

from __future__ import annotations

import os
import secrets
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from rich.console import Console

from vtlab import facts, results, runner, services, shipped
from vtlab.analysis import asserts, sequential, standing, statistics, verdict
from vtlab.catalogue.dashboards import link
from vtlab.errors import BadInput, BlockFault, Interrupted, InvalidRun, LabError, PrerequisiteMissing
from vtlab.host import processes, tools
from vtlab.model import publication
from vtlab.model.curve import Curve
from vtlab.model.experiment import Experiment, load
from vtlab.model.records import DiagnosisMode, Manifest, SequentialRule
from vtlab.model.run import Analysis, Run
from vtlab.planning import plan
from vtlab.progress import Progress
from vtlab.report import write as write_report
from vtlab.report.pages import terminal
from vtlab.report.words import block_counts, hints
from vtlab.services import sample
from vtlab.targets import k6, publish
from vtlab.targets.kubernetes import copies, forward
from vtlab.targets.kubernetes.cluster import Copying, ReleaseRef
from vtlab.targets.kubernetes.target import kubernetes_target
from vtlab.targets.local.prometheus_server import PrometheusServer, serving
from vtlab.targets.local.target import KEPT, local_target
from vtlab.targets.prometheus_api import PrometheusApi
from vtlab.targets.target import Target

EXPERIMENTS = shipped.ROOT / "k6" / "experiments"
#: A seed is a whole number from 0 to below this.
SEEDS = 2**31


@dataclass(frozen=True)
class Options:
    """What the user asked for, beyond the experiments."""

    #: Fixed before the start; None: looks at growing numbers of blocks (``vtlab.analysis.sequential``).
    blocks: int | None
    seed: int | None
    root: Path
    no_cpu_limit: bool
    #: The cluster to measure in; None is this machine.
    cluster: ReleaseRef | None = None
    #: What copies of a service need there; None: what fits the chart.
    copying: Copying | None = None
    #: Assertions on the verdicts, as written.
    asserts: Sequence[str] = ()
    #: Where the Prometheus of a local run listens, which then keeps its data; None is anywhere.
    prometheus_port: int | None = None
    #: Which variants get thread dumps.
    diagnosis: DiagnosisMode = "unexplained"
    #: Rejected blocks after which a run is given up; None: ``plan.max_rejected``.
    max_rejected: int | None = None
    #: Of runs with looks: the wanted half-width of the ratio's interval, and the seconds that each run may take.
    precision: float = sequential.PRECISION
    within: float | None = None


def create_runs(
    planned: Sequence[plan.PlannedRun],
    options: Options,
    label: str,
    folder: Path | None = None,
    curve: Curve | None = None,
) -> Path:
    """Creates the folder of a call with one results directory per run; returns it.

    A single run's results directory is the folder itself. ``folder``, where it is there already; ``curve``, what the
    load was chosen by.
    """
    demands = [asserts.parse(text) for text in options.asserts]
    asserts.refuse_unknown(demands, [run.experiment for run in planned])
    if not options.cluster:
        refuse_other_systems()
    clusters = [measured_in(run.experiment, options) for run in planned]
    if not options.cluster:
        _train(run.experiment for run in planned)
    publications = publication.load()
    facts_of_runs = [
        facts.of(run.experiment, there, not options.no_cpu_limit) for run, there in zip(planned, clusters, strict=True)
    ]
    now = datetime.now(UTC)
    seed = options.seed if options.seed is not None else secrets.randbelow(SEEDS)
    folder = folder or options.root / f"{now:%Y%m%dT%H%M%SZ}-{label}"
    rule = _rule(planned, options)
    for run, facts_of_run, there in zip(planned, facts_of_runs, clusters, strict=True):
        fixed = run.blocks or options.blocks
        blocks = fixed or rule.looks[-1]
        run_folder = folder if len(planned) == 1 else folder / run.name
        manifest = runner.manifest_of(
            run,
            facts_of_run,
            run_id=f"{now:%Y%m%dT%H%M%SZ}-{run.name}",
            publication=publication.of(run.experiment, publications),
            started=now.isoformat(timespec="seconds"),
            blocks=blocks,
            rule=None if fixed else rule,
            diagnosis=options.diagnosis,
            max_rejected=plan.max_rejected(blocks) if options.max_rejected is None else options.max_rejected,
            seed=seed,
            command=facts.command(),
            asserts=list(options.asserts),
            commit=facts.commit(),
            cpu_limited=not options.no_cpu_limit,
            prometheus_port=options.prometheus_port,
            target="kubernetes" if there else "local",
            cluster=there.document() if there else {},
            curve=curve,
        )
        results.create(run_folder, manifest)
    return folder


def measured_in(experiment: Experiment, options: Options) -> ReleaseRef | None:
    """What a cluster measures the experiment by, a release of the chart or copies; None on this machine. BadInput where
    no cluster can."""
    if not options.cluster:
        return None
    _refuse_other_services(experiment)
    service = services.of(experiment)
    if not service.is_copied:
        _refuse_other_workloads(experiment)
    _refuse_between(experiment)
    copying = options.copying or copies.default()
    return copies.measured_in(options.cluster.with_context(), copying, service)


def _rule(planned: Sequence[plan.PlannedRun], options: Options) -> SequentialRule:
    """The rule of the runs whose number of blocks is not fixed: all their comparisons share its level."""
    comparisons = sum(len(run.experiment.variants) - 1 for run in planned if not (run.blocks or options.blocks))
    return sequential.rule(max(1, comparisons), options.precision, options.within)


def refuse_other_systems() -> None:
    """PrerequisiteMissing on anything but Linux, for what is started on this machine."""
    if sys.platform != "linux":
        raise PrerequisiteMissing(
            "vtlab measures on its own machine only where that is Linux: for CPU limits by control groups, and to end"
            " what it started",
            "measure in a cluster (--target kubernetes), on Linux, or in a Linux virtual machine",
        )


def _refuse_other_services(experiment: Experiment) -> None:
    service = services.of(experiment)
    if experiment.service not in (None, sample.NAME) and not service.is_copied:
        raise BadInput(
            f"{experiment.name}: a cluster starts neither a jar nor a command, as the service {service.name} is",
            "name its deployment or image in the key service, or measure it with --target local",
        )
    if builds := [name for name, properties in experiment.properties.items() if properties.jar]:
        raise BadInput(
            f"{experiment.name}: in a cluster no jar is started, as {' and '.join(builds)} would be",
            "make the other build a variant of the release by its image, or measure it with --target local",
        )


def _refuse_between(experiment: Experiment) -> None:
    if experiment.between:
        raise BadInput(f"{experiment.name}: in a cluster nothing is done between trials", "leave out the key between")


def _refuse_other_workloads(experiment: Experiment) -> None:
    workload = experiment.workload
    if workload.data or workload.login or workload.k6 or workload.uses_environment:
        raise BadInput(
            f"{experiment.name}: a release of the lab takes no data, login, variables of the environment or k6 script",
            "name your service's deployment or image in the key service, or measure with --target local",
        )


def _train(experiments: Iterable[Experiment]) -> None:
    """Has an ahead-of-time cache that fits, where any of these is of the sample application."""
    if any(experiment.service in (None, sample.NAME) for experiment in experiments):
        sample.train(tools.find_java(), lambda text: print(f"vtlab: {text}", file=sys.stderr))


def root_of(folder: Path) -> Path:
    """The results root that ``folder`` lies in: where vtlab keeps its ledger; else the folder's parent."""
    return next((parent for parent in folder.parents if (parent / processes.FOLDER).is_dir()), folder.parent)


def measure_and_report(folder: Path, root: Path, console: Console) -> list[Analysis]:
    """Measures what the runs in ``folder`` lack, then writes the reports. Keeps every finished block.

    AssertionFailed when a verdict is not what the call that began the runs demanded.
    """
    run_folders = results.runs_in(folder)
    if any(results.read(run_folder).manifest.target == "local" for run_folder in run_folders):
        refuse_other_systems()
    processes.refuse_if_busy(root)
    for line in processes.end_orphans(root):
        console.print(f"ended what an earlier vtlab left behind: {line}", highlight=False)
    runs = [results.read(run_folder) for run_folder in run_folders]
    for run, run_folder in zip(runs, run_folders, strict=True):
        _refuse_migrated(run, run_folder)
        _refuse_other_parts(run)
    remaining = [seconds for run_folder in run_folders for seconds in _remaining_block_seconds(run_folder)]
    is_least = any(_may_take_longer(results.read(run_folder)) for run_folder in run_folders)
    invalid: InvalidRun | None = None
    try:
        # The jar may have been built anew since the run began.
        _train(run.experiment for run in runs if run.manifest.target == "local" and standing.blocks_left(run))
        with Progress(console, remaining, is_least) as progress:
            for run_folder in run_folders:
                run = results.read(run_folder)
                with _target(run_folder, root, run.manifest, progress.say) as target:
                    try:
                        runner.measure(run_folder, target, progress, run.name)
                    except InvalidRun as error:
                        progress.say(f"{error.message}")
                        progress.give_up(len(_remaining_block_seconds(run_folder)))
                        invalid = invalid or error
    except Interrupted as error:
        message = f"{error.message}; every finished block is kept in {folder}"
        raise Interrupted(message, f"vtlab resume {folder}") from None
    except LabError as error:
        error.fix = f"{error.fix}; then resume with: vtlab resume {folder}" if error.fix else f"vtlab resume {folder}"
        raise
    analyses = report(folder, console)
    publish_verdicts(run_folders, analyses, console)
    if invalid:
        raise invalid
    for analysis in analyses:
        demands = [asserts.parse(text) for text in analysis.run.manifest.asserts]
        asserts.check(demands, [analysis.verdict])
    return analyses


def refuse_invalid(folder: Path, analyses: Sequence[Analysis]) -> None:
    """InvalidRun when the validity checks rejected more blocks of a run than it may lose, or all in its time."""
    for analysis in analyses:
        verdict, manifest = analysis.verdict, analysis.run.manifest
        has_ended = verdict.decision is not None and verdict.decision.ended
        if not verdict.valid and (has_ended or len(verdict.rejected) > manifest.max_rejected):
            raise InvalidRun(
                f"{analysis.run.name}: {block_counts.rejected_blocks(len(verdict.rejected))}, {verdict.n} of "
                f"{'at most ' if manifest.rule else ''}{manifest.blocks} count",
                f"the reasons are in {folder / 'report.html'}",
            )


def analyses(folder: Path) -> list[Analysis]:
    """The runs in ``folder``, judged together."""
    return verdict.analyse_all([results.read(run_folder) for run_folder in results.runs_in(folder)])


def report(folder: Path, console: Console) -> list[Analysis]:
    """Rebuilds every report in ``folder`` from the raw data and shows the verdicts."""
    run_folders = results.runs_in(folder)
    runs = [results.read(run_folder) for run_folder in run_folders]
    for run in runs:
        for warning in run.warnings:
            console.print(f"note: {warning}", highlight=False, style="yellow")
    analyses = verdict.analyse_all(runs)
    for run_folder, analysis in zip(run_folders, analyses, strict=True):
        results.write_verdict(run_folder, analysis.verdict)
    write_report(folder, analyses)
    console.print(terminal.render(analyses))
    for run_folder, analysis in zip(run_folders, analyses, strict=True):
        # In a cluster it takes the release's name, too.
        is_local = analysis.run.manifest.target == "local"
        command = hints.settling_command(analysis, str(run_folder / results.EXPERIMENT)) if is_local else None
        if command:
            console.print(f"\nto settle {analysis.run.name}: {command}", highlight=False, soft_wrap=True)
    console.print(f"\nreport: {folder / 'report.html'}", highlight=False, soft_wrap=True)
    return analyses


def publish_verdicts(run_folders: Sequence[Path], analyses: Sequence[Analysis], console: Console) -> None:
    """Writes the verdicts to the Prometheus of each run, for the dashboards, and says where they show it. Only now: the
    runs of a call are judged together. What cannot be written is a note: the verdict is in the report."""
    for run_folder, analysis in zip(run_folders, analyses, strict=True):
        if not publish.has_verdict(analysis.verdict):
            continue
        try:
            with _prometheus(run_folder, analysis.run.manifest) as client:
                if client:
                    dated = publish.publish(client, analysis)
                    where = link.line(analysis.run, dated, os.environ.get(link.GRAFANA))
                    console.print(where, highlight=False, soft_wrap=True)
        except Interrupted:
            raise
        # Of the operating system: its Prometheus writes where the disk may be full by now.
        except (BlockFault, LabError, OSError) as error:
            fix = f"; {error.fix}" if isinstance(error, LabError) and error.fix else ""
            text = f"note: the dashboards do not show the verdict of {analysis.run.name}: {error}{fix}"
            console.print(text, highlight=False, style="yellow", soft_wrap=True)


@contextmanager
def _prometheus(folder: Path, manifest: Manifest) -> Iterator[PrometheusApi | None]:
    """The Prometheus that has the samples of a run; None where they are gone."""
    if manifest.target == "kubernetes":
        with forward.prometheus(ReleaseRef.from_manifest(manifest.cluster)) as client:
            yield client
    elif (folder / KEPT / "data").is_dir():
        with _serving(folder) as server, PrometheusApi(server.url) as client:
            yield client
    else:
        yield None


def _target(folder: Path, root: Path, manifest: Manifest, say: Callable[[str], None]) -> AbstractContextManager[Target]:
    if manifest.target == "kubernetes":
        ref = ReleaseRef.from_manifest(manifest.cluster)
        return kubernetes_target(folder, root, ref, manifest.run_id, say)
    return local_target(
        folder,
        root,
        no_cpu_limit=not manifest.cpu_limited,
        prometheus_port=manifest.prometheus_port,
        run_id=manifest.run_id,
        say=say,
    )


def serve(folder: Path, port: int, console: Console) -> None:
    """Serves what a run's Prometheus kept, until it is interrupted. BadInput where there is nothing of the kind."""
    refuse_other_systems()
    if not (folder / KEPT / "data").is_dir():
        raise BadInput(
            f"{folder} holds no data of a Prometheus", "name the results directory of a run with --prometheus-port"
        )
    # While the run is measured its data have a server already. Two servers would break the data.
    processes.refuse_if_busy(root_of(folder))
    with _serving(folder, port) as server:
        console.print(f"{server.url} serves the data of {folder.name}; Ctrl-C ends it", highlight=False)
        while server.exit_description() is None:
            time.sleep(0.2)
        raise BlockFault(f"{server.exit_description()}: {server.process.last_lines()}")


def _serving(folder: Path, port: int | None = None) -> AbstractContextManager[PrometheusServer]:
    folder = folder.absolute()
    return serving(tools.find_prometheus(), folder / KEPT, folder / "logs" / "prometheus.log", port)


def _refuse_migrated(run: Run, folder: Path) -> None:
    """BadInput for a run of an earlier vtlab."""
    if run.is_migrated:
        raise BadInput(
            f"{folder} was measured by vtlab {run.manifest.versions.get('vtlab', '0.1')}: this one cannot resume it",
            f"see what it measured with vtlab report {folder}, or begin a new run: {run.manifest.command}",
        )


def _refuse_other_parts(run: Run) -> None:
    """BadInput when a run would resume with another JDK, k6, Prometheus, app or chart than it began with."""
    manifest = run.manifest
    cluster = ReleaseRef.from_manifest(manifest.cluster) if manifest.target == "kubernetes" else None
    now = facts.versions(run.experiment, cluster)
    changed = [
        f"{name} was {manifest.versions.get(name)}, is {now[name]}"
        for name in now
        if manifest.versions.get(name) != now[name]
    ]
    if changed:
        raise BadInput(
            f"{manifest.run_id} began with other parts: {'; '.join(changed)}",
            f"begin a new run: {manifest.command}"
            + "; or name that JDK: VTLAB_JAVA_HOME=/path/to/jdk" * any(text.startswith("java ") for text in changed),
        )


def noise(analysis: Analysis) -> str:
    """What an A/A run tells: by how much blocks differ when the variants do not."""
    spread = statistics.spread(analysis.verdict.comparisons[0].log_ratios)
    if spread.sd is None or spread.low is None or spread.high is None:
        return "per-block SD: at least two blocks are needed"
    return f"per-block SD: {spread.sd:.2%}, 95 % interval {spread.low:.2%} to {spread.high:.2%}, n = {spread.n}"


def resolve(names: Sequence[str]) -> list[Experiment]:
    """The experiments of those names (or paths of ``.json`` files)."""
    return [load(name, EXPERIMENTS) for name in names]


def _may_take_longer(run: Run) -> bool:
    """Whether a run may need more blocks than up to its next look, or longer ones: before its first warm-up nobody
    knows how long the windows of an open load will be."""
    return (run.manifest.rule is not None and standing.blocks_left(run) > 0) or runner.seconds_longer(run) is None


def _remaining_block_seconds(run_folder: Path) -> list[float | None]:
    """The estimated length of each block that the run lacks, in all or up to its next look."""
    run = results.read(run_folder)
    seconds, left = block_seconds(run_folder / results.PLAN, run.experiment), standing.blocks_left(run)
    if seconds is None or not left:
        return [seconds] * left
    seconds += runner.seconds_longer(run) or 0.0
    return [seconds + runner.seconds_beside(run), *[seconds] * (left - 1)]


def block_seconds(plan_file: Path, experiment: Experiment) -> float | None:
    """About how long a block takes, by the plan of k6; None where k6 is not set up here (a run in a cluster)."""
    try:
        tool = tools.find_k6()
    except PrerequisiteMissing:
        return None
    seconds = k6.block_seconds(tool.path, shipped.ROOT / "k6" / "block.ts", plan_file, experiment.variants)
    return None if seconds is None else plan.START + seconds

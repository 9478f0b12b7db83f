"""``vtlab run``: experiments, from their files to the verdict."""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated

import typer

from vtlab.commands import options
from vtlab.commands.options import (
    BLOCKS,
    ROOT,
    AgentImage,
    Context,
    K6Image,
    MonitorLabels,
    Namespace,
    NoLimit,
    PrometheusUrl,
    Release,
    Results,
    Seed,
    To,
)
from vtlab.commands.output import console
from vtlab.errors import BadInput
from vtlab.measuring.progress import Progress
from vtlab.planning import extra_variants, planned_runs
from vtlab.planning.shipped_experiments import resolve
from vtlab.runs.create import create_runs
from vtlab.runs.measure import measure_and_report
from vtlab.targets.kubernetes.api.release_ref import ReleaseRef
from vtlab.targets.kubernetes.release import reports_config_map


def run(
    experiments: Annotated[
        list[str], typer.Argument(metavar="EXPERIMENT...", help="Names (vtlab list) or .json files.")
    ],
    cpu: Annotated[str, typer.Option("--cpu", help="CPU limits in cores, such as 0.5,1; each makes a run.")] = "",
    blocks: Annotated[
        int | None, typer.Option("--blocks", help=f"{BLOCKS} If none: until the verdict is settled, 2 to 12.")
    ] = None,
    precision: Annotated[
        str | None, typer.Option("--precision", help="Wanted half-width of the ratio's interval; 25% if none.")
    ] = None,
    within: Annotated[
        str | None,
        typer.Option("--within", help="Time for each run, such as 8m; what is not settled then is inconclusive."),
    ] = None,
    seed: Seed = None,
    root: Results = ROOT,
    no_cpu_limit: NoLimit = False,
    demand: Annotated[
        list[str] | None, typer.Option("--assert", help="Exit 1 unless it holds: 'throughput(virtual/platform) >= 1.2'")
    ] = None,
    prometheus_port: Annotated[
        int | None,
        typer.Option("--prometheus-port", help="Let the run's Prometheus listen there, for dashboards; keep its data."),
    ] = None,
    max_rejected: Annotated[
        int | None,
        typer.Option("--max-rejected", help="Rejected blocks after which a run is given up; max(2, blocks/2) if none."),
    ] = None,
    more: Annotated[
        list[str] | None,
        typer.Option("--with", metavar="jar=PATH", help="One more variant: the first one, from another build's jar."),
    ] = None,
    diagnosis: Annotated[
        str, typer.Option("--diagnosis", help="Thread dumps of variants: always, or of those that are unexplained.")
    ] = "unexplained",
    config_map: Annotated[
        str | None,
        typer.Option("--config-map", metavar="NAME", help="In a cluster: write the reports into this ConfigMap, too."),
    ] = None,
    target: To = "local",
    context: Context = None,
    namespace: Namespace = "lab",
    release: Release = "lab",
    prometheus_url: PrometheusUrl = None,
    agent_image: AgentImage = None,
    k6_image: K6Image = None,
    monitor_labels: MonitorLabels = "",
) -> None:
    """Measure experiments, here or in a cluster: both variants, block by block, then the verdict."""
    cluster = options.cluster_ref(target, context, namespace, release)
    options.refuse_no_limit(cluster, no_cpu_limit)
    _refuse_wrong_place(cluster, prometheus_port, config_map)
    if max_rejected is not None and max_rejected < 0:
        raise BadInput(f"--max-rejected {max_rejected}: fewer than none", "0 gives up at the first")
    dumps = options.diagnosis(diagnosis, cluster)
    resolved = [extra_variants.with_extra_variants(experiment, more or []) for experiment in resolve(experiments)]
    planned = planned_runs.runs(resolved, options.cpu_limits(cpu))
    call = replace(
        options.run_options(blocks, seed, root, no_cpu_limit),
        precision=options.precision(precision, blocks),
        within=options.within(within, blocks),
        cluster=cluster,
        copying=options.copying(prometheus_url, agent_image, k6_image, monitor_labels),
        asserts=demand or [],
        prometheus_port=prometheus_port,
        max_rejected=max_rejected,
        diagnosis=dumps,
    )
    label = "+".join(dict.fromkeys(run.experiment.name for run in planned))
    with Progress(console) as progress:
        if cluster and config_map:
            reports_config_map.clear(cluster, config_map)
        folder = create_runs(planned, call, label)
        try:
            measure_and_report(folder, root, progress)
        finally:
            if cluster and config_map:
                reports_config_map.fill(cluster, config_map, folder)


def _refuse_wrong_place(cluster: ReleaseRef | None, prometheus_port: int | None, config_map: str | None) -> None:
    """Raises BadInput for an option of this machine in a cluster, and the other way round."""
    if cluster and prometheus_port is not None:
        raise BadInput("--prometheus-port is for this machine", "a cluster has its own: kubectl port-forward")
    if config_map and not cluster:
        raise BadInput("--config-map is for a cluster", "the results directory has the reports")
    if prometheus_port is not None:
        options.refuse_no_port(prometheus_port)

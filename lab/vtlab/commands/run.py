"""``vtlab run``: experiments, from their files to the verdict."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Annotated

import typer

from vtlab.commands import options
from vtlab.commands.help_pages import CLUSTER, RESULTS, SERVICE, STOP
from vtlab.commands.options import (
    ROOT,
    AgentImage,
    Asserts,
    Blocks,
    Context,
    Deployment,
    Json,
    K6Image,
    K6NodeSelector,
    MonitorLabels,
    Namespace,
    NoFixedUserIds,
    NoLimit,
    Precision,
    PrometheusImage,
    PrometheusUrl,
    Quiet,
    Release,
    Results,
    Seed,
    Slo,
    To,
    Variants,
)
from vtlab.commands.output import Output
from vtlab.errors import BadInput
from vtlab.measuring.progress import Progress
from vtlab.model import experiment_files
from vtlab.model.draft import Option
from vtlab.planning import planned_runs
from vtlab.planning.shipped_experiments import EXPERIMENTS, load
from vtlab.runs.begin import begin_runs
from vtlab.runs.measure import measure_and_report
from vtlab.runs.options import Options
from vtlab.targets.kubernetes.api.release_ref import Copying, ReleaseRef
from vtlab.targets.kubernetes.release import reports_config_map

EXAMPLES = """\
vtlab run blocking --cpu 0.5 --cpu 1
vtlab run vtlab.yaml --assert 'capacity(virtual/platform) >= 1.2' --json
"""


def run(
    experiments: Annotated[
        list[str],
        typer.Argument(
            metavar="EXPERIMENT",
            help="Names (vtlab experiments) or files such as vtlab.yaml.",
            autocompletion=lambda: experiment_files.names(EXPERIMENTS),
        ),
    ],
    cpu: Annotated[
        list[str] | None,
        typer.Option(
            "--cpu",
            metavar="CORES",
            help="CPU limit; each makes a separate run. Repeatable.",
            rich_help_panel=SERVICE,
        ),
    ] = None,
    more: Variants = None,
    no_cpu_limit: NoLimit = False,
    max_time: Annotated[
        str | None,
        typer.Option(
            "--max-time",
            metavar="TIME",
            help="Time budget of each run, its search included, such as 8m.",
            rich_help_panel=STOP,
        ),
    ] = None,
    precision: Precision = None,
    blocks: Blocks = None,
    max_rejected: Annotated[
        int | None,
        typer.Option(
            "--max-rejected",
            metavar="N",
            help="End a run after more than N rejected blocks. [default: half of the blocks, at least 2]",
            rich_help_panel=STOP,
        ),
    ] = None,
    demand: Asserts = None,
    slo: Slo = None,
    as_json: Json = False,
    is_quiet: Quiet = False,
    root: Results = ROOT,
    seed: Seed = None,
    dumps: Annotated[
        str,
        typer.Option(
            "--thread-dumps",
            metavar="WHEN",
            help="always, or unexplained: of variants whose limit nothing explains.",
            rich_help_panel=RESULTS,
        ),
    ] = "unexplained",
    prometheus_port: Annotated[
        int | None,
        typer.Option(
            "--prometheus-port",
            metavar="PORT",
            help="Serve the metrics there during the run, for dashboards, and keep them.",
            rich_help_panel=RESULTS,
        ),
    ] = None,
    deployment: Deployment = None,
    target: To = None,
    context: Context = None,
    namespace: Namespace = "lab",
    release: Release = "lab",
    config_map: Annotated[
        str | None,
        typer.Option(
            "--config-map", metavar="NAME", help="Write the reports into this ConfigMap, too.", rich_help_panel=CLUSTER
        ),
    ] = None,
    prometheus_url: PrometheusUrl = "",
    prometheus_image: PrometheusImage = "",
    agent_image: AgentImage = "",
    k6_image: K6Image = "",
    monitor_labels: MonitorLabels = "",
    k6_node_selector: K6NodeSelector = "",
    no_fixed_user_ids: NoFixedUserIds = False,
) -> None:
    """Measure experiments or vtlab.yaml, block by block.

    Runs both variants, on this machine or in a cluster, until the outcomes are settled.
    """
    given = [options.variant_option(more), Option("--deployment", "service.deployment", deployment)]
    loaded = load(experiments, given)
    cluster = options.Place(target, context, namespace, release, deployment).cluster(loaded)
    options.refuse_no_limit(cluster, no_cpu_limit)
    _refuse_wrong_place(cluster, prometheus_port, config_map)
    if max_rejected is not None and max_rejected < 0:
        raise BadInput(f"--max-rejected {max_rejected}: must be 0 or more", "0 gives up at the first rejected block")
    diagnosis = options.thread_dumps(dumps, cluster)
    planned = planned_runs.runs(loaded, options.cpu_limits(cpu or []))
    call = replace(
        options.run_options(blocks, seed, root, no_cpu_limit),
        precision=options.precision(precision, blocks),
        within=options.max_time(max_time, blocks),
        cluster=cluster,
        copying=options.copying(
            Copying(
                prometheus=prometheus_url,
                agent_image=agent_image,
                k6_image=k6_image,
                monitor_labels=monitor_labels,
                k6_node_selector=k6_node_selector,
                prometheus_image=prometheus_image,
                fixed_user_ids=not no_fixed_user_ids,
            )
        ),
        asserts=demand or [],
        slo=options.slo(slo),
        prometheus_port=prometheus_port,
        max_rejected=max_rejected,
        diagnosis=diagnosis,
    )
    _measure(planned, call, config_map, Output(is_quiet, as_json))


def _measure(planned: Sequence[planned_runs.PlannedRun], call: Options, config_map: str | None, output: Output) -> None:
    with Progress(output.progress) as progress:
        if call.cluster and config_map:
            reports_config_map.clear(call.cluster, config_map)
        folder = begin_runs(planned, call, progress)
        try:
            with output.concluding(folder):
                measure_and_report(folder, call.root, progress)
        finally:
            if call.cluster and config_map:
                reports_config_map.fill(call.cluster, config_map, folder)


def _refuse_wrong_place(cluster: ReleaseRef | None, prometheus_port: int | None, config_map: str | None) -> None:
    """Raises BadInput for an option of this machine in a cluster, and the other way round."""
    if cluster and prometheus_port is not None:
        raise BadInput("--prometheus-port is for this machine", "reach that of the cluster by kubectl port-forward")
    if config_map and not cluster:
        raise BadInput("--config-map is for a cluster", "the results directory has the reports")
    if prometheus_port is not None:
        options.refuse_impossible_port(prometheus_port)

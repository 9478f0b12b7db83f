"""``vtlab try``: a user's service, from its jar and a line to a decision."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

from vtlab.commands import options
from vtlab.commands.help_pages import LOAD, SERVICE, STOP
from vtlab.commands.options import (
    ROOT,
    AgentImage,
    Asserts,
    Blocks,
    Context,
    Database,
    Deployment,
    EnvFile,
    Jdk,
    Json,
    JvmFlags,
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
    Results,
    Seed,
    Slo,
    To,
    Variables,
    Variants,
)
from vtlab.commands.output import Output
from vtlab.errors import BadInput
from vtlab.measuring.progress import Progress
from vtlab.model import documents
from vtlab.model.draft import Option
from vtlab.model.experiment import Experiment
from vtlab.model.load import TYPICAL_SHARE
from vtlab.model.workload import METHODS
from vtlab.planning.planned_runs import PlannedRun
from vtlab.planning.shipped_experiments import load_deployment, load_service
from vtlab.runs.begin import begin_runs
from vtlab.runs.measure import measure_and_report
from vtlab.runs.options import Options
from vtlab.targets.kubernetes.api.release_ref import Copying

#: Time budget of a call that names none.
MAX_TIME = "8m"
EXAMPLES = """\
vtlab try app.jar "GET /orders/17" --cpu 2
vtlab try --deployment shop --namespace shops "GET /orders/17"
"""


def try_(
    service: Annotated[
        str | None,
        typer.Argument(
            metavar="SERVICE",
            help="Spring Boot jar (3.2 or newer, on Tomcat or Jetty), or a file such as vtlab.yaml (vtlab init).",
        ),
    ] = None,
    requests: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="REQUEST", help="Lines such as 'GET /orders/{id}'. [default: the GETs that the service lists]"
        ),
    ] = None,
    script: Annotated[
        Path | None,
        typer.Option("--k6", metavar="FILE", help="k6 script, in place of requests.", rich_help_panel=LOAD),
    ] = None,
    data: Annotated[
        Path | None,
        typer.Option("--data", metavar="FILE", help="CSV file; fills {names} in requests.", rich_help_panel=LOAD),
    ] = None,
    users: Annotated[
        int | None,
        typer.Option(
            "--users", metavar="N", help="Concurrent users of full load. [default: search]", rich_help_panel=LOAD
        ),
    ] = None,
    rate: Annotated[
        float | None,
        typer.Option(
            "--rate",
            metavar="N",
            help=f"Arrivals per second of the typical load. [default: {TYPICAL_SHARE:.0%} of full load]",
            rich_help_panel=LOAD,
        ),
    ] = None,
    think: Annotated[
        str | None,
        typer.Option(
            "--think-time",
            metavar="TIME",
            help="Pause of a user between two requests, such as 500ms. [default: none]",
            rich_help_panel=LOAD,
        ),
    ] = None,
    cpu: Annotated[
        float | None,
        typer.Option("--cpu", metavar="CORES", help="CPU limit of each variant. [default: 1]", rich_help_panel=SERVICE),
    ] = None,
    memory: Annotated[
        str | None,
        typer.Option(
            "--memory", metavar="SIZE", help="Memory limit of each variant. [default: 1Gi]", rich_help_panel=SERVICE
        ),
    ] = None,
    jvm: JvmFlags = None,
    java: Jdk = None,
    env: Variables = None,
    env_file: EnvFile = None,
    reset: Annotated[
        str | None,
        typer.Option(
            "--reset",
            metavar="ACTION",
            help="Reset the service before each trial: 'POST /test/reset', or a command.",
            rich_help_panel=SERVICE,
        ),
    ] = None,
    database: Database = None,
    more: Variants = None,
    no_cpu_limit: NoLimit = False,
    max_time: Annotated[
        str | None,
        typer.Option(
            "--max-time",
            metavar="TIME",
            help=f"Time budget; reports progress if it runs out. [default: {MAX_TIME}]",
            rich_help_panel=STOP,
        ),
    ] = None,
    precision: Precision = None,
    blocks: Blocks = None,
    demand: Asserts = None,
    slo: Slo = None,
    as_json: Json = False,
    is_quiet: Quiet = False,
    root: Results = ROOT,
    seed: Seed = None,
    deployment: Deployment = None,
    target: To = None,
    context: Context = None,
    namespace: Namespace = "lab",
    prometheus_url: PrometheusUrl = "",
    prometheus_image: PrometheusImage = "",
    agent_image: AgentImage = "",
    k6_image: K6Image = "",
    monitor_labels: MonitorLabels = "",
    k6_node_selector: K6NodeSelector = "",
    no_fixed_user_ids: NoFixedUserIds = False,
) -> None:
    """Measure your service, and say what to do.

    Searches a load, measures both variants block by block, and tells what virtual threads change and at what load.
    """
    given = [
        Option("--k6", "k6", options.absolute(script)),
        Option("--data", "data", options.absolute(data)),
        *options.load_options(users, rate, think),
        Option("--cpu", "limits.cpu", cpu),
        Option("--memory", "limits.memory", memory),
        *options.process_options(jvm or [], java, env or [], env_file),
        Option("--reset", "reset", reset),
        options.database_option(database),
        options.variant_option(more),
    ]
    run_options = replace(
        options.run_options(blocks, seed, root, no_cpu_limit),
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
        diagnosis="always",
        precision=options.precision(precision, blocks),
        within=options.max_time(max_time if blocks else max_time or MAX_TIME, blocks),
        finds_requests=True,
    )
    experiment = _experiment(service, requests or [], deployment, given)
    cluster = options.Place(target, context, namespace, deployment=deployment).cluster([experiment])
    options.refuse_no_limit(cluster, no_cpu_limit)
    _measure(experiment, replace(run_options, cluster=cluster), Output(is_quiet, as_json))


def _measure(experiment: Experiment, run_options: Options, output: Output) -> None:
    with Progress(output.progress) as progress:
        folder = begin_runs([PlannedRun(experiment.name, experiment)], run_options, progress)
        with output.concluding(folder):
            measure_and_report(folder, run_options.root, progress)


def _experiment(
    service: str | None, requests: Sequence[str], deployment: str | None, given: Sequence[Option]
) -> Experiment:
    """Returns the experiment of a call. BadInput where it names no service, or two."""
    lines, is_file = list(requests), service is not None and Path(service).suffix in documents.SUFFIXES
    if service and (_is_request(service) or (deployment and not is_file and not service.endswith(".jar"))):
        lines, service = [service, *lines], None
    written = [Option("REQUEST", "requests", lines), Option("--deployment", "service.deployment", deployment), *given]
    if service and deployment and not is_file:
        raise BadInput(
            f"try: {service} and --deployment {deployment} are two services",
            "leave one of them out, or name both in one file: vtlab try vtlab.yaml",
        )
    if service:
        return load_service(Path(service), written)
    if deployment:
        return load_deployment(written)
    raise BadInput("try: SERVICE is missing", f"write it, as in: {EXAMPLES.splitlines()[0]}")


def _is_request(text: str) -> bool:
    """Tells a line such as ``GET /orders/17`` from the path of a service."""
    method, space, _ = text.partition(" ")
    return bool(space) and method in METHODS

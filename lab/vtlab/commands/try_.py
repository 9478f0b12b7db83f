"""``vtlab try``: a user's service, from its jar and a line to a decision."""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated

import typer
from pydantic import ValidationError

from vtlab.commands import options
from vtlab.commands.help_pages import LOAD, SERVICE, STOP
from vtlab.commands.options import (
    ROOT,
    AgentImage,
    Asserts,
    Blocks,
    Context,
    Deployment,
    EnvFile,
    Jdk,
    Json,
    JvmFlags,
    K6Image,
    MonitorLabels,
    Namespace,
    NoLimit,
    Precision,
    PrometheusUrl,
    Quiet,
    Results,
    Seed,
    To,
    Variables,
    Variants,
)
from vtlab.commands.output import Output
from vtlab.errors import BadInput, Interrupted
from vtlab.host import agent, operating_system
from vtlab.measuring.progress import Progress
from vtlab.model import documents, service_file
from vtlab.model.experiment import Experiment
from vtlab.model.service import Service
from vtlab.model.service_file import RequestLines, TryInput, TryOptions
from vtlab.planning import curve_to_load, try_experiment
from vtlab.planning.planned_runs import PlannedRun
from vtlab.report.words import curve_sentences
from vtlab.runs.create import Searched, create_runs, create_searched_run, prepare, refuse_unanswerable
from vtlab.runs.load_curve import measure_curve
from vtlab.runs.measure import TargetSite, measure_and_report
from vtlab.runs.options import Options
from vtlab.services import from_jar
from vtlab.services.environment import variant_environment
from vtlab.services.resolve import resolve_service

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
        list[str] | None, typer.Argument(metavar="REQUEST", help="Lines such as 'GET /orders/{id}'.")
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
        typer.Option("--users", metavar="N", help="Concurrent users. [default: search]", rich_help_panel=LOAD),
    ] = None,
    rate: Annotated[
        float | None,
        typer.Option("--rate", metavar="N", help="Arrivals per second, in place of users.", rich_help_panel=LOAD),
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
    database: Annotated[
        bool,
        typer.Option(
            "--database", help="Start a throwaway MariaDB, with a database for each variant.", rich_help_panel=SERVICE
        ),
    ] = False,
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
    as_json: Json = False,
    is_quiet: Quiet = False,
    root: Results = ROOT,
    seed: Seed = None,
    deployment: Deployment = None,
    target: To = None,
    context: Context = None,
    namespace: Namespace = "lab",
    prometheus_url: PrometheusUrl = None,
    agent_image: AgentImage = None,
    k6_image: K6Image = None,
    monitor_labels: MonitorLabels = "",
) -> None:
    """Measure your service, and say what to do.

    Searches a load, measures both variants block by block, and tells what virtual threads change and at what load.
    """
    settings = TryOptions(
        users=users,
        rate=rate,
        think_time=think,
        cpu=cpu,
        memory=memory,
        jvm_flags=options.jvm_flags(jvm or []),
        java=java,
        environment_from=options.variable_names(env or []),
        environment_file=env_file,
        variants=more or [],
        between=reset,
        database=database or None,
    )
    measured, lines = measured_service(service, requests or [], deployment)
    call = service_file.of_call(measured, RequestLines(lines, script, data), settings)
    cluster = options.Place(target, context, namespace, deployment=deployment).cluster()
    options.refuse_no_limit(cluster, no_cpu_limit)
    run_options = replace(
        options.run_options(blocks, seed, root, no_cpu_limit),
        cluster=cluster,
        copying=options.copying(prometheus_url, agent_image, k6_image, monitor_labels),
        asserts=demand or [],
        diagnosis="always",
        precision=options.precision(precision, blocks),
        within=options.max_time(max_time if blocks else max_time or MAX_TIME, blocks),
    )
    output = Output(is_quiet, as_json)
    with Progress(output.progress) as progress:
        measure_service(call, run_options, output, progress)


def measured_service(
    service: str | None, requests: Sequence[str], deployment: str | None
) -> tuple[Path | Service, list[str]]:
    """Returns the service that a call names, and its request lines. BadInput where there is none, or two."""
    if deployment is None:
        if service is None:
            raise BadInput("try: SERVICE is missing", f"write it, as in: {EXAMPLES.splitlines()[0]}")
        return Path(service), list(requests)
    if service and Path(service).suffix in (".jar", *documents.SUFFIXES):
        raise BadInput(
            f"try: {service} and --deployment {deployment} are two services",
            "leave one of them out; a file can name the Deployment itself",
        )
    try:
        copied = Service(name=re.sub("[^a-z0-9]+", "-", deployment), deployment=deployment)
    except ValidationError:
        raise BadInput(
            f"--deployment {deployment}: not the name of a Deployment", "see: kubectl get deployments"
        ) from None
    # The first word is a request: there is no other service.
    return copied, [*([service] if service else []), *requests]


def measure_service(call: TryInput, run_options: Options, output: Output, progress: Progress) -> None:
    """Searches a load where none is named, measures blocks, reports. Errors as of ``measure_and_report``."""
    progress.schedule.set_budget(run_options.within)
    if not run_options.cluster:
        operating_system.refuse_other_than_linux()
    # The blocks are measured in the same cluster, whatever context is the current one by then.
    cluster = run_options.cluster and run_options.cluster.with_context()
    run_options = replace(run_options, cluster=cluster, java_home=call.options.java_home)
    experiment = try_experiment.experiment_of(call)
    if resolve_service(experiment).agent and not cluster:
        agent.find()
    for remark in _remarks(experiment):
        progress.console.print(f"note: {remark}", highlight=False, style="yellow", soft_wrap=True)
    folder = run_options.root / f"{datetime.now(UTC):%Y%m%dT%H%M%SZ}-{experiment.name}"
    with _nothing_kept(folder):
        if call.is_searched:
            _create_searched(experiment, run_options, folder, progress)
        else:
            create_runs([PlannedRun(experiment.name, experiment)], run_options, experiment.name, folder)
    with output.concluding(folder):
        measure_and_report(folder, run_options.root, progress, run_options.java_home)


def _create_searched(experiment: Experiment, run_options: Options, folder: Path, progress: Progress) -> None:
    """Searches the load, and creates the run with it in the time that is left of the call."""
    refuse_unanswerable(run_options, [experiment])
    prepared = prepare(experiment, run_options)
    site = TargetSite.of_search(folder, prepared.cluster_ref, run_options)
    curve = measure_curve(experiment, site, progress)
    for line in curve_sentences.lines(curve, experiment.variants):
        progress.console.print(line, highlight=False, soft_wrap=True)
    experiment = curve_to_load.with_load(experiment, curve)
    if run_options.within is not None:
        run_options = replace(run_options, within=progress.schedule.budget_left())
    create_searched_run(experiment, run_options, Searched(folder, curve, prepared))


def _remarks(experiment: Experiment) -> list[str]:
    """Lists warnings, in sentences, of possible disturbances of the measurement."""
    service = resolve_service(experiment)
    variables = {name for variant in experiment.variants for name in variant_environment(service, experiment, variant)}
    return [*try_experiment.writing_remarks(experiment), *from_jar.environment_remarks(sorted(variables))]


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

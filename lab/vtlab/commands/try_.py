"""``vtlab try``: a user's service, from its jar and a line to a decision."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated

import typer

from vtlab.commands import options, output
from vtlab.commands.options import (
    BLOCKS,
    ROOT,
    AgentImage,
    Context,
    EnvFile,
    K6Image,
    MonitorLabels,
    Namespace,
    NoLimit,
    PrometheusUrl,
    Results,
    Seed,
    To,
)
from vtlab.errors import Interrupted
from vtlab.host import agent, operating_system
from vtlab.measuring.progress import Progress
from vtlab.model import service_file
from vtlab.model.experiment import Experiment
from vtlab.model.service_file import RequestLines, TryInput, TryOptions
from vtlab.planning import curve_to_load, extra_variants, try_experiment
from vtlab.planning.planned_runs import PlannedRun
from vtlab.report.words import curve_sentences
from vtlab.runs.create import Searched, create_runs, create_searched_run, prepare
from vtlab.runs.load_curve import measure_curve
from vtlab.runs.measure import TargetSite, measure_and_report
from vtlab.runs.options import Options
from vtlab.services import from_jar
from vtlab.services.environment import variant_environment
from vtlab.services.resolve import resolve_service


def try_(
    service: Annotated[
        Path,
        typer.Argument(
            metavar="SERVICE",
            help="An executable Spring Boot jar: 3.2 or newer, on Tomcat or Jetty; or a YAML file (vtlab init);"
            " or the JSON file of a service.",
        ),
    ],
    requests: Annotated[
        list[str] | None, typer.Argument(metavar="[REQUEST...]", help="Lines such as 'GET /orders/{id}'.")
    ] = None,
    script: Annotated[Path | None, typer.Option("--k6", help="A k6 script, in place of requests.")] = None,
    data: Annotated[
        Path | None, typer.Option("--data", help="A CSV file: its columns are {names} in requests.")
    ] = None,
    users: Annotated[int | None, typer.Option("--users", help="So many users; vtlab searches if not given.")] = None,
    rate: Annotated[float | None, typer.Option("--rate", help="Arrivals per second, in place of users.")] = None,
    think: Annotated[
        str | None, typer.Option("--think", help="Between two requests of a user: 500ms; none if not given.")
    ] = None,
    cpu: Annotated[float | None, typer.Option("--cpu", help="CPU limit of each variant, in cores; 1.")] = None,
    memory: Annotated[str | None, typer.Option("--memory", help="Memory limit of each variant; 1Gi.")] = None,
    jvm: Annotated[
        list[str] | None, typer.Option("--jvm", help="A flag of production, such as --jvm=-Xmx512m; once for each.")
    ] = None,
    java: Annotated[
        str | None,
        typer.Option("--java", help="A JDK: its major version, or its directory; JAVA_HOME, else the newest, if none."),
    ] = None,
    env: Annotated[
        list[str] | None,
        typer.Option("--env", metavar="NAME[=VALUE]", help="A variable for the service; no record has its value."),
    ] = None,
    env_file: EnvFile = None,
    between: Annotated[
        str | None, typer.Option("--between", help="Before each trial: 'POST /test/reset', or a command.")
    ] = None,
    database: Annotated[
        bool, typer.Option("--database", help="vtlab starts a MariaDB, with a database for each variant.")
    ] = False,
    more: Annotated[
        list[str] | None, typer.Option("--with", metavar="VARIANT", help=f"One more variant: {extra_variants.KINDS}.")
    ] = None,
    precision: Annotated[str, typer.Option("--precision", help="Wanted half-width of the ratio's interval.")] = "10%",
    within: Annotated[
        str,
        typer.Option("--within", help="Time for all of it; what is not settled then is said, with what was reached."),
    ] = "8m",
    blocks: Annotated[
        int | None, typer.Option("--blocks", help=f"{BLOCKS} If none: until the verdict is settled, or the time over.")
    ] = None,
    seed: Seed = None,
    root: Results = ROOT,
    no_cpu_limit: NoLimit = False,
    target: To = "local",
    context: Context = None,
    namespace: Namespace = "lab",
    prometheus_url: PrometheusUrl = None,
    agent_image: AgentImage = None,
    k6_image: K6Image = None,
    monitor_labels: MonitorLabels = "",
) -> None:
    """Measure your own service: search a load, measure blocks, and say in a line what virtual threads change."""
    settings = TryOptions(
        users=users,
        rate=rate,
        think_time=think,
        cpu=cpu,
        memory=memory,
        jvm_flags=jvm or [],
        java=java,
        environment_from=options.variable_names(env or []),
        environment_file=env_file,
        variants=more or [],
        between=between,
        database=database or None,
    )
    call = service_file.of_call(service, RequestLines(requests or [], script, data), settings)
    cluster = options.cluster_ref(target, context, namespace, "")
    options.refuse_no_limit(cluster, no_cpu_limit)
    run_options = replace(
        options.run_options(blocks, seed, root, no_cpu_limit),
        cluster=cluster,
        copying=options.copying(prometheus_url, agent_image, k6_image, monitor_labels),
        diagnosis="always",
    )
    if blocks is None:
        run_options = replace(
            run_options, precision=options.precision(precision, None), within=options.within(within, None)
        )
    with Progress(output.console) as progress:
        measure_service(call, run_options, progress)


def measure_service(call: TryInput, run_options: Options, progress: Progress) -> None:
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
    measure_and_report(folder, run_options.root, progress, run_options.java_home)


def _create_searched(experiment: Experiment, run_options: Options, folder: Path, progress: Progress) -> None:
    """Searches the load, and creates the run with it in the time that is left of the call."""
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

"""``vtlab try``: a user's service, from its jar and a line to a decision."""

from __future__ import annotations

import time
from dataclasses import replace
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
from vtlab.model.draft import Option
from vtlab.model.short_variants import KINDS
from vtlab.planning.planned_runs import PlannedRun
from vtlab.planning.shipped_experiments import of_service
from vtlab.runs.begin import begin_run
from vtlab.runs.found_requests import with_found_requests
from vtlab.runs.measure import measure_and_report


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
        list[str] | None, typer.Option("--with", metavar="VARIANT", help=f"One more variant: {KINDS}.")
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
    began = time.monotonic()
    given = [
        Option("REQUEST", "requests", requests or []),
        Option("--k6", "k6", options.absolute(script)),
        Option("--data", "data", options.absolute(data)),
        *options.load_options(users, rate, think),
        Option("--cpu", "limits.cpu", cpu),
        Option("--memory", "limits.memory", memory),
        Option("--jvm", "service.jvm_flags", jvm or []),
        Option("--java", "service.java", java if java is None or java.isdigit() else options.absolute(Path(java))),
        Option("--env", "service.env", options.variable_names(env or [])),
        Option("--env-file", "service.env_file", options.absolute(env_file)),
        Option("--between", "reset", between),
        Option("--database", "needs", ["database"] if database else []),
        options.variant_option("--with", more),
    ]
    experiment = of_service(service, given)
    cluster = options.cluster_ref(options.implied_target(target, [experiment]), context, namespace, "")
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
    if experiment.workload.is_empty and not cluster:
        experiment = with_found_requests(experiment, run_options.root, output.console)
    folder = begin_run(PlannedRun(experiment.name, experiment), run_options, output.console, began)
    measure_and_report(folder, run_options.root, output.console)

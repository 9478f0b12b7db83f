"""The command line of vtlab."""

from __future__ import annotations

import itertools
import os
import signal
import sys
import types
from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table

from vtlab import cli_options, doctor, jmh, look, own_experiment, own_init, own_service, reproductions, shipped
from vtlab import compare as comparing
from vtlab import history as all_runs
from vtlab.analysis.statistics import simulated_runs, simulation
from vtlab.cli_options import (
    BLOCKS,
    AgentImage,
    Blocks,
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
from vtlab.errors import BadInput, Interrupted, LabError
from vtlab.host import operating_system, tool_images, tools
from vtlab.model import experiment_files, normalised, variables
from vtlab.model.blocks import FULL_RUN
from vtlab.model.experiment import Experiment
from vtlab.model.load import ClosedLoad
from vtlab.planning import extra_variants, planned_runs
from vtlab.planning.shipped_experiments import EXPERIMENTS, resolve
from vtlab.runs import estimates, store
from vtlab.runs.create import create_runs
from vtlab.runs.measure import measure_and_report
from vtlab.runs.publish import serve_kept_data
from vtlab.runs.report import describe_noise, refuse_invalid, report_runs
from vtlab.services import own, sample
from vtlab.targets.kubernetes import doctor as kubernetes
from vtlab.targets.kubernetes.release import reports_config_map
from vtlab.targets.local import benchmark

app = typer.Typer(add_completion=False, pretty_exceptions_enable=False, rich_markup_mode=None)
console = Console(soft_wrap=True)

ROOT = Path("results")


@app.command()
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
    cluster = cli_options.cluster(target, context, namespace, release)
    cli_options.refuse_no_limit(cluster, no_cpu_limit)
    if cluster and prometheus_port is not None:
        raise BadInput("--prometheus-port is for this machine", "a cluster has its own: kubectl port-forward")
    if config_map and not cluster:
        raise BadInput("--config-map is for a cluster", "the results directory has the reports")
    if prometheus_port is not None:
        cli_options.refuse_no_port(prometheus_port)
    if max_rejected is not None and max_rejected < 0:
        raise BadInput(f"--max-rejected {max_rejected}: fewer than none", "0 gives up at the first")
    mode = cli_options.diagnosis(diagnosis, cluster)
    resolved = [extra_variants.with_extra_variants(experiment, more or []) for experiment in resolve(experiments)]
    planned = planned_runs.runs(resolved, cli_options.cpus(cpu))
    label = "+".join(dict.fromkeys(r.experiment.name for r in planned))
    options = replace(
        cli_options.of_session(blocks, seed, root, no_cpu_limit),
        precision=cli_options.precision(precision, blocks),
        within=cli_options.within(within, blocks),
        cluster=cluster,
        copying=cli_options.copying(prometheus_url, agent_image, k6_image, monitor_labels),
        asserts=demand or [],
        prometheus_port=prometheus_port,
        max_rejected=max_rejected,
        diagnosis=mode,
    )
    if cluster and config_map:
        reports_config_map.clear(cluster, config_map)
    folder = create_runs(planned, options, label)
    try:
        measure_and_report(folder, root, console)
    finally:
        if cluster and config_map:
            reports_config_map.fill(cluster, config_map, folder)


@app.command("try")
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
    env_file: Annotated[Path | None, typer.Option("--env-file", help="Lines NAME=VALUE for the service.")] = None,
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
    given = {
        "users": users,
        "rate": rate,
        "think_time": think,
        "cpu": cpu,
        "memory": memory,
        "jvm_flags": jvm,
        "java": java,
        "environment_from": _variables(env or []) or None,
        "environment_file": env_file,
        "between": between,
        "database": database or None,
        "more": more,
    }
    asked = own_experiment.of_call(
        service, requests or [], script, data, **{name: value for name, value in given.items() if value is not None}
    )
    cluster = cli_options.cluster(target, context, namespace, "")
    cli_options.refuse_no_limit(cluster, no_cpu_limit)
    options = replace(
        cli_options.of_session(blocks, seed, root, no_cpu_limit),
        cluster=cluster,
        copying=cli_options.copying(prometheus_url, agent_image, k6_image, monitor_labels),
    )
    if blocks is None:
        options = replace(
            options, precision=cli_options.precision(precision, None), within=cli_options.within(within, None)
        )
    own_service.measure(asked, options, console)


@app.command()
def init(
    jar: Annotated[Path, typer.Argument(metavar="JAR", help="An executable Spring Boot jar.")],
    openapi: Annotated[
        str | None,
        typer.Option("--openapi", metavar="URL|FILE", help="Its OpenAPI document; the started service if not given."),
    ] = None,
    out: Annotated[Path | None, typer.Option("--out", help="The file; the jar's name with .yaml if not given.")] = None,
    env: Annotated[
        list[str] | None, typer.Option("--env", metavar="NAME[=VALUE]", help="A variable for the service.")
    ] = None,
    env_file: Annotated[Path | None, typer.Option("--env-file", help="Lines NAME=VALUE for the service.")] = None,
    database: Annotated[bool, typer.Option("--database", help="vtlab starts a MariaDB for it.")] = False,
    root: Results = ROOT,
) -> None:
    """Write the file of vtlab try: the GET requests that a service has, by OpenAPI or its actuator."""
    environment = {"environment_from": _variables(env or []), "environment_file": env_file, "database": database}
    own_init.write(jar, out or Path(f"{own.name_of(jar)}.yaml"), openapi, environment, root.resolve(), console)


def _variables(given: Sequence[str]) -> list[str]:
    """The names of variables for a service; a value in the call goes nowhere else."""
    names = []
    for variable in given:
        name, has_value, value = variable.partition("=")
        if has_value:
            variables.give(name, value)
        names.append(name)
    return names


@app.command()
def aa(
    name: Annotated[str, typer.Argument(metavar="EXPERIMENT")],
    kind: Annotated[str, typer.Option("--variant", help="The variant to compare with itself.")] = "virtual",
    blocks: Blocks = FULL_RUN,
    seed: Seed = None,
    root: Results = ROOT,
    no_cpu_limit: NoLimit = False,
) -> None:
    """Compare a variant with itself: how large a difference is when there is none."""
    planned = planned_runs.runs([planned_runs.identical(e, kind) for e in resolve([name])], [])
    folder = create_runs(planned, cli_options.of_session(blocks, seed, root, no_cpu_limit), f"{planned[0].name}-aa")
    analyses = measure_and_report(folder, root, console)
    for analysis in analyses:
        console.print(describe_noise(analysis), highlight=False)


@app.command()
def simulate(
    runs: Annotated[int, typer.Option("--runs", help="Simulated runs in each row of the tables.")] = 20_000,
    sd: Annotated[
        float, typer.Option("--sd", help="Per-block SD of the log ratio; vtlab aa prints yours.")
    ] = simulation.SD,
) -> None:
    """Show how often verdicts are right, wrong or missing: simulated runs, judged by the rules of a report."""
    if runs < 1:
        raise BadInput(f"--runs {runs}: at least one run is needed", "20000 take about half a minute")
    if not 0 < sd <= 1:
        raise BadInput(f"--sd {sd:g}: not above 0 and at most 1", "0.02 is 2 %")
    for line in itertools.chain(simulation.tables(runs, sd), simulated_runs.tables(runs, sd)):
        print(line, flush=True)


@app.command()
def reproduce(
    names: Annotated[
        list[str] | None, typer.Argument(metavar="[NAME...]", help="Publications, by name or number; all if none.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the table as JSON, and nothing else.")] = False,
    quick: Annotated[bool, typer.Option("--quick", help="One block each: no interval.")] = False,
    published: Annotated[bool, typer.Option("--published", help="The published sizes; takes longer.")] = False,
    again: Annotated[
        Path | None, typer.Option("--from", metavar="DIR", help="Only print the table of what was measured there.")
    ] = None,
    seed: Seed = None,
    root: Results = ROOT,
) -> None:
    """Measure what was published, and show it beside ours and what the operational laws allow."""
    shown = Console(soft_wrap=True, stderr=True) if as_json else console
    failed: LabError | None = None
    if again:
        folder = again.resolve()
    else:
        numbers = reproductions.numbered(names or [])
        options = replace(
            cli_options.of_session(1 if quick else None, seed, root, no_cpu_limit=False),
            precision=reproductions.PRECISION,
        )
        folder, failed = reproductions.run(numbers, options, quick=quick, as_published=published, console=shown)
    reproduced = reproductions.read(folder)
    reproductions.write(folder, reproduced)
    if as_json:
        print(reproductions.document(reproduced), end="")
    else:
        shown.print()
        Console().print(reproductions.tables(reproduced))
        if reproduced.lacks_jmh:
            shown.print("\n001: the rows of JMH are missing here; make jmh measures them alone", highlight=False)
        shown.print(f"\ntables: {folder / 'reproductions.md'}", highlight=False)
    if failed:
        raise failed


@app.command("jmh")
def jmh_(
    quick: Annotated[bool, typer.Option("--quick", help="One warm-up and two measurements of 1 s.")] = False,
    more: Annotated[list[str] | None, typer.Argument(metavar="[-- JMH OPTIONS]")] = None,
    root: Results = ROOT,
) -> None:
    """Run the JMH benchmark of publication 001 on this machine, under a CPU limit of 1."""
    operating_system.refuse_other_than_linux()
    folder, options = root.resolve() / f"{datetime.now(UTC):%Y%m%dT%H%M%SZ}-jmh", jmh.options(quick, more or ())
    file = benchmark.run(folder, root.resolve(), options)
    Console().print(reproductions.benchmark_table(jmh.read(file)))
    console.print(f"\nresult: {file}", highlight=False)


@app.command()
def resume(folder: Annotated[Path, typer.Argument(metavar="DIR")]) -> None:
    """Go on with an interrupted run, from its next block."""
    folder = folder.resolve()
    measure_and_report(folder, store.root_of(folder), console)


@app.command()
def report(folder: Annotated[Path, typer.Argument(metavar="DIR")]) -> None:
    """Rebuild the reports of a results directory from its raw data."""
    refuse_invalid(folder, report_runs(folder, console))


@app.command()
def compare(
    before: Annotated[Path, typer.Argument(metavar="BEFORE", help="The earlier results directory.")],
    after: Annotated[Path, typer.Argument(metavar="AFTER", help="The later one.")],
    spread: Annotated[
        float | None,
        typer.Option("--spread", metavar="PERCENT", help="SD of the throughput between runs of the same."),
    ] = None,
    aa: Annotated[
        list[Path] | None, typer.Option("--aa", metavar="DIR", help="Shows that SD: results of vtlab aa, at least two.")
    ] = None,
    demand: Annotated[
        list[str] | None,
        typer.Option("--assert", help="Exit 1 unless the change is so: 'throughput(virtual/platform) >= 0.95'"),
    ] = None,
) -> None:
    """Compare two runs that exist: the ratio of the variants in AFTER over that in BEFORE."""
    comparing.compare(before, after, spread, aa or [], demand or [], console)


@app.command()
def history(
    root: Annotated[Path, typer.Argument(metavar="DIR", help="The folder of the results directories.")] = ROOT,
) -> None:
    """Show every run in a folder: a line per experiment over time, as a table and as history.html."""
    all_runs.history(root, console, Console())


@app.command()
def prometheus(
    folder: Annotated[Path, typer.Argument(metavar="DIR")],
    port: Annotated[int, typer.Option("--port", help="Where it listens, on the loopback interface.")] = 9090,
) -> None:
    """Serve the Prometheus data that a run kept (--prometheus-port), for dashboards, until Ctrl-C."""
    cli_options.refuse_no_port(port)
    serve_kept_data(folder.resolve(), port, console)


@app.command("list")
def list_() -> None:
    """List the experiments."""
    table = Table(box=None, pad_edge=False)
    for title in ("experiment", "load", "limit", "a block", "what it shows"):
        table.add_column(title, no_wrap=title in ("experiment", "limit"))
    for name in experiment_files.names(EXPERIMENTS):
        planned = experiment_files.load(name, EXPERIMENTS)
        load = planned.load
        users = f"{load.users} user{'' if load.users == 1 else 's'}"
        amount = users if isinstance(load, ClosedLoad) else f"{load.rate:g}/s"
        seconds = estimates.block_seconds(shipped.ROOT / normalised.FOLDER / f"{name}.json", planned)
        length = "-" if seconds is None else f"{seconds:.0f} s"
        table.add_row(name, amount, f"{planned.limits.cpu:g} CPU", length, planned.description)
    Console().print(table)


@app.command()
def normalise(name: Annotated[str, typer.Argument(metavar="FILE", help="An experiment's name or JSON file.")]) -> None:
    """Print an experiment as k6 reads it: every default filled in, durations in milliseconds."""
    print(normalised.as_json(experiment_files.load(name, EXPERIMENTS)), end="")


@app.command("tools")
def tools_(
    engine: Annotated[str, typer.Argument(metavar="ENGINE", help=f"One of {', '.join(tool_images.ENGINES)}.")],
) -> None:
    """Copy k6 and Prometheus out of their images, for a machine that has a container engine and not these programs."""
    if engine not in tool_images.ENGINES:
        raise BadInput(f"ENGINE is '{engine}'", f"it is one of {', '.join(tool_images.ENGINES)}")
    for tool in tool_images.copy(engine, tools.copies()):
        console.print(f"{tool.path}: {tool.version}", highlight=False, markup=False)


@app.command("doctor")
def doctor_(
    jar: Annotated[Path | None, typer.Argument(metavar="JAR", help="A service to look into; nothing is run.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Of a JAR: print JSON, and nothing else.")] = False,
    java: Annotated[
        str | None, typer.Option("--java", help="Of a JAR: the JDK that runs it, such as 21; as of vtlab try if none.")
    ] = None,
    flags: Annotated[str, typer.Option("--jvm", help="Of a JAR: the flags that its JVM has in production.")] = "",
    root: Results = ROOT,
    target: To = "local",
    context: Context = None,
    namespace: Namespace = "lab",
    release: Release = "lab",
    deployment: Annotated[
        str | None, typer.Option("--deployment", help="In a cluster: copies of this Deployment are to be measured.")
    ] = None,
    prometheus_url: PrometheusUrl = None,
) -> None:
    """Show each prerequisite, found or missing, with the command that fixes it; or look into a service's JAR."""
    if jar is not None:
        look.examine(jar, java, flags, console, as_json=as_json)
        return
    if as_json or java or flags:
        raise BadInput("--json, --java and --jvm are for the look into a jar", "vtlab doctor app.jar --json")
    cluster = cli_options.cluster(target, context, namespace, release)
    if deployment and not cluster:
        raise BadInput("--deployment is for a cluster", "add --target kubernetes")
    if cluster and deployment:
        copied = replace(cluster, name=deployment, copying=cli_options.copying(prometheus_url, None, None, ""))
        prerequisites = kubernetes.of_copies(copied, deployment)
    elif cluster:
        prerequisites = kubernetes.prerequisites(cluster, sample.service(), _shipped())
    else:
        prerequisites = doctor.prerequisites(root)
    doctor.examine(prerequisites, console)


def _shipped() -> list[Experiment]:
    return [experiment_files.load(name, EXPERIMENTS) for name in experiment_files.names(EXPERIMENTS)]


def _interrupted(number: int, _: types.FrameType | None) -> None:
    # One is enough: further ones must not interrupt the clean-up.
    for other in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(other, signal.SIG_IGN)
    raise Interrupted(f"stopped by {signal.Signals(number).name}")


def main() -> None:
    """Entry point: ends with the exit code of the call; a signal interrupts it."""
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, _interrupted)
    # Under nohup a closed terminal must not end the run.
    if signal.getsignal(signal.SIGHUP) != signal.SIG_IGN:
        signal.signal(signal.SIGHUP, _interrupted)
    sys.exit(call(sys.argv[1:]))


def call(arguments: Sequence[str]) -> int:
    """Runs one command; its exit code. Every error becomes a message and a fix; never a traceback."""
    try:
        code = app(list(arguments), prog_name="vtlab", standalone_mode=False)
        return code if isinstance(code, int) else 0
    except LabError as error:
        return _fail(error.message, error.fix, error.exit_code)
    except typer.Abort:
        return 130
    except OSError as error:
        file = f": {error.filename}" if error.filename else ""
        return _fail(f"{error.strerror or error}{file}", "see that this is there, writable, and the disk not full", 3)
    except Exception as error:
        if os.environ.get("VTLAB_DEBUG"):
            raise
        if hasattr(error, "format_message") and hasattr(error, "exit_code"):  # click's own usage errors
            return _fail(error.format_message(), "vtlab --help", error.exit_code)
        return _fail(
            f"internal error: {type(error).__name__}: {error}", "run again with VTLAB_DEBUG=1 and report it", 70
        )


def _fail(message: str, fix: str, code: int) -> int:
    print(f"vtlab: {message}", file=sys.stderr)
    if fix:
        print(f"  fix: {fix}", file=sys.stderr)
    return code

"""The command line of vtlab."""

from __future__ import annotations

import os
import signal
import sys
import types
from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, cast, get_args

import typer
from rich.console import Console
from rich.table import Table

from vtlab import doctor, jmh, reproductions, session
from vtlab.analysis import simulation
from vtlab.errors import BadInput, Interrupted, LabError
from vtlab.model import experiment, normalised, units
from vtlab.model.experiment import ClosedLoad, Experiment
from vtlab.model.records import DiagnosisMode
from vtlab.planning import plan
from vtlab.services import sample
from vtlab.targets.kubernetes import doctor as kubernetes
from vtlab.targets.kubernetes.cluster import ReleaseRef
from vtlab.targets.local import benchmark

app = typer.Typer(add_completion=False, pretty_exceptions_enable=False, rich_markup_mode=None)
console = Console(soft_wrap=True)

Results = Annotated[Path, typer.Option("--results", help="Where the results directories go.")]
Blocks = Annotated[int, typer.Option("--blocks", help=f"Blocks to measure; below {plan.FULL_RUN} is a quick look.")]
Seed = Annotated[int | None, typer.Option("--seed", help="Draws the order of the variants in each block.")]
NoLimit = Annotated[bool, typer.Option("--no-cpu-limit", help="Measure without a CPU limit where none can be set.")]
To = Annotated[str, typer.Option("--target", help="local (this machine) or kubernetes.")]
Context = Annotated[str | None, typer.Option("--context", help="Of the kubeconfig; the current one if not given.")]
Namespace = Annotated[str, typer.Option("--namespace", help="Where the chart is installed.")]
Release = Annotated[str, typer.Option("--release", help="The name that helm install was given.")]
ROOT = Path("results")


@app.command()
def run(
    experiments: Annotated[
        list[str], typer.Argument(metavar="EXPERIMENT...", help="Names (vtlab list) or .json files.")
    ],
    cpu: Annotated[str, typer.Option("--cpu", help="CPU limits in cores, such as 0.5,1; each makes a run.")] = "",
    blocks: Blocks = plan.FULL_RUN,
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
    diagnosis: Annotated[
        str, typer.Option("--diagnosis", help="Thread dumps of variants: always, or of those that are unexplained.")
    ] = "unexplained",
    target: To = "local",
    context: Context = None,
    namespace: Namespace = "lab",
    release: Release = "lab",
) -> None:
    """Measure experiments, here or in a cluster: both variants, block by block, then the verdict."""
    cluster = _cluster(target, context, namespace, release)
    if cluster and no_cpu_limit:
        raise BadInput("--no-cpu-limit is for this machine", "in a cluster the chart sets the limit")
    if cluster and prometheus_port is not None:
        raise BadInput("--prometheus-port is for this machine", "a cluster has its own: kubectl port-forward")
    if prometheus_port is not None:
        _refuse_no_port(prometheus_port)
    if max_rejected is not None and max_rejected < 0:
        raise BadInput(f"--max-rejected {max_rejected}: fewer than none", "0 gives up at the first")
    mode = _diagnosis(diagnosis, cluster)
    planned = plan.runs(session.resolve(experiments), _cpus(cpu))
    label = "+".join(dict.fromkeys(r.experiment.name for r in planned))
    options = replace(
        _options(blocks, seed, root, no_cpu_limit),
        cluster=cluster,
        asserts=demand or [],
        prometheus_port=prometheus_port,
        max_rejected=max_rejected,
        diagnosis=mode,
    )
    session.measure_and_report(session.create_runs(planned, options, label), root, console)


@app.command()
def aa(
    name: Annotated[str, typer.Argument(metavar="EXPERIMENT")],
    kind: Annotated[str, typer.Option("--variant", help="The variant to compare with itself.")] = "virtual",
    blocks: Blocks = plan.FULL_RUN,
    seed: Seed = None,
    root: Results = ROOT,
    no_cpu_limit: NoLimit = False,
) -> None:
    """Compare a variant with itself: how large a difference is when there is none."""
    planned = plan.runs([plan.identical(e, kind) for e in session.resolve([name])], [])
    folder = session.create_runs(planned, _options(blocks, seed, root, no_cpu_limit), f"{planned[0].name}-aa")
    analyses = session.measure_and_report(folder, root, console)
    for analysis in analyses:
        console.print(session.noise(analysis), highlight=False)


@app.command()
def simulate(
    runs: Annotated[int, typer.Option("--runs", help="Simulated runs in each row of the tables.")] = 20_000,
    sd: Annotated[
        float, typer.Option("--sd", help="Per-block SD of the log ratio; vtlab aa prints yours.")
    ] = simulation.SD,
) -> None:
    """Show how often verdicts are right, wrong or missing: simulated runs, judged by the rules of a report."""
    if runs < 1:
        raise BadInput(f"--runs {runs}: at least one run is needed", "20000 take about a quarter of a minute")
    if not 0 < sd <= 1:
        raise BadInput(f"--sd {sd:g}: not above 0 and at most 1", "0.02 is 2 %")
    for line in simulation.tables(runs, sd):
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
        options = _options(1 if quick else 3, seed, root, no_cpu_limit=False)
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
    folder, options = root.resolve() / f"{datetime.now(UTC):%Y%m%dT%H%M%SZ}-jmh", jmh.options(quick, more or ())
    file = benchmark.run(folder, root.resolve(), session.REPOSITORY, options)
    Console().print(reproductions.benchmark_table(jmh.read(file)))
    console.print(f"\nresult: {file}", highlight=False)


@app.command()
def resume(folder: Annotated[Path, typer.Argument(metavar="DIR")]) -> None:
    """Go on with an interrupted run, from its next block."""
    folder = folder.resolve()
    session.measure_and_report(folder, session.root_of(folder), console)


@app.command()
def report(folder: Annotated[Path, typer.Argument(metavar="DIR")]) -> None:
    """Rebuild the reports of a results directory from its raw data."""
    session.refuse_invalid(folder, session.report(folder, console))


@app.command()
def prometheus(
    folder: Annotated[Path, typer.Argument(metavar="DIR")],
    port: Annotated[int, typer.Option("--port", help="Where it listens, on the loopback interface.")] = 9090,
) -> None:
    """Serve the Prometheus data that a run kept (--prometheus-port), for dashboards, until Ctrl-C."""
    _refuse_no_port(port)
    session.serve(folder.resolve(), port, console)


@app.command("list")
def list_() -> None:
    """List the experiments."""
    table = Table(box=None, pad_edge=False)
    for title in ("experiment", "load", "limit", "a block", "what it shows"):
        table.add_column(title, no_wrap=title in ("experiment", "limit"))
    for name in experiment.names(session.EXPERIMENTS):
        planned = experiment.load(name, session.EXPERIMENTS)
        load = planned.load
        users = f"{load.users} user{'' if load.users == 1 else 's'}"
        amount = users if isinstance(load, ClosedLoad) else f"{load.rate:g}/s"
        seconds = session.block_seconds(session.REPOSITORY / normalised.FOLDER / f"{name}.json", planned)
        length = "-" if seconds is None else f"{seconds:.0f} s"
        table.add_row(name, amount, f"{planned.limits.cpu:g} CPU", length, planned.description)
    Console().print(table)


@app.command()
def normalise(name: Annotated[str, typer.Argument(metavar="FILE", help="An experiment's name or JSON file.")]) -> None:
    """Print an experiment as k6 reads it: every default filled in, durations in milliseconds."""
    print(normalised.text(experiment.load(name, session.EXPERIMENTS)), end="")


@app.command("doctor")
def doctor_(
    root: Results = ROOT,
    target: To = "local",
    context: Context = None,
    namespace: Namespace = "lab",
    release: Release = "lab",
) -> None:
    """Show each prerequisite, found or missing, with the command that fixes it."""
    cluster = _cluster(target, context, namespace, release)
    if cluster:
        prerequisites = kubernetes.findings(cluster, sample.service(session.REPOSITORY), _shipped())
    else:
        prerequisites = doctor.findings(root, session.REPOSITORY)
    doctor.examine(prerequisites, console)


def _diagnosis(text: str, cluster: ReleaseRef | None) -> DiagnosisMode:
    """BadInput for another word, and in a cluster, where vtlab may not run commands in a pod, for ``always``."""
    if text not in get_args(DiagnosisMode):
        raise BadInput(f"--diagnosis {text}: no such choice", f"write {' or '.join(get_args(DiagnosisMode))}")
    if cluster and text == "always":
        raise BadInput(
            "--diagnosis always is for this machine: in a cluster vtlab may not run commands in a pod",
            "leave it out, or measure the service with --target local",
        )
    return cast(DiagnosisMode, text)


def _shipped() -> list[Experiment]:
    return [experiment.load(name, session.EXPERIMENTS) for name in experiment.names(session.EXPERIMENTS)]


def _cluster(target: str, context: str | None, namespace: str, release: str) -> ReleaseRef | None:
    """The cluster that is meant; None for this machine. BadInput for another target."""
    if target not in ("local", "kubernetes"):
        raise BadInput(f"--target {target}: no such target", "write local or kubernetes")
    return ReleaseRef(context, namespace, release) if target == "kubernetes" else None


def _cpus(text: str) -> list[float]:
    cpus = []
    for part in filter(None, (p.strip() for p in text.split(","))):
        try:
            value = units.cores(part)
        except ValueError as error:
            raise BadInput(f"--cpu {text}: {error}", "write cores, such as --cpu 0.5,1") from None
        if value < units.LEAST_CORES:
            raise BadInput(
                f"--cpu {text}: the kernel enforces no limit below {units.LEAST_CORES:g}", "choose a higher one"
            )
        cpus.append(value)
    if text and not cpus:
        raise BadInput(f"--cpu '{text}' names no limit", "write cores, such as --cpu 0.5,1")
    return cpus


def _refuse_no_port(port: int) -> None:
    if not 1 <= port <= 65535:
        raise BadInput(f"port {port}: there is no such port", "choose one from 1024 to 65535")


def _options(blocks: int, seed: int | None, root: Path, no_cpu_limit: bool) -> session.Options:
    if blocks < 1:
        raise BadInput(f"--blocks {blocks}: at least one block is needed", f"a full run has {plan.FULL_RUN}")
    return session.Options(blocks, seed, root.resolve(), no_cpu_limit)


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

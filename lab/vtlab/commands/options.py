"""Options of several commands, and the parsing of their texts. BadInput where a text means nothing."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, cast, get_args

import typer

from vtlab.analysis.statistics import stopping_rule
from vtlab.errors import BadInput
from vtlab.host import variables
from vtlab.model import short_variants, units
from vtlab.model.blocks import FULL_RUN
from vtlab.model.draft import Option
from vtlab.model.experiment import Experiment
from vtlab.model.manifest import DiagnosisMode
from vtlab.runs.options import Options
from vtlab.targets.kubernetes.api.release_ref import Copying, ReleaseRef
from vtlab.targets.kubernetes.copies import reference

#: Where the results directories go, if nothing else is named.
ROOT = Path("results")
Results = Annotated[Path, typer.Option("--results", help="Where the results directories go.")]
BLOCKS = f"A fixed number of blocks; below {FULL_RUN} is a quick look."
EnvFile = Annotated[Path | None, typer.Option("--env-file", help="Lines NAME=VALUE for the service.")]
Blocks = Annotated[int, typer.Option("--blocks", help=BLOCKS)]
Seed = Annotated[int | None, typer.Option("--seed", help="Draws the order of the variants in each block.")]
NoLimit = Annotated[bool, typer.Option("--no-cpu-limit", help="Measure without a CPU limit where none can be set.")]
To = Annotated[str, typer.Option("--target", help="local (this machine) or kubernetes.")]
Context = Annotated[str | None, typer.Option("--context", help="Of the kubeconfig; the current one if not given.")]
Namespace = Annotated[str, typer.Option("--namespace", help="Where the chart, or your Deployment, is installed.")]
Release = Annotated[str, typer.Option("--release", help="The name that helm install was given.")]
PrometheusUrl = Annotated[
    str | None,
    typer.Option("--prometheus", metavar="URL", help=f"Of copies in a cluster, if not {reference.PROMETHEUS}."),
]
AgentImage = Annotated[
    str | None, typer.Option("--agent-image", help="Of copies in a cluster: has the agent; the chart's image if none.")
]
K6Image = Annotated[
    str | None, typer.Option("--k6-image", help="Of copies in a cluster: has k6; the chart's if not given.")
]
MonitorLabels = Annotated[
    str,
    typer.Option("--monitor-labels", metavar="NAME=VALUE,...", help="By which Prometheus selects ServiceMonitors."),
]


def diagnosis(text: str, cluster: ReleaseRef | None) -> DiagnosisMode:
    """Parses the choice of thread dumps. BadInput for another word, and in a cluster, where vtlab may not run commands
    in a pod, for ``always``."""
    if text not in get_args(DiagnosisMode):
        raise BadInput(f"--diagnosis {text}: no such choice", f"write {' or '.join(get_args(DiagnosisMode))}")
    if cluster and text == "always":
        raise BadInput(
            "--diagnosis always is for this machine: in a cluster vtlab may not run commands in a pod",
            "leave it out, or measure the service with --target local",
        )
    return cast(DiagnosisMode, text)


def cluster_ref(target: str, context: str | None, namespace: str, release: str) -> ReleaseRef | None:
    """Returns the cluster that the options name; None for this machine. BadInput for another target."""
    if target not in ("local", "kubernetes"):
        raise BadInput(f"--target {target}: no such target", "write local or kubernetes")
    return ReleaseRef(context, namespace, release) if target == "kubernetes" else None


def implied_target(target: str, experiments: Sequence[Experiment]) -> str:
    """Returns the target of these experiments: a cluster, where nothing else can start their services."""
    return "kubernetes" if all(experiment.needs_cluster for experiment in experiments) else target


def absolute(path: Path | None) -> str | None:
    """Returns a path of a call as text: what it is written into has a folder of its own."""
    return None if path is None else str(path.absolute())


def variant_option(name: str, variants: Sequence[str] | None) -> Option:
    """Returns the option that adds variants, whose jars lie where the call is made."""
    return Option(name, "variants", [short_variants.absolute(text, Path.cwd()) for text in variants or []])


def load_options(users: int | None, rate: float | None, think: str | None) -> list[Option]:
    """Returns the options of a load. Where one load is named alone the other load of a file does not hold. BadInput for
    a think time without users."""
    if think is not None and rate is not None:
        raise BadInput("--think with --rate: an arrival waits for no answer", "leave one of them out")
    only = [Option("--rate", "load.full", "none")] if users is None and rate is not None else []
    only += [Option("--users", "load.typical", "none")] if rate is None and users is not None else []
    return [
        *only,
        Option("--users", "load.full.users", users),
        Option("--think", "load.full.think_time", think),
        Option("--rate", "load.typical.rate", rate),
    ]


def refuse_no_limit(cluster: ReleaseRef | None, no_cpu_limit: bool) -> None:
    if cluster and no_cpu_limit:
        raise BadInput(
            "--no-cpu-limit is for this machine", "leave it out: in a cluster the limit of the experiment holds"
        )


def copying(prometheus: str | None, agent_image: str | None, k6_image: str | None, monitor_labels: str) -> Copying:
    """Returns what copies of a service need in a cluster: what fits the chart, unless an option says otherwise."""
    usual = reference.default_copying()
    return Copying(
        prometheus or usual.prometheus, agent_image or usual.agent_image, k6_image or usual.k6_image, monitor_labels
    )


def cpu_limits(text: str) -> list[float]:
    """Parses CPU limits in cores, such as ``0.5,1``; none of an empty text."""
    limits = []
    for part in filter(None, (p.strip() for p in text.split(","))):
        try:
            value = units.cores(part)
        except ValueError as error:
            raise BadInput(f"--cpu {text}: {error}", "write cores, such as --cpu 0.5,1") from None
        if value < units.LEAST_CORES:
            raise BadInput(
                f"--cpu {text}: the kernel enforces no limit below {units.LEAST_CORES:g}", "choose a higher one"
            )
        limits.append(value)
    if text and not limits:
        raise BadInput(f"--cpu '{text}' names no limit", "write cores, such as --cpu 0.5,1")
    return limits


def refuse_no_port(port: int) -> None:
    if not 1 <= port <= 65535:
        raise BadInput(f"port {port}: there is no such port", "choose one from 1024 to 65535")


def precision(text: str | None, blocks: int | None) -> float:
    """Parses a share such as ``25%`` or ``25 %``. BadInput for anything else, and beside a fixed number of blocks."""
    if text is None:
        return stopping_rule.PRECISION
    _refuse_beside_blocks("--precision", blocks)
    try:
        value = units.share(text)
    except ValueError as error:
        raise BadInput(f"--precision {text}: {error}", "write a share, such as --precision 10%") from None
    if not 0.01 <= value <= 1:
        raise BadInput(
            f"--precision {text}: not from 1 % to 100 %", "25% tells 3 times from 4 times, 10% tells 3 from 3.3"
        )
    return value


def within(text: str | None, blocks: int | None) -> float | None:
    """Parses a time such as ``8m`` into seconds. BadInput for anything else, and beside a fixed number of blocks."""
    if text is None:
        return None
    _refuse_beside_blocks("--within", blocks)
    try:
        seconds = units.seconds(text)
    except ValueError as error:
        raise BadInput(f"--within: {error}", "write a time, such as --within 8m") from None
    if not seconds:
        raise BadInput(f"--within {text}: no time at all", "write a time, such as --within 8m")
    return seconds


def _refuse_beside_blocks(option: str, blocks: int | None) -> None:
    if blocks is not None:
        raise BadInput(f"{option} with --blocks {blocks}: a fixed number ends a run alone", "leave out one of them")


def run_options(blocks: int | None, seed: int | None, root: Path, no_cpu_limit: bool) -> Options:
    """Returns the options that every measuring command has. BadInput without a block."""
    if blocks is not None and blocks < 1:
        raise BadInput(f"--blocks {blocks}: at least one block is needed", f"a full run has {FULL_RUN}")
    return Options(blocks, seed, root.resolve(), no_cpu_limit)


def variable_names(assignments: Sequence[str]) -> list[str]:
    """Returns the names in ``--env NAME[=VALUE]``. A value is kept for the service (``vtlab.host.variables``), and goes
    nowhere else."""
    names = []
    for assignment in assignments:
        name, has_value, value = assignment.partition("=")
        if has_value:
            variables.add(name, value)
        names.append(name)
    return names

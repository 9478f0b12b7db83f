"""Options of several commands, and the parsing of their texts. BadInput where a text means nothing."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, cast, get_args

import typer

from vtlab.analysis.statistics import stopping_rule
from vtlab.commands.help_pages import CLUSTER, MARIADB, RESULTS, SERVICE, STOP
from vtlab.errors import BadInput
from vtlab.host import variables
from vtlab.model import objective, short_variants, units
from vtlab.model.blocks import FULL_RUN
from vtlab.model.draft import Option
from vtlab.model.experiment import Experiment
from vtlab.model.manifest import DiagnosisMode
from vtlab.model.objective import Objective
from vtlab.model.service import Need
from vtlab.runs.options import Options
from vtlab.targets.kubernetes.api.release_ref import Copying, ReleaseRef
from vtlab.targets.kubernetes.copies import images, reference

#: Where the results directories go, if nothing else is named.
ROOT = Path("results")
#: The databases that vtlab starts, and what each is among the needs of a file.
_DATABASES: Mapping[str, Need] = {MARIADB: "database", "postgres": "postgres"}
#: A value that commands share: ``metavar`` is what the help calls it.
Results = Annotated[
    Path, typer.Option("--results", metavar="DIR", help="Folder of the results directories.", rich_help_panel=RESULTS)
]
Asserts = Annotated[
    list[str] | None,
    typer.Option(
        "--assert",
        metavar="TEXT",
        help="Exit 1 unless it holds, as 'capacity(virtual/platform) >= 1.5'. Repeatable.",
        rich_help_panel=RESULTS,
    ),
]
Slo = Annotated[
    str | None,
    typer.Option(
        "--slo",
        metavar="TEXT",
        help="Latency objective: p99=200ms, or p95, p90, p50. Changes no outcome.",
        rich_help_panel=RESULTS,
    ),
]
Json = Annotated[
    bool,
    typer.Option(
        "--json", help="Print verdict.json, of each run in turn; progress goes to stderr.", rich_help_panel=RESULTS
    ),
]
Quiet = Annotated[
    bool, typer.Option("--quiet", "-q", help="Print the verdict and errors only.", rich_help_panel=RESULTS)
]
Seed = Annotated[
    int | None,
    typer.Option(
        "--seed",
        metavar="N",
        help="Draws the order of the variants in each block. [default: random]",
        rich_help_panel=RESULTS,
    ),
]
Variants = Annotated[
    list[str] | None,
    typer.Option(
        "--variant",
        metavar="VARIANT",
        help=f"Add a variant: {short_variants.KINDS}. Repeatable.",
        rich_help_panel=SERVICE,
    ),
]
Variables = Annotated[
    list[str] | None,
    typer.Option(
        "--env",
        metavar="NAME[=VALUE]",
        help="Variable for the service; no record keeps its value. Repeatable.",
        rich_help_panel=SERVICE,
    ),
]
EnvFile = Annotated[
    Path | None,
    typer.Option(
        "--env-file", metavar="FILE", help="Lines NAME=VALUE, variables for the service.", rich_help_panel=SERVICE
    ),
]
Database = Annotated[
    str | None,
    typer.Option(
        "--database",
        metavar="[NAME]",
        help="Start a throwaway mariadb (the default) or postgres, with a database for each variant.",
        rich_help_panel=SERVICE,
    ),
]
JvmFlags = Annotated[
    list[str] | None,
    typer.Option(
        "--jvm", metavar="FLAG", help="JVM flag of production, as --jvm=-Xmx512m. Repeatable.", rich_help_panel=SERVICE
    ),
]
Jdk = Annotated[
    str | None,
    typer.Option(
        "--java",
        metavar="JDK",
        help="Major version or directory of a JDK. [default: JAVA_HOME, else the newest]",
        rich_help_panel=SERVICE,
    ),
]
NoLimit = Annotated[
    bool,
    typer.Option(
        "--no-cpu-limit",
        help="Measure without a CPU limit, where this machine cannot set one.",
        rich_help_panel=SERVICE,
    ),
]
Precision = Annotated[
    str | None,
    typer.Option(
        "--precision",
        metavar="SHARE",
        help=f"Wanted precision of the capacity ratio. [default: ±{stopping_rule.PRECISION:.0%}]",
        rich_help_panel=STOP,
    ),
]
Blocks = Annotated[
    int | None,
    typer.Option(
        "--blocks",
        metavar="N",
        help=f"Measure exactly N blocks; fewer than {FULL_RUN} are a quick look."
        f" [default: 2 to {stopping_rule.LOOKS[-1]}, until the outcomes are settled]",
        rich_help_panel=STOP,
    ),
]
Deployment = Annotated[
    str | None,
    typer.Option(
        "--deployment",
        metavar="NAME",
        help="Measure copies of this Deployment; implies --target kubernetes.",
        rich_help_panel=CLUSTER,
    ),
]
To = Annotated[
    str | None,
    typer.Option(
        "--target",
        metavar="TARGET",
        help="local (this machine) or kubernetes. [default: local]",
        rich_help_panel=CLUSTER,
    ),
]
Context = Annotated[
    str | None,
    typer.Option(
        "--context",
        metavar="NAME",
        help="Context of the kubeconfig. [default: the current one]",
        rich_help_panel=CLUSTER,
    ),
]
Namespace = Annotated[
    str,
    typer.Option(
        "--namespace", metavar="NAME", help="Namespace of the chart or the Deployment.", rich_help_panel=CLUSTER
    ),
]
Release = Annotated[
    str, typer.Option("--release", metavar="NAME", help="Name given to helm install.", rich_help_panel=CLUSTER)
]
PrometheusUrl = Annotated[
    str,
    typer.Option(
        "--prometheus",
        metavar="URL",
        help="Your Prometheus, which scrapes the copies. [default: one that ends with the run]",
        rich_help_panel=CLUSTER,
    ),
]
PrometheusImage = Annotated[
    str,
    typer.Option(
        "--prometheus-image",
        metavar="IMAGE",
        help=f"Image of the run's own Prometheus, for copies. [default: {images.PROMETHEUS}]",
        rich_help_panel=CLUSTER,
    ),
]
AgentImage = Annotated[
    str,
    typer.Option(
        "--agent-image",
        metavar="IMAGE",
        help="Image that contains the agent, for copies. [default: the chart's]",
        rich_help_panel=CLUSTER,
    ),
]
K6Image = Annotated[
    str,
    typer.Option(
        "--k6-image",
        metavar="IMAGE",
        help="Image that contains k6, for copies. [default: the chart's]",
        rich_help_panel=CLUSTER,
    ),
]
K6NodeSelector = Annotated[
    str,
    typer.Option(
        "--k6-node-selector",
        metavar="LABELS",
        help="NAME=VALUE,... of the nodes for k6 and Prometheus, for copies.",
        rich_help_panel=CLUSTER,
    ),
]
NoFixedUserIds = Annotated[
    bool,
    typer.Option(
        "--no-fixed-user-ids",
        help="The cluster chooses the user ids of k6 and Prometheus, for copies, as OpenShift does.",
        rich_help_panel=CLUSTER,
    ),
]
MonitorLabels = Annotated[
    str,
    typer.Option(
        "--monitor-labels",
        metavar="LABELS",
        help="NAME=VALUE,... by which that of --prometheus selects ServiceMonitors.",
        rich_help_panel=CLUSTER,
    ),
]


def slo(text: str | None) -> Objective | None:
    """Parses the latency objective of a call. BadInput where it is none."""
    return None if text is None else objective.parse(text)


def thread_dumps(text: str, cluster: ReleaseRef | None) -> DiagnosisMode:
    """Parses the choice of thread dumps. BadInput for another word, and in a cluster, where vtlab may not run commands
    in a pod, for ``always``."""
    if text not in get_args(DiagnosisMode):
        raise BadInput(f"--thread-dumps {text}: unknown choice", f"write {' or '.join(get_args(DiagnosisMode))}")
    if cluster and text == "always":
        raise BadInput(
            "--thread-dumps always is for this machine: in a cluster vtlab may not run commands in a pod",
            "leave it out, or measure the service with --target local",
        )
    return cast(DiagnosisMode, text)


@dataclass(frozen=True)
class Place:
    """Options that say where vtlab measures. None and empty: not given."""

    target: str | None
    context: str | None
    namespace: str
    release: str = ""
    #: The Deployment whose copies are measured.
    deployment: str | None = None

    def cluster(self, experiments: Sequence[Experiment] = ()) -> ReleaseRef | None:
        """Returns the cluster that the experiments are measured in; None for this machine.

        --target says which; without it --deployment implies a cluster, and so do services that only a cluster can
        start. BadInput for another target.
        """
        if self.target not in (None, "local", "kubernetes"):
            raise BadInput(f"--target {self.target}: unknown target", "write local or kubernetes")
        if self.deployment and self.target == "local":
            raise BadInput("--deployment is in a cluster, --target local is this machine", "leave out --target")
        needs_cluster = bool(experiments) and all(experiment.needs_cluster for experiment in experiments)
        is_implied = self.target is None and (self.deployment is not None or needs_cluster)
        if self.target == "kubernetes" or is_implied:
            return ReleaseRef(self.context, self.namespace, self.release)
        return None


def absolute(path: Path | None) -> str | None:
    """Returns a path of a call as text: relative paths in a file start at another folder."""
    return None if path is None else str(path.absolute())


def variant_option(variants: Sequence[str] | None) -> Option:
    """Returns the option that adds variants, whose jars are relative to the folder of the call."""
    return Option("--variant", "variants", [short_variants.absolute(text, Path.cwd()) for text in variants or []])


def database_option(name: str | None) -> Option:
    """Returns the option that adds a database. BadInput for one that vtlab does not start."""
    if name is not None and name not in _DATABASES:
        raise BadInput(f"--database {name}: unknown database", f"write {' or '.join(_DATABASES)}")
    return Option("--database", "needs", [_DATABASES[name]] if name else [])


def load_options(users: int | None, rate: float | None, think_time: str | None) -> list[Option]:
    """Returns the options of the loads: users and think time of full load, the rate of typical load."""
    return [
        Option("--users", "load.full.users", users),
        Option("--think-time", "load.full.think_time", think_time),
        Option("--rate", "load.typical.rate", rate),
    ]


def process_options(flags: Sequence[str], java: str | None, env: Sequence[str], env_file: Path | None) -> list[Option]:
    """Returns the options of a service's JVM and environment."""
    return [
        Option("--jvm", "service.jvm_flags", jvm_flags(flags)),
        Option("--java", "service.java", java if java is None or java.isdigit() else absolute(Path(java))),
        Option("--env", "service.env", variable_names(env)),
        Option("--env-file", "service.env_file", absolute(env_file)),
    ]


def refuse_no_limit(cluster: ReleaseRef | None, no_cpu_limit: bool) -> None:
    """Raises BadInput for ``--no-cpu-limit`` in a cluster."""
    if cluster and no_cpu_limit:
        raise BadInput(
            "--no-cpu-limit is for this machine", "leave it out: in a cluster the limit of the experiment holds"
        )


def copying(asked: Copying) -> Copying:
    """Returns what copies of a service need in a cluster: what the call asks for, and the default of what it leaves
    empty. BadInput for options of two ways."""
    if asked.monitor_labels and not asked.prometheus:
        raise BadInput(
            f"--monitor-labels {asked.monitor_labels} without --prometheus: the run's own Prometheus uses no"
            " ServiceMonitor",
            f"leave it out, or name the Prometheus that is to scrape the copies: --prometheus {reference.PROMETHEUS}",
        )
    if asked.prometheus_image and asked.prometheus:
        raise BadInput(
            f"--prometheus {asked.prometheus} runs already, --prometheus-image is for one of the run's own",
            "leave out one of them",
        )
    usual = reference.default_copying()
    return replace(
        asked,
        agent_image=asked.agent_image or usual.agent_image,
        k6_image=asked.k6_image or usual.k6_image,
        prometheus_image="" if asked.prometheus else asked.prometheus_image or usual.prometheus_image,
    )


def cpu_limits(texts: Sequence[str]) -> list[float]:
    """Parses CPU limits in cores, each ``0.5`` or ``1``."""
    return [_cpu_limit(text) for text in texts]


def _cpu_limit(text: str) -> float:
    if "," in text:
        each = " ".join(f"--cpu {part.strip()}" for part in text.split(",") if part.strip())
        raise BadInput(f"--cpu {text}: more than one limit", f"repeat the option: {each or '--cpu 0.5 --cpu 1'}")
    try:
        value = units.cores(text)
    except ValueError as error:
        raise BadInput(f"--cpu {text}: {error}", "write cores, such as --cpu 0.5") from None
    if value < units.LEAST_CORES:
        raise BadInput(f"--cpu {text}: the kernel enforces no limit below {units.LEAST_CORES:g}", "choose a higher one")
    return value


def refuse_impossible_port(port: int) -> None:
    """Raises BadInput for a number outside 1 to 65535."""
    if not 1 <= port <= 65535:
        raise BadInput(f"port {port} does not exist", "choose one from 1024 to 65535")


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


def max_time(text: str | None, blocks: int | None) -> float | None:
    """Parses a time such as ``8m`` into seconds. BadInput for anything else, and beside a fixed number of blocks."""
    if text is None:
        return None
    _refuse_beside_blocks("--max-time", blocks)
    try:
        seconds = units.seconds(text)
    except ValueError as error:
        raise BadInput(f"--max-time: {error}", "write a time, such as --max-time 8m") from None
    if not seconds:
        raise BadInput(f"--max-time {text}: no time at all", "write a time, such as --max-time 8m")
    return seconds


def _refuse_beside_blocks(option: str, blocks: int | None) -> None:
    if blocks is not None:
        raise BadInput(
            f"{option} and --blocks {blocks} exclude each other: exactly {blocks} are measured", "leave out one of them"
        )


def run_options(blocks: int | None, seed: int | None, root: Path, no_cpu_limit: bool = False) -> Options:
    """Returns the options that every measuring command has. BadInput without a block."""
    if blocks is not None and blocks < 1:
        raise BadInput(f"--blocks {blocks}: at least one block is needed", f"a full run has {FULL_RUN}")
    return Options(blocks, seed, root.resolve(), no_cpu_limit)


def jvm_flags(values: Sequence[str]) -> list[str]:
    """Returns the values of ``--jvm``. BadInput for several flags in one value, which a JVM would take for one."""
    for value in values:
        if flags := re.fullmatch(r"(\S+)\s+(-[-XD]\S*)", value):
            raise BadInput(
                f"--jvm '{value}': more than one flag", f"repeat the option: --jvm={flags[1]} --jvm={flags[2]}"
            )
    return list(values)


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

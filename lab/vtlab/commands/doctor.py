"""``vtlab doctor``: the prerequisites of a run; with a jar, what is known to break in it."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

from vtlab.commands import options
from vtlab.commands.check import check_jar
from vtlab.commands.options import (
    ROOT,
    Context,
    Namespace,
    PrometheusUrl,
    Release,
    Results,
    To,
)
from vtlab.commands.output import console
from vtlab.doctor import cluster as cluster_doctor
from vtlab.doctor import local as local_doctor
from vtlab.doctor.prerequisite import print_prerequisites
from vtlab.errors import BadInput
from vtlab.model import experiment_files
from vtlab.planning.shipped_experiments import EXPERIMENTS, resolve
from vtlab.services import sample


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
        check_jar(jar, java, flags, as_json=as_json)
        return
    if as_json or java or flags:
        raise BadInput("--json, --java and --jvm are for the look into a jar", "vtlab doctor app.jar --json")
    cluster = options.cluster_ref(target, context, namespace, release)
    if deployment and not cluster:
        raise BadInput("--deployment is for a cluster", "add --target kubernetes")
    if cluster and deployment:
        copying = options.copying(prometheus_url, None, None, "")
        copied = replace(cluster, name=deployment, copying=copying)
        prerequisites = cluster_doctor.prerequisites_of_copies(copied, deployment)
    elif cluster:
        shipped = resolve(experiment_files.names(EXPERIMENTS))
        prerequisites = cluster_doctor.prerequisites(cluster, sample.service(), shipped)
    else:
        prerequisites = local_doctor.prerequisites(root)
    print_prerequisites(prerequisites, console)

"""``vtlab doctor``: the prerequisites of a run, on this machine or in a cluster."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

from vtlab.commands import options
from vtlab.commands.help_pages import CLUSTER
from vtlab.commands.options import ROOT, Context, Namespace, PrometheusUrl, Release, Results, To
from vtlab.commands.output import console
from vtlab.doctor import cluster as cluster_doctor
from vtlab.doctor import local as local_doctor
from vtlab.doctor.prerequisite import print_prerequisites
from vtlab.errors import BadInput
from vtlab.measuring.progress import Progress
from vtlab.model import experiment_files
from vtlab.planning.shipped_experiments import EXPERIMENTS, resolve
from vtlab.services import sample
from vtlab.targets.kubernetes.api.release_ref import Copying

EXAMPLES = """\
vtlab doctor
vtlab doctor --deployment shop --namespace shops
"""


def doctor_(
    jars: Annotated[list[Path] | None, typer.Argument(metavar="[JAR]", hidden=True)] = None,
    root: Results = ROOT,
    target: To = None,
    context: Context = None,
    namespace: Namespace = "lab",
    release: Release = "lab",
    deployment: Annotated[
        str | None,
        typer.Option(
            "--deployment",
            metavar="NAME",
            help="Look for what copies of this Deployment need; implies --target kubernetes.",
            rich_help_panel=CLUSTER,
        ),
    ] = None,
    prometheus_url: PrometheusUrl = "",
) -> None:
    """Show what this machine or cluster lacks, with fixes."""
    if jars:
        raise BadInput(f"doctor looks at this machine, not into {jars[0]}", f"vtlab check {jars[0]}")
    cluster = options.Place(target, context, namespace, release, deployment).cluster()
    with Progress(console, f"looking at {'the cluster' if cluster else 'this machine'}"):
        if cluster and deployment:
            copying = options.copying(Copying(prometheus=prometheus_url))
            copied = replace(cluster, name=deployment, copying=copying)
            prerequisites = cluster_doctor.prerequisites_of_copies(copied, deployment)
        elif cluster:
            shipped = resolve(experiment_files.names(EXPERIMENTS))
            prerequisites = cluster_doctor.prerequisites(cluster, sample.service(), shipped)
        else:
            prerequisites = local_doctor.prerequisites(root)
    print_prerequisites(prerequisites, console)

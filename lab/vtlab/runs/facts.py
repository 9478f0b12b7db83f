"""Facts of a run for its manifest: versions, flags, machine, the command and the commit."""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
import tempfile
from pathlib import Path

from vtlab import __version__, shipped
from vtlab.errors import BadInput
from vtlab.host import idle_cores, machine, tools, variables
from vtlab.host.tools import Java
from vtlab.k6 import user_script
from vtlab.model import workload_files
from vtlab.model.experiment import Experiment
from vtlab.model.manifest import NO_COMMIT, RunFacts
from vtlab.model.service import Service
from vtlab.services import builds, inspection, process
from vtlab.services.companions import companion_services
from vtlab.services.resolve import resolve_service
from vtlab.targets.kubernetes.api.release_ref import ReleaseRef
from vtlab.targets.kubernetes.copies import facts
from vtlab.targets.kubernetes.release import facts as release


def collect(experiment: Experiment, cluster: ReleaseRef | None, cpu_limited: bool) -> RunFacts:
    """Collects what the cluster, or this machine, runs the experiment with; PrerequisiteMissing or BadInput where it
    cannot."""
    _refuse_unreadable_workload(experiment)
    return _facts_in(cluster, experiment) if cluster else _facts_here(experiment, cpu_limited)


def versions(experiment: Experiment, cluster: ReleaseRef | None) -> dict[str, str]:
    """Collects the versions of all programs of the experiment in the cluster, or on this machine; errors as of
    ``collect``."""
    return _facts_in(cluster, experiment).versions if cluster else _versions_here(experiment)


def _facts_in(cluster: ReleaseRef, experiment: Experiment) -> RunFacts:
    service = resolve_service(experiment)
    if cluster.copying:
        return facts.collect(cluster, service, experiment)
    return release.collect(cluster, service, experiment)


def _facts_here(experiment: Experiment, cpu_limited: bool) -> RunFacts:
    cores = os.cpu_count() or 1
    if experiment.limits.cpu > cores:
        raise BadInput(
            f"{experiment.name}: a CPU limit of {experiment.limits.cpu:g} exceeds this machine's {cores} cores",
            f"choose --cpu of at most {cores}; leave a core for the load generator",
        )
    service = resolve_service(experiment)
    return RunFacts(
        versions=_versions_here(experiment),
        jvm_flags=process.common_jvm_flags(service, experiment, _javas(service, experiment), cpu_limited),
        machine=machine.describe() | {"idle cores": idle_cores.state()},
        inspection=inspection.inspect_if_possible(service),
    )


def _refuse_unreadable_workload(experiment: Experiment) -> None:
    """Raises an error before anything starts: for a variable that is not set, a file that has gone, a script that
    cannot be kept."""
    workload = experiment.workload
    workload_files.private_values(workload, variables.known())
    if workload.k6:
        with tempfile.TemporaryDirectory() as folder:
            user_script.read(tools.find_k6().path, Path(workload.k6), variables.known(), Path(folder))


def _javas(service: Service, experiment: Experiment) -> dict[str, Java]:
    """Returns the JDK of each variant of a service that is a jar."""
    if not service.jar:
        return {}
    default = tools.find_java(experiment.java_home)
    return {name: process.java_of(experiment, name, default) for name in experiment.variants}


def _versions_here(experiment: Experiment) -> dict[str, str]:
    """Collects the versions of everything that runs the experiment here; PrerequisiteMissing or BadInput where
    something is unavailable."""
    service = resolve_service(experiment)
    return {
        "vtlab": __version__,
        **tools.versions(experiment.java_home),
        "app": builds.version(service, experiment.is_sample),
        **{f"app of {name}": build for name, build in builds.other_builds(experiment, service).items()},
        **companion_services.versions(experiment.needs),
        **workload_files.versions(experiment.workload),
    }


def command() -> str:
    """Returns the call, without the values of ``--env NAME=VALUE``, which no record may hold."""
    words, is_variable = ["vtlab"], False
    for word in sys.argv[1:]:
        option, equals, value = word.partition("=")
        if is_variable:
            word = option
        elif option == "--env" and equals:
            word = f"--env={value.partition('=')[0]}"
        words.append(word)
        is_variable = word == "--env"
    return shlex.join(words)


def commit() -> str:
    """Returns the commit of the repository, with ``-dirty`` where it has changes; ``NO_COMMIT`` where there is none."""
    # Around an installed package there may be another repository.
    if not shipped.IS_CHECKOUT:
        return NO_COMMIT
    git = ["git", "-C", str(shipped.ROOT)]
    try:
        commit = subprocess.run([*git, "rev-parse", "HEAD"], capture_output=True, text=True, check=True).stdout.strip()
        dirty = subprocess.run([*git, "status", "--porcelain"], capture_output=True, text=True, check=True).stdout
    except (OSError, subprocess.CalledProcessError):
        return NO_COMMIT
    return commit + ("-dirty" if dirty.strip() else "")

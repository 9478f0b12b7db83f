"""The Jobs and ConfigMaps that vtlab creates in the cluster, and those of another vtlab."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from vtlab.errors import BlockFault, PrerequisiteMissing
from vtlab.model import normalised
from vtlab.model.experiment import Experiment
from vtlab.targets.kubernetes.api import labels
from vtlab.targets.kubernetes.api.cluster import Cluster
from vtlab.targets.kubernetes.api.types import Json


class RunObjects:
    """The objects of one run: a ConfigMap with the experiment, another with the load that a search chose for it, and
    the Job of the current call of k6."""

    def __init__(self, cluster: Cluster, name: str) -> None:
        self.name = name
        #: Name of the ConfigMap whose experiment k6 reads.
        self.plan = name
        self._cluster = cluster
        #: Jobs that were created so far: each has a name of its own.
        self.jobs = 0
        self._config_map = False
        self._job: str | None = None

    def put_experiment(
        self, experiment: Experiment, owner: Json | None, files: Mapping[str, str] = MappingProxyType({})
    ) -> None:
        """Creates the ConfigMap, with further ``files``, unless it exists. It is deleted with its ``owner``, if any."""
        if self._config_map:
            return
        metadata: dict[str, Any] = {"name": self.name, "labels": labels.for_release(self._cluster.release)}
        if owner is not None:
            metadata["ownerReferences"] = [labels.owner_reference(owner)]
        # Set before the call: an interruption in it must not leave a ConfigMap behind.
        self._config_map = True
        data = {normalised.PLAN: normalised.as_json(experiment), **files}
        self._cluster.create_config_map({"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": data})

    def replace_experiment(self, experiment: Experiment) -> None:
        """Creates the ConfigMap that k6 reads from now on, and which is deleted with the first: vtlab may create and
        delete ConfigMaps, not change them."""
        self.plan = f"{self.name}-load"
        metadata = {
            "name": self.plan,
            "labels": labels.for_release(self._cluster.release),
            "ownerReferences": [labels.owner_reference(self.config_map())],
        }
        data = {normalised.PLAN: normalised.as_json(experiment)}
        self._cluster.create_config_map({"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": data})

    def config_map(self) -> Json:
        """Returns the ConfigMap, which owns the other objects of the run. BlockFault where it is gone."""
        for present in self._cluster.config_maps(labels.vtlab_selector(self._cluster.release)):
            if present["metadata"]["name"] == self.name:
                return {"apiVersion": "v1", "kind": "ConfigMap", **present}
        raise BlockFault(f"the ConfigMap {self.name} of this run is gone")

    def create_job(self, body: Json) -> None:
        """Creates a Job; the run has one at a time."""
        self._job = body["metadata"]["name"]
        self.jobs += 1
        self._cluster.create_job(body)

    def delete_job(self) -> None:
        """Deletes the Job that was created last, if it still exists."""
        if self._job:
            self._cluster.delete_job(self._job)
            self._job = None

    def delete(self) -> None:
        """Deletes the Job and the ConfigMaps."""
        self.delete_job()
        if self._config_map:
            for name in dict.fromkeys([self.plan, self.name]):
                self._cluster.delete_config_map(name)
            self._config_map = False


def refuse_others(cluster: Cluster) -> tuple[list[Json], list[Json]]:
    """Returns the Jobs and ConfigMaps of this vtlab and of killed vtlabs of this machine.

    PrerequisiteMissing where one belongs to another vtlab.
    """
    ref = cluster.release
    selector = labels.vtlab_selector(ref)
    jobs, config_maps = cluster.jobs(selector), cluster.config_maps(selector)
    for kind, objects in (("Job", jobs), ("ConfigMap", config_maps)):
        for present in objects:
            if not labels.is_orphaned(present):
                raise PrerequisiteMissing(
                    f"another vtlab is measuring {ref.title} in namespace {ref.namespace} "
                    f"({kind} {present['metadata']['name']}); two runs disturb each other",
                    "wait for its end; if it is gone: " + ref.kubectl("delete", "jobs,configmaps", "-l", selector),
                )
    return jobs, config_maps


def delete_orphans(cluster: Cluster) -> None:
    """Deletes the Jobs and ConfigMaps of killed vtlabs of this machine, unless another vtlab measures."""
    jobs, config_maps = refuse_others(cluster)
    for orphan in jobs:
        cluster.delete_job(orphan["metadata"]["name"])
    for orphan in config_maps:
        cluster.delete_config_map(orphan["metadata"]["name"])

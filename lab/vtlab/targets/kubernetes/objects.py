"""The Jobs and ConfigMaps that vtlab makes in the cluster, and those that another vtlab made."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from vtlab.errors import BlockFault, PrerequisiteMissing
from vtlab.model import normalised
from vtlab.model.experiment import Experiment
from vtlab.targets.kubernetes import job
from vtlab.targets.kubernetes.cluster import Cluster, Json


class RunObjects:
    """The objects of one run: a ConfigMap with the experiment, and the Job of the call of k6 that runs."""

    def __init__(self, cluster: Cluster, name: str) -> None:
        self.name = name
        self._cluster = cluster
        self._config_map = False
        self._job: str | None = None

    def put_experiment(
        self, experiment: Experiment, owner: Json | None, files: Mapping[str, str] = MappingProxyType({})
    ) -> None:
        """Creates the ConfigMap, with more ``files``, unless it is there. It goes with its ``owner``, if any."""
        if self._config_map:
            return
        metadata: dict[str, Any] = {"name": self.name, "labels": job.labels(self._cluster.release)}
        if owner is not None:
            metadata["ownerReferences"] = [job.owner(owner)]
        # Before the call: an interruption in it must not leave one behind.
        self._config_map = True
        data = {job.PLAN: normalised.as_json(experiment), **files}
        self._cluster.create_config_map({"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": data})

    def config_map(self) -> Json:
        """The ConfigMap: what is to go with the run names it as its owner. BlockFault where it is gone."""
        for present in self._cluster.config_maps(job.of_vtlab(self._cluster.release)):
            if present["metadata"]["name"] == self.name:
                return {"apiVersion": "v1", "kind": "ConfigMap", **present}
        raise BlockFault(f"the ConfigMap {self.name} of this run is gone")

    def create_job(self, body: Json) -> None:
        """Creates the Job, the only one at a time."""
        self._job = body["metadata"]["name"]
        self._cluster.create_job(body)

    def delete_job(self) -> None:
        """Deletes the Job that was created last, if it is still there."""
        if self._job:
            self._cluster.delete_job(self._job)
            self._job = None

    def delete(self) -> None:
        """Deletes both."""
        self.delete_job()
        if self._config_map:
            self._cluster.delete_config_map(self.name)
            self._config_map = False


def refuse_others(cluster: Cluster) -> tuple[list[Json], list[Json]]:
    """The Jobs and ConfigMaps of this vtlab, and those that a killed vtlab of this machine left. PrerequisiteMissing
    where one belongs to another vtlab."""
    ref = cluster.release
    of_vtlab = job.of_vtlab(ref)
    jobs, config_maps = cluster.jobs(of_vtlab), cluster.config_maps(of_vtlab)
    for kind, objects in (("Job", jobs), ("ConfigMap", config_maps)):
        for present in objects:
            if not job.orphaned(present):
                raise PrerequisiteMissing(
                    f"another vtlab is measuring {ref.title} in namespace {ref.namespace} "
                    f"({kind} {present['metadata']['name']}); two disturb each other",
                    "wait for it to end; if it is gone: " + ref.kubectl("delete", "jobs,configmaps", "-l", of_vtlab),
                )
    return jobs, config_maps


def delete_orphans(cluster: Cluster) -> None:
    """Deletes the Jobs and ConfigMaps that a killed vtlab of this machine left, unless another vtlab measures."""
    jobs, config_maps = refuse_others(cluster)
    for orphan in jobs:
        cluster.delete_job(orphan["metadata"]["name"])
    for orphan in config_maps:
        cluster.delete_config_map(orphan["metadata"]["name"])

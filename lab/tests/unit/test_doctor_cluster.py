"""The prerequisites in a cluster, and those that are unknown for lack of a right."""

from __future__ import annotations

import pytest

from tests.unit.test_kubernetes_target import RELEASE, SERVICE, FakeCluster
from vtlab.doctor import cluster as doctor
from vtlab.doctor.prerequisite import Prerequisite
from vtlab.errors import PrerequisiteMissing
from vtlab.model.experiment_files import load
from vtlab.planning.shipped_experiments import EXPERIMENTS
from vtlab.targets.kubernetes import cluster_prometheus
from vtlab.targets.kubernetes.api.rights import FORWARD_RIGHTS, RIGHTS, Right

#: The last wants another CPU limit than the release has.
EXPERIMENTS = [load(name, EXPERIMENTS) for name in ("blocking", "cpu", "blocking-100ms")]


class Allowing(FakeCluster):
    """A cluster that allows everything but what is ``refused``, as (right, namespace)."""

    server = "https://test"

    def __init__(self, refused: set[tuple[Right, str]]) -> None:
        super().__init__()
        self.refused = refused

    def allowed(self, right: Right, namespace: str) -> bool:
        return (right, namespace) not in self.refused


class Answering:
    """A client of a Prometheus that answers, and is old where it says why."""

    old = ""

    def __enter__(self) -> Answering:
        return self

    def __exit__(self, *_: object) -> None:
        pass

    def refuse_old(self) -> None:
        if self.old:
            raise PrerequisiteMissing(self.old, "upgrade it")


def prerequisites(monkeypatch: pytest.MonkeyPatch, refused: set[tuple[Right, str]]) -> dict[str, Prerequisite]:
    monkeypatch.setattr(cluster_prometheus, "client", lambda *_: Answering())
    monkeypatch.setattr(doctor, "Cluster", lambda _: Allowing(refused))
    return {prerequisite.name: prerequisite for prerequisite in doctor.prerequisites(RELEASE, SERVICE, EXPERIMENTS)}


def test_nothing_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    by_name = prerequisites(monkeypatch, set())
    assert list(by_name) == ["cluster", "rights", "the lab", "experiments", "Prometheus (p:9090)"]
    assert [prerequisite.name for prerequisite in by_name.values() if prerequisite.fix] == []
    assert by_name["experiments"].state == (
        "the release is set up for blocking, cpu; for others, vtlab run says what to set"
    )
    assert "namespace m" in by_name["Prometheus (p:9090)"].state


def test_in_a_pod_no_right_in_the_namespace_of_the_monitoring_is_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Allowing, "inside", True)
    by_name = prerequisites(monkeypatch, {(right, "m") for right in FORWARD_RIGHTS})
    assert by_name["Prometheus (p:9090)"].state.startswith("new enough")
    assert [prerequisite.name for prerequisite in by_name.values() if prerequisite.fix] == []


def test_an_old_prometheus_is_named_with_what_helps(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Answering, "old", "Prometheus is 3.5.0 without native histograms")
    by_name = prerequisites(monkeypatch, set())
    assert by_name["Prometheus (p:9090)"].state == "Prometheus is 3.5.0 without native histograms"
    assert by_name["Prometheus (p:9090)"].fix == "upgrade it"


def test_every_missing_right_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    cron_jobs = Right("list", "batch/cronjobs")
    by_name = prerequisites(
        monkeypatch,
        {(right, "ns") for right in RIGHTS if right != cron_jobs} | {(right, "m") for right in FORWARD_RIGHTS},
    )
    for right in RIGHTS:
        assert (f"{right}" in by_name["rights"].state) == (right != cron_jobs)
    for right in FORWARD_RIGHTS:
        assert f"{right}" in by_name["Prometheus (p:9090)"].state
    assert "Role lab-runner " in by_name["rights"].fix
    assert "Role lab-runner-ns " in by_name["Prometheus (p:9090)"].fix
    assert "the lab" not in by_name, "it would only repeat that"


def test_prometheus_cannot_be_told_without_the_cron_jobs(monkeypatch: pytest.MonkeyPatch) -> None:
    by_name = prerequisites(monkeypatch, {(Right("list", "batch/cronjobs"), "ns")})
    assert list(by_name) == ["cluster", "rights", "the lab", "Prometheus"]
    assert "unknown without the right to list batch/cronjobs" in by_name["Prometheus"].state
    assert "Role lab-runner " in by_name["Prometheus"].fix

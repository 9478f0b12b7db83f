"""Waiting for pods: what no waiting mends is said at once, with what mends it."""

from __future__ import annotations

import copy
from typing import Any

import pytest

from tests.unit.test_kubernetes_pods import container, pod
from tests.unit.test_kubernetes_target import FakeCluster
from vtlab.errors import BlockFault, GeneratorFailed, PrerequisiteMissing, VariantFailed
from vtlab.targets.kubernetes.api import labels, watch
from vtlab.targets.kubernetes.api.release_ref import Copying, ReleaseRef

Json = dict[str, Any]
VARIANTS = ("platform", "virtual")
JOB = "lab-vtlab-run-a1b2-1-1-1"
NO_IMAGE = {"waiting": {"reason": "ImagePullBackOff", "message": "Back-off pulling image"}}
NO_NODE = {"type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": "Insufficient cpu"}


class Clock:
    """Time that passes only in sleep."""

    def __init__(self) -> None:
        self.now = 0.0

    def monotonic(self) -> float:
        return self.now

    def sleep(self, seconds: float) -> None:
        self.now += seconds


@pytest.fixture(autouse=True)
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    clock = Clock()
    monkeypatch.setattr(watch, "time", clock)
    return clock


@pytest.fixture
def cluster() -> FakeCluster:
    fake = FakeCluster()
    fake.listed_pods = [of_variant(name, pod(container(), conditions=[READY])) for name in VARIANTS]
    return fake


READY = {"type": "Ready", "status": "True"}


def of_variant(name: str, document: Json) -> Json:
    labels = {"app.kubernetes.io/component": "variant", "variant": name}
    return document | {
        "metadata": {"name": f"lab-{name}-1", "uid": name, "labels": labels, "annotations": {"vtlab/block": "1"}}
    }


def of_job(document: Json) -> Json:
    labels = {"app.kubernetes.io/component": "k6", "batch.kubernetes.io/job-name": JOB}
    return document | {"metadata": {"name": f"{JOB}-x", "uid": JOB, "labels": labels}}


def fresh(cluster: FakeCluster) -> dict[str, Json]:
    ready, failed = watch.wait_for_pods(cluster, VARIANTS, "vtlab/block", "1")  # type: ignore[arg-type]
    assert failed == {}
    return ready


def ended(cluster: FakeCluster) -> Json:
    loaded = dict(zip(VARIANTS, cluster.listed_pods, strict=False))
    return watch.wait_for_job(cluster, JOB, "lab-vtlab-run-a1b2-", loaded)  # type: ignore[arg-type]


def test_ready_pods_are_returned_by_their_variant(cluster: FakeCluster) -> None:
    assert fresh(cluster) == dict(zip(VARIANTS, cluster.listed_pods, strict=True))
    done = of_job(pod(container({"terminated": {"exitCode": 0}}) | {"name": labels.K6_CONTAINER}, phase="Succeeded"))
    cluster.listed_pods.append(done)
    assert ended(cluster) == done


def test_a_missing_image_of_a_variant_is_said_at_once(cluster: FakeCluster, clock: Clock) -> None:
    cluster.listed_pods[1] = of_variant("virtual", pod(container(NO_IMAGE)))
    with pytest.raises(
        PrerequisiteMissing, match=r"virtual: its pod lab-virtual-1 .*ImagePullBackOff.*image i:1"
    ) as no:
        fresh(cluster)
    assert no.value.fix == "load the image into the cluster (docs/how-to/kubernetes.md)", "resume refuses another image"
    assert clock.now == 0


def test_a_missing_image_of_k6_is_said_at_once(cluster: FakeCluster, clock: Clock) -> None:
    cluster.listed_pods.append(of_job(pod(container(NO_IMAGE), phase="Pending")))
    with pytest.raises(PrerequisiteMissing, match=f"k6: its pod {JOB}-x .*ImagePullBackOff.*image i:1") as no:
        ended(cluster)
    assert no.value.fix == "load the image into the cluster (docs/how-to/kubernetes.md)"
    assert clock.now == 0


OOM = {"terminated": {"reason": "OOMKilled", "exitCode": 137}}
CRASH = {"terminated": {"reason": "Error", "exitCode": 3}}


@pytest.mark.parametrize(
    ("of_container", "reason"),
    [
        (container(OOM), "the kernel killed it at its memory limit"),
        (container({"waiting": {"reason": "CrashLoopBackOff"}}, CRASH, 1), "out of heap memory"),
        (container(), "it was not ready after 180 s"),
    ],
)
def test_a_service_that_does_not_start_fails_and_the_other_is_ready(
    cluster: FakeCluster, of_container: Json, reason: str
) -> None:
    cluster.listed_pods[1] = of_variant("virtual", pod(of_container))
    ready, failed = watch.wait_for_pods(cluster, VARIANTS, "vtlab/block", "1")  # type: ignore[arg-type]
    assert ready == {"platform": cluster.listed_pods[0]}
    assert failed == {"virtual": reason}


def test_a_pod_whose_container_does_not_run_is_no_failure_of_the_service(cluster: FakeCluster) -> None:
    cluster.listed_pods[1] = of_variant("virtual", pod(container({"waiting": {"reason": "ContainerCreating"}})))
    with pytest.raises(BlockFault, match="not ready after 180 s: virtual"):
        fresh(cluster)


def test_a_service_that_breaks_under_load_fails_and_an_evicted_pod_is_a_fault(cluster: FakeCluster) -> None:
    loaded = dict(zip(VARIANTS, cluster.listed_pods, strict=True))
    whole = cluster.listed_pods[1]
    cluster.listed_pods[1] = of_variant("virtual", pod(container(None, OOM, 1)))
    with pytest.raises(VariantFailed) as failed:
        watch.wait_for_job(cluster, JOB, "lab-vtlab-run-a1b2-", loaded)  # type: ignore[arg-type]
    assert (failed.value.variant, failed.value.reason) == ("virtual", "the kernel killed it at its memory limit")
    for lost in ([], [whole | {"status": {"reason": "Evicted", "message": "low on memory"}}]):
        cluster.listed_pods[1:] = lost
        with pytest.raises(BlockFault, match="virtual: its pod lab-virtual-1") as fault:
            watch.wait_for_job(cluster, JOB, "lab-vtlab-run-a1b2-", loaded)  # type: ignore[arg-type]
        assert not isinstance(fault.value, VariantFailed)


def test_a_k6_without_memory_is_told_from_one_that_is_evicted(cluster: FakeCluster) -> None:
    """Fewer users may be what it can send; an eviction tells nothing about them."""
    variants = list(cluster.listed_pods)
    cluster.listed_pods.append(of_job(pod(container(OOM) | {"name": labels.K6_CONTAINER}, phase="Failed")))
    with pytest.raises(GeneratorFailed, match=f"k6: its pod {JOB}-x was killed for lack of memory"):
        ended(cluster)
    evicted = pod(container(CRASH) | {"name": labels.K6_CONTAINER}, phase="Failed")
    evicted["status"] |= {"reason": "Evicted", "message": "low on memory"}
    cluster.listed_pods[:] = [*variants, of_job(evicted)]
    with pytest.raises(BlockFault, match=f"k6: its pod {JOB}-x") as fault:
        ended(cluster)
    assert not isinstance(fault.value, GeneratorFailed)


def test_what_is_no_missing_image_has_another_fix(cluster: FakeCluster) -> None:
    cluster.listed_pods[0] = of_variant(
        "platform", pod(container({"waiting": {"reason": "CreateContainerConfigError"}}))
    )
    with pytest.raises(PrerequisiteMissing, match="CreateContainerConfigError") as caught:
        fresh(cluster)
    assert caught.value.fix == "fix the cause in the message"


@pytest.mark.parametrize("which", ["virtual", "k6"])
def test_a_pod_that_no_node_takes_is_given_up_after_a_while(cluster: FakeCluster, clock: Clock, which: str) -> None:
    waiting = pod(conditions=[NO_NODE], phase="Pending")
    if which == "k6":
        cluster.listed_pods.append(of_job(waiting))
    else:
        cluster.listed_pods[1] = of_variant("virtual", waiting)
    with pytest.raises(PrerequisiteMissing, match=f"{which}: no node takes its pod .*: Insufficient cpu") as caught:
        (ended if which == "k6" else fresh)(cluster)
    assert "free resources" in caught.value.fix
    assert watch.UNSCHEDULABLE < clock.now < watch.UNSCHEDULABLE + 2


def test_a_pod_that_the_cluster_refuses_to_make_is_said(cluster: FakeCluster) -> None:
    del cluster.listed_pods[1]
    refused = copy.deepcopy(cluster.deployments["lab-virtual"])
    message = "pods are forbidden: exceeded quota"
    refused["status"] = {"conditions": [{"type": "ReplicaFailure", "status": "True", "message": message}]}
    cluster.deployments["lab-virtual"] = refused
    with pytest.raises(PrerequisiteMissing, match=f"virtual: the cluster refuses its pod: {message}"):
        fresh(cluster)


def k6_pod(job: str, phase: str, **state: Any) -> dict[str, Any]:
    labels = {"app.kubernetes.io/component": "k6", "batch.kubernetes.io/job-name": job}
    status = {"phase": phase, "containerStatuses": [{"name": "k6", "state": state}] if state else []}
    return {"metadata": {"name": f"{job}-x", "uid": job, "labels": labels}, "status": status}


def test_another_k6_is_a_fault_and_its_own_earlier_one_is_not() -> None:
    cluster = FakeCluster()
    prefix = "lab-vtlab-run-a1b2-"
    ended = k6_pod(f"{prefix}1-1-2", "Succeeded", terminated={"exitCode": 0})
    # Deleted, and already ended: the API may call it running for a while.
    before = k6_pod(f"{prefix}1-1-1", "Running")
    before["metadata"]["deletionTimestamp"] = "2026-11-20T00:00:00Z"
    cluster.listed_pods = [before, ended]
    assert watch.wait_for_job(cluster, f"{prefix}1-1-2", prefix, {}) == ended  # type: ignore[arg-type]

    cluster.listed_pods = [k6_pod("blocking-1", "Running"), ended]
    with pytest.raises(BlockFault, match="another k6 loads the same variants: pod blocking-1-x"):
        watch.wait_for_job(cluster, f"{prefix}1-1-2", prefix, {})  # type: ignore[arg-type]


def test_a_k6_that_goes_on_is_not_waited_for_for_ever(monkeypatch: pytest.MonkeyPatch) -> None:
    cluster = FakeCluster()
    monkeypatch.setattr(watch, "IDLE_WITHIN", 0.0)
    cluster.listed_pods = [k6_pod("blocking-1", "Running")]
    with pytest.raises(BlockFault, match="another k6 loads the same variants: blocking-1-x"):
        watch.wait_until_idle(cluster)  # type: ignore[arg-type]


def test_pods_of_earlier_copies_are_waited_for_and_not_those_of_this_call(cluster: FakeCluster) -> None:
    cluster.release = ReleaseRef(
        None, "shops", "vtlab-shop-a1b2", Copying(prometheus="http://p.m:9090", agent_image="agent:1", k6_image="k6:1")
    )

    def of_copies(name: str, component: str) -> Json:
        labels = {"app.kubernetes.io/instance": name, "app.kubernetes.io/component": component}
        return pod(container(), phase="Running") | {"metadata": {"name": f"{name}-{component}", "labels": labels}}

    ready = of_copies("vtlab-shop-a1b2", "variant")
    cluster.listed_pods = [ready]
    watch.wait_until_idle(cluster)  # type: ignore[arg-type]
    for disturbing in (of_copies("vtlab-cart-c3d4", "variant"), of_copies("vtlab-shop-a1b2", "k6")):
        cluster.listed_pods = [ready, disturbing]
        with pytest.raises(BlockFault, match=f"pods of an earlier vtlab still run: {disturbing['metadata']['name']}$"):
            watch.wait_until_idle(cluster)  # type: ignore[arg-type]
        # It has ended, and its pod is still listed.
        disturbing["status"]["phase"] = "Succeeded"
        watch.wait_until_idle(cluster)  # type: ignore[arg-type]

"""The state of a pod, from its status."""

from __future__ import annotations

from typing import Any

import pytest

from vtlab.targets.kubernetes.api import pods

Json = dict[str, Any]


def pod(*containers: Json, **status: Any) -> Json:
    return {"metadata": {"name": "p", "uid": "u"}, "status": {"containerStatuses": list(containers), **status}}


def container(state: Json | None = None, last: Json | None = None, restarts: int = 0) -> Json:
    return {
        "name": "app",
        "image": "i:1",
        "state": state or {"running": {}},
        "lastState": last or {},
        "restartCount": restarts,
    }


NO_IMAGE = {"waiting": {"reason": "ImagePullBackOff"}}
LATE_SECRET = {
    "waiting": {
        "reason": "CreateContainerConfigError",
        "message": "failed to sync secret cache: timed out waiting for the condition",
    }
}
LATE_IMAGE = {"waiting": {"reason": "ErrImageNeverPull", "message": "context deadline exceeded"}}
OOM = {"terminated": {"reason": "OOMKilled", "exitCode": 137}}


@pytest.mark.parametrize(
    ("state", "reason", "hopeless"),
    [
        (pod(container()), None, False),
        (pod(), None, False),
        (pod(container({"terminated": {"reason": "Completed", "exitCode": 0}})), None, False),
        (pod(container({"waiting": {"reason": "ContainerCreating"}})), None, False),
        (pod(container({"waiting": {"reason": "ErrImagePull"}})), None, False),
        (pod(container({"waiting": {"reason": "ImagePullBackOff", "message": "no"}})), "ImagePullBackOff", True),
        (pod(container({"waiting": {"reason": "CreateContainerConfigError"}})), "CreateContainerConfigError", True),
        (pod(container(LATE_SECRET)), None, False),
        (pod(container(LATE_IMAGE)), "ErrImageNeverPull", True),
        (pod(container(OOM)), "OOMKilled", False),
        (pod(container({"waiting": {"reason": "CrashLoopBackOff"}}, OOM, 2)), "OOMKilled", False),
        (pod(container(None, {"terminated": {"exitCode": 3}}, 1)), "restarted after exit code 3", False),
        (pod(initContainerStatuses=[container(NO_IMAGE)]), "ImagePullBackOff", True),
        (pod(initContainerStatuses=[container(None, {"terminated": {"exitCode": 1}}, 2)]), None, False),
        (pod(initContainerStatuses=[container(None, None, 1) | {"name": "vtlab-agent"}]), "the agent from", True),
        (pod(reason="Evicted", message="low on memory"), "was evicted: low on memory", False),
        (
            pod(conditions=[{"type": "DisruptionTarget", "status": "True", "reason": "EvictionByEvictionAPI"}]),
            "was evicted: EvictionByEvictionAPI",
            False,
        ),
        (pod(reason="DeadlineExceeded"), "longer than its deadline", False),
        ({"metadata": {"deletionTimestamp": "2026-11-20T00:00:00Z"}}, "was deleted", False),
    ],
)
def test_trouble_is_named(state: Json, reason: str | None, hopeless: bool) -> None:
    trouble = pods.trouble(state)
    if reason is None:
        assert trouble is None
    else:
        assert trouble is not None
        assert reason in trouble.text
        assert trouble.hopeless is hopeless


def test_what_the_service_did_is_told_from_what_was_done_to_its_pod() -> None:
    def failure(pod: Json) -> str:
        trouble = pods.trouble(pod)
        assert trouble is not None
        return trouble.failure

    assert failure(pod(container(OOM))) == "the kernel killed it at its memory limit"
    assert failure(pod(container(None, {"terminated": {"reason": "Error", "exitCode": 3}}, 1))) == "out of heap memory"
    ended = {"terminated": {"reason": "Error", "exitCode": 1}}
    assert failure(pod(container(None, ended, 1))) == "it ended with exit code 1"
    lost = {"terminated": {"reason": "ContainerStatusUnknown", "exitCode": 137}}
    assert failure(pod(container(None, lost, 1))) == "", "its node was restarted"
    assert failure(pod(container(None, None, 1))) == ""
    assert failure(pod(reason="Evicted", message="low on memory")) == ""
    assert failure({"metadata": {"deletionTimestamp": "2026-11-20T00:00:00Z"}}) == ""


def test_only_an_image_that_is_missing_is_blamed_on_the_image() -> None:
    for reason, image in (("ImagePullBackOff", True), ("CreateContainerConfigError", False)):
        trouble = pods.trouble(pod(container({"waiting": {"reason": reason}})))
        assert trouble is not None
        assert trouble.image is image


def test_it_counts_restarts_and_oom_kills() -> None:
    killed_pod = pod(container({"running": {}}, OOM, 1), container(OOM))
    assert pods.oom_kills(killed_pod) == 2


def test_ready_needs_the_condition_and_no_deletion() -> None:
    ready = pod(conditions=[{"type": "Ready", "status": "True"}])
    assert pods.ready(ready)
    ready["metadata"]["deletionTimestamp"] = "2026-11-20T00:00:00Z"
    assert not pods.ready(ready)
    assert not pods.ready(pod())


def test_the_exit_code_is_that_of_the_named_container_once_it_has_ended() -> None:
    ended = pod({"name": "k6", "state": {"terminated": {"exitCode": 99}}}, {"name": "other", "state": {"running": {}}})
    assert pods.exit_code(ended, "k6") == 99
    assert pods.exit_code(ended, "other") is None
    assert pods.exit_code(ended, "absent") is None


def test_the_start_is_timed_from_the_container_to_readiness() -> None:
    ready_pod = pod(
        container({"running": {"startedAt": "2026-11-20T10:00:00Z"}}),
        conditions=[{"type": "Ready", "status": "True", "lastTransitionTime": "2026-11-20T10:00:07Z"}],
    )
    assert pods.started_in(ready_pod) == 7
    assert pods.started_in(pod()) == 0


def test_a_pod_that_no_node_takes_says_why() -> None:
    wanted = {"type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": "Insufficient cpu"}
    assert pods.unschedulable(pod(conditions=[wanted])) == "Insufficient cpu"
    assert pods.unschedulable(pod(conditions=[{"type": "PodScheduled", "status": "True"}])) == ""

"""The state of a pod. Pure functions of the API's JSON."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime

from vtlab.model.variant import flags_in
from vtlab.services.process import OUT_OF_HEAP
from vtlab.targets.kubernetes.api.types import Json

#: The init container that brings vtlab's agent, and the volume from which the service has it.
AGENT = "vtlab-agent"
#: Reasons for which a container waits, and which do not pass by themselves.
_NO_IMAGE = ("ImagePullBackOff", "ErrImageNeverPull", "InvalidImageName")
#: Reasons for the end of a container that its node did not see.
_NOT_SEEN = ("Unknown", "ContainerStatusUnknown")
#: What a kubelet says of an object that the API server was late with.
_LATE = re.compile("timed out|deadline exceeded")
_HOPELESS = (
    *_NO_IMAGE,
    "CreateContainerConfigError",
    "CreateContainerError",
    "RunContainerError",
)


@dataclass(frozen=True)
class Trouble:
    """A fault of a pod. ``hopeless``: waiting will not help, the user must change something; ``image``: the image is
    at fault; ``failure``: what the service itself did, in words that complete "it fails: …", else empty."""

    text: str
    hopeless: bool = False
    image: bool = False
    failure: str = ""


def name(pod: Json) -> str:
    """Returns the name of a pod."""
    return str(pod["metadata"]["name"])


def uid(pod: Json) -> str:
    """Returns the unique identity of a pod."""
    return str(pod["metadata"]["uid"])


def label(pod: Json, key: str) -> str:
    """Returns the value of a label; empty without it."""
    return str(pod["metadata"].get("labels", {}).get(key, ""))


def app(pod: Json) -> Json:
    """Returns the container of the service in a pod or a pod template: in copies the one that gets the agent."""
    containers: list[Json] = pod["spec"]["containers"]
    with_agent = (c for c in containers if any(mount["name"] == AGENT for mount in c.get("volumeMounts") or []))
    return next(with_agent, None) or next((c for c in containers if c["name"] == "app"), containers[0])


def jvm_flags(pod: Json) -> list[str]:
    """Returns the flags that the service's JVM gets from its environment, in the order in which it applies them."""
    return flags_of(app(pod))


def flags_of(container: Json) -> list[str]:
    """Returns the JVM flags in a container's environment, as ``jvm_flags`` does."""
    values = {variable["name"]: str(variable.get("value") or "") for variable in container.get("env") or []}
    return flags_in(values)


def running(pod: Json) -> bool:
    """Tells whether a container of the pod runs."""
    return any("running" in (container.get("state") or {}) for container in _containers(pod))


def ready(pod: Json) -> bool:
    """Tells whether the pod passes its readiness probe and is not being deleted."""
    return _condition(pod, "Ready").get("status") == "True" and not pod["metadata"].get("deletionTimestamp")


def oom_kills(pod: Json) -> int:
    """Counts containers whose present or last end was for lack of memory."""
    return sum(end.get("reason") == "OOMKilled" for container in _containers(pod) for end in _ends(container))


def restarts(pod: Json) -> int:
    """Counts how often containers of the pod were started again."""
    return sum(int(container.get("restartCount", 0)) for container in _containers(pod))


def exit_code(pod: Json, container: str) -> int | None:
    """Returns the exit code of a container; None while it has not ended."""
    for status in _containers(pod):
        if status.get("name") == container and "terminated" in status.get("state", {}):
            return int(status["state"]["terminated"].get("exitCode", -1))
    return None


def node(pod: Json) -> str:
    """Returns the name of the node that a pod runs on."""
    return str(pod.get("spec", {}).get("nodeName", ""))


def started_in(pod: Json) -> float:
    """Returns the whole seconds from the start of a pod's containers until it was ready; 0 where unknown."""
    ready_at = _condition(pod, "Ready").get("lastTransitionTime")
    started_at = [
        container["state"]["running"]["startedAt"]
        for container in _containers(pod)
        if "running" in (container.get("state") or {})
    ]
    return (_time(ready_at) - _time(min(started_at))).total_seconds() if ready_at and started_at else 0.0


def unschedulable(pod: Json) -> str:
    """Returns why no node takes the pod; empty when one does."""
    scheduled = _condition(pod, "PodScheduled")
    return str(scheduled.get("message", "")) if scheduled.get("reason") == "Unschedulable" else ""


def _is_passing(waiting: Json) -> bool:
    """Tells whether a kubelet only got a Secret or ConfigMap late: it asks again."""
    return waiting["reason"] == "CreateContainerConfigError" and bool(_LATE.search(waiting.get("message") or ""))


def trouble(pod: Json) -> Trouble | None:
    """Returns the first fault of a pod; None for a pod that runs, starts or has ended well."""
    status = pod.get("status", {})
    disrupted = _condition(pod, "DisruptionTarget")
    if status.get("reason") == "Evicted" or disrupted.get("status") == "True":
        reason = status.get("message") or disrupted.get("message") or disrupted.get("reason", "")
        return Trouble(f"was evicted: {reason}")
    if status.get("reason") == "DeadlineExceeded":
        return Trouble(f"ran longer than its deadline: {status.get('message', '')}")
    # Init containers may fail until what they wait for is there: only an image or an object that is missing counts.
    for container in [*(status.get("initContainerStatuses") or []), *_containers(pod)]:
        waiting = (container.get("state") or {}).get("waiting") or {}
        if waiting.get("reason") in _HOPELESS and not _is_passing(waiting):
            text = f"cannot start, {waiting['reason']}: {waiting.get('message', '')} (image {container.get('image')})"
            return Trouble(text, True, waiting["reason"] in _NO_IMAGE)
        if container.get("name") == AGENT and int(container.get("restartCount", 0)) > 0:
            return Trouble(f"cannot get the agent from the image {container.get('image')} (--agent-image)", True)
    for container in _containers(pod):
        for end in _ends(container):
            if end.get("reason") == "OOMKilled":
                killed = "the kernel killed it at its memory limit"
                return Trouble("was killed for lack of memory (OOMKilled) at its memory limit", failure=killed)
        if int(container.get("restartCount", 0)) > 0:
            end = next(_ends(container), {})
            code = end.get("exitCode", "unknown")
            ended = "out of heap memory" if code == OUT_OF_HEAP else f"it ended with exit code {code}"
            # After a restart of the node nobody knows how a container ended.
            is_known = bool(end) and end.get("reason") not in _NOT_SEEN
            return Trouble(f"was restarted after exit code {code}", failure=ended if is_known else "")
    if pod["metadata"].get("deletionTimestamp"):
        return Trouble("was deleted")
    return None


def _containers(pod: Json) -> list[Json]:
    return list(pod.get("status", {}).get("containerStatuses") or [])


def _ends(container: Json) -> Iterator[Json]:
    """Yields the present and the last end of a container."""
    for state in ("state", "lastState"):
        end = (container.get(state) or {}).get("terminated")
        if end:
            yield end


def _condition(pod: Json, kind: str) -> Json:
    conditions = pod.get("status", {}).get("conditions") or []
    return next((condition for condition in conditions if condition.get("type") == kind), {})


def _time(text: str) -> datetime:
    return datetime.fromisoformat(text.replace("Z", "+00:00"))

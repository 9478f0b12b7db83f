"""Reads the status of a pod. Pure functions of the API's JSON."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from vtlab.services import processors

Json = dict[str, Any]

#: The init container that brings vtlab's agent, and the volume from which the service has it.
AGENT = "vtlab-agent"
#: Reasons for which a container waits and that do not pass by themselves.
_NO_IMAGE = ("ImagePullBackOff", "ErrImageNeverPull", "InvalidImageName")
#: A JVM's exit code under -XX:+ExitOnOutOfMemoryError.
_OUT_OF_HEAP = 3
#: Reasons for the end of a container that its node did not see.
_NOT_SEEN = ("Unknown", "ContainerStatusUnknown")
_HOPELESS = (
    *_NO_IMAGE,
    "CreateContainerConfigError",
    "CreateContainerError",
    "RunContainerError",
)


@dataclass(frozen=True)
class Trouble:
    """What is wrong with a pod. ``hopeless``: waiting will not help, the user must change something; ``image``:
    the image is what is wrong. ``failure``: what the service itself did, in words that complete "it fails: …"; empty
    where it did nothing."""

    text: str
    hopeless: bool = False
    image: bool = False
    failure: str = ""


def name(pod: Json) -> str:
    """The name of the pod."""
    return str(pod["metadata"]["name"])


def uid(pod: Json) -> str:
    """The unique identity of the pod."""
    return str(pod["metadata"]["uid"])


def label(pod: Json, key: str) -> str:
    """The value of a label; empty without it."""
    return str(pod["metadata"].get("labels", {}).get(key, ""))


def app(of: Json) -> Json:
    """The container with the service, of a pod or of the template for one: of copies that which gets the agent."""
    containers: list[Json] = of["spec"]["containers"]
    of_copy = (c for c in containers if any(mount["name"] == AGENT for mount in c.get("volumeMounts") or []))
    return next(of_copy, None) or next((c for c in containers if c["name"] == "app"), containers[0])


def jvm_flags(of: Json) -> list[str]:
    """The flags that the service's JVM gets by its environment, in the order in which it takes them."""
    return flags_of(app(of))


def flags_of(container: Json) -> list[str]:
    """The same of its container."""
    values = {variable["name"]: str(variable.get("value") or "") for variable in container.get("env") or []}
    return processors.flags_in(values)


def running(pod: Json) -> bool:
    """Whether a container of it runs."""
    return any("running" in (container.get("state") or {}) for container in _containers(pod))


def ready(pod: Json) -> bool:
    """Whether it passes its readiness probe and is not being deleted."""
    return _condition(pod, "Ready").get("status") == "True" and not pod["metadata"].get("deletionTimestamp")


def oom_kills(pod: Json) -> int:
    """Containers whose present or last end was for lack of memory."""
    return sum(end.get("reason") == "OOMKilled" for container in _containers(pod) for end in _ends(container))


def exit_code(pod: Json, container: str) -> int | None:
    """How a container ended; None while it has not."""
    for status in _containers(pod):
        if status.get("name") == container and "terminated" in status.get("state", {}):
            return int(status["state"]["terminated"].get("exitCode", -1))
    return None


def started_in(pod: Json) -> float:
    """Seconds from the start of its containers until it was ready, to the second; 0 where unknown."""
    ready_at = _condition(pod, "Ready").get("lastTransitionTime")
    started_at = [
        container["state"]["running"]["startedAt"]
        for container in _containers(pod)
        if "running" in (container.get("state") or {})
    ]
    return (_time(ready_at) - _time(min(started_at))).total_seconds() if ready_at and started_at else 0.0


def unschedulable(pod: Json) -> str:
    """Why no node takes it; empty when one does."""
    scheduled = _condition(pod, "PodScheduled")
    return str(scheduled.get("message", "")) if scheduled.get("reason") == "Unschedulable" else ""


def trouble(pod: Json) -> Trouble | None:
    """The first thing that is wrong with it; None for a pod that runs, starts or has ended well."""
    status = pod.get("status", {})
    disrupted = _condition(pod, "DisruptionTarget")
    if status.get("reason") == "Evicted" or disrupted.get("status") == "True":
        reason = status.get("message") or disrupted.get("message") or disrupted.get("reason", "")
        return Trouble(f"was evicted: {reason}")
    if status.get("reason") == "DeadlineExceeded":
        return Trouble(f"ran longer than its deadline: {status.get('message', '')}")
    # Of init containers only what cannot be had: they may well fail until what they wait for is there.
    for container in [*(status.get("initContainerStatuses") or []), *_containers(pod)]:
        waiting = (container.get("state") or {}).get("waiting") or {}
        if waiting.get("reason") in _HOPELESS:
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
            ended = "out of heap memory" if code == _OUT_OF_HEAP else f"it ended with exit code {code}"
            # After a restart of the node nobody knows how a container ended.
            is_known = bool(end) and end.get("reason") not in _NOT_SEEN
            return Trouble(f"was restarted after exit code {code}", failure=ended if is_known else "")
    if pod["metadata"].get("deletionTimestamp"):
        return Trouble("was deleted")
    return None


def _containers(pod: Json) -> list[Json]:
    return list(pod.get("status", {}).get("containerStatuses") or [])


def _ends(container: Json) -> Iterator[Json]:
    """The present and the last end of a container."""
    for state in ("state", "lastState"):
        end = (container.get(state) or {}).get("terminated")
        if end:
            yield end


def _condition(pod: Json, kind: str) -> Json:
    conditions = pod.get("status", {}).get("conditions") or []
    return next((condition for condition in conditions if condition.get("type") == kind), {})


def _time(text: str) -> datetime:
    return datetime.fromisoformat(text.replace("Z", "+00:00"))

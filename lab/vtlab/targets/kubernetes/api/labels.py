"""Names and labels of the objects that vtlab creates, by which another vtlab knows them and their creator."""

from __future__ import annotations

import os
import re

from vtlab.errors import BadInput
from vtlab.host import processes
from vtlab.targets.kubernetes.api.release_ref import ReleaseRef
from vtlab.targets.kubernetes.api.types import Json

#: The container of k6 in the pod of its Job.
K6_CONTAINER = "k6"
#: Marks the objects of every vtlab.
MANAGED_BY = "app.kubernetes.io/managed-by"
#: Names the release, or the copies of one call, to which an object belongs.
INSTANCE = "app.kubernetes.io/instance"
#: Says what a pod is (``variant``, ``k6``, …), and which variant.
COMPONENT, VARIANT = "app.kubernetes.io/component", "variant"
#: Marks what belongs to copies of a service.
COPIES = "vtlab/copies"
#: Names the Job of a pod; set by Kubernetes.
JOB_NAME = "batch.kubernetes.io/job-name"
#: Names the vtlab that created an object: machine, process and its start.
_OWNER = "vtlab/owner"


def for_release(ref: ReleaseRef) -> dict[str, str]:
    """Returns the labels of objects for a release or for copies. They tell another vtlab who created an object, and
    whether that process still lives."""
    identity = processes.Identity.of(os.getpid())
    return {
        MANAGED_BY: "vtlab",
        INSTANCE: ref.name,
        _OWNER: f"{_machine()}_{identity.pid}-{identity.start}" if identity else _machine(),
        **({COPIES: "true"} if ref.copying else {}),
    }


def vtlab_selector(ref: ReleaseRef) -> str:
    """Selects what any vtlab created for this release, or as copies of any service in the namespace."""
    return f"{MANAGED_BY}=vtlab,{COPIES if ref.copying else ref.selector()}"


def is_orphaned(created: Json) -> bool:
    """Tells whether the vtlab that created an object ran on this machine and is gone, or is this one: a cluster that
    was away at the end of its last run kept it."""
    machine, _, process = created["metadata"].get("labels", {}).get(_OWNER, "").partition("_")
    pid, _, start = process.partition("-")
    is_owner_known = machine == _machine() and pid.isdigit() and start.isdigit()
    return is_owner_known and (int(pid) == os.getpid() or not processes.Identity(int(pid), int(start)).alive())


def pairs(text: str) -> dict[str, str]:
    """Parses labels of an option. BadInput where the text is not like ``release=stack,team=a``."""
    parts = [part.partition("=") for part in filter(None, (word.strip() for word in text.split(",")))]
    if any(not name or not equals for name, equals, _ in parts):
        raise BadInput(f"'{text}' is not a list of labels", "write them as release=stack,team=a")
    return {name: value for name, _, value in parts}


def owner_reference(owner: Json) -> Json:
    """Returns a reference that deletes an object together with its owner. An owner without a kind is a CronJob, as for
    `kubectl create job --from`: who uninstalls the chart removes what was created from it."""
    version, kind = owner.get("apiVersion", "batch/v1"), owner.get("kind", "CronJob")
    return {"apiVersion": version, "kind": kind, "name": owner["metadata"]["name"], "uid": owner["metadata"]["uid"]}


def _machine() -> str:
    """Returns this machine's name, in the characters of a label."""
    return re.sub(r"[^A-Za-z0-9.-]+", "-", os.uname().nodename).strip("-.")[:30] or "unknown"

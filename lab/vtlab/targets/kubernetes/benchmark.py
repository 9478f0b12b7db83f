"""The JMH benchmark as a Job in a cluster, from the chart's CronJob: the same image under the chart's limits."""

from __future__ import annotations

import contextlib
import copy
import os
import re
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

from vtlab import jmh
from vtlab.errors import BlockFault, LabError, PrerequisiteMissing
from vtlab.host import processes
from vtlab.targets.kubernetes import job, pods, watch
from vtlab.targets.kubernetes.cluster import Cluster, Json, Where

#: The component and the container of the chart's CronJob.
COMPONENT = "jmh"
#: The variable with more words for JMH.
_OPTIONS = "JMH_OPTIONS"


def run(folder: Path, root: Path, where: Where, options: Sequence[str]) -> Path:
    """Runs the benchmark as a Job; returns the file with JMH's results. Leaves no Job behind.

    PrerequisiteMissing where the chart has no CronJob for it or no node takes its pod; LabError when it fails.
    """
    folder.mkdir(parents=True, exist_ok=True)
    name = f"{where.release}-jmh-{os.urandom(2).hex()}"
    cluster = Cluster(where)
    # Ctrl-C and a closed terminal end it in order.
    with processes.open_exclusive_ledger(root), contextlib.closing(cluster):
        templates = cluster.cron_jobs(where.selector(COMPONENT))
        if not templates:
            raise PrerequisiteMissing(
                f"the release {where.release} has no CronJob for JMH in namespace {where.namespace}",
                where.helm_upgrade(),
            )
        try:
            watch.quiet(cluster)
            cluster.create_job(manifest(templates[0], name, job.labels(where.release), options))
            pod = _ended(cluster, name)
            log = cluster.log(pods.name(pod), COMPONENT)
        except BlockFault as fault:
            # There is no block that could be tried again.
            raise LabError(str(fault), "run it again") from fault
        finally:
            with processes.uninterrupted(), contextlib.suppress(LabError):
                cluster.delete_job(name)
    (folder / jmh.LOG).write_text(job.shown(log), encoding="utf-8")
    code = pods.exit_code(pod, COMPONENT)
    if code != 0:
        raise LabError(f"JMH ended with exit code {code}: {job.last_lines(log)}", f"see {folder / jmh.LOG}")
    file = folder / jmh.FILE
    file.write_text(results(job.shown(log)), encoding="utf-8")
    return file


def manifest(cron_job: Json, name: str, labels: Mapping[str, str], options: Sequence[str]) -> Json:
    """The Job ``name`` as the CronJob would make it, with these words for JMH."""
    body = copy.deepcopy(cron_job["spec"]["jobTemplate"])
    metadata = body.setdefault("metadata", {})
    metadata["name"] = name
    metadata["labels"] = {**metadata.get("labels", {}), **labels}
    metadata["ownerReferences"] = [job.owner(cron_job)]
    (container,) = body["spec"]["template"]["spec"]["containers"]
    kept = [each for each in container.get("env", []) if each["name"] != _OPTIONS]
    container["env"] = [*kept, {"name": _OPTIONS, "value": " ".join(options)}]
    return {"apiVersion": "batch/v1", "kind": "Job", "metadata": metadata, "spec": body["spec"]}


def results(log: str) -> str:
    """JMH's JSON, which is the last thing in its log; LabError where there is none."""
    found = re.search(r"^\[\n.*^\]$", log, re.MULTILINE | re.DOTALL)
    if found is None:
        raise LabError(f"JMH left no results in its log: {log[-500:].strip() or 'it said nothing'}")
    return found[0] + "\n"


def _ended(cluster: Cluster, name: str) -> Json:
    """The pod of the Job, once it has ended, however."""
    begun, seen = time.monotonic(), False
    while (waited := time.monotonic() - begun) < jmh.GIVEN_UP_AFTER:
        every = cluster.pods(cluster.where.selector(COMPONENT))
        pod = next((each for each in every if pods.label(each, watch.JOB_NAME) == name), None)
        if pod:
            seen = True
            if pods.exit_code(pod, COMPONENT) is not None:
                return pod
            watch.refuse_trouble(pod, "JMH", waited)
        elif seen or waited > watch.UNSCHEDULABLE:
            raise BlockFault(f"JMH: the Job {name} has no pod" + (" any more" if seen else f" after {waited:.0f} s"))
        time.sleep(1)
    raise BlockFault(f"the Job {name} did not end within {jmh.GIVEN_UP_AFTER:.0f} s")

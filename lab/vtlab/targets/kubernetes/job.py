"""One call of k6 as a Job: created from the chart's CronJob, its results read from its log."""

from __future__ import annotations

import copy
import re
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import TypeVar

from pydantic import ValidationError

from vtlab.errors import BlockFault
from vtlab.host.machine import Delays, Sample, Usage
from vtlab.model import normalised, validation
from vtlab.model.k6_documents import K6Document, Preflight, VariantPreflight
from vtlab.targets.kubernetes.api.labels import K6_CONTAINER, owner_reference
from vtlab.targets.kubernetes.api.types import Json

_Document = TypeVar("_Document", K6Document, Preflight)

#: Where the normalised experiment lies in the pod.
EXPERIMENT = f"/experiment/{normalised.PLAN}"
#: Writes every half second what the kernel says of the node and of k6, for the validity checks: throttled periods of
#: the pod's control group (v2 or v1), ticks of the node's cores, and of each thread of k6 (the shell becomes it) its
#: number, nanoseconds on a core and waiting for one, and time slices. Only builtins of a POSIX shell, and sleep.
SAMPLER = """
for stat in /sys/fs/cgroup/cpu.stat /sys/fs/cgroup/cpu/cpu.stat /sys/fs/cgroup/cpu,cpuacct/cpu.stat /dev/null; do
  [ -r "$stat" ] && break
done
while read -r _ _ state _ </proc/$$/stat && [ "$state" != Z ]; do
  periods= throttled= threads=
  while read -r key value; do
    case $key in nr_periods) periods=$value ;; nr_throttled) throttled=$value ;; esac
  done <"$stat"
  read -r node </proc/stat
  for task in /proc/$$/task/[0-9]*; do
    if read -r task_times <"$task/schedstat"; then threads="$threads ${task##*/} $task_times,"; fi
  done
  echo "@@node $periods $throttled;$node;$threads"
  sleep 0.5
done 2>/dev/null &
exec "$@"
"""

_LINE = re.compile(r"(\S+) (@@(?:vtlab|node) .*)")


def template(cron_jobs: Sequence[Json], experiment: str) -> Json | None:
    """Picks the CronJob of an experiment, or any other where the chart has none for it: they differ only in what
    ``manifest`` replaces. None without a CronJob."""
    exact = [job for job in cron_jobs if job["metadata"].get("labels", {}).get("experiment") == experiment]
    return next(iter([*exact, *cron_jobs]), None)


def manifest(cron_job: Json, name: str, labels: Mapping[str, str], env: Mapping[str, str], config_map: str) -> Json:
    """Returns the Job ``name`` as the CronJob would create it, with ``env`` over its own, the experiment of the
    ConfigMap in place of the image's, and the sampler beside k6."""
    body = copy.deepcopy(cron_job["spec"]["jobTemplate"])
    metadata = body.setdefault("metadata", {})
    metadata["name"] = name
    metadata["labels"] = {**metadata.get("labels", {}), **labels}
    metadata["ownerReferences"] = [owner_reference(cron_job)]
    spec = body["spec"]["template"]["spec"]
    (k6,) = (container for container in spec["containers"] if container["name"] == K6_CONTAINER)
    overridden = {**env, "EXPERIMENT": EXPERIMENT}
    inherited = [variable for variable in k6.get("env", []) if variable["name"] not in overridden]
    k6["env"] = inherited + [{"name": key, "value": value} for key, value in overridden.items()]
    # The kubelet expands $(NAME) and makes $ of $$.
    k6["command"] = ["/bin/sh", "-c", SAMPLER.replace("$", "$$"), "sh", *k6.get("command", []), *k6.get("args", [])]
    k6.pop("args", None)
    k6.setdefault("volumeMounts", []).append({"name": "experiment", "mountPath": "/experiment", "readOnly": True})
    spec.setdefault("volumes", []).append({"name": "experiment", "configMap": {"name": config_map}})
    return {"apiVersion": "batch/v1", "kind": "Job", "metadata": metadata, "spec": body["spec"]}


def k6(cron_job: Json) -> Json:
    """Returns the container of k6."""
    containers: list[Json] = cron_job["spec"]["jobTemplate"]["spec"]["template"]["spec"]["containers"]
    return next(container for container in containers if container["name"] == K6_CONTAINER)


def remote_write(cron_job: Json) -> str:
    """Returns the URL to which k6 sends its samples; empty where it sends none."""
    return environment_of(k6(cron_job)).get("K6_PROMETHEUS_RW_SERVER_URL", "")


def environment_of(container: Json) -> dict[str, str]:
    """Returns the environment of a container, without values that come from elsewhere."""
    variables = (variable for variable in container.get("env", []) if "valueFrom" not in variable)
    return {variable["name"]: str(variable.get("value", "")) for variable in variables}


def document(log: str) -> K6Document:
    """Reads k6's document from a log with times. BlockFault, with the last lines, when it is missing or incomplete."""
    return _parsed(K6Document, log)


def preflight(log: str) -> dict[str, VariantPreflight]:
    """Reads a pre-flight's findings, by variant, from a log with times. BlockFault as in ``document``."""
    return _parsed(Preflight, log).preflight


def _parsed(kind: type[_Document], log: str) -> _Document:
    parts: dict[int, str] = {}
    count = 0
    for _, line in _marked(log, "@@vtlab "):
        number, _, part = line.partition(" ")
        index, _, total = number.partition("/")
        parts[int(index)], count = part, int(total)
    if not parts or sorted(parts) != list(range(1, count + 1)):
        # A kubelet keeps the last 10 MiB of a log, or what its containerLogMaxSize says.
        cut = " (the kubelet cuts logs at containerLogMaxSize)" if parts and 1 not in parts else ""
        shortfall = f"only {len(parts)} of {count} parts of its document{cut}" if parts else "no document"
        raise BlockFault(f"k6 left {shortfall} in its log: {last_lines(log) or 'its log is empty'}")
    try:
        return kind.model_validate_json("".join(parts[i] for i in range(1, count + 1)))
    except ValidationError as error:
        raise BlockFault(f"k6's document cannot be read ({validation.first_wrong_key(error, 'the whole')})") from error


def samples(log: str) -> list[Sample]:
    """Reads the sampler's lines in order of time, without lines that were cut off."""
    samples_so_far: list[Sample] = []
    delays = Delays()
    for at, line in _marked(log, "@@node "):
        try:
            group, node, threads = line.split(";")
            ticks = [int(value) for value in node.split()[1:9]]
            # thread -> nanoseconds on a core, nanoseconds waiting for one, time slices
            tasks = {
                words[0]: (int(words[1]), int(words[2]), int(words[3])) for words in map(str.split, _items(threads))
            }
            periods = [int(value) for value in group.split()]
            total, idle = sum(ticks), ticks[3] + ticks[4]
        except (ValueError, IndexError):
            continue
        waited, slices = delays.update({key: (wait, count) for key, (_, wait, count) in tasks.items()})
        cpu = sum(run for run, _, _ in tasks.values()) / 1e9
        samples_so_far.append(
            Sample(
                at=at,
                total=total,
                idle=idle,
                generator=Usage(cpu, waited, slices) if tasks else None,
                # Without a quota the kernel counts no periods.
                periods=(periods[0], periods[1]) if len(periods) == 2 and periods[0] else None,
            )
        )
    return sorted(samples_so_far, key=lambda sample: sample.at)


def last_lines(log: str, count: int = 8) -> str:
    """Returns the end of a log with times, for messages."""
    lines = (line.partition(" ")[2].strip() for line in log.splitlines())
    readable = [line for line in lines if line and not line.startswith("@@")]
    return "; ".join(readable[-count:])[-1500:]


def shown(log: str) -> str:
    """Returns a log as a person reads it: without the times and without the lines for vtlab."""
    lines = (line.partition(" ")[2] for line in log.splitlines())
    return "\n".join(line for line in lines if not line.startswith("@@")) + "\n"


def _marked(log: str, mark: str) -> list[tuple[int, str]]:
    """Returns (epoch ms, the rest of the line) for each line with that mark."""
    marked = []
    for line in log.splitlines():
        match = _LINE.match(line)
        if match and match[2].startswith(mark):
            # Nanoseconds are more than Python's datetime reads.
            time = re.sub(r"\.(\d{1,6})\d*", lambda m: f".{m[1]:0<6}", match[1]).replace("Z", "+00:00")
            marked.append((round(datetime.fromisoformat(time).timestamp() * 1000), match[2].removeprefix(mark)))
    return marked


def _items(text: str) -> list[str]:
    return [item for item in text.split(",") if item.strip()]

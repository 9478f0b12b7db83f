"""The check that a variant which has started is under the limits, and on the threads, that the experiment says.

It is the same for every target: what the target enforces, and what the variant tells of itself.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence
from dataclasses import dataclass

from vtlab.errors import PrerequisiteMissing
from vtlab.host.cgroup_hierarchies import Limit
from vtlab.model import units
from vtlab.model import variant as model_variant
from vtlab.model.experiment import Experiment
from vtlab.model.records import Instance
from vtlab.model.service import Meters
from vtlab.model.variant import Threads
from vtlab.prometheus.queries import Prometheus

#: A quota is rounded to microseconds per period, memory to pages; a chart may write 500m for 0.5.
TOLERANCE = 0.01
#: Some collectors move the borders of their pools, and with them the sum of what these may have.
SAME_HEAP = 0.1


@dataclass(frozen=True)
class Figures:
    """Figures that a variant tells of itself; None, or ``unknown``, where it does not."""

    #: Cores that its own control group allows.
    cpu_limit: float | None
    processors: float | None
    #: The most threads that Tomcat's pool may have; -1 without a pool.
    tomcat_threads: float | None
    #: 1 where Jetty's requests have virtual threads, else 0.
    jetty_virtual: float | None
    java: str
    gc: str
    #: Bytes that the JVM's heap may have.
    heap: float | None = None
    #: The same as of ``Instance``.
    class_archives: dict[str, bool] | None = None


def read(client: Prometheus, name: str, at_ms: int) -> Figures:
    """Reads the figures of a variant at the time of a scrape."""
    info = client.labels(name, "jvm_info{$server}", at_ms)
    archives = {
        labels["name"]: value > 0 for labels, value in client.all(name, "jvm_class_archive_used{$server}", at_ms)
    }
    return Figures(
        cpu_limit=client.measured(name, "max(cgroup_cpu_limit_cores{$server})", at_ms),
        processors=client.measured(name, "max(system_cpu_count{$server})", at_ms),
        tomcat_threads=client.measured(name, "max(tomcat_threads_config_max_threads{$server})", at_ms),
        jetty_virtual=client.measured(name, "max(jetty_threads_virtual{$server})", at_ms),
        java=" ".join(filter(None, (info.get("version", "unknown"), info.get("vendor")))),
        gc=client.labels(name, "jvm_gc_info{$server}", at_ms).get("name", "unknown"),
        # A pool without a limit of its own says -1.
        heap=client.measured(name, 'sum(jvm_memory_max_bytes{$server, area="heap"} > 0)', at_ms),
        class_archives=archives or None,
    )


@dataclass(frozen=True)
class StartedVariant:
    """A variant that has started, and what is known of its limits and threads."""

    name: str
    experiment: Experiment
    meters: Collection[Meters]
    figures: Figures
    #: The limits of its control group; None where vtlab cannot see these.
    enforced: Limit | None = None
    #: Processors that its JVM is to count; None for those of the CPU limit.
    processors: int | None = None


def refuse_other_limits(variant: StartedVariant, fix: str) -> None:
    """Raises PrerequisiteMissing, with ``fix``, where the limits of the experiment do not hold for a variant."""
    limits, enforced, figures = variant.experiment.limits, variant.enforced, variant.figures
    expected = variant.processors or math.ceil(limits.cpu)
    wrong = []
    if enforced and not close(enforced.cpu, limits.cpu):
        wrong.append(f"its control group allows {_cores(enforced.cpu)}")
    if enforced and not close(enforced.memory, units.size(limits.memory)):
        wrong.append(f"its control group allows {enforced.memory or 'unlimited'} bytes of memory, not {limits.memory}")
    if "cgroup" in variant.meters and not close(figures.cpu_limit, limits.cpu):
        wrong.append(f"the JVM itself reads {_cores(figures.cpu_limit)}")
    if "jvm" in variant.meters and figures.processors != expected:
        counted = "no" if figures.processors is None else f"{figures.processors:g}"
        wrong.append(f"the JVM counts {counted} processors, not {expected}")
    if wrong:
        raise PrerequisiteMissing(
            f"{variant.name}: the CPU limit of {limits.cpu:g} does not hold: {'; '.join(wrong)}", fix
        )


def refuse_other_threads(variant: StartedVariant) -> None:
    """Raises BadInput where a variant does not run on its kind of threads, as far as the service tells."""
    threads = variant.experiment.properties_of(variant.name).threads
    if "tomcat" in variant.meters:
        measured = _threads_of_tomcat(variant.figures.tomcat_threads, threads)
        model_variant.refuse_other_threads(variant.name, threads, measured)
    elif "jetty" in variant.meters:
        virtual = variant.figures.jetty_virtual
        kind: Threads | None = None if virtual is None else "virtual" if virtual else "platform"
        model_variant.refuse_other_threads(variant.name, threads, kind)


def refuse_other_jvms(experiment: Experiment, instances: Sequence[Instance]) -> None:
    """Raises PrerequisiteMissing where variants that differ in their threads alone have JVMs of another shape: garbage
    collector, processors or heap, of which one would gain by more than its threads."""
    first_instances: dict[str, Instance] = {}
    for instance in instances:
        alike = experiment.properties_of(instance.variant).model_dump_json(exclude={"threads"})
        other = first_instances.setdefault(alike, instance)
        if (other.gc, other.processors) != (instance.gc, instance.processors) or not _is_as_large(other, instance):
            raise PrerequisiteMissing(
                f"the JVMs differ in more than their threads: {_shape(other)}; {_shape(instance)}",
                "set the flags of production: --jvm=-XX:+UseSerialGC --jvm=-Xmx512m",
            )


def _is_as_large(first: Instance, second: Instance) -> bool:
    return not first.heap or not second.heap or abs(first.heap / second.heap - 1) <= SAME_HEAP


def _shape(instance: Instance) -> str:
    heap = f", a heap of {instance.heap / 1024**2:.0f} MiB" if instance.heap else ""
    return f"{instance.variant} has {instance.gc} GC, {instance.processors} processors{heap}"


def _threads_of_tomcat(pool: float | None, expected: Threads) -> Threads | None:
    """Tells the threads of a service by the size of Tomcat's pool; without one it may be on another server."""
    if pool is None:
        return expected if expected == "reactive" else None
    return "virtual" if pool < 0 else "platform"


def close(value: float | None, expected: float) -> bool:
    """Tells whether a limit is the wanted one."""
    return value is not None and abs(value - expected) <= TOLERANCE * expected


def _cores(value: float | None) -> str:
    return "no limit" if value is None else f"{value:g} cores"

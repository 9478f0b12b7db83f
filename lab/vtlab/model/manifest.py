"""The manifest of a run: what runs, on what, when it ends, and how to run it again."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Field, field_serializer

from vtlab.model.curve import Curve
from vtlab.model.experiment import Experiment
from vtlab.model.inspection import Inspection
from vtlab.model.objective import Objective
from vtlab.model.publication import Publication
from vtlab.model.records import VERSION, Record

#: The commit in the manifest of a run whose vtlab is no checkout of a repository.
NO_COMMIT = "unknown"
#: Which variants get thread dumps: each, or those that nothing measured explains.
DiagnosisMode = Literal["always", "unexplained"]


class RunFacts(Record):
    """Facts about what a target runs an experiment with, for the manifest."""

    versions: dict[str, str]
    jvm_flags: list[str]
    #: Facts of the machine or of the cluster.
    machine: dict[str, str]
    #: The look into the service's jar; None where it is no Spring Boot jar of this machine.
    inspection: Inspection | None = None


class SequentialRule(Record):
    """After which blocks a run is looked at, and what ends it (``vtlab.analysis.statistics.stopping_rule``)."""

    #: Numbers of blocks, growing; the last is the most.
    looks: list[int]
    #: The two-sided level of the interval of each look.
    levels: list[float]
    #: Claims of the run that share the level of 5 % (``Outcome.is_claim``).
    claims: int
    #: The wanted half-width of the interval of ``capacity``: 0.25 is 25 %.
    precision: float
    #: Seconds that the run may take; None for any.
    within: float | None = None


class TypicalPlan(Record):
    """Typical load of a run: fixed by the first attempt that shows its rate, the same in all blocks."""

    #: Arrivals per second (iterations of a script), three significant digits.
    rate: float
    #: Variant of whose throughput it is a share; empty where the rate was named.
    of: str
    #: That throughput, OK answers per second; None where the rate was named.
    throughput: float | None
    users: int
    #: Seconds from the begin of a phase to its window.
    settle: float
    #: Length of a window in seconds.
    window: float
    #: Whether the variants have it at the same time.
    is_at_once: bool
    #: HTTP answers of one iteration of a script.
    per_iteration: float = 1.0


#: Percentile by which the tails of a load are compared: the highest with enough answers beyond it.
Percentile = Literal["p99", "p95", "p90"]


class Manifest(Record):
    """Record of what ran, on what, and how to run it again. Written before the first block, and again by the first
    attempts that search the full load, and show the rate of the typical load and the percentiles."""

    version: Literal[3] = VERSION
    #: Name of the run, as planned: the experiment's, with ``@0.5cpu`` where the call named CPU limits.
    name: str
    run_id: str
    #: UTC, ISO 8601.
    started: str
    target: Literal["local", "kubernetes"]
    #: Where in the cluster: context, namespace, release. Empty for a local run.
    cluster: Annotated[dict[str, Any], Field(default_factory=dict)]
    #: The experiment as resolved: overrides such as ``--cpu`` applied. A load is to be searched until an attempt has.
    experiment: Experiment
    #: What the experiment reproduces.
    publication: Publication | None = None
    #: Number of blocks; the most, where there is a rule.
    blocks: int
    #: When the run ends; None: after its ``blocks``.
    rule: SequentialRule | None = None
    seed: int
    #: Which variants get thread dumps, in the first block that counts.
    diagnosis: DiagnosisMode = "unexplained"
    #: Attempts in all blocks together that may be rejected before the run is invalid.
    max_rejected: int
    command: str
    #: What the call demanded of the verdict (``--assert``); a resumed run still owes it.
    asserts: Annotated[list[str], Field(default_factory=list)]
    #: Latency that the user wants to hold (``--slo``).
    slo: Objective | None = None
    commit: str
    versions: dict[str, str]
    jvm_flags: list[str]
    cpu_limited: bool
    #: Where the Prometheus of a local run listens, and keeps its data; None: it listens anywhere, and its data go.
    prometheus_port: int | None = None
    #: kernel, cgroup version, CPU model, cores, memory, load at the start.
    machine: dict[str, str]
    inspection: Inspection | None = None
    #: What the search for a load measured, where vtlab chose it; None until an attempt has searched.
    curve: Curve | None = None
    #: Typical load beside full load; None until an attempt shows its rate, and where there is none.
    typical: TypicalPlan | None = None
    #: Percentile of each load; None where not even p90 has enough answers beyond it.
    percentiles: dict[Literal["full", "typical"], Percentile | None] = Field(default_factory=dict)

    @field_serializer("experiment")
    def _document(self, experiment: Experiment) -> dict[str, Any]:
        return experiment.document()

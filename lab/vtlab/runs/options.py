"""Options of a call: what the user asked for beyond the experiments."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from vtlab.analysis.statistics import stopping_rule
from vtlab.model.manifest import DiagnosisMode
from vtlab.model.objective import Objective
from vtlab.targets.kubernetes.api.release_ref import Copying, ReleaseRef


@dataclass(frozen=True)
class Options:
    """Options of a call, beyond the experiments."""

    #: Fixed before the start; None: looks at growing numbers of blocks (``vtlab.analysis.statistics.stopping_rule``).
    blocks: int | None
    seed: int | None
    #: The folder in which the results directories are made.
    root: Path
    no_cpu_limit: bool
    #: The cluster to measure in; None is this machine.
    cluster: ReleaseRef | None = None
    #: What copies of a service need there; None: what fits the chart.
    copying: Copying | None = None
    #: Assertions on the verdicts, as written.
    asserts: Sequence[str] = ()
    #: Latency that the user wants to hold.
    slo: Objective | None = None
    #: Where the Prometheus of a local run listens, which then keeps its data; None is anywhere.
    prometheus_port: int | None = None
    #: Which variants get thread dumps.
    diagnosis: DiagnosisMode = "unexplained"
    #: Rejected blocks that a run may have; one more ends it. None: ``planned_runs.max_rejected``.
    max_rejected: int | None = None
    #: The wanted half-width of the ratio's interval, of runs with looks.
    precision: float = stopping_rule.PRECISION
    #: The seconds that each run with looks may take, with what the call does before its blocks; None for any.
    within: float | None = None
    #: Whether vtlab asks the service for its requests where the call and its file name none.
    finds_requests: bool = False

"""Protocols of a target, on which a run is measured: this machine, or a cluster."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

from vtlab.model.experiment import Experiment
from vtlab.model.k6_documents import K6Document
from vtlab.model.records import Diagnosis, Failure, Instance
from vtlab.model.run import BlockSeries
from vtlab.planning.load_call import AS_PLANNED, CallPacing, LoadCall


class StartedBlock(Protocol):
    """One attempt at one block, whose variants run. A BlockFault from any call rejects the block, but for a
    VariantFailed, which says that one variant broke."""

    @property
    def instances(self) -> list[Instance]:
        """Instances that run, one for each variant that started."""

    @property
    def failures(self) -> list[Failure]:
        """Failures of the others to start, or under the first requests."""

    @property
    def differences(self) -> list[str]:
        """Differences between the variants that a pre-flight before this block showed, in sentences."""

    @property
    def preflight_seconds(self) -> float:
        """Seconds of that pre-flight; 0 where there was none."""

    @property
    def loads_at_once(self) -> bool:
        """Tells whether one k6 for each variant can run at the same time."""

    @property
    def call_seconds(self) -> float:
        """Approximate seconds that a call of k6 takes besides its phases."""

    @property
    def takes_dumps(self) -> bool:
        """Tells whether it can take thread dumps."""

    def drop(self, variant: str) -> None:
        """Removes a variant from those that get load in the block; it ends where it can be ended."""

    def raise_cpu(self) -> float | None:
        """Gives every variant more CPU than its limit, until ``restore_cpu``; returns how many cores each, None where
        they keep their limit."""

    def restore_cpu(self) -> None:
        """Sets the limit again. A BlockFault where it does not hold."""

    def end_warm_up(self) -> None:
        """Resets the priority of the JIT compilers, which may have gone first in the warm-up."""

    def set_load(self, experiment: Experiment) -> None:
        """Takes over the load that a search chose, and the windows for it: calls of k6 from now on have these."""

    def load(self, call: LoadCall) -> K6Document:
        """Runs the phases of one call of k6, or of one call for each variant at the same time (``loads_at_once``)."""

    def diagnose(self, pacings: Mapping[str, CallPacing]) -> dict[str, Diagnosis]:
        """Takes thread dumps in a final, unscored trial of each of these variants; returns their
        diagnoses. A variant without a diagnosis is left out."""

    def trial_without_drain(self, variant: str, position: int, pacing: CallPacing = AS_PLANNED) -> K6Document:
        """Runs one call of k6: a trial after which this variant gets no more load in this block. At its return no
        request is in flight: its requests were answered, or given up and ended with the variant."""

    def check_instances(self) -> list[Instance]:
        """Returns the instances, and whether they are the ones that started. They stay until the target's next start,
        or its end."""

    def series(self, begin_ms: int, end_ms: int) -> BlockSeries:
        """Reads the samples of that time for the charts."""


class Target(Protocol):
    """Place where variants run: this machine, or a cluster."""

    def start(self, experiment: Experiment, block: int, attempt: int) -> StartedBlock:
        """Starts fresh instances of every variant: ready, their limits verified. BlockFault where what they need does
        not start."""

"""What a run is measured on: the variants of a block, on this machine or in a cluster."""

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
        """What runs, one for each variant that started."""

    @property
    def failures(self) -> list[Failure]:
        """How the others failed to start, or with the first requests."""

    @property
    def differences(self) -> list[str]:
        """What a pre-flight before this block showed that the variants do differently, in sentences."""

    @property
    def preflight_seconds(self) -> float:
        """Of that pre-flight; 0 where there was none."""

    @property
    def loads_at_once(self) -> bool:
        """Whether it can run one k6 for each variant at the same time."""

    @property
    def call_seconds(self) -> float:
        """About how long a call of k6 takes beside its phases."""

    def drop(self, variant: str) -> None:
        """This variant gets no more load in the block; it ends where it can be ended."""

    def raise_cpu(self) -> float | None:
        """Gives every variant more CPU than its limit, until ``restore_cpu``: how many cores each; None where they keep
        their limit."""

    def restore_cpu(self) -> None:
        """Sets the limit again. A BlockFault where it does not hold."""

    def end_warm_up(self) -> None:
        """The JIT compilers, which may have gone first in the warm-up, no longer do."""

    def load(self, call: LoadCall) -> K6Document:
        """Runs the phases of one call of k6, or of one call for each variant at the same time (``loads_at_once``)."""

    def diagnose(self, pacings: Mapping[str, CallPacing]) -> dict[str, Diagnosis]:
        """What the threads of these variants wait for, by one more trial of each, paced as given, that does not count;
        without a variant of which that cannot be told."""

    def trial_without_drain(self, variant: str, position: int, pacing: CallPacing = AS_PLANNED) -> K6Document:
        """One call of k6: a trial after which this variant gets no more load in this block. At its return nothing of it
        is in flight: that was waited for, or given up and ended with the variant."""

    def check_instances(self) -> list[Instance]:
        """Whether the instances are the ones that started. They stay until the target's next start, or its end."""

    def series(self, begin_ms: int, end_ms: int) -> BlockSeries:
        """The samples of that time for the charts."""


class Target(Protocol):
    """Where variants run: this machine, or a cluster."""

    def start(self, experiment: Experiment, block: int, attempt: int) -> StartedBlock:
        """Fresh instances of every variant, ready, their limits verified. BlockFault where what they need does not
        start."""

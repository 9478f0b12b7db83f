"""A target that replays the blocks of a recorded run: nothing is started, and nothing is loaded."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

from vtlab.errors import BlockFault, VariantFailed
from vtlab.model.experiment import Experiment
from vtlab.model.k6_documents import K6Document
from vtlab.model.records import Block, Diagnosis, Failure, Instance, Trial
from vtlab.model.run import BlockSeries
from vtlab.planning import k6_timing
from vtlab.planning.load_call import AS_PLANNED, CallPacing, LoadCall

#: A moment of a block at which a fault can be planned.
Moment = Literal[
    "warm-up",
    "warm-up and trials",
    "trials",
    "typical load",
    "single user",
    "light load",
    "restore CPU",
    "thread dumps",
]


def _unchanged(call: LoadCall, document: K6Document) -> K6Document:
    return document


@dataclass(frozen=True)
class Playback:
    """Differences between a replay and the recorded run."""

    #: Variants that do not start, in every block.
    start_failures: Sequence[Failure] = ()
    #: Cores of a variant with more CPU than its limit; None where no variant gets more.
    raised_cores: float | None = None
    loads_at_once: bool = True
    call_seconds: float = k6_timing.START_UP
    takes_dumps: bool = True
    #: Changes what was recorded of a call of k6.
    change: Callable[[LoadCall, K6Document], K6Document] = _unchanged


@dataclass
class Journal:
    """The calls that a target got, in their order."""

    #: All of them, in words.
    events: list[str] = field(default_factory=list)
    loads: list[LoadCall] = field(default_factory=list)
    #: The pacing of each trial with thread dumps, by variant.
    dumps: list[Mapping[str, CallPacing]] = field(default_factory=list)


def moment_of(call: LoadCall) -> Moment:
    """Returns the moment at which a call of k6 is made."""
    if call.light_load:
        return "light load"
    if call.typical:
        return "typical load"
    if call.cycles:
        return "warm-up and trials" if call.trial_order else "warm-up"
    return "single user" if call.single_user_phase and not call.trial_order else "trials"


def describe(call: LoadCall) -> str:
    """Describes a call of k6 in words."""
    trials = f"trials {' '.join(call.trial_order)}"
    if call.light_load:
        return f"light load for {' '.join(call.light_load.rates)}"
    if call.typical:
        return f"typical load for {' '.join(call.typical.order)}"
    if call.cycles:
        cheap = f"{call.warmup_cycles} cheap and " if call.warmup_cycles else ""
        following = f" then {trials}" if call.trial_order else ""
        return f"{cheap}{call.trial_load_cycles} trial-load cycles{following}"
    return trials if call.trial_order else f"a single user for {call.single_user_phase}"


class RecordedBlock:
    """One recorded block, as if it were measured: warm-up cycles are replayed one after the other."""

    def __init__(self, block: Block, playback: Playback, faults: dict[Moment, BlockFault], journal: Journal) -> None:
        """``faults`` are raised once each, and removed."""
        failed = {failure.variant for failure in playback.start_failures}
        self.block = block
        self.playback = playback
        self.journal = journal
        self.instances = [instance for instance in block.instances if instance.variant not in failed]
        self.failures = list(playback.start_failures)
        self.differences = block.differences
        self.preflight_seconds = 0.0
        #: The variants that get load.
        self.loaded = [instance.variant for instance in self.instances]
        self._faults = faults
        #: Warm-up cycles that were replayed.
        self._cycles = 0
        #: Variants that ended under their thread dumps.
        self._ended: set[str] = set()
        self._is_raised = False

    @property
    def loads_at_once(self) -> bool:
        """The playback's choice."""
        return self.playback.loads_at_once

    @property
    def call_seconds(self) -> float:
        """The playback's choice."""
        return self.playback.call_seconds

    @property
    def takes_dumps(self) -> bool:
        """The playback's choice."""
        return self.playback.takes_dumps

    def drop(self, variant: str) -> None:
        """Removes a variant from those that get load."""
        self.journal.events.append(f"drop {variant}")
        self.loaded.remove(variant)

    def raise_cpu(self) -> float | None:
        """Marks the warm-up cycles from now on as measured with more CPU, if the playback has more."""
        self.journal.events.append(f"raise {' '.join(self.loaded)}")
        self._is_raised = self.playback.raised_cores is not None
        return self.playback.raised_cores

    def restore_cpu(self) -> None:
        """Ends what ``raise_cpu`` began."""
        self.journal.events.append("restore")
        self._is_raised = False
        self._raise_planned("restore CPU")

    def end_warm_up(self) -> None:
        """Records that the warm-up is over."""
        self.journal.events.append("end of the warm-up")

    def set_load(self, experiment: Experiment) -> None:
        """Records the users that a search chose."""
        self.journal.events.append(f"{experiment.load.users} users chosen")

    def load(self, call: LoadCall) -> K6Document:
        """Replays the recorded phases of a call, or raises the fault that is planned for it."""
        if call.is_at_once and call.trial_order:
            raise ValueError("trials are not measured at the same time")
        self.journal.loads.append(call)
        self.journal.events.append(f"{describe(call)} of {' '.join(self.loaded)}")
        self._raise_planned(moment_of(call))
        return self.playback.change(call, self.replay(call))

    def replay(self, call: LoadCall) -> K6Document:
        """Returns what was recorded of the phases of a call, without variants that were dropped."""
        parts: dict[str, Sequence[Trial]] = {"warmup": self._next_cycles(call.cycles)}
        if call.trial_order:
            parts["trials"] = [trial for trial in self.block.trials if trial.variant in call.trial_order]
        if call.single_user_phase:
            parts["single"] = [phase for phase in self.block.single if phase.variant in self.loaded]
        if call.typical:
            parts["typical"] = [phase for phase in self.block.typical if phase.variant in call.typical.order]
        if call.light_load:
            parts["light"] = [phase for phase in self.block.light if phase.variant in call.light_load.rates]
        return _document(self.block, **parts)

    def _next_cycles(self, count: int) -> list[Trial]:
        variants = len({cycle.variant for cycle in self.block.warmup})
        first, self._cycles = self._cycles, self._cycles + count
        cycles = self.block.warmup[first * variants : self._cycles * variants]
        raised = {"raised_cpu": self.playback.raised_cores} if self._is_raised else {}
        return [cycle.model_copy(update=raised) for cycle in cycles if cycle.variant in self.loaded]

    def trial_without_drain(self, variant: str, position: int, pacing: CallPacing = AS_PLANNED) -> K6Document:
        """Replays the variant's first recorded trial, at this position."""
        call = LoadCall(trial_order=[variant], first_position=position, wait_for_answers=False, pacing=pacing)
        self.journal.loads.append(call)
        self.journal.events.append(f"trial {position} of {variant}")
        self._raise_planned("trials")
        document = self.replay(call)
        return document.model_copy(update={"trials": [document.trials[0].model_copy(update={"position": position})]})

    def diagnose(self, pacings: Mapping[str, CallPacing]) -> dict[str, Diagnosis]:
        """Returns the recorded diagnoses of these variants. One that breaks meanwhile has ended, and has none."""
        self.journal.events.append(f"thread dumps of {' '.join(pacings)}")
        self.journal.dumps.append(pacings)
        try:
            self._raise_planned("thread dumps")
        except VariantFailed as broken:
            self._ended.add(broken.variant)
        diagnoses = self.block.diagnosis
        return {name: diagnoses[name] for name in pacings if name in diagnoses and name not in self._ended}

    def check_instances(self) -> list[Instance]:
        """Returns the instances; those that ended under their thread dumps are not alive."""
        return [
            instance.model_copy(update={"alive": False}) if instance.variant in self._ended else instance
            for instance in self.instances
        ]

    def series(self, begin_ms: int, end_ms: int) -> BlockSeries:
        """Returns no samples: a replay has no charts."""
        return {}

    def _raise_planned(self, moment: Moment) -> None:
        fault = self._faults.pop(moment, None)
        if fault is not None:
            raise fault


class RecordedTarget:
    """Replays recorded blocks in their order, whatever number and attempt a start asks for."""

    def __init__(
        self,
        blocks: Sequence[Block],
        playback: Playback = Playback(),
        faults: Mapping[Moment, BlockFault] | None = None,
    ) -> None:
        """``faults``: what breaks at the first call of each moment."""
        self.blocks = list(blocks)
        self.playback = playback
        self.faults = dict(faults or {})
        self.journal = Journal()

    def start(self, experiment: Experiment, block: int, attempt: int) -> RecordedBlock:
        """Starts the replay of the next recorded block."""
        return RecordedBlock(self.blocks.pop(0), self.playback, self.faults, self.journal)


def _document(block: Block, **parts: Sequence[Trial]) -> K6Document:
    """Returns a document of k6 with these phases."""
    phases = {part: list(parts.get(part, ())) for part in ("warmup", "single", "trials", "typical", "light")}
    return K6Document(version=2, experiment="", run_id="", block=block.block, order=[], agreed=True, **phases)

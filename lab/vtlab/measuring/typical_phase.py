"""Typical load of a block: planned by the first attempt whose full load shows its rate, halved where k6 is late."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from vtlab.analysis.validity import generator
from vtlab.measuring.attempt_plan import AttemptPlan
from vtlab.measuring.block_state import BlockState
from vtlab.measuring.repeats import Repeats
from vtlab.model import units
from vtlab.model.manifest import TypicalPlan
from vtlab.planning import typical_load
from vtlab.planning.load_call import CallPacing, LoadCall
from vtlab.report.words import figures

#: Most times that an attempt halves the rate.
MOST_HALVINGS = 2


class TypicalPhase:
    """The typical load beside full load in one attempt at one block. Nothing lengthens its windows."""

    def __init__(self, state: BlockState, repeats: Repeats, planned: TypicalPlan | None) -> None:
        """``planned``: by an attempt before."""
        #: The run's typical load, also where this attempt plans it; None until it is known.
        self.planned = planned
        self._state, self._repeats = state, repeats

    def plan(self, plan: AttemptPlan, loads_at_once: bool) -> None:
        """Plans it by the trials of this block, unless it is planned."""
        state, experiment = self._state, self._state.experiment
        if experiment.typical_beside is None or self.planned:
            return
        self.planned = typical_load.plan(experiment, [*plan.blocks_before, state.block], plan.curve, loads_at_once)
        if self.planned and self.planned.throughput:
            share = units.percent(self.planned.rate / self.planned.throughput)
            state.say(f"typical load: {figures.rate(self.planned.rate)}, {share} of {self.planned.of}'s throughput")

    def measure(self, plan: AttemptPlan, load: Callable[[Callable[[], LoadCall]], None]) -> None:
        """Measures it by ``load`` where it is planned; again where the machine was disturbed or arrivals were late, and
        at half the rate where they stay late: once in any case, twice where the time of the call has room."""
        if self.planned is None:
            return
        measure = partial(load, partial(self._call, plan))
        for halvings in range(MOST_HALVINGS + 1):
            measure()
            self._repeats.while_disturbed("typical", measure, self._disturbance, self.seconds)
            # Where no halving is left the next attempt has half the rate.
            if not self._halve_where_late(plan) or halvings == MOST_HALVINGS:
                return
            if halvings and not self._repeats.has_room(self.seconds()):
                return
            self._state.take_back("typical")

    def seconds(self) -> float:
        """Estimates how long it takes in each block."""
        return typical_load.expected_seconds(self._state.experiment, self.planned)

    def _call(self, plan: AttemptPlan) -> LoadCall:
        """Returns the call for the variants that are left, in the order of the trials: it is mirrored from block to
        block."""
        assert self.planned
        order = [variant for variant in dict.fromkeys(plan.order) if variant in self._state.variants]
        typical, pacing = typical_load.call(self.planned, order), CallPacing(self._state.seed)
        return LoadCall(typical=typical, pacing=pacing, is_at_once=self.planned.is_at_once)

    def _disturbance(self, measured: int) -> str | None:
        """Says how the machine disturbed it, or that k6 sent it late. Of a rate that is too high for k6 a third
        measurement tells no more."""
        late = generator.late_typical_load(self._state.block, self._state.experiment) if measured == 1 else None
        return self._repeats.disturbance("typical") or late

    def _halve_where_late(self, plan: AttemptPlan) -> bool:
        """Halves the rate where k6 sent it late and nothing else disturbed it, unless it was named; tells whether it
        did. All blocks that count have one rate."""
        state, planned = self._state, self.planned
        if planned is None or not planned.of or plan.blocks_before:
            return False
        if not generator.late_typical_load(state.block, state.experiment) or self._repeats.disturbance("typical"):
            return False
        self.planned = typical_load.lowered(planned)
        now, before = figures.rate(self.planned.rate), figures.rate(planned.rate)
        state.say(f"typical load: {now} from now on, as k6 sent {before} too late")
        return True

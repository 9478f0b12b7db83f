"""Thread dumps of the variants of a block: which are needed, and which fit into idle time."""

from __future__ import annotations

from collections.abc import Sequence

from vtlab.analysis import variant_results
from vtlab.measuring.attempt_plan import AttemptPlan
from vtlab.measuring.block_state import BlockState
from vtlab.planning import dump_schedule, idle_time
from vtlab.planning.load_call import CallPacing
from vtlab.targets.protocol import StartedBlock


class ThreadDumps:
    """The thread dumps of one attempt at one block. They come last: nothing counts that is measured after them."""

    def __init__(self, plan: AttemptPlan, state: BlockState) -> None:
        self._plan, self._state = plan, state
        #: Variants whose dumps this attempt asked for.
        self._asked: list[str] = []

    def diagnose(self, started: StartedBlock, unmeasured: Sequence[str]) -> None:
        """Takes dumps of those of these variants that need them, or whose throughput no measurement explains."""
        state, plan = self._state, self._plan
        measured = [*plan.blocks_before, state.block]
        variants = [
            variant
            for variant in unmeasured
            if variant in state.variants
            and (plan.diagnosis == "always" or variant_results.is_unexplained(measured, state.experiment, variant))
        ]
        if variants and started.takes_dumps:
            self.take(started, variants)

    def take(self, started: StartedBlock, variants: Sequence[str]) -> None:
        """Takes dumps of these variants."""
        state, block = self._state, self._state.block
        state.step(f"thread dumps of {' and '.join(variants)}")
        self._asked += variants
        block.diagnosis |= started.diagnose({variant: self._pacing(variant) for variant in variants})
        missing = [variant for variant in variants if variant not in block.diagnosis]
        if missing and self._plan.diagnosis == "always":
            self.say_none(missing, "vtlab could not ask the JVM, or the JVM ended")

    def fitting(self, started: StartedBlock, idle: float) -> list[str]:
        """Lists the variants whose dumps the run lacks, as far as these fit into so many seconds."""
        found: list[str] = []
        for variant, seconds in self.missing_seconds(started).items():
            if seconds <= idle:
                found.append(variant)
                idle -= seconds
        return found

    def missing_seconds(self, started: StartedBlock) -> dict[str, float]:
        """Estimates the seconds of the dumps that the run lacks, by variant; without those that this attempt asked
        for."""
        block, experiment = self._state.block, self._state.experiment
        ends = not experiment.windows.wait_for_answers or any(trial.given_up for trial in block.trials)
        if ends or not started.takes_dumps:
            return {}
        done = {*self._asked, *(variant for before in self._plan.blocks_before for variant in before.diagnosis)}
        trials = {name: [t for t in block.trials if t.variant == name] for name in self._state.variants}
        return {
            name: idle_time.dump_seconds(of_variant, self._pacing(name), experiment, started.call_seconds)
            for name, of_variant in trials.items()
            if of_variant and name not in done
        }

    def say_none(self, variants: Sequence[str], reason: str) -> None:
        """Tells the user which variants have no dumps, and why."""
        self._state.say(f"no thread dumps of {' and '.join(variants)}: {reason}")

    def _pacing(self, variant: str) -> CallPacing:
        trials = [trial for trial in self._state.block.trials if trial.variant == variant]
        return dump_schedule.pace_for_dumps(self._state.pacing, self._state.experiment, trials)

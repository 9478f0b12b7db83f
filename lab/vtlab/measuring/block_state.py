"""A block under way: what is measured of it so far, and which of its variants still take part."""

from __future__ import annotations

import math
from collections.abc import Callable

from vtlab.errors import VariantFailed
from vtlab.measuring.progress import Progress
from vtlab.model.experiment import Experiment
from vtlab.model.records import Block, Failure, K6Document
from vtlab.planning import load
from vtlab.targets.protocol import StartedBlock


class UnderWay:
    """One attempt at one block. A variant that breaks leaves it: its failure is a result."""

    def __init__(self, experiment: Experiment, seed: int, progress: Progress, title: str, block: Block) -> None:
        self.experiment = experiment
        self.seed = seed
        self.block = block
        self.pacing = load.pacing(experiment, seed)
        #: The variants that take part.
        self.variants: list[str] = []
        self._progress = progress
        self._title = title

    def survived(
        self, started: StartedBlock, cycles: int, moment: str, call: Callable[[], K6Document]
    ) -> K6Document | None:
        """What a call of k6 measured; None where a variant broke, which then leaves the block. ``cycles``: those of the
        warm-up before the call."""
        try:
            return call()
        except VariantFailed as broken:
            when = _moment(broken.phase, cycles, len(self.variants)) or moment
            failure = Failure(variant=broken.variant, reason=broken.reason, moment=when)
            self.block.failures.append(failure)
            self.say_failed(failure)
            self.leave(started, broken.variant)
            return None

    def leave(self, started: StartedBlock, variant: str) -> None:
        """The variant gets no more load in this block."""
        self.variants.remove(variant)
        started.drop(variant)

    def step(self, text: str) -> None:
        """What is being done."""
        self._progress.step(f"{self._title}: {text}")

    def say(self, text: str) -> None:
        """Tells the user something of this block."""
        self._progress.say(f"{self._title}: {text}")

    def say_failed(self, failure: Failure) -> None:
        self.say(f"{failure.variant} failed, {failure.moment}: {failure.reason}")

    def keep(self, started: StartedBlock, document: K6Document) -> None:
        """Takes over the trials and single-user phases of a call. The last variant ends with what it has not answered,
        if it was given up."""
        self.block.single += document.single
        self.block.thresholds |= document.thresholds
        rounds = self.pacing.rounds
        self.block.trials += [
            trial.model_copy(update={"round": rounds[trial.variant] / 1000}) if trial.variant in rounds else trial
            for trial in document.trials
        ]
        self.block.agreed = self.block.agreed and document.agreed
        if is_given_up(document) and self.experiment.windows.wait_for_answers:
            started.drop(document.trials[-1].variant)


def is_given_up(document: K6Document) -> bool:
    """Whether the last trial left requests unanswered, which are still in flight."""
    return bool(document.trials) and document.trials[-1].given_up > 0


def _moment(phase: str | None, cycles: int, variants: int) -> str | None:
    """In words the phase that k6's tag names, after so many warm-up cycles of so many variants; None without one."""
    if not phase:
        return None
    if phase.startswith("w"):
        return f"warm-up cycle {cycles + math.ceil(int(phase[1:]) / variants)}"
    return {"a": "the login", "s": "the single-user phase", "l": "light load"}.get(phase[0], f"trial {phase}")

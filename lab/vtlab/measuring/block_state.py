"""State of a block under measurement: its phases so far, and the variants that still take part."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Literal

from vtlab.errors import VariantFailed
from vtlab.measuring.progress import Progress
from vtlab.model.experiment import Experiment
from vtlab.model.k6_documents import K6Document, joined_thresholds
from vtlab.model.records import Block, Failure, Trial
from vtlab.planning import round_pacing
from vtlab.targets.protocol import StartedBlock


class BlockState:
    """State of one attempt at one block. A variant that breaks leaves it: its failure is a result."""

    def __init__(self, experiment: Experiment, seed: int, progress: Progress, title: str, block: Block) -> None:
        self.seed = seed
        self.block = block
        #: The variants that take part.
        self.variants: list[str] = []
        #: Whether users agreed before the call whose phases were stored last.
        self._agreed_before = True
        self._progress = progress
        self._title = title
        self.plan(experiment)

    def plan(self, experiment: Experiment) -> None:
        """Takes over the experiment, and paces the calls of k6 by what is known of it before the warm-up."""
        self.experiment = experiment
        self.pacing = round_pacing.pacing(experiment, self.seed)

    def start_over(self) -> None:
        """Removes what was measured of variants that are started anew."""
        self.block.warmup, self.block.agreed = [], True

    def run_or_drop_variant(
        self, started: StartedBlock, moment: str, call: Callable[[], K6Document], cycles_before: int = 0
    ) -> K6Document | None:
        """Runs a call of k6 and returns what it measured; drops a variant that broke meanwhile, and returns None.

        ``moment``: when the variant broke, in words, unless k6 tells. ``cycles_before``: warm-up cycles before this
        call.
        """
        try:
            return call()
        except VariantFailed as broken:
            phase = _phase_in_words(broken.phase, cycles_before, len(self.variants))
            failure = Failure(variant=broken.variant, reason=broken.reason, moment=phase or moment)
            self.block.failures.append(failure)
            self.say_failed(failure)
            self.drop_variant(started, broken.variant)
            return None

    def drop_variant(self, started: StartedBlock, variant: str) -> None:
        """Ends the variant's part in this block: it gets no more load."""
        self.variants.remove(variant)
        started.drop(variant)

    def step(self, text: str) -> None:
        """Shows what is being done."""
        self._progress.step(f"{self._title}: {text}")

    def say(self, text: str) -> None:
        """Tells the user something about this block."""
        self._progress.say(f"{self._title}: {text}")

    def say_failed(self, failure: Failure) -> None:
        """Tells the user how a variant failed."""
        self.say(f"{failure.variant} failed, {failure.moment}: {failure.reason}")

    def store_phases(self, started: StartedBlock, document: K6Document) -> None:
        """Stores trials, single-user phases and typical load of a call. The last variant ends with what it has not
        answered, if that was given up."""
        self._agreed_before = self.block.agreed
        self.block.single += document.single
        self.block.typical += document.typical
        self.block.thresholds |= document.thresholds
        self.block.trials += self._with_rounds(document.trials)
        self.block.agreed = self.block.agreed and document.agreed
        if is_given_up(document) and self.experiment.windows.wait_for_answers:
            started.drop(document.trials[-1].variant)

    @property
    def is_disagreed(self) -> bool:
        """Tells whether users disagreed in the call whose phases were stored last, and in none before."""
        return self._agreed_before and not self.block.agreed

    def take_back(self, phase: Literal["trials", "typical"]) -> None:
        """Removes the trials, or the typical load, that the last call stored: they will be measured once more."""
        setattr(self.block, phase, [])
        self.block.agreed = self._agreed_before

    def as_cycles(self, trials: Sequence[Trial]) -> list[Trial]:
        """Returns trials as further cycles of the warm-up, which had their load and their CPU limit."""
        first = len(self.block.warmup) + 1
        return [t.model_copy(update={"phase": "warmup", "position": at}) for at, t in enumerate(trials, first)]

    def with_trials(self, document: K6Document, order: Sequence[str]) -> Block:
        """Returns the block as it is with the further trials of a call. ``order``: of all its trials."""
        changes = {
            "order": list(order),
            "trials": [*self.block.trials, *self._with_rounds(document.trials)],
            "thresholds": joined_thresholds([self.block.thresholds, document.thresholds]),
            "agreed": self.block.agreed and document.agreed,
        }
        return self.block.model_copy(update=changes)

    def _with_rounds(self, trials: Sequence[Trial]) -> list[Trial]:
        """Returns the trials with the rounds over which their users were spread."""
        rounds = self.pacing.rounds
        return [
            trial.model_copy(update={"round": rounds[trial.variant] / 1000}) if trial.variant in rounds else trial
            for trial in trials
        ]


def is_given_up(document: K6Document) -> bool:
    """Tells whether the last trial left requests unanswered, which are still in flight."""
    return bool(document.trials) and document.trials[-1].given_up > 0


def _phase_in_words(phase: str | None, cycles_before: int, variants: int) -> str | None:
    """Describes k6's phase tag, given the numbers of warm-up cycles and variants; None without a tag."""
    if not phase:
        return None
    if phase.startswith("w"):
        return f"warm-up cycle {cycles_before + math.ceil(int(phase[1:]) / variants)}"
    kinds = {"a": "the login", "s": "the single-user phase", "t": "typical load", "l": "light load"}
    return kinds.get(phase[0], f"trial {phase}")

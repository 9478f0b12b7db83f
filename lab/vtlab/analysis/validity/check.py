"""Validity checks: the values that one reads off a block, and the limit that each must keep."""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Generic, Literal, TypeVar

from vtlab.model.experiment import Experiment
from vtlab.model.records import Block, Trial

Kind = Literal["machine", "service", "mark"]
NOT_MEASURED = "no measurement"
#: The moment of a window at typical load.
TYPICAL = "typical load"
#: The moment of the warm-up cycle that a check selects.
LAST_CYCLE = "the last warm-up cycle"
#: Share of errors among the answers of a window from which on no disturbance of the machine explains them.
MOSTLY_ERRORS = 0.5


@dataclass(frozen=True)
class Value:
    """Value that a check reads off one subject. ``number`` is None where it was not measured, which never passes."""

    number: float | None
    #: The value in the report's table.
    text: str
    #: What rejects the block or fails the variant, should the number be worse than the limit.
    reason: str
    #: Whose; empty for the whole block.
    variant: str = ""
    #: Where in the block: ``trial 2``; empty for all of it.
    moment: str = ""
    #: Replaces the check's limit.
    limit: float | None = None

    @property
    def where(self) -> str:
        """``virtual, trial 2``; empty for the whole block."""
        return ", ".join(filter(None, (self.variant, self.moment)))


Subject = TypeVar("Subject")


@dataclass(frozen=True)
class Check(Generic[Subject]):
    """One row of ``vtlab.analysis.validity.checks.CHECKS``."""

    name: str
    kind: Kind
    #: The limit in words.
    rule: str
    #: What of a block is judged: its faults, its variants, its trials.
    subjects: Callable[[Block, Experiment], Iterable[Subject]]
    #: None where the check does not apply.
    value: Callable[[Subject, Experiment], Value | None]
    limit: float = 0
    worse: Callable[[float, float], bool] = operator.gt
    #: Whether it judges a block that broke before its first trial, too: nothing else can be judged there.
    is_of_broken_blocks: bool = False
    #: Number of a value from which on another attempt at the block must end alike: the experiment has to change. None:
    #: another may count.
    certain: float | None = None

    def values(self, block: Block, experiment: Experiment) -> Iterator[Value]:
        """Reads the values off a block; nothing where the check does not apply."""
        if block.faults and not block.trials and not self.is_of_broken_blocks:
            return
        for subject in self.subjects(block, experiment):
            value = self.value(subject, experiment)
            if value is not None:
                yield value

    def beyond(self, block: Block, experiment: Experiment) -> Iterator[Value]:
        """Selects the values that do not pass."""
        return (value for value in self.values(block, experiment) if not self.passes(value))

    def passes(self, value: Value) -> bool:
        """Tells whether the value was measured and is not worse than the limit."""
        limit = self.limit if value.limit is None else value.limit
        return value.number is not None and not self.worse(value.number, limit)


def all_trials(block: Block, _: Experiment) -> list[Trial]:
    """Selects the trials of a block, also those of a variant that failed in it."""
    return block.trials


def all_windows(block: Block, _: Experiment) -> list[Trial]:
    """Selects the windows of a block under either load, also those of a variant that failed in it."""
    return [*block.trials, *block.typical]


def under_load(block: Block, experiment: Experiment) -> list[Trial]:
    """Selects the trials; for a variant without any the warm-up cycle that may tell why: the first without an OK
    answer, for which it left, else its last."""
    have_trials = {trial.variant for trial in block.trials}
    cycles = [[t for t in block.warmup if t.variant == name] for name in experiment.variants if name not in have_trials]
    return [*block.trials, *(next((t for t in of_one if not t.ok), of_one[-1]) for of_one in cycles if of_one)]


def every_window(block: Block, experiment: Experiment) -> list[Trial]:
    """Selects what ``under_load`` does, and the windows of typical load."""
    return [*under_load(block, experiment), *block.typical]


def machine_windows(block: Block, experiment: Experiment) -> list[Trial]:
    """Selects the windows in which the machine and the load generator are judged: those of trials and typical load; for
    a variant without a trial that did not break the last cycle with the trials' load and their CPU limit. The cycles of
    a variant that broke tell of it, not of the machine, and so do windows of errors: the block counts."""
    broke = {failure.variant for failure in block.failures} | {i.variant for i in block.instances if not i.alive}
    have_no_cycle = {trial.variant for trial in block.trials} | broke
    last_cycles = [
        judging_cycles([cycle for cycle in block.warmup if cycle.variant == variant], experiment)[-1:]
        for variant in experiment.variants
        if variant not in have_no_cycle
    ]
    windows = [*block.trials, *(cycle for cycles in last_cycles for cycle in cycles), *block.typical]
    return [window for window in windows if not is_of_errors(window, experiment)]


def is_of_errors(trial: Trial, experiment: Experiment) -> bool:
    """Tells whether the service itself sent so many errors in a window that its variant fails, whatever the machine
    did. Their users ask again at once, which may saturate the load generator in every attempt.

    Time-outs and lost connections are not among them: a load generator without a core has these, too.
    """
    sent = sum(count for why, count in trial.failed.items() if why.startswith("status-"))
    return sent > max(MOSTLY_ERRORS, experiment.max_errors) * (sent + trial.ok)


def judging_cycles(cycles: Sequence[Trial], experiment: Experiment) -> list[Trial]:
    """Selects, of one variant's warm-up cycles, those that judge its steady state: those with the load and the CPU
    limit of its trials, which come after the cheaper ones."""
    return [t for t in list(cycles)[experiment.windows.warmup_cycles :] if t.raised_cpu is None]


def moment_of(trial: Trial) -> str:
    """Names the moment: ``trial 2``, ``typical load``, or the warm-up cycle that a check selects."""
    if trial.phase == "typical":
        return TYPICAL
    if trial.phase == "measure":
        return f"trial {trial.position}"
    return LAST_CYCLE if trial.ok else "a warm-up cycle without an OK answer"


def block_check(
    name: str, kind: Kind, rule: str, values: Callable[[Block, Experiment], Iterator[Value]], limit: float = 0
) -> Check[Value]:
    """Makes a check whose values need the whole block. Without a limit what is wrong counts 1 and more, what is right
    0."""
    return Check(name, kind, rule, values, lambda value, _: value, limit)

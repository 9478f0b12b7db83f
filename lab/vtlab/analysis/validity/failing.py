"""The checks of the service: which variants failed in a block, and why.

Errors, time-outs, out of memory, a restart, requests that do not drain, no answer: each is the result of the variant in
this block. It failed, and the block counts. A variant that is still warming up has not failed: vtlab did not wait for
long enough (``vtlab.analysis.validity.warm_up_checks``).
"""

from __future__ import annotations

import operator
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from vtlab.analysis.statistics.paired import binomial
from vtlab.analysis.validity.check import Check, Value, block_check, every_window, moment_of, under_load
from vtlab.analysis.validity.overload import overloaded
from vtlab.analysis.validity.steady_state import WarmUp, judged_warm_ups
from vtlab.model.experiment import Experiment
from vtlab.model.records import Block, Counts, Failure, Instance, Trial
from vtlab.model.units import percent


def failures(block: Block, experiment: Experiment) -> list[Failure]:
    """Lists what failed variants in this block, the cause before what followed from it; at least one for each that
    failed."""
    return [
        Failure(variant=value.variant, reason=value.reason, moment=value.moment or "in the block")
        for check in SERVICE
        for value in check.beyond(block, experiment)
    ]


def failed(block: Block, experiment: Experiment) -> set[str]:
    """Lists the variants that failed in this block."""
    return {failure.variant for failure in failures(block, experiment)}


def fails_under_load(failed: int, blocks: int) -> bool:
    """Tells whether a variant fails under the load, by the number of blocks in which it failed."""
    return failed >= 2 and 2 * failed > blocks


def _judged_warm_ups(block: Block, experiment: Experiment) -> list[WarmUp]:
    return judged_warm_ups(block, experiment, experiment.variants)


def _warm_up_answered(warm_up: WarmUp, _: Experiment) -> Value | None:
    if any(map(answered_late, warm_up.cycles)):
        return None
    is_silent = any(gain.throughput is None for gain in warm_up.state.gains)
    text = "no OK answer" if is_silent else "in each"
    reason = f"no OK answer in some of {len(warm_up.cycles)} warm-up cycles"
    return Value(is_silent, text, reason, warm_up.variant, "the warm-up")


def _lasted(block: Block, experiment: Experiment) -> Iterator[Value]:
    for failure in block.failures:
        yield Value(1, failure.reason, failure.reason, failure.variant, failure.moment)
    broke = {failure.variant for failure in block.failures}
    for variant in (name for name in experiment.variants if name not in broke):
        problems = list(_instance_problems([i for i in block.instances if i.variant == variant]))
        yield from (Value(1, problem, problem, variant, "by the end of the block") for problem in problems)
        if not problems:
            yield Value(0, "the same", "", variant)


def _instance_problems(instances: Sequence[Instance]) -> Iterator[str]:
    if len(instances) > 1:
        yield f"{len(instances)} instances in one block, 1 allowed: it was restarted"
    for instance in instances:
        if instance.oom_kills:
            yield f"killed for lack of memory ({instance.oom_kills} OOM kills, 0 allowed): raise limits.memory"
        elif not instance.alive:
            yield (
                instance.ended
                or f"the instance that started the block ({instance.identity}) did not last: it ended or restarted"
            )


def sound_blocks(blocks: Sequence[Block], experiment: Experiment, *variants: str) -> list[Block]:
    """Selects the blocks in which none of these variants failed."""
    return [block for block in blocks if failed(block, experiment).isdisjoint(variants)]


def sound_variants(block: Block, experiment: Experiment) -> list[str]:
    """Lists the variants that did not fail in this block: only of these can something be missing."""
    broken = failed(block, experiment)
    return [variant for variant in experiment.variants if variant not in broken]


def sound_trials(block: Block, experiment: Experiment) -> list[Trial]:
    """Selects the trials of the variants that did not fail in this block."""
    sound = sound_variants(block, experiment)
    return [t for t in block.trials if t.variant in sound]


def _script_trials(block: Block, experiment: Experiment) -> list[Trial]:
    """Selects the trials of a user's script."""
    return [trial for trial in under_load(block, experiment) if trial.checks or trial.requests]


def _answered(trial: Trial, experiment: Experiment) -> Value:
    excused = overloaded(trial, experiment)
    errors = {why: n for why, n in trial.failed.items() if n and not (excused and why == "timeout")}
    window = sum(errors.values())
    outside = 0 if excused else trial.failed_outside
    answered = trial.ok + window
    waited_for = trial.completed - trial.given_up
    why = ", ".join(f"{n:,} {name}" for name, n in sorted(errors.items()))
    shares = [
        _Errors(window, answered, f"in the window ({why})" if why else "in the window"),
        _Errors(window + outside, waited_for, "over the whole trial"),
    ]
    most, at_rate = experiment.max_errors, trial.rate is not None and trial.phase != "warmup"
    judged = [(found.least if at_rate else found.share, found) for found in shares]
    number, worst = judged[0] if judged[0][0] > most else max(judged, key=lambda of: of[0])
    told = percent(worst.share, 2)
    reason = f"{told} of the answers were errors {worst.when}, at most {percent(most, 2)} allowed"
    return Value(number, told, reason, trial.variant, moment_of(trial), limit=most)


@dataclass(frozen=True)
class _Errors:
    """Errors among the answers of a trial, or of its window."""

    count: int
    answers: int
    when: str

    @property
    def share(self) -> float:
        return self.count / self.answers if self.answers else 0.0

    @property
    def least(self) -> float:
        """The lower end of the share's exact interval: at typical load few answers are to decide nothing."""
        return binomial(self.count, self.answers)[0] if self.answers else 0.0


def _script_checks(trial: Trial, experiment: Experiment) -> Value:
    """Judges the checks of a user's own script; nothing failed where there is none."""
    return _share_failed(trial.checks, "the script's checks", trial, experiment)


def _script_requests(trial: Trial, experiment: Experiment) -> Value:
    return _share_failed(trial.requests, "the script's requests", trial, experiment)


def _share_failed(counts: Counts | None, population: str, trial: Trial, experiment: Experiment) -> Value:
    most = experiment.max_errors
    share = counts.share_failed if counts else 0.0
    reason = f"{percent(share, 2)} of {population} failed, at most {percent(most, 2)} allowed"
    return Value(share, percent(share, 2), reason, trial.variant, moment_of(trial), limit=most)


def answered_late(trial: Trial) -> bool:
    """Tells whether every answer was OK and none came within the window: the window is too short, which is no
    failure."""
    not_ok = sum(trial.failed.values()) + trial.failed_outside + trial.given_up
    return not trial.ok and not not_ok and trial.completed > 0


def _some_answer(trial: Trial, _: Experiment) -> Value | None:
    if answered_late(trial):
        return None
    return Value(trial.ok, f"{trial.ok:,}", "no OK answer in the window", trial.variant, moment_of(trial))


@dataclass(frozen=True)
class Leftover:
    """Requests that one trial found in flight in the servers, and the phases that can have left it there."""

    trial: Trial
    #: The last phase before the trial of each variant that may go on with requests whose client gave them up.
    left: list[Trial]


def leftovers(block: Block) -> list[Leftover]:
    """Lists what each trial of a block found in flight."""
    phases = sorted((*block.warmup, *block.single, *block.trials), key=lambda phase: phase.begin)
    before_trials = []
    for trial in block.trials:
        last = {phase.variant: phase for phase in phases if phase.begin < trial.begin}
        unanswered_phases = [phase for phase in last.values() if phase.failed.get("timeout") or phase.failed_outside]
        before_trials.append(Leftover(trial, unanswered_phases))
    return before_trials


def _drained(block: Block, _: Experiment) -> Iterator[Value]:
    for leftover in leftovers(block):
        in_flight = leftover.trial.server.get("in_flight_before")
        if in_flight is None:
            continue
        reason = f"{in_flight:g} of its requests were still in flight when the next trial began, 0 allowed"
        for variant in [phase.variant for phase in leftover.left] or [leftover.trial.variant]:
            yield Value(in_flight, f"{in_flight:g}", reason, variant, f"before trial {leftover.trial.position}")


#: In the order of the report: a cause comes before what follows from it.
SERVICE: tuple[Check[Any], ...] = (
    block_check("same instance", "service", "no restart, no OOM kill", _lasted),
    Check(
        "errors",
        "service",
        "<= max_errors of the answers, at typical load by their exact interval",
        every_window,
        _answered,
    ),
    Check("script's checks", "service", "<= max_errors of them failed", _script_trials, _script_checks),
    Check("script's requests", "service", "<= max_errors of them failed", _script_trials, _script_requests),
    Check("answers", "service", ">= 1 in every window", under_load, _some_answer, 1, operator.lt),
    Check(
        "answers in the warm-up", "service", ">= 1 in every cycle that is judged", _judged_warm_ups, _warm_up_answered
    ),
    block_check("drained", "service", "0 in flight before each trial", _drained),
)

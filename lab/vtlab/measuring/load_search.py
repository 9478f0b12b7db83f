"""The search for a service's load: users doubled on the JVMs of a block, until no variant serves more."""

from __future__ import annotations

import contextlib
import math
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from vtlab.analysis import load_curve
from vtlab.analysis.validity import generator, jit_compiler
from vtlab.analysis.validity.steady_state import steady_state
from vtlab.errors import GeneratorFailed, VariantFailed
from vtlab.k6 import rows
from vtlab.measuring.warm_up import are_compiled
from vtlab.model import units
from vtlab.model.curve import Curve, Ended, Point
from vtlab.model.experiment import Experiment
from vtlab.model.k6_documents import K6Document
from vtlab.model.records import Block, Trial
from vtlab.planning import k6_timing
from vtlab.planning.load_call import CallPacing, LoadCall
from vtlab.report.words import figures
from vtlab.targets.protocol import StartedBlock

#: Seconds that the levels of a search take at most, once the pair is warm.
WITHIN = 90.0
#: The shortest window of a level in seconds, its usual length, and the answers for which it is longer.
SHORTEST_WINDOW, WINDOW, ANSWERS = 1.0, 2.0, 20
#: Rounds of a user from which on it does not matter that a window cuts them: fewer are whole ones.
MANY_ROUNDS = 10
#: Seconds of a round that is waited for at most, and of one of which nothing is known.
LONGEST_ROUND, UNKNOWN_ROUND = 20.0, 0.25
#: Answers to a single user that tell its throughput, wherever the window cuts its rounds.
ENOUGH_ANSWERS = 5
#: Rounds of warm-up cycles under the limit: two where one is judged by the other, one after a part with more CPU.
WARM_UP_CYCLES, AFTER_RAISED = 2, 1
#: Seconds of these cycles after which no further one begins for the JIT compilers: in the same two cases.
WARM_UP_WITHIN, AFTER_RAISED_WITHIN = 45.0, 15.0
#: Seconds of the part with more CPU before, where the block has other JVMs.
RAISED_WITHIN = 30.0


@dataclass(frozen=True)
class SearchTime:
    """The time that a search may take, in seconds."""

    #: For its levels. What a call of k6 takes to come and go beyond ``k6_timing.START_UP``, as a Job in a cluster does,
    #: is not counted.
    within: float = WITHIN
    #: For everything, counted or not.
    left: float = math.inf
    clock: Callable[[], float] = time.monotonic


class LoadSearch:
    """One search, on variants that have had the part of the warm-up with more CPU."""

    def __init__(
        self,
        started: StartedBlock,
        experiment: Experiment,
        say: Callable[[str], None],
        time_limit: SearchTime = SearchTime(),
        raised: Sequence[Trial] = (),
    ) -> None:
        """``raised``: the last cycles with more CPU, one of each variant; empty without any."""
        self._started = started
        self._experiment = experiment
        self._say = say
        self._within = time_limit.within
        #: Seconds of a call of k6 that are not counted.
        self._uncounted = max(0.0, started.call_seconds - k6_timing.START_UP)
        self._clock = time_limit.clock
        #: When the pair was ready, and when it was warm.
        self._ready = self._began = self._clock()
        self._deadline = self._ready + time_limit.left
        self._points: list[Point] = []
        #: Users of the first warm-up cycles of any block, and the most that this pair was warmed up with.
        self._first_users = self._warmed = experiment.windows.warmup_users
        #: Whether cycles with more CPU took the place of cycles under the limit: not where the compilers' activity is
        #: unknown.
        self._had_more_cpu = bool(raised) and all(trial.server.get("jit_cpu") is not None for trial in raised)
        #: Seconds of an answer in the warm-up, by variant.
        self._warm_answer: dict[str, float] = {}
        #: Seconds of a round with a single user where answers are rare, by variant.
        self._single_round: dict[str, float] = {}
        #: The most users that the load generator could send, once it came to its end.
        self._sound: int | None = None
        self.trials: list[Trial] = []

    def run(self) -> Curve:
        """Measures the curve. BlockFault where something other than a variant breaks, but for a k6 that more users
        kill."""
        ended, why = self._levels()
        return Curve(
            points=self._points,
            ended=ended,
            why=why,
            seconds=round(self._clock() - self._ready, 1),
            chosen=load_curve.chosen_users(self._points, self._experiment.variants, self._sound),
        )

    def _levels(self) -> tuple[Ended, str]:
        variants = self._experiment.variants
        try:
            self._warm_up()
            self._started.end_warm_up()
            if stop := self._measure([1]) or self._measure_rare_answers():
                return stop
            while users := load_curve.next_users(self._points, variants, self._first_users):
                if stop := self._measure(users):
                    return stop
            if (levels := load_curve.levels_between(self._points, variants)) and (stop := self._measure(levels)):
                return stop
        except VariantFailed as broken:
            return "failed", f"{broken.variant}: {broken.reason}"
        except GeneratorFailed as broken:
            if not self._points:
                raise
            self._sound = max(point.users for point in self._points)
            return "load generator", str(broken)
        highest = max(point.users for point in self._points)
        return ("most users" if highest >= load_curve.MOST_USERS else "levelled off"), ""

    def _warm_up(self) -> None:
        users = self._first_users
        self._say(f"warm-up with {users} users")
        count = AFTER_RAISED if self._had_more_cpu else WARM_UP_CYCLES
        call = LoadCall(trial_load_cycles=count, pacing=CallPacing(users=(users,)))
        cycles: list[Trial] = []
        while True:
            document = self._started.load(call)
            cycles += document.warmup
            if self._is_over() or (self._are_compiled(document.warmup) and self._is_steady(cycles)):
                break
        for trial in document.warmup:
            self._warm_answer[trial.variant] = trial.latency.mean or LONGEST_ROUND
        self._began = self._clock()

    def _is_over(self) -> bool:
        """Tells whether the time of the warm-up is over."""
        return self._clock() > self._ready + (AFTER_RAISED_WITHIN if self._had_more_cpu else WARM_UP_WITHIN)

    def _are_compiled(self, warmup: Sequence[Trial]) -> bool:
        return are_compiled(warmup, self._experiment.variants, self._experiment)

    def _is_steady(self, cycles: Sequence[Trial]) -> bool:
        """Tells whether no variant gained by the last cycles; one after a part with more CPU is enough."""
        limit = self._experiment.limits.cpu
        of_each = [[cycle for cycle in cycles if cycle.variant == name] for name in self._experiment.variants]
        return self._had_more_cpu or all(steady_state(variant_cycles, limit).reached for variant_cycles in of_each)

    def _measure_rare_answers(self) -> tuple[Ended, str] | None:
        """Measures a single user again where too few answers came to tell its throughput: for whole rounds."""
        of_single = self.trials[:]
        if all(trial.ok >= ENOUGH_ANSWERS for trial in of_single):
            return None
        for trial in of_single:
            answer = trial.latency.mean or self._warm_answer.get(trial.variant, LONGEST_ROUND)
            self._single_round[trial.variant] = answer + self._experiment.load.mean_think_time
        self._points.clear()
        return self._measure([1])

    def _measure(self, levels: Sequence[int]) -> tuple[Ended, str] | None:
        """Measures as many of these levels as there is time for, by one call of k6, or by one each where users read
        rows of data. Returns why the search ends there; None where it goes on."""
        if len(levels) > 1 and rows.need_calls_of_their_own(self._experiment):
            return next((stop for users in levels if (stop := self._measure([users]))), None)
        window, rounds = self._planned(min(levels))
        affordable = self._affordable(levels, window, rounds)
        if not affordable:
            return "time", ""
        self._say(f"{figures.listed([str(users) for users in affordable])} user{'' if affordable == [1] else 's'}")
        pacing = CallPacing(
            users=tuple(affordable),
            measure=round(1000 * window),
            rounds={variant: max(1, round(1000 * seconds)) for variant, seconds in rounds.items()},
        )
        try:
            trials = self._load_undisturbed(pacing).trials
        except GeneratorFailed:
            # It was the highest level that killed k6.
            for level in affordable[:-1]:
                stop = self._measure([level])
                if stop and stop[0] != "time":
                    return stop
            raise
        self.trials += trials
        stop = self._judge(trials, min(affordable))
        return stop or (("time", "") if len(affordable) < len(levels) else None)

    def _load_undisturbed(self, pacing: CallPacing) -> K6Document:
        """Loads the levels of a call, after a warm-up cycle where they have more users than any before; and once more
        where the load generator or the machine was at its end, if there is time."""
        variants = self._experiment.variants
        # The order turns round from level to level: no variant is always the first.
        count = len({point.users for point in self._points})
        order = list(variants) if count % 2 == 0 else list(reversed(variants))
        is_cold = max(pacing.users) > self._warmed
        began = self._clock()
        call = LoadCall(trial_load_cycles=int(is_cold), trial_order=order, with_probe=False, pacing=pacing)
        document = self._load(call)
        self._warmed = max(self._warmed, *pacing.users)
        took = self._clock() - began - self._uncounted
        if self._disturbed(document.trials) and self._clock() + took < self._end():
            # What was in the way for a moment is no end of the load generator.
            self._say(f"again: {self._disturbed(document.trials)}")
            # Where that kills k6 there is what was disturbed, which ends the search.
            with contextlib.suppress(GeneratorFailed):
                return self._load(replace(call, trial_load_cycles=0))
        return document

    def _judge(self, trials: Sequence[Trial], lowest: int) -> tuple[Ended, str] | None:
        """Adds the points of these trials. Returns why the search ends with them; None where it goes on. ``lowest``:
        the fewest users of these."""
        measured = [_point(trial, self._experiment) for trial in trials]
        self._points += measured
        for point in measured:
            if point.failed > self._experiment.max_errors:
                share = units.percent(point.failed, 1)
                return "failed", f"{point.variant}: {share} of the answers were errors at {point.users} users"
        if reason := self._disturbed(trials):
            disturbed = {trial.users for trial in trials if self._disturbed([trial])}
            sound = {point.users for point in self._points} - disturbed
            self._sound = max(sound, default=lowest)
            return "load generator", reason
        return None

    def _end(self) -> float:
        return min(self._began + self._within, self._deadline)

    def _load(self, call: LoadCall) -> K6Document:
        self._within += self._uncounted
        return self._started.load(call)

    def _affordable(self, levels: Sequence[int], window: float, rounds: Mapping[str, float]) -> list[int]:
        """Returns the levels for which there is time, of these, which grow; the first level of a search in any case."""
        seconds_left = self._end() - self._clock() - k6_timing.START_UP
        is_warm = True
        affordable: list[int] = []
        for users in levels:
            if is_warm and users > self._warmed:
                is_warm = False
                seconds_left -= sum(map(self._warm_up_cycle, rounds.values()))
            ramp_up = k6_timing.USER_RAMP_UP * users
            seconds_left -= sum(
                k6_timing.BETWEEN_PHASES + max(ramp_up, round_) + 2 * round_ + window for round_ in rounds.values()
            )
            if seconds_left >= 0 or not self._points:
                affordable.append(users)
        return affordable

    def _warm_up_cycle(self, round_: float) -> float:
        """Returns the seconds of a variant's warm-up cycle, given the seconds of its round."""
        load = units.seconds(self._experiment.windows.warmup_load)
        return k6_timing.BETWEEN_PHASES + k6_timing.LONGEST_WARM_UP_RAMP_UP + 2 * round_ + max(load, round_)

    def _planned(self, users: int) -> tuple[float, dict[str, float]]:
        """Returns the seconds of a level's window, and of a round of each variant's users, as the level before lets
        expect them: no variant serves less than it did with half of the users."""
        rounds, rate = {}, []
        for variant in self._experiment.variants:
            before = [point for point in self._points if point.variant == variant and point.users < users]
            last = max(before, key=lambda point: point.users, default=None)
            served = last.throughput if last else 0.0
            single_round = self._single_round.get(variant, UNKNOWN_ROUND)
            rounds[variant] = min(LONGEST_ROUND, last.users / served if last and served else single_round)
            rate.append(served)
        slowest, longest = min(rate), max(rounds.values())
        window = min(WINDOW, max(SHORTEST_WINDOW, ANSWERS / slowest)) if slowest else WINDOW
        if window < MANY_ROUNDS * longest:
            window = longest * math.ceil(round(window / longest, 6))
        return window, rounds

    def _disturbed(self, trials: Sequence[Trial]) -> str:
        """Describes the limits of the load generator or the machine that were reached; empty without any."""
        block = Block(block=0, attempt=1, order=[trial.variant for trial in trials], trials=list(trials))
        return "; ".join(generator.limits_reached(block, self._experiment))


def _point(trial: Trial, experiment: Experiment) -> Point:
    failed = sum(trial.failed.values())
    jit_share = jit_compiler.taken_by_compilers(trial, experiment)
    return Point(
        variant=trial.variant,
        users=trial.users,
        throughput=trial.ok / trial.window,
        answers=trial.ok,
        mean=trial.latency.mean,
        p99=trial.latency.p99,
        longest=trial.latency.max,
        failed=failed / (failed + trial.ok) if failed + trial.ok else 0.0,
        jit=None if jit_share is None else jit_share / experiment.limits.cpu,
    )

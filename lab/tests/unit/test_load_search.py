"""The search for a load: which levels it measures, and why it ends. (On a real pair: tests/contract/test_try.py.)"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import pytest

from tests.support import recorded
from tests.support.recorded_target import Journal, Playback, RecordedBlock
from vtlab.errors import BlockFault, GeneratorFailed, VariantFailed
from vtlab.measuring.load_search import AFTER_RAISED, WARM_UP_CYCLES, WITHIN, LoadSearch, SearchTime
from vtlab.model.curve import Curve
from vtlab.model.experiment import Experiment
from vtlab.model.k6_documents import K6Document
from vtlab.model.records import Trial
from vtlab.planning.load_call import CallPacing, LoadCall

#: Users of the warm-up.
FIRST_USERS = 50
PLANNED = recorded.experiment(load={"full": {"users": 64}}, windows={"warmup_users": FIRST_USERS}, expected=None)

#: The throughput of a variant with so many users.
Throughput = Callable[[int], float]


def growing(single: float, most: float = math.inf) -> Throughput:
    """Returns a throughput that grows with the users, from that of a single one to the most."""
    return lambda users: min(users * single, most)


#: A single user has 19.5/s of both. Five threads are the most of platform, 640/s of virtual.
PARTING = {"platform": growing(19.5, most=5 * 19.5), "virtual": growing(19.5, most=640)}
#: Variants that 4096 users do not saturate.
ENDLESS = dict.fromkeys(PLANNED.variants, growing(92.5))


def answered(variant: str, throughput: Throughput, users: int, window: float, **changes: Any) -> Trial:
    """Returns the recorded trial of a variant as if so many users had had that throughput in a window of so many
    seconds. ``changes``: other fields, and the phase."""
    rate = throughput(users)
    ok = round(rate * window)
    return recorded.trial(
        variant, window=window, users=users, ok=ok, latency=recorded.latency(ok, users / rate), **changes
    )


class Pair(RecordedBlock):
    """A started pair that answers as its services would, while a clock of its own goes on."""

    def __init__(
        self,
        throughputs: Mapping[str, Throughput] = PARTING,
        broken: Callable[[CallPacing], None] = lambda pacing: None,
        coming: float = 2.5,
        cold: int = 0,
        compiling: int = 0,
        changes: Callable[[str, int], Mapping[str, Any]] = lambda variant, users: {},
    ) -> None:
        playback = Playback(call_seconds=coming)
        super().__init__(recorded.block(), playback, {}, Journal())
        self.now = 0.0
        self._throughputs = throughputs
        self._broken = broken
        #: Calls in which the pair still gets faster, and those in which its JIT compilers work.
        self._cold = cold
        self._compiling = compiling
        self._changes = changes

    @property
    def calls(self) -> list[tuple[tuple[int, ...], list[str]]]:
        """Users and order of each call under the limit."""
        return [(call.pacing.users, list(call.trial_order)) for call in self._under_limit]

    @property
    def warmed(self) -> list[tuple[int, tuple[int, ...]]]:
        """Each call under the limit: warm-up cycles with its highest users, and its users."""
        return [(call.trial_load_cycles, call.pacing.users) for call in self._under_limit]

    @property
    def paces(self) -> list[CallPacing]:
        """Pacing of each call under the limit."""
        return [call.pacing for call in self._under_limit]

    @property
    def _under_limit(self) -> list[LoadCall]:
        return [call for call in self.journal.loads if not call.warmup_cycles]

    def replay(self, call: LoadCall) -> K6Document:
        self.now += self.call_seconds
        self.now += call.trial_load_cycles * (8 if call.trial_order else 4)
        self._broken(call.pacing)
        window = (call.pacing.measure or 0) / 1000
        trials = [self._trial(variant, users, window) for users in call.pacing.users for variant in call.trial_order]
        self.now += sum(1 + 3 * (trial.latency.mean or 0) + window for trial in trials)
        return K6Document(
            version=2,
            experiment="shop",
            run_id="r",
            block=0,
            order=[],
            agreed=True,
            warmup=[]
            if call.trial_order
            else [trial for variant in PLANNED.variants for trial in self._warming(variant)],
            single=[],
            trials=trials,
        )

    def _warming(self, variant: str) -> list[Trial]:
        """Two cycles; those of a cold pair get faster. As in a cluster nothing tells what a JIT compiler takes that
        rests."""
        server = {"cpu_cores": 0.9, "jit_cpu": 0.5 if len(self.calls) <= self._compiling else None}
        done = 2 * len(self.calls)
        factors = (0.3 * 1.2**done, 0.3 * 1.2 ** (done + 1)) if len(self.calls) <= self._cold else (1.0, 1.0)
        steady = answered(variant, self._throughputs[variant], FIRST_USERS, 5, phase="warmup", server=server)
        return [recorded.scaled(steady, factor) for factor in factors]

    def _trial(self, variant: str, users: int, window: float) -> Trial:
        return answered(variant, self._throughputs[variant], users, window, **self._changes(variant, users))


#: Of a pair's warm-up, whose cycles have the limit.
WARM_UP_SECONDS = 2.5 + WARM_UP_CYCLES * 4


def searched(
    pair: Pair,
    planned: Experiment = PLANNED,
    within: float = WITHIN,
    left: float = math.inf,
    raised: Sequence[Trial] = (),
) -> tuple[Curve, LoadSearch, list[str]]:
    lines: list[str] = []
    search = LoadSearch(pair, planned, lines.append, SearchTime(within, left, lambda: pair.now), raised)
    return search.run(), search, lines


def rested(jit: float | None = 0.0) -> list[Trial]:
    """Returns the last cycles with more CPU, whose JIT compilers used so much."""
    server = {"cpu_cores": 1.4, "cpu_limit": 1.5, "jit_cpu": jit}
    return [recorded.trial(variant, "warmup", server=server) for variant in PLANNED.variants]


def test_after_a_part_with_more_cpu_one_cycle_under_the_limit_is_enough() -> None:
    pair = Pair()
    curve, _, _ = searched(pair, raised=rested())
    assert pair.warmed[0] == (AFTER_RAISED, (FIRST_USERS,))
    assert AFTER_RAISED < WARM_UP_CYCLES
    assert pair.journal.events[1] == "end of the warm-up"
    assert curve.ended == "levelled off"


def test_where_nothing_tells_what_the_compilers_did_with_more_cpu_cycles_under_the_limit_are_judged() -> None:
    pair = Pair(cold=2)
    searched(pair, raised=rested(jit=None))
    assert [order for _, order in pair.calls].count([]) == 4


@pytest.mark.parametrize(("compiling", "calls"), [(0, 1), (1, 2), (99, 3)])
def test_compilers_that_still_work_after_it_have_little_time(compiling: int, calls: int) -> None:
    pair = Pair(compiling=compiling)
    searched(pair, raised=rested())
    assert [order for _, order in pair.calls].count([]) == calls


def test_it_warms_up_and_measures_levels_until_no_variant_serves_more() -> None:
    pair = Pair()
    curve, search, lines = searched(pair)
    assert (curve.ended, curve.why) == ("levelled off", "")
    assert pair.calls[0] == ((FIRST_USERS,), [])
    assert [users for users, _ in pair.calls[1:]] == [(1,), (2, 4, 8), (16, 32), (64,), (5, 6)]
    assert curve.chosen == pytest.approx(2 * 640 / 19.5, rel=0.05)
    assert curve.seconds == pytest.approx(pair.now, abs=0.1)
    assert len(search.trials) == len(curve.points) == 2 * 9
    assert lines[0] == f"warm-up with {FIRST_USERS} users"
    assert lines[1:3] == ["1 user", "2, 4 and 8 users"]
    at_64 = {point.variant: point.throughput for point in curve.points if point.users == 64}
    assert at_64 == pytest.approx({"platform": 98, "virtual": 640}, rel=0.03)


def test_levels_whose_users_read_rows_have_a_call_each() -> None:
    # Who joins within a call would begin at rows that others have read.
    pair = Pair()
    curve, _, _ = searched(pair, PLANNED.model_copy(update={"data": "owners.csv"}))
    assert [users for users, _ in pair.calls[1:]] == [(1,), (2,), (4,), (8,), (16,), (32,), (64,), (5,), (6,)]
    assert (curve.ended, len(curve.points)) == ("levelled off", 18)
    assert {order[0] for _, order in pair.calls[1:]} == set(PLANNED.variants)


def test_what_has_more_users_than_the_warm_up_is_warmed_up_with_the_most_of_its_call_first() -> None:
    pair = Pair(ENDLESS)
    searched(pair, within=1000)
    assert pair.warmed == [
        (WARM_UP_CYCLES, (FIRST_USERS,)),
        *((0, users) for users in [(1,), (2, 4, 8), (16, 32)]),
        *((1, (2**step,)) for step in range(6, 13)),
    ]


def test_the_warm_up_of_higher_levels_is_in_the_time_of_the_search() -> None:
    reached = []
    for within in (70.0, 80.0, 90.0, 100.0):
        pair = Pair(ENDLESS)
        curve, _, _ = searched(pair, within=within)
        assert curve.seconds - WARM_UP_SECONDS <= within
        reached.append(curve.users[-1])
    assert reached == sorted(reached)
    assert reached[0] < reached[-1]


@pytest.mark.parametrize(
    ("server", "share"),
    [
        ({"cpu_cores": 0.45, "jit_cpu": 0.2}, 0.4),
        ({"cpu_cores": 0.35, "jit_cpu": 0.2}, 0.0),
        ({"cpu_cores": 0.45}, None),
        ({"jit_cpu": 0.2}, None),
    ],
)
def test_a_level_has_the_share_of_the_limit_that_its_jit_compiler_took(
    server: Mapping[str, float], share: float | None
) -> None:
    half = PLANNED.model_copy(update={"limits": PLANNED.limits.model_copy(update={"cpu": 0.5})})
    none = {"cpu_cores": None, "cpu_limit": None, "jit_cpu": None}
    pair = Pair(changes=lambda variant, users: {"server": {**none, **server}})
    found, _, _ = searched(pair, half)
    assert {point.jit for point in found.points} == {share}


def test_a_level_that_is_measured_again_is_warm() -> None:
    came: list[int] = []

    def busy_once(variant: str, users: int) -> Mapping[str, Any]:
        came.append(users)
        return {"machine": {"idle_cores": 0.0}} if came.count(256) == 1 and users == 256 else {}

    pair = Pair(ENDLESS, changes=busy_once)
    searched(pair, within=1000)
    assert [cycles for cycles, users in pair.warmed if users == (256,)] == [1, 0]


def test_no_probe_goes_beside_its_levels() -> None:
    searched(pair := Pair())
    assert any(call.trial_order for call in pair.journal.loads)
    levels = [call for call in pair.journal.loads if call.trial_order]
    assert levels
    assert not any(call.is_probed for call in levels)


def test_neither_variant_is_always_the_first() -> None:
    pair = Pair()
    searched(pair)
    first = [order[0] for _, order in pair.calls[1:]]
    assert set(first) == {"platform", "virtual"}


def test_a_window_is_as_long_as_twenty_answers_or_two_seconds_and_has_whole_rounds() -> None:
    pair = Pair(dict.fromkeys(PLANNED.variants, growing(1 / 3, most=20)))
    searched(pair)
    for pace in pair.paces[2:]:
        assert pace.measure is not None
        longest = max(pace.rounds.values())
        if pace.measure < 10 * longest:
            assert pace.measure / longest == pytest.approx(round(pace.measure / longest), abs=0.01)
    quick = Pair()
    searched(quick)
    # 20 answers of a single user take a second, those of many less than a window's least; 64 users have whole rounds.
    assert [pace.measure for pace in quick.paces[1:]] == pytest.approx([2000, 1026, 1000, 1306, 1000], abs=10)


def test_a_slow_service_gets_fewer_levels_and_the_search_ends_in_time() -> None:
    pair = Pair(dict.fromkeys(PLANNED.variants, growing(1 / 4)))
    curve, _, _ = searched(pair)
    assert (curve.ended, curve.why) == ("time", "")
    assert pair.now - WARM_UP_SECONDS <= WITHIN
    assert [users for users, _ in pair.calls[1:3]] == [(1,), (1,)], "no answer in the first window: for whole rounds"
    alone = [point.throughput for point in curve.points if point.users == 1]
    assert alone == pytest.approx([0.25, 0.25], rel=0.02)
    assert curve.users[-1] < 64
    # Twice the users of the last level are the most that may be chosen.
    assert curve.chosen <= 2 * curve.users[-1]


@pytest.mark.parametrize(("cold", "calls"), [(0, 1), (2, 4), (99, 5)])
def test_without_more_cpu_it_warms_up_under_the_limit_until_no_variant_gains_or_for_so_long(
    cold: int, calls: int
) -> None:
    """As in a cluster, which gives copies no more."""
    pair = Pair(cold=cold)
    searched(pair)
    assert [order for _, order in pair.calls].count([]) == calls


def test_without_more_cpu_steady_throughput_is_not_enough_while_the_compilers_work() -> None:
    pair = Pair(compiling=2)
    searched(pair)
    assert [order for _, order in pair.calls].count([]) == 3


def test_the_time_of_the_call_bounds_start_warm_up_and_levels_together() -> None:
    for coming in (2.5, 12.0):
        pair = Pair(ENDLESS, coming=coming, cold=2)
        curve, _, _ = searched(pair, left=80.0)
        assert curve.ended == "time"
        # The call of the last level may take longer to come and go.
        assert pair.now <= 80.0 + coming


def test_what_k6_takes_to_come_and_go_costs_no_level() -> None:
    """As a Job of a cluster it needs several seconds for a pod, and a search would end at 64 users for it."""
    here, there = (Pair(ENDLESS, coming=coming) for coming in (2.5, 12.0))
    curves = [searched(pair)[0] for pair in (here, there)]
    assert curves[0].users == curves[1].users
    assert curves[1].seconds - curves[0].seconds == pytest.approx(9.5 * len(there.calls), abs=0.2)


def test_a_load_generator_that_breaks_under_more_users_ends_the_search() -> None:
    """In a cluster its pod has a limit of memory."""

    def broken(pacing: CallPacing) -> None:
        if len(pair.calls) > 1 and 32 in pacing.users:
            raise GeneratorFailed("k6: its pod was killed for lack of memory")

    pair = Pair(broken=broken)
    curve, _, _ = searched(pair)
    assert (curve.ended, curve.why) == ("load generator", "k6: its pod was killed for lack of memory")
    assert [users for users, _ in pair.calls[3:]] == [(16, 32), (16,)], "it was the most of them"
    assert curve.users == [1, 2, 4, 8, 16]
    assert curve.chosen == 16, "no more than it could send"


def test_a_load_generator_that_is_killed_is_said_where_the_time_is_over_then() -> None:
    def broken(pacing: CallPacing) -> None:
        if 32 in pacing.users and len(pair.calls) > 1:
            pair.now += 60
            raise GeneratorFailed("k6: its pod was killed for lack of memory")

    pair = Pair(broken=broken)
    curve, _, _ = searched(pair)
    assert (curve.ended, curve.why) == ("load generator", "k6: its pod was killed for lack of memory")
    assert curve.users == [1, 2, 4, 8]
    assert curve.chosen == 8


def test_where_measuring_once_more_kills_the_load_generator_the_first_measurement_stands() -> None:
    def broken(pacing: CallPacing) -> None:
        if [users for users, _ in pair.calls].count((2, 4, 8)) == 2:
            raise GeneratorFailed("k6 was killed")

    def no_idle_core(variant: str, users: int) -> Mapping[str, Any]:
        return {"machine": {"idle_cores": 0.0}} if users == 8 else {}

    pair = Pair(broken=broken, changes=no_idle_core)
    curve, _, _ = searched(pair)
    assert curve.ended == "load generator"
    assert "idle" in curve.why
    assert curve.users == [1, 2, 4, 8]


def test_no_level_is_chosen_that_the_load_generator_could_not_send() -> None:
    def no_idle_core(variant: str, users: int) -> Mapping[str, Any]:
        return {"machine": {"idle_cores": 0.0}} if users >= 4 else {}

    curve, _, _ = searched(Pair(changes=no_idle_core))
    assert (curve.users, curve.chosen) == ([1, 2, 4, 8], 2)


def test_a_load_generator_that_breaks_before_any_level_is_a_fault() -> None:
    def broken(pacing: CallPacing) -> None:
        raise GeneratorFailed("k6 ended with exit code 1")

    with pytest.raises(GeneratorFailed):
        searched(Pair(broken=broken))


def test_the_first_level_is_measured_even_if_the_time_is_over() -> None:
    curve, _, _ = searched(Pair(), within=1.0)
    assert (curve.ended, curve.users) == ("time", [1])


@pytest.mark.parametrize("within", [20.0, 30.0, 40.0, 60.0])
def test_it_takes_no_longer_than_it_may(within: float) -> None:
    pair = Pair()
    curve, _, _ = searched(pair, within=within)
    assert pair.now - WARM_UP_SECONDS <= within
    assert curve.users[0] == 1


def test_a_load_generator_at_its_end_ends_the_search_and_its_level_stays_in_the_curve() -> None:
    def no_idle_core(variant: str, users: int) -> Mapping[str, Any]:
        return {"machine": {"idle_cores": 0.0}} if users == 8 else {}

    curve, _, _ = searched(Pair(changes=no_idle_core))
    assert curve.ended == "load generator"
    assert "idle" in curve.why
    assert curve.users == [1, 2, 4, 8]


def test_a_level_that_was_disturbed_for_a_moment_is_measured_again() -> None:
    came: list[int] = []

    def busy_once(variant: str, users: int) -> Mapping[str, Any]:
        came.append(users)
        return {"machine": {"idle_cores": 0.0}} if came.count(8) == 1 and users == 8 else {}

    curve, search, lines = searched(Pair(changes=busy_once))
    assert curve.ended == "levelled off"
    assert any(line.startswith("again: idle cores") for line in lines)
    assert sum(trial.users == 8 for trial in search.trials) == 2, "only the second measurement counts"


def test_a_variant_that_ends_is_named_with_how_and_what_was_measured_stays() -> None:
    def broken(pacing: CallPacing) -> None:
        if 16 in pacing.users:
            raise VariantFailed("virtual", "it ended with exit code 9")

    curve, search, _ = searched(Pair(broken=broken))
    assert (curve.ended, curve.why) == ("failed", "virtual: it ended with exit code 9")
    assert curve.users == [1, 2, 4, 8]
    assert len(search.trials) == 8


def test_a_variant_that_breaks_in_the_warm_up_leaves_a_curve_without_a_level() -> None:
    def broken(pacing: CallPacing) -> None:
        raise VariantFailed("platform", "out of heap memory")

    curve, _, _ = searched(Pair(broken=broken))
    assert (curve.ended, curve.points, curve.chosen) == ("failed", [], 2)


def test_answers_that_are_errors_end_the_search() -> None:
    def failing(variant: str, users: int) -> Mapping[str, Any]:
        return {"failed": {"500": 30}} if (variant, users) == ("virtual", 4) else {}

    curve, _, _ = searched(Pair(changes=failing))
    assert curve.ended == "failed"
    assert curve.why.startswith("virtual: ")
    assert curve.why.endswith(" of the answers were errors at 4 users")
    assert next(p.failed for p in curve.points if (p.variant, p.users) == ("virtual", 4)) > 0.1


def test_a_fault_of_what_is_around_the_variants_is_none_of_the_service() -> None:
    def broken(pacing: CallPacing) -> None:
        raise BlockFault("k6 died")

    with pytest.raises(BlockFault, match="k6 died"):
        searched(Pair(broken=broken))


def test_no_variant_that_levels_off_ends_at_the_most_users() -> None:
    curve, _, _ = searched(Pair(ENDLESS), within=1000)
    assert (curve.ended, curve.users[-1]) == ("most users", 4096)

"""When a variant falls behind open load, and by how much."""

from __future__ import annotations

from typing import Any

import pytest

from tests.support import recorded
from tests.support.blocks import BLOCKING, OPEN, failures_of, reasons_of, with_trial
from vtlab.analysis.validity import overload
from vtlab.analysis.variant_results import variant_result
from vtlab.model.records import Block, Halves, InFlight, Trial


def with_drops(**update: Any) -> Block:
    return with_trial(1, OPEN, **{"dropped": 500, "ok": 4000, "failed": {"timeout": 30}, **update})


def arriving(**changes: Any) -> Trial:
    """A trial of virtual threads under open load, whose answers take a second."""
    given = {"latency": recorded.latency(4500, 1.0), **changes}
    return recorded.changed_trial(recorded.block_under_open_load().trials[1], **given)


def test_dropped_arrivals_with_a_healthy_generator_are_a_finding() -> None:
    block = with_drops()
    assert failures_of(block, OPEN) == []
    assert [overload.overloaded(t, OPEN) for t in block.trials] == [False, True, False, False]
    assert overload.dropped_share(block.trials[1]) == 500 / (500 + block.trials[1].started)
    assert overload.growth_of_trial(block.trials[1], OPEN) == pytest.approx(470 / 30), (
        "of 4,500 that were due 4,030 are completed"
    )
    # With all users busy since before the window more are dropped than arrive in it.
    early = with_drops(dropped=6000, ok=3000, failed={})
    assert overload.growth_of_trial(early.trials[1], OPEN) == pytest.approx(50)
    assert overload.growths_over_trials(block.trials, OPEN) == [pytest.approx(470 / 30)]
    few = with_trial(1, OPEN, dropped=2)
    assert not overload.overloaded(few.trials[1], OPEN)
    assert failures_of(few, OPEN) == []


def with_growth(added: int, mean: float = 1.0) -> float | None:
    """The growth of a trial of 150 arrivals a second over 30 s that adds so many requests in flight."""
    in_flight = InFlight(start=150, end=150 + added)
    block = with_trial(1, OPEN, in_flight=in_flight, latency=recorded.latency(4500, mean))
    assert failures_of(block, OPEN) == []
    return overload.growth_of_trial(block.trials[1], OPEN)


def test_growth_beyond_chance_is_an_overload_though_nothing_was_dropped() -> None:
    # 1 % of 4,500 arrivals and 3·√(2·150·1) by chance: 45 + 52.
    assert with_growth(96) is None
    assert with_growth(98) == pytest.approx(98 / 30)
    assert with_growth(-98) is None, "it recovers"
    # Where answers take longer the number in flight varies more.
    assert with_growth(98, mean=4.0) is None
    assert with_growth(150, mean=4.0) == pytest.approx(5)
    closed = with_trial(1, in_flight=InFlight(start=0, end=900)).trials[1]
    assert overload.growth_of_trial(closed, BLOCKING) is None


def test_a_queue_that_comes_and_goes_is_no_overload() -> None:
    """Found by simulation: of a CPU that is used to 90 %, with drawn work, one trial in 30 adds more than its limit."""

    def growths(*added: int) -> list[float]:
        ends = [InFlight(start=300, end=300 + n) for n in added]
        return overload.growths_over_trials([arriving(in_flight=end) for end in ends], OPEN)

    # 1 % of 4,500 arrivals, and 52 by chance.
    assert growths(110) == [pytest.approx(110 / 30)]
    assert growths(110, -60) == []
    assert growths(110, 20, -30, 0) == []
    assert growths(110, 90, 120, 95) == [pytest.approx(added / 30) for added in (110, 90, 120, 95)]
    # 45 of each, and 52·√2·√4 by chance: 328 of them all.
    assert growths(110, 75, 75, 66) == []
    assert len(growths(110, 75, 75, 70)) == 4, "that one stays below its own limit is chance"
    # What a single one added, and the others' share of the arrivals.
    assert growths(600, 45, 20, -10) == [pytest.approx(20)]
    assert len(growths(600, 46, 20, -10)) == 2
    dropping = arriving(dropped=900)
    calm = arriving(in_flight=InFlight(start=400, end=150))
    assert len(overload.growths_over_trials([dropping, calm, calm], OPEN)) == 1


def test_five_per_cent_too_much_load_is_an_overload() -> None:
    # 210 a second on 200 threads of 1 s for 150·√(2·1/210) = 15 s, nothing dropped: 150 are added; 32 are
    # allowed, and 70 by chance.
    exp = recorded.arrivals(load={"typical": {"rate": 210, "users": 4500}}, windows={"measure": "15s"})
    in_flight = InFlight(start=250, end=400)
    trial = arriving(window=15, rate=210.0, in_flight=in_flight, latency=recorded.latency(3000, 1.3))
    assert overload.growth_of_trial(trial, exp) == pytest.approx(10)


def test_dropped_arrivals_with_a_saturated_generator_reject() -> None:
    block = with_drops(machine={"idle_cores": 0.01})
    assert not overload.overloaded(block.trials[1], OPEN)
    assert "load generator was saturated" in reasons_of(block, OPEN)
    unmeasured = with_drops(machine={"idle_cores": None, "generator_throttled": None})
    assert not overload.overloaded(unmeasured.trials[1], OPEN)


def test_overload_excuses_timeouts_only() -> None:
    ((variant, reason, _),) = failures_of(with_drops(failed={"status-503": 30}), OPEN)
    assert (variant, reason[:6]) == ("virtual", "0.74 %")
    assert "30 timeout" in failures_of(with_drops(dropped=0), OPEN)[0][1]
    assert not overload.overloaded(with_trial(1, dropped=500).trials[1], BLOCKING), "closed load drops nothing"


def lagging(first: tuple[int, int] = (2200, 2150), second: tuple[int, int] = (2300, 2240), **changes: Any) -> Trial:
    """A trial that adds 110 requests in flight, with arrivals and completions of both halves of its window."""
    halves = Halves(arrived=(first[0], second[0]), completed=(first[1], second[1]))
    answers = recorded.answers(4390).model_copy(update={"halves": halves})
    return arriving(in_flight=InFlight(start=300, end=410), answers=answers, **changes)


def test_an_overload_lasts_through_both_halves_of_a_window() -> None:
    assert overload.growth_of_trial(lagging(), OPEN) == pytest.approx(110 / 30)
    assert overload.growth_of_trial(lagging(first=(2200, 2200)), OPEN) is None
    assert overload.growth_of_trial(lagging(second=(2300, 2301)), OPEN) is None, (
        "one long request, and then it recovers"
    )


def blocks_of(*virtual: Trial, platform: bool = True) -> list[Block]:
    """A block with these trials of virtual threads; ``platform``: platform threads keep up."""
    calm = InFlight(start=150, end=150)
    others = [arriving(variant="platform", in_flight=calm) for _ in virtual]
    if not platform:
        others = [lagging(variant="platform") for _ in virtual]
    return [recorded.block_under_open_load(trials=[*virtual, *others], single=[], light=[])]


def test_a_queue_that_grows_is_an_overload_where_it_is_no_chance() -> None:
    grown = [lagging(), lagging()]
    beside = blocks_of(*grown)
    assert overload.growths_over_trials(grown, OPEN) != []
    # By simulation two variants that are alike show this in one of fifty runs of three blocks.
    assert overload.growths_of_overloaded(beside * 3, OPEN, "virtual") == [], (
        "platform threads have fewer long requests by chance"
    )
    # In every half of all windows of four blocks: that is no queue that comes and goes.
    assert len(overload.growths_of_overloaded(beside * 4, OPEN, "virtual")) == 8, "platform threads keep up"
    recovers = blocks_of(lagging(), lagging(second=(2300, 2301)))
    assert overload.growths_of_overloaded([*beside * 4, *recovers], OPEN, "virtual") == []
    both = blocks_of(*grown, platform=False)
    assert overload.growths_of_overloaded(both * 4, OPEN, "virtual") == [], "both have a queue of long requests"
    # Ten connections, each held for 71 ms: 140/s of 150/s.
    assert len(overload.growths_of_overloaded(limited_by_a_pool(), OPEN, "virtual")) == 2


def test_arrivals_that_are_dropped_in_every_window_are_a_sign_of_their_own() -> None:
    """All users were busy: a queue of a few long requests does not do that in each window."""
    dropping = [lagging(dropped=500), lagging(dropped=500)]
    beside, both = blocks_of(*dropping), blocks_of(*dropping, platform=False)
    assert overload.growths_of_overloaded(beside * 2, OPEN, "virtual") == []
    assert len(overload.growths_of_overloaded(beside * 3, OPEN, "virtual")) == 6
    assert overload.growths_of_overloaded(both * 3, OPEN, "virtual") == []
    assert len(overload.growths_of_overloaded(both * 4, OPEN, "virtual")) == 8
    once = blocks_of(dropping[0], lagging(), platform=False)
    assert overload.growths_of_overloaded([*both * 3, *once], OPEN, "virtual") == []


def limited_by_a_pool() -> list[Block]:
    """A block whose virtual threads share ten connections, and fall behind; platform threads do, too."""
    bound = {"capacity_db-pool": 10.0, "utilization_db-pool": 1.0, "cpu_cores": 0.1}
    limited = blocks_of(*(lagging(server=bound) for _ in range(2)), platform=False)
    for block in limited:
        alone = {"server": {**bound, "hold_db_pool": 10 / 140, "service_time": 0.08}}
        block.single = [recorded.trial("virtual", "single", ok=50, latency=recorded.latency(50, 0.08), **alone)] * 2
    return limited


def test_the_bound_of_one_variant_says_nothing_of_another() -> None:
    assert (
        overload.growths_over_trials([t for t in limited_by_a_pool()[0].trials if t.variant == "platform"], OPEN) != []
    )
    assert overload.growths_of_overloaded(limited_by_a_pool(), OPEN, "platform") == []


def test_arrivals_that_a_variant_may_not_keep_up_with_are_not_its_limit() -> None:
    """By an overload or by chance its queue grows: what limits it is unknown."""
    block = blocks_of(lagging(), lagging(), platform=False)
    result = variant_result(OPEN, block, "virtual")
    assert result.growth is None, "two windows may be chance"
    assert result.bottleneck.resource == "unknown"

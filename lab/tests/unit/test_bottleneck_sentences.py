"""The bottleneck in words: each form of the sentence, from results as the analysis records them."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import get_args

import pytest

from tests.support import recorded
from vtlab.catalogue.resources import RESOURCES
from vtlab.model.records import Activity, Failure
from vtlab.model.verdict import Bottleneck, Bound, Inside
from vtlab.report.parts import resource_use
from vtlab.report.words import bottlenecks

RUN = recorded.analysed(recorded.run(blocks=3))
OPEN = recorded.analysed(recorded.under_open_load(recorded.run(blocks=3)))
UNKNOWN = Bottleneck(resource="unknown", utilisation=None, bound=None)


def bound(resource: str, most: float, capacity: float, throughput: float, spread: float | None = 0.02) -> Bound:
    interval = (most * (1 - spread), most * (1 + spread)) if spread is not None else (None, None)
    return Bound(
        resource=resource,
        bound=most,
        low=interval[0],
        high=interval[1],
        utilisation=throughput / most,
        capacity=capacity,
        service_demand=capacity / most,
    )


def limit(of: Bound, *together: str) -> Bottleneck:
    return Bottleneck(resource=of.resource, utilisation=of.utilisation, bound=of.bound, together=list(together))


def text(of: Bottleneck, throughput: float, *bounds: Bound, **fields: object) -> str:
    result = {"bottleneck": of, "throughput": throughput, "bounds": list(bounds), "next": None, **fields}
    return bottlenecks.sentence(recorded.changed(RUN, virtual=result), "virtual")


THREADS = bound("tomcat-threads", 200, 200, 199.5)
CPU = bound("cpu", 2900, 1, 199.5)


def test_a_bound_stands_beside_the_measurement_with_its_interval() -> None:
    assert text(limit(THREADS), 199.5, THREADS) == (
        "limited by its 200 Tomcat threads, which can serve about 200/s (196–204)."
    )
    above = bound("load", 977.5, 1000, 986.8)
    assert text(limit(above), 986.8, above) == "limited by the load (1,000 users), at most about 977.5/s (957.9–997.1)."


def test_a_bound_of_a_single_value_has_no_figure() -> None:
    """Nobody knows how far it is off."""
    load, pool = bound("load", 977.5, 1000, 986.8, None), bound("db-pool", 900, 10, 880, None)
    assert text(limit(load), 986.8, load) == "limited by the load (1,000 users)."
    assert text(limit(pool), 880, pool) == "limited by its 10 database connections."


@pytest.mark.parametrize("together", [(), ("load",)])
def test_a_bottleneck_is_not_called_refuted(together: tuple[str, ...]) -> None:
    """Where waits are random, the measurement may exceed the bottleneck's bound; another bound would be refuted."""
    over, other = bound("tomcat-threads", 180, 200, 200), bound("cpu", 170, 1, 200)
    fields = {"bottleneck": limit(over, *together), "bounds": [over, other], "next": None}
    result = recorded.changed(RUN, virtual=fields).verdict.variants["virtual"]
    roles = [resource_use.role(result, each) for each in result.bounds]
    assert roles == ["together" if together else "bottleneck", "refuted"]


def test_arrivals_are_the_load_itself_and_no_bound_beside_it() -> None:
    assert bottlenecks.sentence(OPEN, "virtual") == "limited by the load (150 arrivals per second)."
    assert bottlenecks.line(OPEN, "virtual") == "virtual: 150/s, limited by the load (150 arrivals per second)."


def test_what_would_be_next_needs_an_interval() -> None:
    next_one = limit(CPU)
    assert text(limit(THREADS), 199.5, THREADS, CPU, next=next_one).endswith(
        "; of what is metered, the next limit is the CPU at about 2,900/s (2,842–2,958)."
    )
    gauge = CPU.model_copy(update={"low": None, "high": None})
    assert "next" not in text(limit(THREADS), 199.5, THREADS, gauge, next=next_one)
    users = bound("load", 400, 20, 199.5)
    assert text(limit(THREADS), 199.5, THREADS, users, next=limit(users)).endswith(
        "; of what is metered, the next limit is 20 users at about 400/s (392–408)."
    )


def test_the_modelled_throughput_stands_beside_a_measurement_below_its_bound() -> None:
    knee = bound("cpu", 312, 1, 290)
    assert text(limit(knee), 290, knee, modelled=285.0) == (
        "limited by the CPU (1 core), which can serve about 312/s (305.8–318.2); the model expects 285/s."
    )
    assert "model" not in text(limit(THREADS), 199.5, THREADS, modelled=199.9), "it says no more than the bound"


def test_two_that_share_the_blame_are_named_together() -> None:
    cpu, load = bound("cpu", 312, 1, 258), bound("load", 300, 7, 258)
    together = "limited by the load (7 users) and the CPU (1 core) together; the model expects 262/s"
    assert text(limit(load, "cpu"), 258, load, cpu, modelled=262.0) == (
        f"{together}; alone they would allow: the load about 300/s (294–306) and the CPU about 312/s (305.8–318.2)."
    )
    single = bound("load", 300, 7, 258, None)
    assert text(limit(single, "cpu"), 258, single, cpu, modelled=262.0) == f"{together}."


def test_unknown_says_what_the_model_and_the_nearest_bound_are() -> None:
    assert text(UNKNOWN, 50.0, CPU, next=limit(CPU), modelled=180.0) == (
        "limit unknown: nothing measured explains this throughput; the model expects 180/s;"
        " the nearest known limit is the CPU at about 2,900/s (2,842–2,958)."
    )
    assert text(UNKNOWN, 50.0, modelled=None) == "limit unknown: nothing measured explains this throughput."


def inside(activity: Activity | None = None, place: str | None = None, loaded: float = 0.48) -> Bottleneck:
    slow = Inside(pool="db-pool", alone=0.035, loaded=loaded, activity=activity, place=place)
    return Bottleneck(resource=activity or "unknown", utilisation=None, bound=None, inside=slow)


POOL = bound("db-pool", 285, 10, 20.8)


def test_a_pool_that_is_full_of_slow_holders_is_not_to_be_enlarged() -> None:
    ends_at_the_pool = (
        "all 10 database connections are in use, but a connection is held for 480 ms under load and for 35.0 ms alone:"
        " a larger pool does not help"
    )
    assert text(inside(), 20.8, POOL) == f"{ends_at_the_pool}."
    assert text(inside("database"), 20.8, POOL) == f"{ends_at_the_pool}; held by the database."
    lock = text(inside("lock", "Semaphore at OrderService:42"), 20.8, POOL)
    assert lock == f"{ends_at_the_pool}; held by a lock, Semaphore at OrderService:42."
    assert text(inside(loaded=0.44), 20.8, POOL).startswith("9.2 of 10 database connections are in use")
    assert text(inside(), 20.8).startswith("all database connections are in use")


@pytest.mark.parametrize(("loaded", "shown"), [(0.0455, "45.5 ms"), (0.0699, "69.9 ms")])
def test_a_pool_whose_holders_are_a_little_slower_may_be_enlarged(loaded: float, shown: str) -> None:
    slower = f"held for {shown} under load and for 35.0 ms alone: what a request does with it has become slower"
    assert text(inside(loaded=loaded), 142, POOL).endswith(f"{slower}.")
    assert text(inside("database", loaded=loaded), 142, POOL).endswith(f"{slower}; held by the database.")
    twice = text(inside(loaded=0.07), 142, POOL)
    assert twice.endswith("70.0 ms under load and for 35.0 ms alone: a larger pool does not help.")


def test_a_pool_of_one() -> None:
    single = bound("db-pool", 28.5, 1, 2.08)
    assert text(inside(), 2.08, single).startswith("its only database connection is in use, but a connection")
    assert text(inside(loaded=0.2), 2.08, single).startswith("0.4 of 1 database connection is in use, but")


def test_the_load_of_one_user_is_of_one_user() -> None:
    single = bound("load", 10, 1, 9.9)
    assert text(limit(single), 9.9, single).startswith("limited by the load (1 user), at most")


def test_ends_of_an_interval_that_print_alike_are_left_out() -> None:
    exact = bound("tomcat-threads", 199.9, 200, 199.5, 1e-8)
    assert text(limit(exact), 199.5, exact) == "limited by its 200 Tomcat threads, which can serve about 199.9/s."


@pytest.mark.parametrize("activity", get_args(Activity))
def test_each_activity_has_words(activity: Activity) -> None:
    assert "; held by " in text(inside(activity), 20.8, POOL)


@pytest.mark.parametrize(
    ("resource", "words"),
    [
        ("database", "the database"),
        ("downstream", "the service downstream"),
        ("Semaphore at OrderService:42", "Semaphore at OrderService:42"),
    ],
)
def test_a_place_is_named_by_its_evidence(resource: str, words: str) -> None:
    place = Bottleneck(resource=resource, utilisation=None, bound=None)
    assert text(place, 20.0) == f"limited by {words}, as thread dumps show."


def test_an_executor_without_meters_is_named_with_its_line() -> None:
    place = Bottleneck(resource="executor", utilisation=None, bound=None, place="FutureTask at OrderService:42")
    assert text(place, 20.0) == (
        "limited by its executor threads, as thread dumps show: requests wait at FutureTask at OrderService:42."
    )


def test_a_cpu_that_collects_says_so() -> None:
    run = recorded.run(blocks=2)
    for trial in (t for b in run.blocks for t in b.trials if t.variant == "virtual"):
        trial.server["gc_share"] = 0.23
    cpu = {"bottleneck": limit(CPU), "bounds": [CPU], "next": None, "throughput": 2900.0, "modelled": None}
    assert bottlenecks.sentence(recorded.changed(recorded.analysed(run), virtual=cpu), "virtual") == (
        "limited by the CPU (1 core), which can serve about 2,900/s (2,842–2,958);"
        " garbage collection pauses it for 23.0 % of the time."
    )


def test_memory_says_how_long_the_collector_pauses_it() -> None:
    run = recorded.run(blocks=2)
    trials = [t for b in run.blocks for t in b.trials if t.variant == "virtual"]
    short = Bottleneck(resource="memory", utilisation=None, bound=None)
    memory = {"bottleneck": short, "next": None}
    full = recorded.changed(recorded.analysed(run), virtual={**memory, "throughput": 120.0})
    shared = short.model_copy(update={"together": ["load"]})
    both = recorded.changed(full, virtual={"bottleneck": shared})
    assert bottlenecks.sentence(both, "virtual").startswith("limited by memory and the load (20 users) together")
    for trial in trials:
        trial.server["gc_share"] = 0.23
    assert bottlenecks.sentence(
        recorded.changed(recorded.analysed(run), virtual={**memory, "throughput": 120.0}), "virtual"
    ) == ("limited by memory (heap 384m): garbage collection pauses it for 23.0 % of the time.")


def test_an_overloaded_variant_says_so() -> None:
    assert text(limit(THREADS), 199.5, THREADS, growth=95.2).startswith(
        "overloaded; limited by its 200 Tomcat threads, "
    )


def test_a_variant_that_never_answered_says_how_it_failed() -> None:
    failed = {"failures": [Failure(variant="virtual", reason="out of heap memory", moment="trial 1")] * 2}
    assert text(UNKNOWN, 0.0, failed_blocks=3, **failed) == (
        "failed in 3 of 3 blocks: out of heap memory (trial 1, trial 1)."
    )
    assert text(UNKNOWN, 0.0) == "no block counts, so its limit is unknown."


@pytest.mark.parametrize("resource", RESOURCES)
def test_nothing_is_used_to_more_than_100_percent(resource: str) -> None:
    over = bound(resource, 100, 10, 108)
    a = recorded.changed(RUN, virtual={"bottleneck": limit(over), "throughput": 108.0, "bounds": [over], "next": None})
    row = next(row for row in resource_use.bound_table(a).rows if row[0] == "virtual")
    assert row[7:] == ["at its limit", "bottleneck"]
    picture = next(panel.chart for panel in resource_use.bound_panels(a) if panel.title == "virtual")
    shown = " ".join([bottlenecks.sentence(a, "virtual"), *row, picture])
    assert "108/s, of at most 100/s" in picture
    assert [share for share in re.findall(r"(\d+(?:\.\d)?) %", shown) if float(share) > 100] == []


def test_a_bound_that_the_measurement_disproves_has_no_share() -> None:
    wrong = bound("cpu", 100, 1, 150)
    a = recorded.changed(RUN, virtual={"bounds": [wrong], "throughput": 150.0, "next": None})
    row = next(row for row in resource_use.bound_table(a).rows if row[0] == "virtual")
    assert row[7:] == ["–", "refuted"]
    assert "150/s, far above 100/s" in next(p.chart for p in resource_use.bound_panels(a) if p.title == "virtual")


def test_the_table_marks_those_that_limit_together_and_a_pool_that_is_full() -> None:
    cpu, load = bound("cpu", 312, 1, 258), bound("load", 300, 7, 258)
    shared = recorded.changed(RUN, virtual={"bottleneck": limit(load, "cpu"), "bounds": [load, cpu], "next": None})
    roles = [row[8] for row in resource_use.bound_table(shared).rows if row[0] == "virtual"]
    assert roles == ["together", "together"]
    assert bottlenecks.resource_names(limit(load, "cpu")) == "load and cpu"
    full = recorded.changed(RUN, virtual={"bottleneck": inside("database"), "bounds": [POOL], "next": None})
    (row,) = [row for row in resource_use.bound_table(full).rows if row[0] == "virtual"]
    assert row[8] == "full, but slow inside"


def test_carriers_that_keep_threads_waiting_are_said_with_how_many_wait() -> None:
    starved = Bottleneck(resource="carriers", utilisation=None, bound=None)
    queued = {"virtual_queued": 1.44}
    blocks = [
        b.model_copy(update={"trials": [t.model_copy(update={"server": {**t.server, **queued}}) for t in b.trials]})
        for b in RUN.accepted
    ]
    analysis = recorded.changed(
        replace(RUN, accepted=blocks), virtual={"bottleneck": starved, "throughput": 35.1, "bounds": [], "next": None}
    )
    assert bottlenecks.sentence(analysis, "virtual") == (
        "limited by carriers: 1.44 virtual threads at a time are ready and wait for one."
    )

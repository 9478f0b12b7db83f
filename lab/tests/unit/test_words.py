"""The verdict in words: label, headline and the sentences below."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.support import recorded
from vtlab.analysis import verdict
from vtlab.model.records import NO_STEADY_STATE, Failure
from vtlab.model.run import Analysis
from vtlab.model.verdict import Bottleneck, Bound
from vtlab.report.pages import html
from vtlab.report.words import block_counts, bottlenecks, figures, hints, phrases
from vtlab.report.words.headline import headline, label


@pytest.mark.parametrize(
    ("ratio", "low", "high", "text"),
    [
        (4.98, 4.77, 5.21, "4.98× (4.77–5.21)"),
        (120.4, 119.0, 121.9, "120× (119–122)"),
        (1.5, 1.2, 1.9, "1.50× (1.20–1.90)"),
        (1.02, 0.2, 5.1, "1.02× (0.200–5.10)"),
        (5.0, 4.9982, 5.0031, "5.00× (4.998–5.003)"),
        (0.991, 0.979, 1.003, "−0.9 % (−2.1 to +0.3)"),
        (1.494, 1.45, 1.54, "+49 % (+45 to +54)"),
        (0.2, 0.19, 0.21, "−80.0 % (−81.0 to −79.0)"),
        (0.1, 0.08, 0.12, "−90 % (−92 to −88)"),
        (1.0, 0.9996, 1.0004, "0.00 % (−0.04 to +0.04)"),
        (0.97, None, None, "−3.0 %"),
        (0.004, None, None, "−99.6 %"),
        (2.31, None, None, "2.31×"),
    ],
)
def test_a_change_has_one_notation(ratio: float, low: float | None, high: float | None, text: str) -> None:
    assert figures.change(ratio, low, high) == text


RUN = recorded.analysed(recorded.run(blocks=3))
OPEN = recorded.analysed(recorded.under_open_load(recorded.run(blocks=3)))
LOAD = Bottleneck(resource="load", utilisation=1.0, bound=1000.0)
THREADS = Bottleneck(resource="tomcat-threads", utilisation=1.0, bound=200.0)
OUT_OF_MEMORY = [Failure(variant="virtual", reason="out of heap memory", moment=f"trial {n}") for n in (1, 2, 1)]


def bound(resource: str, most: float, spread: float | None = 0.02, **fields: float) -> Bound:
    """Returns a bound with an interval of that share to either side."""
    interval = (most * (1 - spread), most * (1 + spread)) if spread is not None else (None, None)
    values = {"utilisation": 0.25, "capacity": 200.0, "service_demand": 1.0, **fields}
    return Bound.model_validate(
        {"resource": resource, "bound": most, "low": interval[0], "high": interval[1], **values}
    )


def test_a_clear_verdict() -> None:
    a = recorded.analysed(recorded.run())
    a = recorded.changed(a, {"ratio": 4.96, "low": 4.872, "high": 5.049})
    assert label(a) == "▲ faster"
    clear = "Virtual threads: throughput 4.96× (4.87–5.05)"
    assert headline(recorded.changed(a, {"is_lower_bound": False})) == clear
    assert hints.quick_look(a) is block_counts.why_invalid(a) is None


def test_an_interval_has_the_digits_that_its_ends_need_to_differ() -> None:
    assert figures.interval(199.91, 199.94, figures.rate) == "199.91/s to 199.94/s"
    assert figures.interval(0.985, 1.02) == "0.985× to 1.020×"
    assert figures.interval(1.0, None) == figures.DASH
    assert figures.ends(199.91, 199.94, figures.rate) == " (199.91–199.94)"
    assert figures.ends(1.0, None) == figures.ends(1.0, 1.0) == ""


def test_a_lower_bound_says_that_the_load_ran_out_or_overloaded_a_variant() -> None:
    five = {"ratio": 5.0, "low": 4.9, "high": 5.1, "is_lower_bound": True, "verdict": "faster"}
    ran_out = "Virtual threads: throughput 5.00× (4.90–5.10); the 20 users ran out first"
    assert headline(recorded.changed(RUN, five)) == ran_out
    fifth = {"ratio": 0.2, "low": 0.18, "high": 0.22, "is_lower_bound": True, "verdict": "slower"}
    assert headline(recorded.changed(RUN, fifth)) == (
        "Virtual threads: throughput −80 % (−82 to −78); the 20 users ran out first"
    )
    arrivals = recorded.changed(OPEN, {**five, "overloaded": []})
    assert headline(arrivals).endswith("; the arrivals ran out first")
    overloaded = {**fifth, "verdict": "faster", "overloaded": ["platform"]}
    assert headline(recorded.changed(OPEN, overloaded)) == (
        "Virtual threads: p99 latency −80 % (−82 to −78); at least that much, because platform threads are overloaded"
        " in some trials"
    )


def same(platform: list[Bound], virtual: list[Bound], **platform_fields: object) -> Analysis:
    fields = {"bottleneck": LOAD, "cpu_per_request": 0.0002, "throughput": 50.0}
    return recorded.changed(
        recorded.analysed(recorded.run(experiment=recorded.experiment(load={"full": {"users": 50}}), blocks=3)),
        {"ratio": 1.001, "low": 0.99, "high": 1.01, "verdict": "equivalent"},
        platform={**fields, "bounds": platform, **platform_fields},
        virtual={**fields, "bounds": virtual},
    )


USERS = bound("load", 50, utilisation=1.0, capacity=50.0)


def test_two_that_the_load_limits_are_the_same_at_this_load() -> None:
    """200 threads of 1 s are busy at 200 users, by N = X·(R+Z)."""
    cpu = bound("cpu", 3000, utilisation=0.02, capacity=1.0, service_demand=0.0003)
    both = same([bound("tomcat-threads", 199.9), USERS], [cpu, USERS])
    text = (
        "the load limits both; neither is near another limit: platform's Tomcat threads would limit it from about 200"
    )
    assert headline(both) == f"Virtual threads: throughput +0.1 % (−1.0 to +1.0); {text} users"
    thinking = USERS.model_copy(update={"service_demand": 3.0})
    assert "from about 600 users" in headline(same([bound("tomcat-threads", 199.9), thinking], [cpu, USERS]))


def test_a_demand_that_is_known_to_20_percent_says_from_how_many_users_on() -> None:
    cpu = bound("cpu", 3000, utilisation=0.02, capacity=1.0).model_copy(update={"low": 2500.0, "high": 3750.0})
    assert "CPU would limit it from about 3000 users" in headline(same([cpu, USERS], [USERS])).replace(",", "")


@pytest.mark.parametrize("threads", [bound("tomcat-threads", 200, 0.26), bound("tomcat-threads", 200, None)])
def test_a_bound_that_is_not_known_to_a_quarter_says_no_number_of_users(threads: Bound) -> None:
    assert headline(same([threads, USERS], [USERS])).endswith("; the load limits both; neither is near another limit")
    loose = USERS.model_copy(update={"low": 35.0, "high": 65.0})
    assert headline(same([bound("tomcat-threads", 200), loose], [USERS])).endswith("neither is near another limit")


def test_one_that_is_near_a_limit_of_its_own_is_not_said_to_be_far_from_it() -> None:
    near = bound("tomcat-threads", 60, utilisation=0.83)
    close = "; the load limits both, but at least one is close to another limit"
    assert headline(same([near, USERS], [USERS])).endswith(close)
    busy = same([bound("tomcat-threads", 200), USERS], [USERS], cpu_per_request=0.017)
    assert headline(busy).endswith(close), "the CPU counts where it has no bound, too"
    unknown = same([bound("tomcat-threads", 200), USERS], [USERS], cpu_per_request=None)
    assert headline(unknown).endswith("; the load limits both")


def test_equivalent_where_something_else_limits_one() -> None:
    cpu = recorded.analysed(recorded.run("pool"))
    assert label(cpu) == "= equivalent"
    assert headline(cpu) == "Virtual threads: throughput −0.9 % (−1.1 to −0.7)"


def test_inconclusive_gives_the_interval() -> None:
    a = recorded.changed(
        RUN, {"ratio": 1.02, "low": 0.822, "high": 1.269, "verdict": "inconclusive", "blocks_needed": 12}
    )
    assert label(a) == "? inconclusive"
    assert headline(a) == "Virtual threads: throughput +2 % (−18 to +27)"


def test_nothing_says_perhaps() -> None:
    for noise in (0.02, 0.05, 0.15):
        a = recorded.analysed(recorded.with_ratio(recorded.run(), 1.1, noise))
        assert "perhaps" not in headline(a)


def test_one_block_gives_no_verdict() -> None:
    single = recorded.analysed(recorded.run(blocks=1))
    assert headline(single) == "Virtual threads: throughput 2.00× in a single block"


def test_an_invalid_run_says_so() -> None:
    a = recorded.analysed(recorded.run(blocks=0, planned=3))
    assert headline(a) == "Virtual threads: no comparison"
    assert hints.quick_look(a) == "Quick look: 0 blocks instead of the 6 of a full run."
    assert block_counts.why_invalid(a) == "Not valid: 0 of 3 planned blocks count. Do not base a decision on this run."
    short = recorded.analysed(recorded.run(blocks=2, planned=4, rejected={1: "steal"}))
    assert headline(short).endswith(", with blocks missing")


def overloaded(*names: str, **fields: object) -> Analysis:
    growths = {name: {"growth": {"platform": 95.2, "virtual": 20.0}[name], "throughput": 55.0} for name in names}
    none = {"ratio": None, "low": None, "high": None, "log_ratios": [], "overloaded": list(names), **fields}
    return recorded.changed(OPEN, none, **growths)


def test_an_overload_says_how_fast_it_grows_and_no_latency() -> None:
    a = overloaded("platform", verdict="faster")
    assert label(a) == "▲ faster (overloaded)"
    assert headline(a) == "Platform threads are overloaded: the queue grows by 95 requests per second"
    slower = overloaded("virtual", verdict="slower")
    assert label(slower) == "▼ slower (overloaded)"
    assert headline(slower).startswith("Virtual threads are overloaded: ")
    both = overloaded("platform", "virtual", verdict="inconclusive")
    assert headline(both) == (
        "Neither keeps up with the arrivals: platform is overloaded: the queue grows by 95 requests per second;"
        " virtual is overloaded: the queue grows by 20 requests per second"
    )


def failing(blocks: int, reasons: list[Failure] = OUT_OF_MEMORY, **comparison: object) -> Analysis:
    none = {"ratio": None, "low": None, "high": None, "log_ratios": []}
    return recorded.changed(
        RUN,
        {**none, "verdict": "fails", "fails": ["virtual"], **comparison},
        virtual={
            "throughput": 0.0,
            "failed_blocks": blocks,
            "failed_interval": (0.292, 1.0),
            "failures": reasons,
        },
        platform={"throughput": 180.0, "failed_interval": (0.0, 0.708)},
    )


def test_a_variant_that_fails_is_the_verdict() -> None:
    a = failing(3)
    assert label(a) == "✗ fails"
    assert headline(a) == (
        "virtual fails under this load: out of heap memory in 3 of 3 blocks (29–100 % of starts);"
        " platform, 0 of 3, serves 180/s"
    )


def test_one_block_is_counted_as_one() -> None:
    (one,) = verdict.analyse_all([recorded.run(blocks=1, failing={1: "oom"})])
    assert headline(one).startswith("No verdict, because a variant failed in the only block: virtual in 1 of 1 (")
    not_steady = [Failure(variant="virtual", reason=f"{NO_STEADY_STATE}: a gain of 9 %", moment="the warm-up")]
    cold = recorded.changed(one, virtual={"failures": not_steady})
    assert headline(cold).startswith("No verdict, because a variant was not warm in the only block: virtual in 1 of ")
    gone = recorded.changed(one, virtual={"throughput": 0.0})
    assert bottlenecks.sentence(gone, "virtual").startswith("failed in the only block: ")
    assert "<span>in the only block</span>" in html.render([gone])
    rejected = recorded.analysed(recorded.run(blocks=1, planned=1))
    none = replace(rejected, verdict=rejected.verdict.model_copy(update={"n": 0, "valid": False}))
    assert "0 of 1 planned block counts" in str(block_counts.why_invalid(none))


def test_several_reasons_stand_behind_the_count() -> None:
    reasons = [
        Failure(variant="virtual", reason=reason, moment="trial 1")
        for reason in ("out of heap memory", "12.5 % of the answers were errors", "restarted", "no steady state")
    ]
    assert headline(failing(3, reasons)) == (
        "virtual fails under this load in 3 of 3 blocks (29–100 % of starts): out of heap memory, 12.5 % of the"
        " answers were errors, restarted and 1 more; platform, 0 of 3, serves 180/s"
    )


def test_both_may_fail() -> None:
    slow = [Failure(variant="platform", reason="no steady state", moment="warm-up cycle 12")]
    both = recorded.changed(
        failing(3, fails=["platform", "virtual"]),
        {"fails": ["platform", "virtual"]},
        platform={"failed_blocks": 2, "failed_interval": (0.094, 0.992), "failures": slow, "throughput": 0.0},
    )
    assert headline(both) == (
        "both fail under this load: virtual, out of heap memory in 3 of 3 blocks (29–100 % of starts);"
        " platform, no steady state in 2 of 3 blocks (9–99 % of starts)"
    )


def test_a_variant_that_is_not_warm_does_not_break() -> None:
    """It answered, so the advice is more warm-up."""
    cold = [
        Failure(variant="virtual", reason=f"no steady state after {n} warm-up cycles: …", moment="the warm-up")
        for n in (12, 14)
    ]
    a = failing(3, cold)
    assert headline(a) == (
        "virtual reaches no steady state under this load in 3 of 3 blocks (29–100 % of starts); platform, 0 of 3,"
        " serves 180/s"
    )
    both = recorded.changed(
        failing(3, cold, fails=["platform", "virtual"]),
        {"fails": ["platform", "virtual"]},
        platform={"failed_blocks": 2, "failed_interval": (0.094, 0.992), "failures": cold, "throughput": 0.0},
    )
    assert headline(both) == (
        "neither reaches a steady state under this load: virtual in 3 of 3 (29–100 % of starts) and platform in 2"
        " of 3 (9–99 % of starts)"
    )


def test_fewer_failures_are_no_verdict_with_both_counts() -> None:
    one = recorded.changed(
        failing(1, OUT_OF_MEMORY[:1]),
        {"verdict": "inconclusive", "fails": [], "ratio": 5.0, "low": 4.9, "high": 5.1, "log_ratios": [1.6, 1.61]},
        virtual={"failed_blocks": 1, "failed_interval": (0.008, 0.906), "failures": OUT_OF_MEMORY[:1]},
    )
    assert headline(one) == (
        "No verdict, because a variant failed in some blocks: virtual in 1 of 3 (1–91 % of starts),"
        " platform in 0 of 3 (0–71 % of starts)"
    )


def test_names_of_identical_variants() -> None:
    assert phrases.subject("platform-b") == "Platform threads (b)"
    assert phrases.subject("virtual") == "Virtual threads"


@pytest.mark.parametrize(
    ("value", "text"),
    [(9.236, "9.24/s"), (199.94, "199.9/s"), (200.0, "200/s"), (2950.4, "2,950/s"), (100.0, "100/s")],
)
def test_rates(value: float, text: str) -> None:
    assert figures.rate(value) == text

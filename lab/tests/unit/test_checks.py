"""Every validity check, with a case that passes and one that it rejects."""

from __future__ import annotations

from typing import Any

import pytest

from tests.support import builders
from vtlab.analysis import checks
from vtlab.model.experiment import Experiment
from vtlab.model.records import Block, Trial
from vtlab.model.run import CheckResult

BLOCKING = builders.experiment()
OPEN = builders.arrivals()


def with_trial(index: int, exp: Experiment = BLOCKING, **update: Any) -> Block:
    """A good block but for one of its trials; ``server`` and ``machine`` are merged."""
    good = builders.block(exp=exp)
    trial = good.trials[index]
    for merged in ("server", "machine"):
        if merged in update:
            update[merged] = {**getattr(trial, merged), **update[merged]}
    trials = [*good.trials]
    trials[index] = trial.model_copy(update=update)
    return good.model_copy(update={"trials": trials})


def reasons(block: Block, exp: Experiment = BLOCKING) -> str:
    return "; ".join(checks.reasons(block, exp))


@pytest.mark.parametrize("exp", [BLOCKING, OPEN, builders.cpu()], ids=lambda e: e.name)
@pytest.mark.parametrize("reverse", [False, True])
def test_a_good_block_passes(exp: Experiment, reverse: bool) -> None:
    assert checks.reasons(builders.block(exp=exp, reverse=reverse), exp) == []


@pytest.mark.parametrize(
    ("passing", "failing", "words"),
    [
        (
            {"failed": {"status-500": 5}},  # of 30,000
            {"failed": {"status-500": 300}},
            ["virtual, trial 2: 99.01 % answered OK in its window (300 status-500)", "99.9 %"],
        ),
        ({"failed_outside": 20}, {"failed_outside": 100}, ["over the whole trial", "99.9 %"]),
        (
            {},
            {"completed": 29_000, "started": 29_007},
            ["virtual, trial 2: 29,007 requests started, 29,000 completed"],
        ),
        ({}, {"ok": 0, "throughput": 0.0}, ["no OK answer in the window"]),
        (
            {"machine": {"idle_cores": 0.05}},
            {"machine": {"idle_cores": 0.02}},
            ["virtual, trial 2: 2.0 % of the cores were idle, at least 5 %", "load generator was saturated"],
        ),
        (
            {"machine": {"generator_wait": 0.0005}},
            {"machine": {"generator_wait": 0.0007}},
            ["waited 0.70 ms for a core each time, at most 0.5 ms allowed", "load generator was saturated"],
        ),
        (
            {"machine": {"generator_throttled": 0.05}},
            {"machine": {"generator_throttled": 0.4}},
            ["was throttled in 40.0 % of its periods, at most 5 %"],
        ),
        (
            # No quota on k6.
            {"machine": {"generator_throttled": None}},
            {"machine": {"idle_cores": None}},
            ["no measurement of the load generator"],
        ),
        (
            # A kernel without schedstat.
            {"machine": {"generator_wait": None}},
            {"machine": {"generator_wait": None, "generator_throttled": None}},
            ["no measurement of the load generator"],
        ),
        (
            {"server": {"in_flight_before": 0.0}},
            {"server": {"in_flight_before": 3.0}},
            ["3 requests were still in flight before it, 0 allowed"],
        ),
        ({}, {"server": {"in_flight_before": None}}, ["no measurement of the requests in flight before it"]),
        ({}, {"server": {"cpu_cores": None}}, ["Prometheus has no samples of this window"]),
        ({"late_max": 5.0}, {"variant": "platform"}, ["not in the order"]),
    ],
)
def test_checks_of_a_trial(passing: dict[str, Any], failing: dict[str, Any], words: list[str]) -> None:
    assert checks.reasons(with_trial(1, **passing), BLOCKING) == []
    bad = with_trial(1, **failing)
    for word in words:
        assert word in reasons(bad)
    results = checks.results([builders.block(), bad], BLOCKING)
    assert not all(result.passed for result in results), "the table shows it, too"


def test_a_missing_key_never_passes() -> None:
    server = {k: v for k, v in builders.trial().server.items() if k not in ("in_flight_before", "cpu_cores")}
    good = builders.block()
    bad = good.model_copy(update={"trials": [t.model_copy(update={"server": server}) for t in good.trials]})
    assert reasons(bad).count("no measurement") == 8


def test_checks_of_a_block() -> None:
    good = builders.block()
    a, b = good.instances

    def bad(**update: Any) -> str:
        return reasons(good.model_copy(update=update))

    assert "users disagreed" in bad(agreed=False)
    assert "exit code 137" in bad(faults=["platform: the JVM ended with exit code 137"])
    assert bad(faults=["Prometheus ended"], trials=[], warmup=[], instances=[]) == "Prometheus ended"
    assert "platform: the instance that started" in bad(instances=[a.model_copy(update={"alive": False}), b])
    assert "(2 OOM kills, 0 allowed)" in bad(instances=[a.model_copy(update={"oom_kills": 2}), b])
    assert "virtual: no measurement of its instance" in bad(instances=[a])
    assert "platform: 2 instances in one block" in bad(instances=[a, a, b])
    assert "not in the order platform, virtual, virtual, platform" in bad(trials=good.trials[:3])
    assert "the trials ran as none" in bad(trials=[])
    turned = [
        t.model_copy(update={"variant": v})
        for t, v in zip(good.trials, ("platform", "virtual", "platform", "virtual"), strict=True)
    ]
    assert "is not mirrored" in bad(trials=turned, order=[t.variant for t in turned])


def cycles(*values: tuple[float, float], variant: str = "platform") -> list[Trial]:
    """Warm-up cycles with that throughput and those CPU cores, 10 s each."""
    return [
        builders.trial(variant, n, phase="warmup", window=10, throughput=x, ok=round(10 * x), server={"cpu_cores": c})
        for n, (x, c) in enumerate(values, 1)
    ]


def test_steady_state_by_hand() -> None:
    # CPU-bound: the best before is 1000/s at 1 ms; then 1010 (1 %) and 1020 (2 %), D falls by as much.
    state = checks.steady_state(cycles((500, 1.0), (1000, 1.0), (1010, 1.0), (1020, 1.0)), 1.0)
    assert state.reached
    assert [g.throughput for g in state.gains] == [pytest.approx(0.01), pytest.approx(0.02)]
    assert state.gains[0].cpu == pytest.approx((1 / 1000 - 1 / 1010) * 1010)
    rising = checks.steady_state(cycles((1000, 1.0), (1040, 1.0), (1050, 1.0)), 1.0)
    assert not rising.reached
    assert rising.gains[1].most == pytest.approx(0.05)


def test_scatter_around_the_level_is_no_warming_up() -> None:
    assert checks.steady_state(cycles((700, 1.0), (1030, 1.0), (960, 1.0), (1040, 1.0)), 1.0).reached
    assert not checks.steady_state(cycles((700, 1.0), (960, 1.0), (1030, 1.0), (1000, 1.0)), 1.0).reached


def test_cpu_that_is_not_scarce_may_wobble() -> None:
    # 0.30 cores fall by a third, which is 10 % of the one core, and no request waits for it ...
    waiting = cycles((200, 0.30), (200, 0.20), (200, 0.20))
    assert checks.steady_state(waiting, 1.0).reached
    assert checks.steady_state(waiting, 1.0).worst == 0, "the CPU was not judged, so it is not shown as if"
    # ... but everybody does when it is nearly all that there is.
    assert not checks.steady_state(waiting, 0.24).reached


def test_a_cpu_that_still_falls_is_no_steady_state_though_throughput_is() -> None:
    assert not checks.steady_state(cycles((200, 0.96), (200, 0.80), (200, 0.67)), 1.0).reached


def test_too_few_or_unmeasured_cycles_are_no_steady_state() -> None:
    assert not checks.steady_state(cycles((200, 0.1), (200, 0.1)), 1.0).reached
    assert not checks.steady_state([], 1.0).reached
    flat = cycles((200, 0.1), (200, 0.1), (200, 0.1))
    blind = [flat[0], flat[1].model_copy(update={"server": {}}), flat[2]]
    assert not checks.steady_state(blind, 1.0).reached
    # A first cycle that could not be scraped is no better than the others; what is left is judged.
    late = cycles((100, 0.9), (1000, 0.9), (1000, 0.9), (1000, 0.9))
    late[0] = late[0].model_copy(update={"server": {}})
    assert checks.steady_state(late, 1.0).reached
    late[2] = cycles((1000, 0.85))[0]
    assert not checks.steady_state(late, 1.0).reached, "5.6 % less CPU per request, and the CPU is scarce"
    assert not checks.steady_state([late[0], *late[2:]], 1.0).reached
    assert not checks.steady_state(cycles((0, 0.1), (0, 0.1), (0, 0.1)), 1.0).reached


def test_the_checks_of_the_warm_up() -> None:
    good = builders.block()
    virtual = [t for t in good.warmup if t.variant == "virtual"]

    def bad(platform: list[Trial], **update: Any) -> str:
        return reasons(good.model_copy(update={"warmup": platform + virtual, **update}))

    assert bad(cycles((200, 0.06), (201, 0.06), (200, 0.06))) == ""
    rising = cycles((200, 0.06), (220, 0.06), (230, 0.06))
    assert "platform: no steady state after 3 warm-up cycles" in bad(rising)
    assert "10.0 %" in bad(rising)
    assert "less than 3 % allowed" in bad(rising)
    assert "platform: 2 warm-up cycles, at least 3 needed" in bad(cycles((200, 0.06), (200, 0.06)))
    assert "unequal numbers of warm-up cycles: platform 4, virtual 3" in bad(cycles(*[(200, 0.06)] * 4))
    blind = [t.model_copy(update={"server": {}}) for t in cycles(*[(200, 0.06)] * 3)]
    assert "no measurement" in bad(blind)
    # The runner gives up before the trials: the reason is the warm-up, not the trials that are missing.
    assert "trials" not in bad(rising, trials=[])


def test_answers_that_fail_from_the_start_are_named_though_no_trial_ran() -> None:
    good = builders.block()
    failing = [t.model_copy(update={"ok": 0, "throughput": 0.0, "failed": {"status-400": 900}}) for t in good.warmup]
    assert "900 status-400" in reasons(good.model_copy(update={"warmup": failing, "trials": []}))


# Open load


def overload(**update: Any) -> Block:
    return with_trial(1, OPEN, **{"dropped": 500, "ok": 4000, "failed": {"timeout": 30}, **update})


def test_dropped_arrivals_with_a_healthy_generator_are_a_finding() -> None:
    block = overload()
    assert checks.reasons(block, OPEN) == []
    assert [checks.overloaded(t, OPEN) for t in block.trials] == [False, True, False, False]
    assert checks.dropped_share(block.trials[1]) == 500 / (500 + block.trials[1].started)
    few = with_trial(1, OPEN, dropped=2)
    assert not checks.overloaded(few.trials[1], OPEN)
    assert checks.reasons(few, OPEN) == []


def test_dropped_arrivals_with_a_saturated_generator_reject() -> None:
    block = overload(machine={"idle_cores": 0.01})
    assert not checks.overloaded(block.trials[1], OPEN)
    assert "load generator was saturated" in reasons(block, OPEN)
    assert not checks.overloaded(overload(machine={"idle_cores": None, "generator_throttled": None}).trials[1], OPEN)


def test_overload_excuses_timeouts_only() -> None:
    assert "99.2" in reasons(overload(failed={"status-503": 30}), OPEN)
    assert "30 timeout" in reasons(overload(dropped=0), OPEN)
    assert "lower the rate" in reasons(overload(dropped=0), OPEN)
    assert not checks.overloaded(with_trial(1, dropped=500).trials[1], BLOCKING), "closed load drops nothing"


def test_a_late_generator_spoils_open_load() -> None:
    # 1 % of the window of 30 s
    assert checks.reasons(with_trial(1, OPEN, late_max=0.3), OPEN) == []
    assert "stalled for 0.4 s, at most 0.3 s allowed" in reasons(with_trial(1, OPEN, late_max=0.4), OPEN)
    assert not any(r.name == "generator on time" for r in checks.results([builders.block()], BLOCKING))


def test_a_p99_needs_a_thousand_answers() -> None:
    short = with_trial(1, OPEN, ok=800, latency=builders.latency(800, 1.0))
    assert "800 OK answers are too few for a p99, 1,000 needed" in reasons(short, OPEN)


def test_the_results_name_limit_worst_and_place() -> None:
    blocks = [builders.block(1), with_trial(1, machine={"idle_cores": 0.07})]
    results = {r.name: r for r in checks.results(blocks, BLOCKING)}
    assert results["idle cores"] == CheckResult("idle cores", ">= 5 %", "7.0 % (block 1, virtual, trial 2)", True)
    assert all(r.passed for r in results.values())
    assert checks.results([], BLOCKING) == []

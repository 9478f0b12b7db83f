"""Every validity check, with a case that passes and one that it rejects, or that fails the variant."""

from __future__ import annotations

from typing import Any

import pytest

from tests.support import builders
from vtlab.analysis import checks
from vtlab.model.experiment import Experiment
from vtlab.model.records import Block, Counts, InFlight, Trial
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
            {},
            {"completed": 29_000, "started": 29_007},
            ["virtual, trial 2: 29,007 requests started, 29,000 completed"],
        ),
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
            {"machine": {"steal": 0.01}},
            {"machine": {"steal": 0.02}},
            ["virtual, trial 2: the hypervisor gave 2.0 % of the cores' time to others, at most 1 % allowed"],
        ),
        (
            {"server": {"core_wait": 0.01}},
            {"server": {"core_wait": 0.07}},
            ["stood ready without a core for 7.0 % of the window, at most 1 % allowed"],
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


@pytest.mark.parametrize(
    ("cores", "used", "passed"), [(0.05, 0.97, [True]), (0.06, 0.81, [False]), (0.31, 0.79, []), (None, 0.97, [])]
)
def test_a_compiler_that_takes_the_cpu_from_requests_is_shown_and_rejects_nothing(
    cores: float | None, used: float, passed: list[bool]
) -> None:
    block = with_trial(1, server={"jit_cpu": cores, "cpu_cores": used})
    trials = [t.model_copy(update={"server": t.server | {"jit_cpu": None}}) for t in block.trials]
    block = block.model_copy(update={"trials": [block.trials[1], *trials[:1], *trials[2:]]})
    assert [r.passed for r in checks.results([block], BLOCKING) if r.name == "JIT compiler"] == passed
    assert "JIT" not in reasons(block)


def test_a_missing_key_never_passes() -> None:
    server = {k: v for k, v in builders.trial().server.items() if k not in ("in_flight_before", "cpu_cores")}
    good = builders.block()
    bad = good.model_copy(update={"trials": [t.model_copy(update={"server": server}) for t in good.trials]})
    assert reasons(bad).count("no measurement") == 8


def test_what_was_not_measured_in_a_cluster_or_in_older_results_is_not_judged() -> None:
    names = {result.name for result in checks.results([builders.block()], BLOCKING)}
    assert not names & {"steal", "server's wait for a core", "JIT compiler"}
    none = with_trial(1, server={"core_wait": None, "jit_cpu": None}, machine={"steal": None})
    assert checks.reasons(none, BLOCKING) == []


def test_checks_of_a_block() -> None:
    good = builders.block()
    a, b = good.instances

    def bad(**update: Any) -> str:
        return reasons(good.model_copy(update=update))

    assert "users disagreed" in bad(agreed=False)
    assert "exit code 137" in bad(faults=["k6 ended with exit code 137"])
    assert bad(faults=["Prometheus ended"], trials=[], warmup=[], instances=[]) == "Prometheus ended"
    assert "virtual: no measurement of its instance" in bad(instances=[a])
    assert "not in the order platform, virtual, virtual, platform" in bad(trials=good.trials[:3])
    assert "the trials ran as none" in bad(trials=[])
    turned = [
        t.model_copy(update={"variant": v})
        for t, v in zip(good.trials, ("platform", "virtual", "platform", "virtual"), strict=True)
    ]
    assert "is not mirrored" in bad(trials=turned, order=[t.variant for t in turned])
    assert b.alive


# Warmth from trial to trial


def with_rates(*rates: float, exp: Experiment = BLOCKING) -> Block:
    """A block whose trials have those throughputs, in the order platform, virtual, virtual, platform."""
    good = builders.block(exp=exp)
    trials = [
        t.model_copy(update={"throughput": x, "ok": round(30 * x)}) for t, x in zip(good.trials, rates, strict=True)
    ]
    return good.model_copy(update={"trials": trials})


def with_four(rates: dict[str, list[float]], order: str) -> list[str]:
    """Why a block of four trials of each variant does not count; ``order``: p and v."""
    exp = builders.experiment(windows={**BLOCKING.windows.model_dump(), "trials": 4})
    names = {"p": "platform", "v": "virtual"}
    left = {name: iter(values) for name, values in rates.items()}
    trials = []
    for position, letter in enumerate(order, 1):
        rate = next(left[names[letter]])
        trial = builders.trial(names[letter], position, exp=exp, begin=builders.EPOCH + 100_000 * position)
        trials.append(trial.model_copy(update={"throughput": rate, "ok": round(30 * rate)}))
    turns = [t.variant for t in trials]
    return checks.reasons(builders.block(exp=exp).model_copy(update={"trials": trials, "order": turns}), exp)


def test_four_trials_of_each_variant_are_mirrored_twice_and_their_halves_are_compared() -> None:
    level = {"platform": [200.0] * 4, "virtual": [1000.0] * 4}
    assert with_four(level, "pvvpvppv") == []
    assert with_four(level, "vppvpvvp") == []
    assert "is not mirrored with four trials of each variant" in with_four(level, "pvvppvvp")[0]
    # One trial may be off by much; the mean of two may not.
    assert with_four(level | {"virtual": [1000.0, 1000.0, 1000.0, 1120.0]}, "pvvpvppv") == []
    (rising,) = with_four(level | {"virtual": [1000.0, 1000.0, 1120.0, 1120.0]}, "pvvpvppv")
    assert rising.startswith("virtual: throughput rose by 12.0 % from its first to its last 2 trials")


def test_a_variant_that_becomes_faster_from_trial_to_trial_is_not_warm() -> None:
    assert reasons(with_rates(200, 1000, 1080, 210)) == "", "as much as the trials of a CPU-bound service differ"
    rising = reasons(with_rates(200, 1000, 1130, 200))
    assert rising.startswith("virtual: throughput rose by 13.0 % from its first to its last trial, at most 10 %")
    assert reasons(with_rates(200, 1130, 1000, 200)) == "", "a fall is no warming up"
    # 8 and 10 answers: a quarter more, of which counting allows 22 %.
    assert reasons(with_rates(8 / 30, 1000, 1000, 10 / 30)) == ""
    assert "rose by 50.0 %" in reasons(with_rates(8 / 30, 1000, 1000, 12 / 30))
    assert reasons(with_rates(100, 100, 150, 150, exp=OPEN), OPEN) == "", "that of the arrivals"


# Failing is a result


def failures(block: Block, exp: Experiment = BLOCKING) -> list[tuple[str, str, str]]:
    """Of a block that counts."""
    assert checks.reasons(block, exp) == []
    return [(f.variant, f.reason, f.moment) for f in checks.failures(block, exp)]


def test_errors_beyond_those_that_are_allowed_fail_the_variant() -> None:
    assert failures(with_trial(1, failed={"status-500": 5})) == []  # of 30,000
    ((variant, reason, moment),) = failures(with_trial(1, failed={"status-500": 300}))
    assert (variant, moment) == ("virtual", "trial 2")
    assert reason == "0.99 % of the answers were errors in the window (300 status-500), at most 0.10 % allowed"
    ((_, reason, _),) = failures(with_trial(1, failed_outside=100))
    assert "over the whole trial" in reason
    results = checks.results([builders.block(), with_trial(1, failed={"status-500": 300})], BLOCKING)
    assert not all(result.passed for result in results), "the table shows it, too"


@pytest.mark.parametrize(
    ("counts", "words"), [("checks", "of the script's checks failed"), ("requests", "of the script's requests failed")]
)
def test_checks_and_requests_of_a_users_script_fail_its_variant(counts: str, words: str) -> None:
    few, many = Counts(passed=999, failed=1), Counts(passed=998, failed=2)
    assert failures(with_trial(1, **{counts: few})) == []
    (failure,) = failures(with_trial(1, **{counts: many}))
    assert failure == ("virtual", f"0.20 % {words}, at most 0.10 % allowed", "trial 2")
    assert failures(with_trial(1, **{counts: Counts(passed=0, failed=0)})) == []


def test_an_experiment_says_how_many_errors_are_allowed() -> None:
    one_in_a_hundred = with_trial(1, failed={"status-500": 300})
    assert failures(one_in_a_hundred, builders.experiment(max_errors=0.02)) == []
    assert len(failures(one_in_a_hundred, builders.experiment(max_errors=0.009))) == 1
    one = with_trial(1, failed={"status-500": 1})
    assert len(failures(one, builders.experiment(max_errors=0))) == 1


def test_a_window_without_an_answer_fails_the_variant() -> None:
    hanging = {"ok": 0, "throughput": 0.0, "latency": builders.latency(0, 1.0), "failed_outside": 1000}
    assert ("virtual", "no OK answer in the window", "trial 2") in failures(with_trial(1, **hanging))


def test_a_window_that_is_shorter_than_an_answer_is_no_failure() -> None:
    """Open load of 30/s whose answers take 5 s, in windows of 2 s: what came later came all the same."""
    late = {"ok": 0, "throughput": 0.0, "latency": builders.latency(0, 5.0), "window": 2}
    good = builders.block(exp=OPEN)
    cycles = [t.model_copy(update={"ok": 0, "throughput": 0.0}) for t in good.warmup]
    cold = good.model_copy(update={"warmup": cycles, "trials": []})
    too_short = "the warm-up: every answer came after the window of 6 s: raise windows.warmup_load"
    assert checks.reasons(cold, OPEN) == [f"{variant}, {too_short}" for variant in OPEN.variants]
    assert checks.failures(cold, OPEN) == []
    trial = with_trial(1, **{**late, "window": 30})
    assert reasons(trial) == "virtual, trial 2: every answer came after the window of 30 s: raise windows.measure"
    assert checks.failures(trial, BLOCKING) == []
    erring = with_trial(1, **late, failed={"status-500": 60})
    assert {f.variant for f in checks.failures(erring, BLOCKING)} == {"virtual"}


def test_an_instance_that_did_not_last_fails_the_variant() -> None:
    good = builders.block()
    a, b = good.instances

    def failed(*instances: Any) -> list[tuple[str, str, str]]:
        return failures(good.model_copy(update={"instances": instances}))

    ((variant, reason, moment),) = failed(a.model_copy(update={"alive": False}), b)
    assert (variant, moment) == ("platform", "by the end of the block")
    assert "did not last" in reason
    assert "(2 OOM kills, 0 allowed)" in failed(a.model_copy(update={"oom_kills": 2}), b)[0][1]
    assert "2 instances in one block" in failed(a, a, b)[0][1]


@pytest.mark.parametrize("how", ["start", "oom", "errors", "unsteady"])
def test_a_block_counts_with_what_a_broken_variant_lacks(how: str) -> None:
    broken = builders.broken(builders.block(), "virtual", how)
    found = failures(broken)
    assert {variant for variant, _, _ in found} == {"virtual"}
    assert checks.failed(broken, BLOCKING) == {"virtual"}
    # But not with what the other lacks.
    without = [t for t in broken.trials if t.variant != "platform"]
    assert "trials ran as" in reasons(broken.model_copy(update={"trials": without}))


def test_what_broke_a_variant_comes_before_what_followed_from_it() -> None:
    dead = builders.broken(builders.block(), "virtual", "oom")
    assert failures(dead) == [("virtual", "out of heap memory (256m)", "trial 2")]


def test_both_variants_may_fail() -> None:
    both = builders.broken(builders.broken(builders.block(), "virtual", "oom"), "platform", "start")
    assert [variant for variant, _, _ in failures(both)] == ["virtual", "platform"]


def test_a_saturated_generator_is_no_failure_of_the_variant() -> None:
    block = with_trial(1, failed={"timeout": 300}, machine={"idle_cores": 0.01})
    assert "load generator was saturated" in reasons(block), "measured again"


def with_left(**update: Any) -> Block:
    """A block whose third trial finds requests in flight; ``update`` changes the second, virtual's."""
    block = with_trial(2, server={"in_flight_before": update.pop("in_flight", 3.0)})
    before = block.trials[1].model_copy(update=update)
    return block.model_copy(update={"trials": [block.trials[0], before, *block.trials[2:]]})


def test_requests_that_do_not_drain_fail_the_variant_that_left_them() -> None:
    exp = builders.experiment(max_errors=0.02)
    ((variant, reason, moment),) = failures(with_left(), exp)
    assert (variant, moment) == ("virtual", "before trial 3")
    assert reason == "3 of its requests were still in flight when the next trial began, 0 allowed"
    # The fourth trial is platform's; virtual's third had time-outs.
    late = with_trial(3, server={"in_flight_before": 3.0})
    trials = [*late.trials]
    trials[2] = trials[2].model_copy(update={"failed": {"timeout": 7}})
    ((variant, _, moment),) = failures(late.model_copy(update={"trials": trials}), exp)
    assert (variant, moment) == ("virtual", "before trial 4")


def test_what_was_left_and_nobody_saw_is_not_judged_of_a_variant_that_failed() -> None:
    unseen = with_left(in_flight=None)
    assert "no measurement of the requests in flight" in reasons(unseen)
    assert [v for v, _, _ in failures(with_left(in_flight=None, failed={"timeout": 900}))] == ["virtual"]


# Warm-up


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
    assert [g.throughput for g in state.gains] == [pytest.approx(0.01 - 1e-4), pytest.approx(0.02 - 1e-4)]
    assert state.gains[0].cpu == pytest.approx((1 / 1000 - 1 / 1010) * 1010)
    rising = checks.steady_state(cycles((1000, 1.0), (1040, 1.0), (1050, 1.0)), 1.0)
    assert not rising.reached
    assert rising.gains[1].most == pytest.approx(0.05)


def test_one_answer_more_is_no_rise() -> None:
    few = cycles((0.2, 0.1), (0.2, 0.1), (0.3, 0.1))
    assert [t.ok for t in few] == [2, 2, 3]
    assert checks.steady_state(few, 1.0).reached
    assert not checks.steady_state(cycles((0.2, 0.1), (0.2, 0.1), (0.4, 0.1)), 1.0).reached


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


def test_of_two_cycles_the_second_is_judged_by_the_first() -> None:
    level = checks.steady_state(cycles((200, 0.1), (205, 0.1)), 1.0)
    assert (level.reached, len(level.gains)) == (True, 1)
    assert not checks.steady_state(cycles((200, 0.1), (210, 0.1)), 1.0).reached
    assert not checks.steady_state(cycles((1000, 0.9), (1000, 0.85)), 1.0).reached, "CPU, where it is scarce"


BLOCKING = builders.experiment(
    load={
        "model": "closed",
        "users": 1000,
        "round": {"platform": "5s", "virtual": "1s"},
        "service_time": {"platform": "1s"},
    }
)


@pytest.mark.parametrize(
    ("variant", "users", "most"),
    [
        ("virtual", 1000, 1000.0),
        # In the warm-up as many as are served at a time.
        ("platform", 200, 200.0),
        ("platform", 1000, 200.0),
        # Fewer than 1000, and nothing says what they queue for.
        ("virtual", 100, None),
    ],
)
def test_the_load_allows_so_many_requests_at_most(variant: str, users: int, most: float | None) -> None:
    trial = builders.trial(variant, 1, users=users)
    assert checks.most_throughput(trial, BLOCKING) == most
    assert checks.most_throughput(trial, builders.experiment(load={"model": "closed", "users": 1000})) is None
    waiting = builders.experiment(load={**BLOCKING.load.model_dump(), "think_time": "1s"})
    assert checks.most_throughput(trial, waiting) == (most if users == 1000 else None)


def test_a_cycle_that_the_load_alone_bounds_has_nothing_left_to_gain() -> None:
    # Of a run of blocking: of 1000/s that the users can have the second cycle has 999.
    slow_first = cycles((966.5, 0.47), (999, 0.37))
    assert not checks.steady_state(slow_first, 1.0).reached
    state = checks.steady_state(slow_first, 1.0, most=1000)
    assert (state.reached, state.worst) == (True, pytest.approx(0.001))
    # Of another: the compiler fills the core, and no answer is missing.
    compiling = cycles((199.5, 0.28), (200, 1.01), (200, 0.23))
    assert not checks.steady_state(compiling, 1.0).reached
    assert checks.steady_state(compiling, 1.0, most=200).reached
    # What the experiment says is wrong, or the last cycle is below it.
    for wrong in (900, 1040):
        assert not checks.steady_state(slow_first, 1.0, most=wrong).reached


def test_a_compiler_takes_nothing_from_requests_that_the_load_alone_bounds() -> None:
    busy = {"cpu_cores": 1.0, "cpu_limit": 1.0, "jit_cpu": 0.66}
    bound, slower = (
        builders.trial("platform", 1, users=200, throughput=x, server=busy, phase="warmup") for x in (200.0, 190.0)
    )
    assert checks.is_compiled(bound, BLOCKING)
    assert not checks.is_compiled(slower, BLOCKING)


def test_only_cycles_under_the_limit_judge_and_two_are_enough_after_those_with_more_cpu() -> None:
    exp = builders.experiment(windows={"warmup_cycles": 1, "warmup_requests": 6000, "measure": "30s"})
    first, *last = cycles((900, 1.4), (200, 0.1), (201, 0.1))
    raised = first.model_copy(update={"raised_cpu": 1.5})
    assert checks.own_load([raised, *last], exp) == last
    assert checks.own_load([raised, raised, *last], exp) == last, "wherever they come"
    assert (checks.least_cycles([raised, *last]), checks.least_cycles([first, *last])) == (2, 3)

    virtual = [t for t in builders.block(exp=exp, cycles=4).warmup if t.variant == "virtual"]
    warmed = [virtual[0].model_copy(update={"raised_cpu": 1.5}), *virtual[1:3]]
    good = builders.block(exp=exp)
    enough = good.model_copy(update={"warmup": [raised, *last, *warmed]})
    assert (checks.reasons(enough, exp), checks.failures(enough, exp)) == ([], [])
    few = checks.reasons(good.model_copy(update={"warmup": [first, *last, *virtual[:3]]}), exp)
    assert few[0] == "platform: 3 warm-up cycles, at least 4 needed"
    rising = good.model_copy(update={"warmup": [raised, *cycles((200, 0.1), (220, 0.1)), *warmed]})
    (failure,) = checks.failures(rising, exp)
    assert "3 warm-up cycles: in the last throughput rose by 10.0 %" in failure.reason.replace("9.9", "10.0")


def test_too_few_or_unmeasured_cycles_are_no_steady_state() -> None:
    assert not checks.steady_state(cycles((200, 0.1)), 1.0).reached
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
    rising = good.model_copy(update={"warmup": cycles((200, 0.06), (220, 0.06), (230, 0.06)) + virtual})
    ((variant, reason, moment),) = failures(rising)
    assert (variant, moment) == ("platform", "the warm-up")
    assert reason.startswith("no steady state after 3 warm-up cycles")
    assert "10.0 %" in reason
    assert "less than 3 % allowed" in reason
    assert "platform: 2 warm-up cycles, at least 3 needed" in bad(cycles((200, 0.06), (200, 0.06)))
    assert "unequal numbers of warm-up cycles: platform 4, virtual 3" in bad(cycles(*[(200, 0.06)] * 4))
    blind = [t.model_copy(update={"server": {}}) for t in cycles(*[(200, 0.06)] * 3)]
    assert "no measurement" in bad(blind)
    assert "trials" not in bad(blind, trials=[]), "the reason is the warm-up, not the trials that are missing"
    hanging = {"ok": 0, "throughput": 0.0, "failed": {"timeout": 200}}
    silent = [t.model_copy(update=hanging) for t in cycles(*[(200, 0.06)] * 3)]
    found = failures(good.model_copy(update={"warmup": [*silent, *virtual]}))
    assert ("platform", "no OK answer in some of 3 warm-up cycles", "the warm-up") in found


def test_cycles_with_the_trials_own_load_judge_the_warm_up() -> None:
    windows = {"warmup_users": 200, "warmup_load": "6s", "warmup_cycles": 2, "measure": "30s"}
    exp = builders.experiment(windows=windows)
    good = builders.block(exp=exp, cycles=5)
    virtual = [t for t in good.warmup if t.variant == "virtual"]

    def with_platform(*values: tuple[float, float]) -> Block:
        return good.model_copy(update={"warmup": [*cycles(*values), *virtual]})

    # The two cheaper cycles before had more answers, which says nothing of those with the trials' load.
    assert failures(with_platform(*[(400, 0.5)] * 2, *[(200, 0.5)] * 3), exp) == []
    ((variant, reason, _),) = failures(with_platform(*[(400, 0.5)] * 2, (150, 0.5), (170, 0.5), (190, 0.5)), exp)
    assert (variant, reason[:38]) == ("platform", "no steady state after 5 warm-up cycles")
    few = good.model_copy(update={"warmup": [*cycles(*[(200, 0.5)] * 4), *virtual[:4]]})
    assert "platform: 4 warm-up cycles, at least 5 needed" in reasons(few, exp)


def test_answers_that_fail_from_the_start_are_named_though_no_trial_ran() -> None:
    good = builders.block()
    failing = [t.model_copy(update={"ok": 0, "throughput": 0.0, "failed": {"status-400": 900}}) for t in good.warmup]
    found = failures(good.model_copy(update={"warmup": failing, "trials": []}))
    assert {variant for variant, _, _ in found} == {"platform", "virtual"}
    assert any("900 status-400" in reason for _, reason, _ in found)


# Open load


def overload(**update: Any) -> Block:
    return with_trial(1, OPEN, **{"dropped": 500, "ok": 4000, "failed": {"timeout": 30}, **update})


def test_dropped_arrivals_with_a_healthy_generator_are_a_finding() -> None:
    block = overload()
    assert failures(block, OPEN) == []
    assert [checks.overloaded(t, OPEN) for t in block.trials] == [False, True, False, False]
    assert checks.dropped_share(block.trials[1]) == 500 / (500 + block.trials[1].started)
    assert checks.growth(block.trials[1], OPEN) == pytest.approx(470 / 30), "of 4,500 that were due 4,030 are completed"
    # With all users busy since before the window more are dropped than arrive in it.
    early = overload(dropped=6000, ok=3000, failed={})
    assert checks.growth(early.trials[1], OPEN) == pytest.approx(50)
    assert checks.growths(block.trials, OPEN) == [pytest.approx(470 / 30)]
    few = with_trial(1, OPEN, dropped=2)
    assert not checks.overloaded(few.trials[1], OPEN)
    assert failures(few, OPEN) == []


def with_growth(added: int, mean: float = 1.0) -> float | None:
    """The growth of a trial of 150 arrivals a second over 30 s that adds so many requests in flight."""
    in_flight = InFlight(start=150, end=150 + added)
    block = with_trial(1, OPEN, in_flight=in_flight, latency=builders.latency(4500, mean))
    assert failures(block, OPEN) == []
    return checks.growth(block.trials[1], OPEN)


def test_growth_beyond_chance_is_an_overload_though_nothing_was_dropped() -> None:
    # 1 % of 4,500 arrivals and 3·√(2·150·1) by chance: 45 + 52.
    assert with_growth(96) is None
    assert with_growth(98) == pytest.approx(98 / 30)
    assert with_growth(-98) is None, "it recovers"
    # Where answers take longer the number in flight varies more.
    assert with_growth(98, mean=4.0) is None
    assert with_growth(150, mean=4.0) == pytest.approx(5)
    closed = with_trial(1, in_flight=InFlight(start=0, end=900)).trials[1]
    assert checks.growth(closed, BLOCKING) is None


def test_a_queue_that_comes_and_goes_is_no_overload() -> None:
    """Found by simulation: of a CPU that is used to 90 %, with drawn work, one trial in 30 adds more than its limit."""

    def growths(*added: int) -> list[float]:
        ends = [InFlight(start=300, end=300 + n) for n in added]
        return checks.growths([builders.trial("virtual", exp=OPEN, dropped=0, in_flight=end) for end in ends], OPEN)

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
    dropping = builders.trial("virtual", exp=OPEN, dropped=900)
    calm = builders.trial("virtual", exp=OPEN, dropped=0, in_flight=InFlight(start=400, end=150))
    assert len(checks.growths([dropping, calm, calm], OPEN)) == 1


def test_five_per_cent_too_much_load_is_an_overload() -> None:
    # 210 a second on 200 threads of 1 s for 150·√(2·1/210) = 15 s, nothing dropped: 150 are added; 32 are
    # allowed, and 70 by chance.
    exp = builders.arrivals(load={"model": "open", "rate": 210, "users": 4500}, windows={"measure": "15s"})
    in_flight = InFlight(start=250, end=400)
    trial = builders.trial("platform", exp=exp, dropped=0, in_flight=in_flight, latency=builders.latency(3000, 1.3))
    assert checks.growth(trial, exp) == pytest.approx(10)


def test_dropped_arrivals_with_a_saturated_generator_reject() -> None:
    block = overload(machine={"idle_cores": 0.01})
    assert not checks.overloaded(block.trials[1], OPEN)
    assert "load generator was saturated" in reasons(block, OPEN)
    assert not checks.overloaded(overload(machine={"idle_cores": None, "generator_throttled": None}).trials[1], OPEN)


def test_overload_excuses_timeouts_only() -> None:
    ((variant, reason, _),) = failures(overload(failed={"status-503": 30}), OPEN)
    assert (variant, reason[:6]) == ("virtual", "0.74 %")
    assert "30 timeout" in failures(overload(dropped=0), OPEN)[0][1]
    assert not checks.overloaded(with_trial(1, dropped=500).trials[1], BLOCKING), "closed load drops nothing"


def test_a_late_generator_spoils_open_load() -> None:
    # 1 % of the window of 30 s
    assert checks.reasons(with_trial(1, OPEN, late_max=0.3), OPEN) == []
    assert "stalled for 0.4 s, at most 0.3 s allowed" in reasons(with_trial(1, OPEN, late_max=0.4), OPEN)
    assert not any(r.name == "generator on time" for r in checks.results([builders.block()], BLOCKING))


def test_many_short_stalls_spoil_open_load_as_one_long_one_does() -> None:
    few, many = (with_trial(1, OPEN, late_max=0.08, started=5000, completed=5000, late_arrivals=n) for n in (50, 60))
    assert checks.reasons(few, OPEN) == []
    assert "sent 1.2 % of the arrivals late, at most 1.0 % allowed" in reasons(many, OPEN)
    assert not any(r.name == "arrivals on time" for r in checks.results([builders.block()], BLOCKING))


def test_a_p99_needs_a_thousand_answers() -> None:
    short = with_trial(1, OPEN, ok=800, latency=builders.latency(800, 1.0))
    assert "800 OK answers are too few for a p99, 1,000 needed" in reasons(short, OPEN)


# Little's law


def test_users_that_no_answer_accounts_for_are_counted() -> None:
    # 1,000 users who wait 1 s and get 300 answers a second: 700 had none.
    few = with_rates(200, 300, 300, 200)
    few.trials[1].latency = builders.latency(9000, 1.0)
    assert checks.missing_users(few.trials[1], BLOCKING) == pytest.approx(700)
    assert checks.missing_users(few.trials[0], BLOCKING) is None
    assert failures(few) == [], "it marks the latency, and neither rejects nor fails"
    rows = {r.name: r for r in checks.results([few], BLOCKING)}
    assert not rows["Little's law"].passed
    assert rows["Little's law"].worst == "700 users missing (block 1, virtual, trial 2)"
    assert checks.missing_users(builders.trial(exp=OPEN), OPEN) is None


def test_where_latency_was_not_yet_steady_nothing_is_said_of_users() -> None:
    early = builders.trial(latency=builders.latency(0, 0.0))
    assert early.ok
    assert checks.missing_users(early, BLOCKING) is None
    block = builders.block()
    trials = [t.model_copy(update={"latency": early.latency}) for t in block.trials]
    rows = {row.name for row in checks.results([block.model_copy(update={"trials": trials})], BLOCKING)}
    assert "Little's law" not in rows
    silent = early.model_copy(update={"ok": 0, "throughput": 0.0})
    assert checks.missing_users(silent, BLOCKING) == pytest.approx(1000)


def test_think_time_errors_and_time_outs_account_for_users() -> None:
    thinking = builders.experiment(load={"model": "closed", "users": 1000, "think_time": "1s"})

    def missing(ok: int, exp: Experiment = BLOCKING, **failed: int) -> float | None:
        trial = builders.trial(exp=exp, users=1000, ok=ok, failed=failed, latency=builders.latency(ok, 1.0))
        return checks.missing_users(trial, exp)

    assert missing(15_000, thinking) is None
    drawn = builders.experiment(load={"model": "closed", "users": 1000, "think_time": "exp(1s)"})
    assert missing(15_000, drawn) is None
    assert missing(15_000) == pytest.approx(500)
    assert missing(15_000, other=15_000) is None
    # 750 time-outs of 20 s are 500 users over 30 s.
    assert missing(15_000, timeout=750) is None
    assert missing(45_000) == pytest.approx(-500), "the window caught a burst"


def test_rounds_that_a_window_cuts_are_no_missing_users() -> None:
    """Found by simulating healthy services: of ten users whose answers take exp(1s), windows of 5 s flagged 20 %."""

    def missing(load: dict[str, Any], ok: int, mean: float, tail: float = 1.05, window: float = 5.0) -> float | None:
        exp = builders.experiment(load={"model": "closed", **load}, expected=None)
        latency = builders.latency(ok, mean, tail)
        trial = builders.trial(exp=exp, users=exp.load.users, window=window, ok=ok, latency=latency)
        return checks.missing_users(trial, exp)

    # Drawn answers: 41 of 0.95 s account for 7.8 of 10 users; for 1,000 users that is no chance.
    assert missing({"users": 10}, 41, 0.95, tail=4) is None
    assert missing({"users": 1000, "round": {"platform": "1s"}}, 4100, 0.95, tail=4) == pytest.approx(221)
    # All begin together, without a known round: of rounds of 2 s two are in the window, or three.
    assert missing({"users": 20}, 40, 2.0) is None
    assert missing({"users": 20}, 60, 2.0) is None
    # Users who are spread over their round and have answers that are alike.
    assert missing({"users": 100, "round": {"platform": "1s"}}, 420, 1.0) == pytest.approx(16)
    # Drawn think times.
    assert missing({"users": 20, "think_time": "exp(1s)"}, 80, 0.05) is None
    # Too many are missing for any of it.
    assert missing({"users": 400}, 450, 1.0) == pytest.approx(310)


def test_users_who_were_spread_over_their_round_are_cut_as_far_as_it_was_another() -> None:
    def missing(seconds: float | None, ok: int) -> float | None:
        exp = builders.experiment(load={"model": "closed", "users": 200}, expected=None)
        latency = builders.latency(ok, 2.0)
        return checks.missing_users(
            builders.trial(exp=exp, users=200, window=5.0, ok=ok, latency=latency, round=seconds), exp
        )

    # Rounds of 2 s in a window of 5 s: 500 answers, and of users who begin together 400 or 600.
    assert missing(None, 400) is None
    assert missing(2.0, 400) == pytest.approx(40)
    assert missing(2.0, 500) is None
    assert missing(3.0, 400) is None, "half a round more was no whole one"
    assert missing(2.1, 400) == pytest.approx(40)
    assert missing(9.0, 400) is None, "no more than a whole round"


def test_a_window_holds_two_rounds() -> None:
    def rejected(window: float, mean: float, alone: float, **load: Any) -> list[str]:
        exp = builders.experiment(load={"model": "closed", "users": 1000, **load}, expected=None)
        made = builders.block(exp=exp)
        for trial in made.single:
            trial.latency = builders.latency(5, alone)
        for trial in made.trials:
            ok = round(1000 / (mean + (5 if load else 0)) * window)
            trial.latency, trial.ok, trial.end = builders.latency(ok, mean), ok, trial.start + round(1000 * window)
        return [reason for reason in checks.reasons(made, exp) if "rounds" in reason]

    first, *_ = rejected(10, 7.1, 7.0)
    assert first == (
        "platform, trial 1: a window of 10 s holds 1.4 rounds of a user, who takes 7.1 s, 2 needed: lengthen"
        " windows.measure to at least 15s"
    )
    assert rejected(15, 7.1, 7.0) == []
    assert rejected(10, 7.1, 1.0) == [], "it waits for others: the service is busy throughout"
    assert rejected(11, 1.0, 1.0, think_time="5s")
    assert rejected(10, 7.1, 7.0, round={"virtual": "7s"}) == [], "planned"
    assert [r.name for r in checks.results([builders.block(exp=OPEN)], OPEN) if r.name == "rounds in a window"] == []


def test_the_results_name_limit_worst_and_place() -> None:
    blocks = [builders.block(1), with_trial(1, machine={"idle_cores": 0.07})]
    results = {r.name: r for r in checks.results(blocks, BLOCKING)}
    assert results["idle cores"] == CheckResult("idle cores", ">= 5 %", "7.0 % (block 1, virtual, trial 2)", True)
    assert all(r.passed for r in results.values())
    assert checks.results([], BLOCKING) == []

"""Simulated runs: the intervals cover what they say, and false verdicts are rare."""

from __future__ import annotations

import math

import numpy as np
import pytest

from tests.support.cli_call import call
from vtlab.analysis.criteria import outcomes
from vtlab.analysis.statistics import (
    moderated,
    paired,
    simulated_mixes,
    simulated_percentiles,
    simulated_priors,
    simulated_queues,
    simulated_runs,
    simulated_warm_ups,
    simulation,
    stopping_rule,
)
from vtlab.analysis.statistics.simulation import ANSWERS, EDGE, KINDS, SILENT, Noise, simulate

RUNS = 10_000
SMALL = Noise(jvm=0.005, trial=0.005, white=0.003)
LARGE = Noise(block=0.2, drift=0.05, jvm=0.04, trial=0.05, correlation=0.8, white=0.02)
NOISES = pytest.mark.parametrize("noise", [SMALL, Noise(), LARGE], ids=["small", "usual", "large"])


def error(share: float, runs: int = RUNS) -> float:
    """Four binomial standard errors: the seed is fixed, so a right implementation is this close once and for all."""
    return 4 * math.sqrt(share * (1 - share) / runs)


@NOISES
@pytest.mark.parametrize(("n", "ratio"), [(2, 1.2), (3, 1.0), (6, 1.0), (6, 5.0), (12, 1.05)])
def test_the_interval_covers_the_truth_as_often_as_it_says(noise: Noise, n: int, ratio: float) -> None:
    # With so many answers the floor is far below the noise.
    assert simulate(n, ratio, noise, RUNS, answers=1e6).coverage == pytest.approx(0.95, abs=error(0.95))


@NOISES
def test_alike_variants_are_hardly_ever_called_different(noise: Noise) -> None:
    result = simulate(6, 1.0, noise, RUNS)
    assert result.better + result.worse <= 0.001 + error(0.001)
    assert result.false == result.better + result.worse


@pytest.mark.parametrize("n", [2, 3, 6])
def test_on_the_edge_of_the_margin_each_verdict_is_as_rare_as_its_level(n: int) -> None:
    result = simulate(n, EDGE, Noise().with_sd(0.02), RUNS)
    assert result.better == pytest.approx(paired.LEVEL, abs=error(paired.LEVEL))
    assert result.same <= paired.LEVEL + error(paired.LEVEL)
    assert result.false == pytest.approx(result.better + result.worse + result.same)


def test_power_grows_with_the_blocks() -> None:
    power = [simulate(n, 1.1, Noise(), 2000).better for n in (3, 6, 12)]
    assert power == sorted(power)
    assert power[-1] > 0.95


@pytest.mark.parametrize("noise", [Noise(), LARGE, Noise(skewed=True), Noise(correlation=0)])
def test_the_noise_of_a_block_is_what_it_is_said_to_be(noise: Noise) -> None:
    # The relative error of a variance from m values of kurtosis k is sqrt((k - 1)/m); k is at most 9 (exponential).
    result = simulate(6, 1.0, noise.with_sd(0.03), RUNS)
    assert result.sd**2 == pytest.approx(0.03**2, rel=4 * math.sqrt(8 / (6 * RUNS)))


@pytest.mark.parametrize("name", [name for name in KINDS if "two modes" in name])
def test_the_true_ratio_of_slow_jvms_is_the_mean_over_them(name: str) -> None:
    of, over = simulation.counts(np.random.default_rng(1), (RUNS, 6), 1.2, KINDS[name], 1e6)
    logs = paired.log_ratio(of, over)
    assert float(np.mean(logs)) == pytest.approx(math.log(1.2), abs=4 * float(np.std(logs)) / math.sqrt(logs.size))
    assert float(np.std(logs)) > 2 * KINDS[name].sd, "or this test tests nothing"


def test_slow_jvms_break_the_promise_of_few_blocks() -> None:
    # 0.7^3 = 34 % of runs of three blocks have no slow JVM in them, and know nothing of such JVMs.
    (noise,) = [noise for noise in KINDS.values() if noise.of_is_slow and not noise.over_is_slow]
    assert simulate(3, 1.0, noise.with_sd(0.007), RUNS).coverage <= 1 - 0.7**3 + error(0.7**3)


def test_a_drift_in_the_machine_cancels_in_the_mirrored_order() -> None:
    # 10 % from trial to trial: in the order ABAB the ratio would scatter by 10 %. What is left is of second order, the
    # square of the slope: root mean square sqrt(3)/100 = 1.7 %.
    drifting = Noise(block=0, drift=0.1, jvm=0, trial=0, white=0)
    assert simulate(6, 1.0, drifting, runs=2000).sd == pytest.approx(0.0173, rel=0.1)


@pytest.mark.parametrize("ratio", [1.0, EDGE, 1.2])
@pytest.mark.parametrize("n", [2, 3, 6])
def test_few_answers_without_noise_are_covered_by_the_floor(n: int, ratio: float) -> None:
    result = simulate(n, ratio, SILENT, RUNS, answers=10.4)
    assert result.coverage >= 0.95
    assert result.alike > 0 or n == 6, "or this test tests nothing"


def test_counts_are_whole_and_right_on_average() -> None:
    of, over = simulation.counts(np.random.default_rng(1), (RUNS, 3), 2.0, SILENT, 3.4)
    assert of.shape == over.shape == (RUNS, 3, 2)
    assert np.array_equal(of, np.round(of))
    # The variance of a count is at most 1/4.
    close = 4 * math.sqrt(0.25 / over.size)
    assert float(np.mean(over)) == pytest.approx(3.4, abs=close)
    assert float(np.mean(of)) == pytest.approx(6.8, abs=close)


def test_a_run_is_judged_like_a_real_one() -> None:
    of, over = simulation.counts(np.random.default_rng(3), (200, 4), 1.1, Noise(), ANSWERS)
    judged = simulation._judge(of, over, 1.1)
    for i in range(200):
        logs = [float(x) for x in paired.log_ratio(of[i], over[i])]
        floor = float(paired.floor(paired.resolution(of[i], over[i])))
        found = moderated.interval(logs, None, floor, stopping_rule.ALPHA)
        assert (found.low, found.high) == pytest.approx((judged.t.low[i], judged.t.high[i]))
        assert found.low is not None
        assert found.high is not None
        judgement = outcomes.judgement(math.exp(found.low), math.exp(found.high), paired.MARGIN, "higher")
        places = {"better": paired.ABOVE, "worse": paired.BELOW, "same": paired.INSIDE, "undecided": paired.ACROSS}
        assert places[judgement] == judged.position[i]


def test_the_tables_are_the_same_each_time() -> None:
    lines = list(simulation.tables(20))
    assert lines == list(simulation.tables(20))
    assert all(any(line.startswith(name) for line in lines) for name in KINDS)
    rows = [line for line in lines if line.startswith(f"{EDGE:6.2f}   6")]
    assert len(rows) == len(KINDS)


def test_the_command_prints_the_tables() -> None:
    done = call("lab", "simulate", "--runs", "5", "--sd", "0.04")
    of_ratios = [*simulation.tables(5, 0.04), *simulated_runs.tables(5, 0.04)]
    of_latency = [*simulated_percentiles.tables(5), *simulated_queues.tables(5)]
    others = [*simulated_mixes.tables(5), *simulated_warm_ups.tables(5)]
    assert done.out.splitlines() == [*of_ratios, *simulated_priors.tables(5), *of_latency, *others]

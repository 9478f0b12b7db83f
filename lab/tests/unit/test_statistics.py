"""The statistics, against values worked out by hand, against scipy, and by their laws."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from vtlab.analysis import simulation, statistics

LOGS = [0.10, 0.14, 0.08, 0.12, 0.06, 0.10]
numbers = st.lists(st.floats(-3, 3), min_size=2, max_size=8)


def test_the_log_ratio_is_that_of_the_means_of_a_blocks_trials() -> None:
    # (100 + 300) / 2 over (90 + 110) / 2 = 2
    assert statistics.log_ratio(np.array([100.0, 300.0]), np.array([90.0, 110.0])) == pytest.approx(math.log(2))


def test_interval_and_p_by_hand() -> None:
    # Mean 0.1; squares 0 + 16 + 4 + 4 + 16 + 0 = 40e-4, over 5: sd 0.0282843; error 0.0115470; t(5) 2.570582.
    e = statistics.estimate(LOGS)
    assert e.n == 6
    assert e.ratio == pytest.approx(math.exp(0.1))
    assert e.sd == pytest.approx(0.0282843, abs=1e-7)
    assert e.low == pytest.approx(math.exp(0.1 - 2.570582 * 0.0115470), rel=1e-6)
    assert e.high == pytest.approx(math.exp(0.1 + 2.570582 * 0.0115470), rel=1e-6)
    assert e.p_t == pytest.approx(stats.ttest_1samp(LOGS, 0).pvalue)
    # All six of one sign: only the pattern seen and its mirror image are as far off, 2 of 64.
    assert e.p_sign_flip == 2 / 64


@given(numbers)
def test_interval_and_p_are_scipys(logs: list[float]) -> None:
    e = statistics.estimate(logs)
    assert e.low is not None
    assert e.high is not None
    assert e.p_t is not None
    assert e.low <= e.ratio * (1 + 1e-12)
    assert e.ratio <= e.high * (1 + 1e-12)
    assert 0 <= e.p_t <= 1
    if np.std(logs) > 1e-6:
        known = stats.ttest_1samp(logs, 0)
        interval = known.confidence_interval(0.95)
        if abs(interval.low) < 500 and abs(interval.high) < 500:
            assert e.low == pytest.approx(math.exp(interval.low), rel=1e-6)
            assert e.high == pytest.approx(math.exp(interval.high), rel=1e-6)
        assert e.p_t == pytest.approx(known.pvalue, rel=1e-6, abs=1e-12)


@given(numbers)
def test_swapping_the_variants_mirrors_everything(logs: list[float]) -> None:
    here, there = statistics.estimate(logs), statistics.estimate([-x for x in logs])
    assert here.ratio == pytest.approx(1 / there.ratio)
    assert here.p_t == pytest.approx(there.p_t)
    assert here.p_sign_flip == there.p_sign_flip


@pytest.mark.parametrize(("value", "p"), [(0.1, 0.0), (-0.1, 0.0), (0.0, 1.0)])
@pytest.mark.parametrize("n", [2, 3, 6, 7, 11])
def test_zero_variance_is_a_zero_width_interval(value: float, p: float, n: int) -> None:
    e = statistics.estimate([value] * n)
    assert e.low == e.high == e.ratio == math.exp(value)
    assert e.p_t == p
    assert e.sd == 0


def test_one_block_has_no_interval_and_none_no_estimate() -> None:
    e = statistics.estimate([0.1])
    assert (e.low, e.high, e.p_t, e.p_sign_flip, e.sd) == (None, None, None, None, None)
    assert e.ratio == math.exp(0.1)
    with pytest.raises(ValueError, match="no blocks"):
        statistics.estimate([])
    with pytest.raises(ValueError, match="no blocks"):
        statistics.sign_flip([])


def test_two_wild_blocks_stay_finite() -> None:
    e = statistics.estimate([80.0, -80.0])
    assert e.low is not None
    assert e.high is not None
    assert 0 < e.low < e.high < math.inf


@given(st.lists(st.integers(-20, 20), min_size=1, max_size=7))
def test_sign_flips_are_enumerated_exactly(whole: list[int]) -> None:
    seen = abs(sum(whole))
    patterns = list(itertools.product((1, -1), repeat=len(whole)))
    as_far = sum(abs(sum(s * x for s, x in zip(p, whole, strict=True))) >= seen for p in patterns)
    assert statistics.sign_flip([x / 7 for x in whole]) == as_far / len(patterns)


def test_sampled_sign_flips_agree_with_the_exact_ones(monkeypatch: pytest.MonkeyPatch) -> None:
    logs = [float(x) for x in np.random.default_rng(5).normal(0.3, 1, 14)]
    exact = statistics.sign_flip(logs)
    monkeypatch.setattr(statistics, "EXACT_FLIPS", 4)
    sampled = statistics.sign_flip(logs)
    assert sampled == pytest.approx(exact, abs=0.005)
    assert sampled == statistics.sign_flip(logs), "the same seed each time"


def test_many_blocks_have_a_p_above_zero() -> None:
    assert statistics.sign_flip([0.1] * 40) == 1 / (statistics.SAMPLED_FLIPS + 1)


def test_the_spread_and_its_interval_by_hand() -> None:
    # chi-square(5): 2.5 % 0.831212, 97.5 % 12.832502; known from tables: factors 0.6242 and 2.4526 for n = 6.
    s = statistics.spread(LOGS)
    assert s.sd == pytest.approx(0.0282843, abs=1e-7)
    assert s.low == pytest.approx(0.6242 * 0.0282843, rel=1e-4)
    assert s.high == pytest.approx(2.4526 * 0.0282843, rel=1e-4)
    assert statistics.spread([0.1]) == statistics.Spread(1, None, None, None)
    assert statistics.spread([0.1, 0.1, 0.1]).high == 0


@pytest.mark.parametrize(
    ("low", "high", "higher", "lower"),
    [
        (1.06, 1.20, "faster", "slower"),
        (0.70, 0.94, "slower", "faster"),
        (0.96, 1.04, "equivalent", "equivalent"),
        (1 / 1.05, 1.05, "equivalent", "equivalent"),
        (1.01, 1.04, "equivalent", "equivalent"),
        (1.04, 1.06, "inconclusive", "inconclusive"),
        (0.951, 1.0, "inconclusive", "inconclusive"),  # 1/1.05 is 0.95238: the margin is symmetric in logs
        (0.90, 1.20, "inconclusive", "inconclusive"),
        (None, None, "inconclusive", "inconclusive"),
    ],
)
def test_verdicts(low: float | None, high: float | None, higher: str, lower: str) -> None:
    assert statistics.outcome(low, high, "higher") == higher
    assert statistics.outcome(low, high, "lower") == lower


@given(st.floats(0.5, 2), st.floats(1, 1.5))
def test_faster_one_way_is_slower_the_other_way(low: float, width: float) -> None:
    mirror = {"faster": "slower", "slower": "faster"}
    there = statistics.outcome(low, low * width, "higher", 0.0501)
    back = statistics.outcome(1 / (low * width), 1 / low, "higher", 0.0501)
    assert back == mirror.get(there, there)


def test_holm_by_hand() -> None:
    # 0.01 x 4; 0.02 x 3; 0.03 x 2, 0.04 x 1 rises to the one before: Holm never falls.
    assert statistics.holm([0.02, 0.04, 0.01, 0.03]) == pytest.approx([0.06, 0.06, 0.04, 0.06])
    assert statistics.holm([0.03, None, 0.5]) == [0.06, None, 0.5]
    assert statistics.holm([0.6, 0.9]) == [1.0, 1.0]
    assert statistics.holm([]) == []


def test_blocks_needed_by_hand() -> None:
    # Mean 0.1, sd 0.06, d 0.048790: at 13 blocks e = 0.016641, t(12) = 2.178813,
    # so T(3.0773 - 2.1788 = 0.8985) = 0.807; at 12 e = 0.017321, t(11) = 2.200985,
    # T(2.9565 - 2.2010 = 0.7555) = 0.767.
    assert statistics.chance(13, 0.1, 0.06) == pytest.approx(0.807, abs=0.001)
    assert statistics.chance(12, 0.1, 0.06) == pytest.approx(0.767, abs=0.001)
    assert statistics.blocks_needed(6, 0.1, 0.06) == 13
    assert statistics.blocks_needed(6, -0.1, 0.06) == 13
    # No difference seen: 18 blocks make it equivalent; e = 0.014142, t(17) = 2.109816,
    # 2 T(1.3402) - 1 = 0.802.
    assert statistics.blocks_needed(6, 0.0, 0.06) == 18
    assert statistics.blocks_needed(30, 0.0, 0.06) == 31, "more than there are: luck was against it"
    assert statistics.blocks_needed(6, math.log(1.05), 0.06) is None, "on the margin"
    assert statistics.blocks_needed(6, 0.05, 0.06) is None, "beside the margin: more than anybody would run"
    assert statistics.blocks_needed(1, 0.1, None) is None


@pytest.mark.parametrize("ratio", [1.0, 1.1])
def test_blocks_needed_keep_their_promise(ratio: float) -> None:
    simulated = simulation.simulate(6, ratio, runs=1000)
    m = statistics.blocks_needed(2, math.log(ratio), simulated.sd)
    assert m is not None
    then = simulation.simulate(m, ratio, runs=1000)
    assert 1 - then.inconclusive == pytest.approx(statistics.POWER, abs=0.08)

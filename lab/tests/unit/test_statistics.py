"""The statistics, against values worked out by hand, against scipy, and by their laws."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from scipy import stats

from vtlab.analysis.statistics import paired, simulation

LOGS = [0.10, 0.14, 0.08, 0.12, 0.06, 0.10]
EDGE = math.log1p(0.05)
numbers = st.lists(st.floats(-3, 3), min_size=2, max_size=8)
#: Log ratios near the margin, where verdicts differ.
near = st.lists(st.floats(-0.15, 0.15), min_size=2, max_size=8)
floors = st.sampled_from([0.0, 0.001, 0.02])


def test_the_log_ratio_is_that_of_the_means_of_a_blocks_trials() -> None:
    # (100 + 300) / 2 over (90 + 110) / 2 = 2
    assert paired.log_ratio(np.array([100.0, 300.0]), np.array([90.0, 110.0])) == pytest.approx(math.log(2))


def test_interval_and_p_by_hand() -> None:
    # Mean 0.1; squares 0 + 16 + 4 + 4 + 16 + 0 = 40e-4, over 5: sd 0.0282843; error 0.0115470; t(5) 2.570582.
    e = paired.estimate(LOGS)
    assert e.n == 6
    assert e.ratio == pytest.approx(math.exp(0.1))
    assert e.sd == pytest.approx(0.0282843, abs=1e-7)
    assert e.low == pytest.approx(math.exp(0.1 - 2.570582 * 0.0115470), rel=1e-6)
    assert e.high == pytest.approx(math.exp(0.1 + 2.570582 * 0.0115470), rel=1e-6)
    # Beyond the margin: (0.1 - 0.0487902)/0.0115470 = 4.43491; T(5) above it 0.003399.
    assert e.p_t == pytest.approx(0.003399, abs=1e-6)
    # All six are above the margin: no other sign pattern has as large a sum, 1 of 64.
    assert e.p_sign_flip == 1 / 64


def test_equivalence_by_hand() -> None:
    logs = [0.01, -0.01, 0.02, 0.0, 0.03, 0.01]
    # Mean 0.01; squares 0 + 4 + 1 + 1 + 4 + 0 = 10e-4, over 5: sd 0.0141421; error 0.0057735. The nearer edge:
    # (0.0487902 - 0.01)/0.0057735 = 6.71864; T(5) above it 0.000553.
    e = paired.estimate(logs)
    assert e.p_t == pytest.approx(0.000553, abs=1e-6)
    # All are between the edges of the margin: 1 of 64 for either.
    assert e.p_sign_flip == 1 / 64


@given(numbers)
def test_interval_and_p_are_scipys(logs: list[float]) -> None:
    e = paired.estimate(logs)
    assert e.low is not None
    assert e.high is not None
    assert e.p_t is not None
    assert e.low <= e.ratio * (1 + 1e-12)
    assert e.ratio <= e.high * (1 + 1e-12)
    assert 0 <= e.p_t <= 1
    if np.std(logs) > 1e-6:
        interval = stats.ttest_1samp(logs, 0).confidence_interval(0.95)
        if abs(interval.low) < 500 and abs(interval.high) < 500:
            assert e.low == pytest.approx(math.exp(interval.low), rel=1e-6)
            assert e.high == pytest.approx(math.exp(interval.high), rel=1e-6)
        assert e.p_t == pytest.approx(p_of_the_claim(logs), rel=1e-6, abs=1e-12)


def p_of_the_claim(logs: list[float]) -> float:
    """By scipy's one-sided tests."""
    above = stats.ttest_1samp(logs, EDGE, alternative="greater").pvalue
    below = stats.ttest_1samp(logs, -EDGE, alternative="less").pvalue
    if abs(np.mean(logs)) > EDGE:
        return float(min(above, below))
    return float(max(1 - above, 1 - below))


@given(near, floors)
def test_the_interval_and_the_p_of_the_claim_give_one_verdict(logs: list[float], floor: float) -> None:
    e = paired.estimate(logs, floor)
    assert e.p_t is not None
    settled = paired.outcome(e.low, e.high, "higher") != "inconclusive"
    assert settled == (e.p_t <= paired.LEVEL) or e.p_t == pytest.approx(paired.LEVEL, rel=1e-9) or e.sd == 0


@given(near)
def test_a_claim_has_at_most_even_odds_against_it(logs: list[float]) -> None:
    e = paired.estimate(logs)
    assert e.p_t is not None
    assert e.p_sign_flip is not None
    assert 0 <= e.p_t <= 0.5
    assert 1 / 2 ** len(logs) <= e.p_sign_flip <= 1


@given(near, st.floats(0, 0.1), st.floats(1e-6, 0.05))
@example([0.0, 0.0], 2e-313, 0.03)
def test_a_higher_floor_never_makes_a_verdict_surer(logs: list[float], low: float, more: float) -> None:
    here, there = paired.estimate(logs, low), paired.estimate(logs, low + more)
    for e in (here, there):
        assert e.low is not None
        assert e.high is not None
    assert there.low <= here.low <= here.ratio <= here.high <= there.high  # type: ignore[operator]
    assert there.p_t >= here.p_t  # type: ignore[operator]
    assert there.low < there.high, "the floor is above 0"  # type: ignore[operator]


@given(numbers)
def test_swapping_the_variants_mirrors_everything(logs: list[float]) -> None:
    here, there = paired.estimate(logs), paired.estimate([-x for x in logs])
    assert here.ratio == pytest.approx(1 / there.ratio)
    assert here.p_t == pytest.approx(there.p_t)
    assert here.p_sign_flip == there.p_sign_flip


@pytest.mark.parametrize("value", [0.1, -0.1, 0.0, EDGE])
@pytest.mark.parametrize("n", [2, 3, 6, 7, 11])
def test_equal_blocks_have_the_interval_of_the_floor(value: float, n: int) -> None:
    e = paired.estimate([value] * n, 0.01)
    assert e.sd == 0.01
    half = stats.t.ppf(0.975, n - 1) * 0.01 / math.sqrt(n)
    assert e.low == pytest.approx(math.exp(value - half))
    assert e.high == pytest.approx(math.exp(value + half))
    assert e.p_t == pytest.approx(stats.t.sf(abs(abs(value) - EDGE) / 0.01 * math.sqrt(n), n - 1))


@pytest.mark.parametrize(("value", "p"), [(0.1, 0.0), (0.0, 0.0), (EDGE, 0.5)])
def test_without_a_floor_equal_blocks_still_have_a_p(value: float, p: float) -> None:
    e = paired.estimate([value] * 3)
    assert (e.p_t, e.sd) == (p, 0)


def test_two_blocks_can_settle_a_verdict() -> None:
    e = paired.estimate([math.log(5.0), math.log(4.99)], 0.001)
    assert paired.outcome(e.low, e.high, "higher") == "faster"
    assert e.p_t is not None
    assert e.p_t <= paired.LEVEL


def test_the_resolution_by_hand() -> None:
    # Two trials each: sqrt(2)/(2 x 12) and sqrt(2)/(2 x 16); squares 0.00347222 + 0.00195313, the root 0.0736570.
    assert paired.resolution([6, 6], [8, 8]) == pytest.approx(0.0736570, abs=1e-7)
    assert paired.resolution([10]) == 1 / 20
    # Of several blocks at once, and their root mean square: (0.05^2 + 0.1^2)/2 = 0.00625.
    assert paired.resolution([[10], [5]]) == pytest.approx([0.05, 0.1])
    assert paired.floor(np.array([0.05, 0.1])) == pytest.approx(math.sqrt(0.00625))


@given(st.floats(1, 50), st.integers(1, 4))
def test_the_resolution_is_the_most_that_a_random_window_scatters(due: float, trials: int) -> None:
    # Of x answers due a window counts floor(x) or, in the share f of cases, one more: the variance is f(1 - f).
    f = due - math.floor(due)
    sd = math.sqrt(trials * f * (1 - f)) / (trials * due)
    assert sd <= float(paired.resolution([due] * trials)) * (1 + 1e-9)


def test_windows_that_cut_every_block_alike_do_not_hide_the_truth() -> None:
    # Review finding 13: 3 users x 2 s on 2 threads, windows of 4.5 s: always 6 and 8 answers; the truth is 1.5.
    log = math.log(8 / 6)
    e = paired.estimate([log] * 3, float(paired.resolution([8, 8], [6, 6])))
    assert e.low is not None
    assert e.high is not None
    assert e.low < 1.5 < e.high


def test_one_block_has_no_interval_and_none_no_estimate() -> None:
    e = paired.estimate([0.1])
    assert (e.low, e.high, e.p_t, e.p_sign_flip, e.sd) == (None, None, None, None, None)
    assert e.ratio == math.exp(0.1)
    with pytest.raises(ValueError, match="no blocks"):
        paired.estimate([])
    with pytest.raises(ValueError, match="no blocks"):
        paired.sign_flip([])


def test_two_wild_blocks_stay_finite() -> None:
    e = paired.estimate([80.0, -80.0])
    assert e.low is not None
    assert e.high is not None
    assert 0 < e.low < e.high < math.inf


@given(st.lists(st.integers(-20, 20), min_size=1, max_size=7), st.sampled_from([0, 3, 10]))
def test_sign_flips_are_enumerated_exactly(whole: list[int], edge: int) -> None:
    def share(values: list[int]) -> float:
        sums = [sum(s * x for s, x in zip(p, values, strict=True)) for p in patterns]
        return sum(x >= sum(values) for x in sums) / len(patterns)

    patterns = list(itertools.product((1, -1), repeat=len(whole)))
    if sum(whole) > edge * len(whole):
        expected = share([x - edge for x in whole])
    elif sum(whole) < -edge * len(whole):
        expected = share([-x - edge for x in whole])
    else:
        expected = max(share([edge - x for x in whole]), share([edge + x for x in whole]))
    # Not on the edge itself, where rounding would choose the claim.
    if abs(sum(whole)) != edge * len(whole) or edge == 0:
        assert paired.sign_flip([x / 70 for x in whole], math.expm1(edge / 70)) == expected


def test_sampled_sign_flips_agree_with_the_exact_ones(monkeypatch: pytest.MonkeyPatch) -> None:
    logs = [float(x) for x in np.random.default_rng(5).normal(0.3, 1, 14)]
    exact = paired.sign_flip(logs)
    monkeypatch.setattr(paired, "EXACT_FLIPS", 4)
    sampled = paired.sign_flip(logs)
    assert sampled == pytest.approx(exact, abs=0.005)
    assert sampled == paired.sign_flip(logs), "the same seed each time"


def test_many_blocks_have_a_p_above_zero() -> None:
    assert paired.sign_flip([0.1] * 40, 0.05) == 1 / (paired.SAMPLED_FLIPS + 1)


def test_the_spread_and_its_interval_by_hand() -> None:
    # chi-square(5): 2.5 % 0.831212, 97.5 % 12.832502; known from tables: factors 0.6242 and 2.4526 for n = 6.
    s = paired.spread(LOGS)
    assert s.sd == pytest.approx(0.0282843, abs=1e-7)
    assert s.low == pytest.approx(0.6242 * 0.0282843, rel=1e-4)
    assert s.high == pytest.approx(2.4526 * 0.0282843, rel=1e-4)
    assert paired.spread([0.1]) == paired.Spread(1, None, None, None)
    assert paired.spread([0.1, 0.1, 0.1]).high == 0


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
    assert paired.outcome(low, high, "higher") == higher
    assert paired.outcome(low, high, "lower") == lower


@given(st.floats(0.5, 2), st.floats(1, 1.5))
def test_faster_one_way_is_slower_the_other_way(low: float, width: float) -> None:
    mirror = {"faster": "slower", "slower": "faster"}
    there = paired.outcome(low, low * width, "higher", 0.0501)
    back = paired.outcome(1 / (low * width), 1 / low, "higher", 0.0501)
    assert back == mirror.get(there, there)


@given(st.lists(st.floats(0, 1), min_size=1, max_size=12))
def test_holm_lies_between_no_adjustment_and_bonferronis(p_values: list[float]) -> None:
    adjusted = paired.holm_adjusted(np.array(p_values))
    assert all(p <= a <= min(1, len(p_values) * p) + 1e-12 for p, a in zip(p_values, adjusted, strict=True))
    assert adjusted.min() == pytest.approx(min(1, len(p_values) * min(p_values)))
    in_order = sorted(zip(p_values, adjusted, strict=True))
    assert [a for _, a in in_order] == sorted(adjusted), "the order of the p values stays"


def test_holm_by_hand() -> None:
    # 0.01 x 4; 0.02 x 3; 0.03 x 2, 0.04 x 1 rises to the one before: Holm never falls.
    assert paired.holm([0.02, 0.04, 0.01, 0.03]) == pytest.approx([0.06, 0.06, 0.04, 0.06])
    assert paired.holm([0.03, None, 0.5]) == [0.06, None, 0.5]
    assert paired.holm([0.6, 0.9]) == [1.0, 1.0]
    assert paired.holm([]) == []
    assert paired.holm([None]) == [None]
    # Each row of an array is a report of its own.
    assert paired.holm_adjusted(np.array([[0.02, 0.04], [0.6, 0.01]])).tolist() == [[0.04, 0.04], [0.6, 0.02]]


def test_blocks_needed_by_hand() -> None:
    # Mean 0.1, sd 0.06, d 0.048790: at 13 blocks e = 0.016641, t(12) = 2.178813,
    # so T(3.0773 - 2.1788 = 0.8985) = 0.807; at 12 e = 0.017321, t(11) = 2.200985,
    # T(2.9565 - 2.2010 = 0.7555) = 0.767.
    assert paired.chance(13, 0.1, 0.06) == pytest.approx(0.807, abs=0.001)
    assert paired.chance(12, 0.1, 0.06) == pytest.approx(0.767, abs=0.001)
    assert paired.blocks_needed(6, 0.1, 0.06) == 13
    assert paired.blocks_needed(6, -0.1, 0.06) == 13
    # No difference seen: 18 blocks make it equivalent; e = 0.014142, t(17) = 2.109816,
    # 2 T(1.3402) - 1 = 0.802.
    assert paired.blocks_needed(6, 0.0, 0.06) == 18
    assert paired.blocks_needed(30, 0.0, 0.06) == 31, "more than there are: luck was against it"
    assert paired.blocks_needed(6, math.log(1.05), 0.06) is None, "on the margin"
    assert paired.blocks_needed(6, 0.05, 0.06) is None, "beside the margin: more than anybody would run"
    assert paired.blocks_needed(1, 0.1, None) is None
    # Among five experiments the strictest of Holm's levels is 0.005, one-sided: t(12) 3.054540, at 16 blocks
    # e = 0.015, t(15) = 2.946713, T(3.4140 - 2.9467 = 0.4673) = 0.677.
    assert paired.chance(16, 0.1, 0.06, level=0.005) == pytest.approx(0.677, abs=0.001)


@pytest.mark.parametrize("ratio", [1.0, 1.1])
def test_blocks_needed_keep_their_promise(ratio: float) -> None:
    noise = simulation.Noise().with_sd(0.034)
    m = paired.blocks_needed(2, math.log(ratio), 0.034)
    assert m is not None
    then = simulation.simulate(m, ratio, noise, runs=2000)
    assert 1 - then.undecided == pytest.approx(paired.POWER, abs=0.08)


def test_exact_intervals_of_shares() -> None:
    # Clopper and Pearson: of 3 of 3 the lower end is the cube root of 0.025.
    assert paired.binomial(3, 3) == (pytest.approx(0.025 ** (1 / 3)), 1.0)
    assert paired.binomial(0, 3) == (0.0, pytest.approx(1 - 0.025 ** (1 / 3)))
    assert paired.binomial(1, 6) == (pytest.approx(0.00421, abs=1e-5), pytest.approx(0.64123, abs=1e-5))
    low, high = paired.binomial(3, 6)
    assert low == pytest.approx(1 - high)

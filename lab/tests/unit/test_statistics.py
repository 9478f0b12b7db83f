"""The statistics of ratios, against values worked out by hand, and by their laws."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from vtlab.analysis.statistics import paired

LOGS = [0.10, 0.14, 0.08, 0.12, 0.06, 0.10]


def test_the_log_ratio_is_that_of_the_means_of_a_blocks_trials() -> None:
    # (100 + 300) / 2 over (90 + 110) / 2 = 2
    assert paired.log_ratio(np.array([100.0, 300.0]), np.array([90.0, 110.0])) == pytest.approx(math.log(2))


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


def test_what_is_beyond_every_number_stays_finite() -> None:
    assert 0 < paired.exp(-1e6) < paired.exp(1e6) < math.inf
    assert paired.exp(0.1) == math.exp(0.1)


def test_the_spread_and_its_interval_by_hand() -> None:
    # chi-square(5): 2.5 % 0.831212, 97.5 % 12.832502; known from tables: factors 0.6242 and 2.4526 for n = 6.
    s = paired.spread(LOGS)
    assert s.sd == pytest.approx(0.0282843, abs=1e-7)
    assert s.low == pytest.approx(0.6242 * 0.0282843, rel=1e-4)
    assert s.high == pytest.approx(2.4526 * 0.0282843, rel=1e-4)
    assert paired.spread([0.1]) == paired.Spread(1, None, None, None)
    assert paired.spread([0.1, 0.1, 0.1]).high == 0


@pytest.mark.parametrize(
    ("low", "high", "place"),
    [
        (1.06, 1.20, paired.ABOVE),
        (0.70, 0.94, paired.BELOW),
        (0.96, 1.04, paired.INSIDE),
        (1 / 1.05, 1.05, paired.INSIDE),
        (1.01, 1.04, paired.INSIDE),
        (1.04, 1.06, paired.ACROSS),
        (0.951, 1.0, paired.ACROSS),  # 1/1.05 is 0.95238: the margin is symmetric in logs
        (0.90, 1.20, paired.ACROSS),
    ],
)
def test_an_interval_lies_beyond_the_margin_or_inside_it(low: float, high: float, place: int) -> None:
    assert int(paired.position(low, high)) == place


@given(st.floats(0.5, 2), st.floats(1, 1.5))
def test_above_one_way_is_below_the_other_way(low: float, width: float) -> None:
    mirror = {paired.ABOVE: paired.BELOW, paired.BELOW: paired.ABOVE}
    there = int(paired.position(low, low * width, 0.0501))
    assert int(paired.position(1 / (low * width), 1 / low, 0.0501)) == mirror.get(there, there)


@given(st.lists(st.floats(0, 1), min_size=1, max_size=12))
def test_holm_lies_between_no_adjustment_and_bonferronis(p_values: list[float]) -> None:
    adjusted = [a for a in paired.holm(p_values) if a is not None]
    assert all(p <= a <= min(1, len(p_values) * p) + 1e-12 for p, a in zip(p_values, adjusted, strict=True))
    assert min(adjusted) == pytest.approx(min(1, len(p_values) * min(p_values)))
    in_order = sorted(zip(p_values, adjusted, strict=True))
    assert [a for _, a in in_order] == sorted(adjusted), "the order of the p values stays"


def test_holm_by_hand() -> None:
    # 0.01 x 4; 0.02 x 3; 0.03 x 2, 0.04 x 1 rises to the one before: Holm never falls.
    assert paired.holm([0.02, 0.04, 0.01, 0.03]) == pytest.approx([0.06, 0.06, 0.04, 0.06])
    assert paired.holm([0.03, None, 0.5]) == [0.06, None, 0.5]
    assert paired.holm([0.6, 0.9]) == [1.0, 1.0]
    assert paired.holm([]) == []
    assert paired.holm([None]) == [None]


def test_exact_intervals_of_shares() -> None:
    # Clopper and Pearson: of 3 of 3 the lower end is the cube root of 0.025.
    assert paired.binomial(3, 3) == (pytest.approx(0.025 ** (1 / 3)), 1.0)
    assert paired.binomial(0, 3) == (0.0, pytest.approx(1 - 0.025 ** (1 / 3)))
    assert paired.binomial(1, 6) == (pytest.approx(0.00421, abs=1e-5), pytest.approx(0.64123, abs=1e-5))
    low, high = paired.binomial(3, 6)
    assert low == pytest.approx(1 - high)

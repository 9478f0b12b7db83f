"""The intervals of demands: over phases, over blocks and of slopes."""

from __future__ import annotations

import math

import numpy as np
import pytest

from tests.support import recorded
from tests.support.phases import SCATTER, bound_of, measured
from vtlab.analysis.laws.bounds import bounds
from vtlab.analysis.laws.estimates import slope
from vtlab.analysis.laws.phases import Measured, Phases


def test_a_slope_is_least_squares_and_judged_by_its_t_interval() -> None:
    # Residuals of r, 0 and -r at 0 and at 10: the slope's standard error is r / sqrt(150), and its interval on either
    # side t(4) = 2.776 times as wide: 20 % of a slope of 0.5 for r = 0.441.
    def scattered(r: float) -> list[tuple[float, float]]:
        return [(rate, 1 + 0.5 * rate + error) for rate in (0, 10) for error in (r, 0, -r)]

    narrow, wide = slope(scattered(0.44)), slope(scattered(0.442))
    assert wide is None
    assert narrow is not None
    assert narrow.seconds == pytest.approx(0.5)
    assert (narrow.low, narrow.high) == pytest.approx((0.4, 0.6)), "known to 20 %, not better"


PLANNED_RATES = np.array([0, 3, 1, 3, 0]) / 3


# Where many are refused more are drawn.
@pytest.mark.parametrize(
    ("noise", "drawn"), [(0.01, 1000), (0.02, 1000), (0.03, 1000), (0.05, 1000), (0.07, 1000), (0.1, 4000)]
)
@pytest.mark.parametrize("idle", [0.0, 0.1])
def test_an_accepted_slope_holds_the_true_one(noise: float, drawn: int, idle: float) -> None:
    """With the least squares' own intervals, of which chance makes some too narrow, 82 % did at a noise of 10 %."""
    random = np.random.default_rng(16)
    level = idle + PLANNED_RATES
    cores = level + random.normal(0, noise * level.max(), (drawn, len(level)))
    fitted = [slope(list(zip(PLANNED_RATES, values, strict=True))) for values in cores]
    accepted = [d for d in fitted if d is not None and d.low is not None and d.high is not None]
    assert len(accepted) >= (0.975 if noise <= 0.02 else 0.15) * drawn
    holding = sum(d.low <= 1.0 <= d.high for d in accepted)  # type: ignore[operator]
    assert holding / len(accepted) >= 0.93


@pytest.mark.parametrize(
    "points",
    [
        [],
        [(0, 0.01), (100, 0.05)],
        [(0, 0.01), (0, 0.01), (100, 0.05), (100, 0.05)],  # four: chance narrows too many of them
        [(50, 0.01), (50, 0.02), (50, 0.03), (50, 0.01), (50, 0.02), (50, 0.03)],
        [(0, 0.01), (0, 0.05), (0, 0.03), (100, 0.04), (100, 0.08), (100, 0.06)],  # wide
        [(0, 0.05), (0, 0.05), (0, 0.05), (100, 0.01), (100, 0.01), (100, 0.01)],
    ],
)
def test_a_slope_that_says_little_is_none(points: list[tuple[float, float]]) -> None:
    assert slope(points) is None


def test_a_bound_has_the_t_interval_of_its_phases() -> None:
    bound = bound_of(measured("virtual", (29_970, 30, {})), "load")
    logs = [math.log(share) for share in SCATTER]
    mean = math.fsum(logs) / 3
    half = 4.302653 * math.sqrt(math.fsum((x - mean) ** 2 for x in logs) / 2) / math.sqrt(3)
    assert (bound.low, bound.high) == pytest.approx((bound.bound * math.exp(-half), bound.bound * math.exp(half)))


def of_blocks(*alone: float, scatter: float = 0.03) -> Measured:
    """A run whose blocks have so long a request alone, and phases that scatter."""
    blocks = [measured("virtual", (29_970, 30, {}), alone=seconds).blocks[0] for seconds in alone]
    for block in blocks:
        for trial, off in zip(block.single, (1 - scatter, 1.0, 1 + scatter), strict=True):
            trial.latency = recorded.latency(trial.ok, (trial.latency.mean or 0.0) * off)
            trial.end = trial.start + round(1000 * trial.ok * (trial.latency.mean or 0.0))
    return Measured(recorded.experiment(), "virtual", blocks)


def test_two_blocks_have_an_interval_by_the_phases_within_them_too() -> None:
    # By two values alone it would reach 12.7 standard errors: from 0.83 to 1.20 of what it is.
    bound = bound_of(of_blocks(1.0, 1.03), "load")
    assert bound.low is not None
    assert bound.high is not None
    assert 1.02 < bound.high / bound.bound < 1.1
    alone = of_blocks(1.0)
    one = bound_of(alone, "load")
    assert one.high is not None
    assert bound.high / bound.bound < one.high / one.bound, "two blocks tell no less than one"


def test_blocks_that_refute_their_phases_are_two_values() -> None:
    bound = bound_of(of_blocks(1.0, 1.05, scatter=0.002), "load")
    half = 12.7062 * math.log(1.05) / 2
    assert bound.high is not None
    assert math.log(bound.high / bound.bound) == pytest.approx(half, rel=0.02)


def test_what_is_not_known_to_a_half_gives_no_bound() -> None:
    m = of_blocks(1.0, 1.1, scatter=0.002)
    assert not {"load", "connections"} & {bound.resource for bound in bounds(m)}
    once = Phases(m.trials[:1], m.single[:1], [], m.instances[:1])
    single = bound_of(Measured(m.experiment, "virtual", [once]), "load")
    assert (single.low, single.high) == (None, None)


def test_the_interval_of_two_blocks_holds_the_true_demand() -> None:
    """Blocks scatter by 3 %, as phases do within them."""
    random = np.random.default_rng(42)
    held = []
    for _ in range(300):
        m = of_blocks(*np.exp(random.normal(0, 0.03, 2)))
        for trial in m.single:
            off = math.exp(random.normal(0, 0.03))
            trial.latency = recorded.latency(trial.ok, (trial.latency.mean or 0.0) * off)
            trial.end = trial.start + round(1000 * trial.ok * (trial.latency.mean or 0.0))
        found = [b for b in bounds(m) if b.resource == "load"]
        if found and found[0].low is not None and found[0].high is not None:
            held.append(found[0].low <= m.experiment.load.users <= found[0].high)
    # The others are too wide for a bound.
    assert len(held) >= 240
    assert np.mean(held) >= 0.9

"""Simulated runs: the intervals cover what they say, and false verdicts are rare."""

from __future__ import annotations

import pytest

from vtlab.analysis import simulation
from vtlab.analysis.simulation import Noise, simulate

SMALL = Noise(jvm=0.005, trial=0.005, white=0.003)
LARGE = Noise(block=0.2, drift=0.05, jvm=0.04, trial=0.05, correlation=0.8, white=0.02)


@pytest.mark.parametrize("noise", [SMALL, Noise(), LARGE], ids=["small", "usual", "large"])
@pytest.mark.parametrize("ratio", [1.0, 1.2, 5.0])
def test_six_blocks_cover_the_truth_as_they_say(noise: Noise, ratio: float) -> None:
    assert 0.93 <= simulate(6, ratio, noise).coverage <= 0.97


@pytest.mark.parametrize("noise", [SMALL, Noise(), LARGE], ids=["small", "usual", "large"])
def test_alike_variants_are_hardly_ever_called_different(noise: Noise) -> None:
    result = simulate(6, 1.0, noise)
    assert result.faster + result.slower <= 0.01


def test_a_difference_of_just_the_margin_is_called_one_as_seldom_as_the_confidence_says() -> None:
    result = simulate(6, 1.05)
    assert result.faster <= 0.035
    assert result.equivalent <= 0.035


def test_power_grows_with_the_blocks() -> None:
    power = [simulate(n, 1.1).faster for n in (3, 6, 12)]
    assert power == sorted(power)
    assert power[-1] > 0.95


def test_a_drift_in_the_machine_cancels_in_the_mirrored_order() -> None:
    # 10 % from trial to trial: in the order ABAB the ratio would scatter by 10 %.
    drifting = Noise(block=0, drift=0.1, jvm=0, trial=0, white=0)
    assert simulate(6, 1.0, drifting, runs=200).sd < 0.015


def test_the_table_is_the_same_each_time() -> None:
    lines = list(simulation.table())
    assert lines == list(simulation.table())
    assert any(line.startswith("  1.00   6") for line in lines)
    print("\n".join(lines))

"""Simulated lone users of a mix."""

from __future__ import annotations

import pytest

from vtlab.analysis.statistics import simulated_mixes


def test_a_mix_that_is_drawn_alike_in_each_phase_is_hardly_known_and_seems_certain() -> None:
    shares = simulated_mixes.simulate("drawn", 5000)
    assert shares.near < 0.3
    assert (shares.covered, shares.known) == (0, 1)


@pytest.mark.parametrize("kind", ["scattered", "exponential"])
def test_kinds_by_their_shares_have_an_interval_that_holds_the_truth(kind: str) -> None:
    shares = simulated_mixes.simulate(kind, 5000)
    assert shares.covered >= 0.9
    # 90.4 % in 60,000 runs; 79 % without the width that so few answers have at least.
    assert shares.covered_of_known >= 0.88

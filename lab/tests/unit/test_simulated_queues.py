"""Open load on a server with heavy-tailed work, which keeps up, and on one that does not."""

from __future__ import annotations

import numpy as np
import pytest

from vtlab.analysis.statistics import simulated_queues
from vtlab.model.records import Block


@pytest.mark.parametrize("use", [0.8, 0.9])
def test_a_heavy_tailed_queue_is_hardly_ever_called_overloaded(use: float) -> None:
    """Either of two variants that are alike, at any look: in one run of a hundred at most."""
    shares = simulated_queues.simulate(use, 1500)
    assert shares.by_counts > 0.3, "the counts alone called it overloaded"
    assert shares.overloaded <= 0.01


def test_a_tenth_too_much_is_called_an_overload_beside_a_variant_that_keeps_up() -> None:
    """No bound says so, as of a limit that has no meter: four blocks name the variant, and no other."""
    random, runs = np.random.default_rng(1), 60
    overloaded = [simulated_queues.overloaded_variants(blocks_of_one_that_lags(random)) for _ in range(runs)]
    assert all("virtual" not in names for names in overloaded)
    assert sum(names == ["platform"] for names in overloaded) >= 0.8 * runs


def blocks_of_one_that_lags(random: np.random.Generator, use: float = 1.1) -> list[Block]:
    """Draws four blocks whose first variant gets a tenth more work than it serves, and the second half of that."""
    mean = 0.015
    rate = use / mean
    blocks = []
    for number in range(1, 5):
        due = simulated_queues.arrivals(random, rate)
        first, second = (
            simulated_queues.window(rate, due, random.exponential(of, due.size)) for of in (mean, mean / 2)
        )
        blocks.append(simulated_queues.block(number, (first, second)))
    return blocks


def test_requests_are_served_in_turn() -> None:
    done = simulated_queues._served(np.array([0.0, 1.0, 1.5, 9.0]), np.array([2.0, 1.0, 1.0, 0.5]))
    assert list(done) == [2.0, 3.0, 4.0, 9.5]

"""Open load on a server with heavy-tailed work, which keeps up."""

from __future__ import annotations

import numpy as np
import pytest

from vtlab.analysis.statistics import simulated_queues


@pytest.mark.parametrize("use", [0.8, 0.9])
def test_a_heavy_tailed_queue_is_hardly_ever_called_overloaded(use: float) -> None:
    shares = simulated_queues.simulate(use, 300)
    assert shares.by_counts > 0.3, "the counts alone called it overloaded"
    assert shares.beside_another <= 0.03
    assert shares.alone <= 0.03


def test_requests_are_served_in_turn() -> None:
    done = simulated_queues._served(np.array([0.0, 1.0, 1.5, 9.0]), np.array([2.0, 1.0, 1.0, 0.5]))
    assert list(done) == [2.0, 3.0, 4.0, 9.5]

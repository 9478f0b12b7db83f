"""How far a window's percentile may be from the load's: ``vtlab.analysis.statistics.percentiles``."""

from __future__ import annotations

import math

import numpy as np
import pytest

from vtlab.analysis.statistics import percentiles, simulated_percentiles
from vtlab.model.histogram import bucket
from vtlab.model.records import Answers, Halves, Histogram, Parts

Latencies = np.ndarray[tuple[int], np.dtype[np.float64]]


def answers(parts: list[Latencies], name: str = "p95") -> Answers:
    """Returns the record of a window whose parts had these latencies."""
    every = np.concatenate(parts)
    numbers = [bucket(float(x)) for x in every]
    counts = [0] * (max(numbers) - min(numbers) + 1)
    for number in numbers:
        counts[number - min(numbers)] += 1
    edge = float(np.quantile(every, percentiles.SHARES[name]))
    above = {name: [int(np.sum(part > edge)) for part in parts]}
    return Answers(
        latency=None,
        histogram=Histogram(first=min(numbers), counts=counts, is_exact=True),
        parts=Parts(seconds=0.5, ok=[len(part) for part in parts], above=above),
        halves=Halves(arrived=(0, 0), completed=(0, 0)),
        kinds=[],
        forms=None,
    )


def test_the_error_of_independent_answers_is_that_of_drawn_windows() -> None:
    random = np.random.default_rng(3)

    def window() -> list[Latencies]:
        return [random.lognormal(-3, 0.5, 100) for _ in range(20)]

    logs = [math.log(float(np.quantile(np.concatenate(window()), 0.95))) for _ in range(2000)]
    errors = [percentiles.log_error(answers(window()), "p95") for _ in range(40)]
    assert float(np.mean(errors)) / float(np.std(logs)) == pytest.approx(1, abs=0.15)


def test_bursts_make_the_error_larger() -> None:
    """Where all answers of a part are slow together, few parts decide a percentile."""
    random = np.random.default_rng(4)

    def window(bursts: bool) -> list[Latencies]:
        slow = [1.0 if part % 10 == 0 else 0.0 for part in range(20)]
        shift = slow if bursts else [sum(slow) / 20] * 20
        return [random.lognormal(-3 + s, 0.3, 100) for s in shift]

    alike, bursts = (percentiles.share_error(answers(window(is_bursts)), "p95") for is_bursts in (False, True))
    assert bursts > 2 * alike


def test_a_percentile_between_two_modes_spans_more_than_any_that_is_judged() -> None:
    between, inside = simulated_percentiles.window(30), simulated_percentiles.window(2)
    assert between.span > 10 * percentiles.MOST_SPAN
    assert inside.span < percentiles.MOST_SPAN


@pytest.mark.parametrize("share", simulated_percentiles.SHARES)
@pytest.mark.parametrize("blocks", [2, 3, 6])
def test_alike_variants_between_two_modes_are_judged_wrongly_in_2_6_percent_at_most(share: float, blocks: int) -> None:
    found = simulated_percentiles.simulate(share, blocks, 4000)
    assert found.better <= 0.026
    assert found.worse <= 0.026


def test_the_interval_alone_would_be_wrong_more_often() -> None:
    """So the rules are needed."""
    found = simulated_percentiles.simulate(0.01, 2, 4000)
    assert found.better_alone > 0.05
    assert found.worse_alone > 0.05
    assert found.none > 0.99


def test_a_window_without_answers_has_no_percentile() -> None:
    empty = answers([np.array([0.1])]).model_copy(update={"histogram": Histogram(first=0, counts=[], is_exact=True)})
    with pytest.raises(ValueError, match="without answers"):
        percentiles.share_error(empty, "p95")

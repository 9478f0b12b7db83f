"""Histograms of latency: their buckets, and what merged ones say."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vtlab.model import histogram
from vtlab.model.histogram import bucket, merged, quantile
from vtlab.model.records import Histogram

LATENCIES = st.lists(st.floats(1e-6, 60), min_size=1, max_size=50)
#: How much longer the upper end of a bucket is than its lower end.
STEP: float = 10 ** (1 / histogram.BUCKETS_PER_DECADE)
EMPTY = Histogram(first=0, counts=[], is_exact=True)


def of(latencies: list[float], is_exact: bool = True) -> Histogram:
    numbers = [bucket(seconds) for seconds in latencies]
    first = min(numbers)
    counts = [numbers.count(number) for number in range(first, max(numbers) + 1)]
    return Histogram(first=first, counts=counts, is_exact=is_exact)


@pytest.mark.parametrize(
    ("seconds", "number"),
    [(0, 0), (5e-7, 0), (1e-6, 0), (1.02e-6, 0), (1.03e-6, 1), (1e-3, 300), (0.9999e-3, 299), (1, 600), (15, 717)],
)
def test_a_bucket_holds_a_hundredth_of_a_decade(seconds: float, number: int) -> None:
    assert bucket(seconds) == number


@given(LATENCIES, LATENCIES)
def test_merged_histograms_are_that_of_all_answers(some: list[float], others: list[float]) -> None:
    assert merged([of(some), EMPTY, of(others)]) == of(some + others)


def test_what_is_merged_of_one_that_is_not_exact_is_not_exact() -> None:
    assert not merged([of([0.01]), of([0.02], is_exact=False)]).is_exact
    assert merged([]) == EMPTY


@given(LATENCIES, st.floats(0, 1))
def test_a_quantile_is_off_by_less_than_a_bucket(latencies: list[float], p: float) -> None:
    rank = min(len(latencies) - 1, int(p * len(latencies)))
    lower, upper = sorted(latencies)[max(0, rank - 1)], sorted(latencies)[rank]
    assert lower / STEP / 1.0001 <= quantile(of(latencies), p) <= upper * STEP * 1.0001


def test_a_quantile_inside_a_bucket_is_its_logarithmic_part() -> None:
    # 40 answers from 1 ms to 1.0233 ms, 60 from 1 s on
    both = Histogram(first=300, counts=[40, *[0] * 299, 60], is_exact=True)
    assert quantile(both, 0.2) == pytest.approx(1e-3 * STEP**0.5)
    assert quantile(both, 0.4) == pytest.approx(1e-3 * STEP)
    assert quantile(both, 1) == pytest.approx(STEP)


def test_a_histogram_without_answers_has_no_quantile() -> None:
    with pytest.raises(ValueError, match="no quantile"):
        quantile(EMPTY, 0.5)

"""Histograms of latency with logarithmic buckets. Those of several windows merge without a loss."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

from vtlab.model.records import Histogram

#: As in ``k6/lib/constants.ts``.
BUCKETS_PER_DECADE = 100


def bucket(seconds: float) -> int:
    """Returns the number of the bucket that holds a latency. The first one holds all below a microsecond, too."""
    microseconds = seconds * 1e6
    return max(0, math.floor(BUCKETS_PER_DECADE * math.log10(microseconds))) if microseconds > 1 else 0


def merged(histograms: Sequence[Histogram]) -> Histogram:
    """Merges histograms into one, which is exact where all are."""
    filled = [histogram for histogram in histograms if histogram.counts]
    is_exact = all(histogram.is_exact for histogram in histograms)
    if not filled:
        return Histogram(first=0, counts=[], is_exact=is_exact)
    first = min(histogram.first for histogram in filled)
    counts = [0] * (max(histogram.first + len(histogram.counts) for histogram in filled) - first)
    for histogram in filled:
        for position, count in enumerate(histogram.counts, histogram.first - first):
            counts[position] += count
    return Histogram(first=first, counts=counts, is_exact=is_exact)


def quantile(histogram: Histogram, p: float) -> float:
    """Returns the latency in seconds below which the share ``p`` of the answers lies, from 0 to 1: log-linear inside a
    bucket. ValueError for a histogram without answers."""
    left = p * sum(histogram.counts)
    end = None
    for number, count in _filled(histogram):
        if left <= count:
            return _seconds(number + left / count)
        left -= count
        end = number + 1
    if end is None:
        raise ValueError("a histogram without answers has no quantile")
    # What the sum above lost to rounding.
    return _seconds(end)


def _filled(histogram: Histogram) -> Iterator[tuple[int, int]]:
    """Yields the number and count of each bucket with answers."""
    return ((number, count) for number, count in enumerate(histogram.counts, histogram.first) if count)


def _seconds(place: float) -> float:
    """Returns the latency at a place among the buckets: 100.5 is the middle of bucket 100."""
    return float(10 ** (place / BUCKETS_PER_DECADE - 6))

"""Percentiles of a window: how far a percentile of its answers may be from that of the load.

Two things make it vary: the number of answers (order statistics: the rank of the p quantile among n answers has a
standard deviation of √(n·p·(1-p)) [1]), and that answers come in bursts (a queue that comes and goes makes neighbours
alike). The second is a bootstrap over the parts of the window, 0.5 s each; of the share of answers that lie above the
percentile it has a closed form, the variance of a ratio estimator over the parts [2]. The larger of the two counts, as
a range of shares; the histogram turns shares into latencies.

Sources
    [1] H. David, H. Nagaraja: Order Statistics, 3rd edition, 2003, section 7.1.
    [2] W. Cochran: Sampling Techniques, 3rd edition, 1977, section 6.4.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from vtlab.model.histogram import merged, quantile
from vtlab.model.manifest import Percentile
from vtlab.model.records import Answers, Parts

#: Share of the answers at or below each percentile.
SHARES: dict[Percentile | str, float] = {"p50": 0.50, "p90": 0.90, "p95": 0.95, "p99": 0.99}
#: Factor that the 95 % interval of a percentile over the windows of a variant may span. That of one between two modes
#: spans far more.
MOST_SPAN = 1.5
#: Standard deviations on each side of a 95 % interval.
_TWO_SIDED = 1.96


def share_error(answers: Answers, name: str) -> float:
    """Computes the standard deviation of the share of answers below a window's percentile. ValueError without
    answers."""
    total = sum(answers.histogram.counts)
    if not total:
        raise ValueError("a window without answers has no percentile")
    share = SHARES[name]
    return max(math.sqrt(share * (1 - share) / total), _over_parts(answers, name))


def _over_parts(answers: Answers, name: str) -> float:
    """Computes the same over the parts of the window; 0 where these are too few."""
    counts = answers.parts.ok
    above = next((values for key, values in answers.parts.above.items() if key == name), [])
    total, k = sum(counts), len(counts)
    if k < 2 or not total or len(above) != k:
        return 0.0
    share = sum(above) / total
    squares = math.fsum((a - share * n) ** 2 for a, n in zip(above, counts, strict=True))
    return math.sqrt(squares * k / (k - 1)) / total


def log_error(answers: Answers, name: str) -> float:
    """Computes the standard deviation of the log of a window's percentile."""
    off = share_error(answers, name)
    return math.log(_range(answers, name, off)) / 2


def span(answers: Answers, name: str) -> float:
    """Computes the factor between the ends of the 95 % interval of a window's percentile, 1 or more."""
    return _range(answers, name, _TWO_SIDED * share_error(answers, name))


def joined(windows: Sequence[Answers]) -> Answers:
    """Joins windows of a variant, one or more, into one: histograms are added, parts follow each other.

    More windows tell more: an interval over all of them is narrow unless the percentile lies between two modes, however
    few answers each window has.
    """
    first = windows[0]
    above = {name: [n for w in windows for n in w.parts.above.get(name, [])] for name in first.parts.above}
    parts = Parts(seconds=first.parts.seconds, ok=[n for w in windows for n in w.parts.ok], above=above)
    return first.model_copy(update={"histogram": merged([w.histogram for w in windows]), "parts": parts})


def _range(answers: Answers, name: str, off: float) -> float:
    share, histogram = SHARES[name], answers.histogram
    low, high = quantile(histogram, max(0.0, share - off)), quantile(histogram, min(1.0, share + off))
    return high / low if low > 0 else math.inf

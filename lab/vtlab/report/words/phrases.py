"""Phrases that several sentences share: variants, metrics, loads and differences in plain words."""

from __future__ import annotations

import math

from vtlab.model.experiment import Experiment
from vtlab.model.load import ClosedLoad
from vtlab.model.units import percent
from vtlab.model.variant import kind

#: At this ratio or above, "x times" reads better than a percentage.
TIMES = 1.5

#: Metric -> its noun, and the words for more and less of it.
_NOUNS: dict[str, tuple[str, str, str]] = {
    "throughput": ("throughput", "more", "less"),
    "latency_mean": ("mean latency", "higher", "lower"),
    "latency_p50": ("median latency", "higher", "lower"),
    "latency_p99": ("p99 latency", "higher", "lower"),
    "cpu_per_request": ("CPU per request", "more", "less"),
    "memory": ("memory", "more", "less"),
    "service_time": ("service time", "longer", "shorter"),
}

#: Variants that answered, but were not steady after the warm-up: no service that breaks.
COLD, BOTH_COLD = "reaches no steady state under this load", "neither reaches a steady state under this load"

SYMBOLS = {"faster": "▲", "slower": "▼", "equivalent": "=", "inconclusive": "?", "fails": "✗"}


def subject(variant: str) -> str:
    """Names a variant at the start of a sentence: ``Virtual threads``, ``Platform threads (a)`` in an A/A run."""
    base = kind(variant)
    letter = variant.removeprefix(base).removeprefix("-")
    text = f"{base.capitalize()} threads" if base in ("platform", "virtual") else base.capitalize()
    return text + (f" ({letter})" if letter else "")


def inside_sentence(variant: str) -> str:
    """Names a variant inside a sentence: ``virtual threads``."""
    text = subject(variant)
    return text[0].lower() + text[1:]


def verb(variant: str, plural: str) -> str:
    """Returns the verb for ``virtual threads``, or for a variant that goes by its name."""
    if kind(variant) in ("platform", "virtual"):
        return plural
    return {"are": "is"}.get(plural, f"{plural}s")


def amount(metric: str, ratio: float) -> str:
    """Puts a ratio into words: ``5.0 times the throughput``, ``3.4 % less memory``, ``the same p99 latency``."""
    noun, more, less = _NOUNS.get(metric, (metric, "more", "less"))
    if ratio >= TIMES:
        return f"{ratio:,.1f} times the {noun}" if ratio < 20 else f"{ratio:,.0f} times the {noun}"
    share = abs(ratio - 1)
    if share < 0.0005:
        return f"the same {noun}"
    digits = 0 if 0.0995 <= share < 0.99 else 1
    return f"{percent(share, digits)} {more if ratio > 1 else less} {noun}"


def noun(metric: str) -> str:
    """Names a metric in a sentence: ``throughput``, ``p99 latency``."""
    return _NOUNS.get(metric, (metric,))[0]


def load_words(experiment: Experiment) -> str:
    """Puts the load into words: ``1,000 users``, ``150 arrivals a second``."""
    load = experiment.load
    if isinstance(load, ClosedLoad):
        return f"{load.users:,} user{'' if load.users == 1 else 's'}"
    return f"{load.rate:,.10g} arrivals a second"


def no_difference(metric: str, low: float, high: float) -> str:
    """Says what an interval around a ratio of 1 rules out: ``no difference in throughput larger than 27 %``; ``no clear
    difference`` where that is more than twofold."""
    largest = max(high - 1, 1 - low)
    if high > 2 or low < 0.5:
        return f"no clear difference in {noun(metric)}"
    # Rounded up, and never to nothing: it is what the interval rules out.
    step, digits = (0.01, 0) if largest >= 0.1 else (0.001, 1)
    ruled_out = percent(math.ceil(round(largest / step, 6)) * step, digits).replace(".0 %", " %")
    return f"no difference in {noun(metric)} larger than {ruled_out}"

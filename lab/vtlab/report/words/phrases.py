"""Phrases that several sentences share: variants, metrics, loads and differences in plain words."""

from __future__ import annotations

from vtlab.model.experiment import Experiment
from vtlab.model.load import ClosedLoad
from vtlab.model.variant import kind
from vtlab.model.verdict import Comparison
from vtlab.report.words import figures

_NOUNS = {
    "latency_mean": "mean latency",
    "latency_p50": "median latency",
    "latency_p99": "p99 latency",
    "cpu_per_request": "CPU per request",
    "service_time": "service time",
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


def change(c: Comparison) -> str:
    """Writes what was measured of the ratio: ``throughput −0.9 % (−2.1 to +0.3)``; empty without a ratio."""
    return f"{noun(c.metric)} {figures.change(c.ratio, c.low, c.high)}" if c.ratio is not None else ""


def noun(metric: str) -> str:
    """Names a metric in a sentence: ``throughput``, ``p99 latency``."""
    return _NOUNS.get(metric, metric)


def load_words(experiment: Experiment) -> str:
    """Puts the load into words: ``1,000 users``, ``150 arrivals per second``."""
    load = experiment.load
    if isinstance(load, ClosedLoad):
        return f"{load.users:,} user{'' if load.users == 1 else 's'}"
    return f"{load.rate:,.10g} arrivals per second"

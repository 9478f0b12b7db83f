"""A verdict in sentences that need no statistics to read; the same for terminal, Markdown and HTML."""

from __future__ import annotations

import statistics as middle

from vtlab.catalogue import resources
from vtlab.catalogue.resources import RESOURCES
from vtlab.model.experiment import ClosedLoad, Experiment
from vtlab.model.records import Block, Comparison, VariantResult
from vtlab.model.run import Analysis
from vtlab.model.units import percent
from vtlab.model.variant import kind
from vtlab.planning.plan import FULL_RUN

#: From this ratio on "x times" reads better than a percentage.
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

SYMBOLS = {"faster": "▲", "slower": "▼", "equivalent": "=", "inconclusive": "?", "fails": "✗"}


def name(variant: str) -> str:
    """A variant at the start of a sentence: ``Virtual threads``, ``Platform threads (a)`` in an A/A run."""
    base = kind(variant)
    letter = variant.removeprefix(base).removeprefix("-")
    text = f"{base.capitalize()} threads" if base in ("platform", "virtual") else base.capitalize()
    return text + (f" ({letter})" if letter else "")


def _inside(variant: str) -> str:
    text = name(variant)
    return text[0].lower() + text[1:]


def amount(metric: str, ratio: float) -> str:
    """A ratio in words: ``5.0 times the throughput``, ``3.4 % less memory``, ``the same p99 latency``."""
    noun, more, less = _NOUNS.get(metric, (metric, "more", "less"))
    if ratio >= TIMES:
        return f"{ratio:,.1f} times the {noun}" if ratio < 20 else f"{ratio:,.0f} times the {noun}"
    share = abs(ratio - 1)
    if share < 0.0005:
        return f"the same {noun}"
    digits = 0 if 0.0995 <= share < 0.99 else 1
    return f"{percent(share, digits)} {more if ratio > 1 else less} {noun}"


def headline(comparison: Comparison) -> str:
    """The verdict in one line, for beside its name: ``Virtual threads: 5.0 times the throughput``."""
    who, c = name(comparison.of), comparison
    if c.ratio is None:
        if c.verdict == "faster":
            return f"{who}: keep up with the arrivals, {_inside(c.over)} do not"
        if c.verdict == "slower":
            return f"{who}: do not keep up with the arrivals, {_inside(c.over)} do"
        if len(c.overloaded) > 1:
            return f"{who}: neither they nor {_inside(c.over)} keep up with the arrivals"
        return f"{who}: no comparison"
    text = amount(c.metric, c.ratio)
    if c.verdict == "inconclusive":
        return f"{who}: perhaps {text}"
    if c.verdict == "equivalent":
        return f"{who}: {text}, too little to matter"
    return f"{who}: {text}"


def sentence(comparison: Comparison, n: int, confidence: float, margin: float) -> str:
    """What the headline rests on: the ratio, its interval, the number of blocks, the margin, any overload."""
    c = comparison
    over = f"over {n} blocks" if n != 1 else "from a single block"
    overload = " and ".join(_inside(v) for v in c.overloaded)
    if c.ratio is None:
        if n == 0:
            return "No block passed the validity checks, so there is nothing to compare."
        if c.overloaded:
            return (
                f"{overload[0].upper()}{overload[1:]} dropped arrivals with a healthy load generator, {over}:"
                " latency there has no upper bound."
            )
        return f"{_noun(c.metric)} was not measured in every block, {over}."
    text = f"{_noun(c.metric)} of {c.of} is {_ratio(c.ratio)} times that of {c.over}"
    if c.low is None or c.high is None:
        text += f", {over}, which gives no interval"
    else:
        text += f", {percent(confidence)} interval {_ratio(c.low)} to {_ratio(c.high)}, {over}"
    if c.verdict is not None:
        text += f"; differences up to {percent(margin)} do not count"
    if c.overloaded:
        text += f". In some blocks {overload} dropped arrivals, so their latency is higher than measured"
    return text + "."


def _noun(metric: str) -> str:
    noun = _NOUNS.get(metric, (metric,))[0]
    return noun[0].upper() + noun[1:]


def _ratio(value: float) -> str:
    return f"{value:.3f}" if value < 2 else f"{value:,.2f}"


def quick(analysis: Analysis) -> str | None:
    """That this was a quick look, and what a full run costs; None for six blocks and more."""
    verdict = analysis.verdict
    if not verdict.quick:
        return None
    text = f"Quick look: n = {verdict.n}, fewer than {FULL_RUN} blocks"
    lengths = [_seconds(b) for b in analysis.accepted or analysis.run.blocks if b.trials]
    if lengths:
        text += f"; a full run of {FULL_RUN} blocks takes about {duration(FULL_RUN * middle.median(lengths))}"
    return text + "."


def _seconds(block: Block) -> float:
    """From the first warm-up to the last answer, and the start of the JVMs before."""
    phases = [*block.warmup, *block.single, *block.trials]
    measured = (max(t.drained for t in phases) - min(t.begin for t in phases)) / 1000
    return measured + sum(i.started_in for i in block.instances)


def duration(seconds: float) -> str:
    """A length of time in words: ``40 seconds``, ``1 minute``, ``12 minutes``, ``2.5 hours``."""
    for least, unit, digits in ((7200.0, 3600.0, 1), (59.5, 60.0, 0)):
        if seconds >= least:
            number = f"{seconds / unit:.{digits}f}".removesuffix(".0")
            word = "hour" if unit == 3600 else "minute"
            return f"{number} {word}" + ("" if number == "1" else "s")
    return f"{max(1, round(seconds))} second" + ("" if round(seconds) <= 1 else "s")


def validity(analysis: Analysis) -> str | None:
    """That the run is invalid, and why; None when every planned block counts."""
    verdict, planned = analysis.verdict, analysis.run.manifest.blocks
    if verdict.valid:
        return None
    attempts = len(verdict.rejected)
    rejected = f", {attempts} rejected" if attempts else ""
    return f"Not valid: {verdict.n} of {planned} planned blocks count{rejected}. Do not decide by this run."


def hint(comparison: Comparison, n: int, margin: float) -> str | None:
    """What to do about an inconclusive verdict; None for any other."""
    c = comparison
    if c.verdict != "inconclusive":
        return None
    if len(c.overloaded) > 1:
        return "Lower the rate until one of the two keeps up."
    if n == 0:
        return "See the reasons for the rejected blocks."
    if n < 2:
        return "One block gives no interval: run at least two, better six."
    if c.overloaded:
        return f"Lower the rate until {_inside(c.overloaded[0])} keep up in every block."
    if c.blocks_needed is not None:
        return f"A new run of {c.blocks_needed} blocks would probably settle it (--blocks {c.blocks_needed})."
    return (
        f"More blocks will hardly settle it: the difference is too close to the margin of {percent(margin)},"
        " or the noise too large."
    )


def bottleneck(result: VariantResult, experiment: Experiment) -> str:
    """What limits a variant, bound beside measurement, and what would be next."""
    limit, measured = result.bottleneck, rate(result.throughput)
    if not result.throughput:
        return "no block counts, so nothing is known."
    if limit.bound is None:
        text = f"nothing measured explains its {measured}"
        if result.next and result.next.bound is not None:
            text += f"; the nearest bound is {resources.words(result.next.resource)} at {rate(result.next.bound)}"
        return text + "."
    # Measured service demands have noise: throughput can come out a little above its own bound.
    beside = "of at most" if result.throughput <= limit.bound else "at its bound of"
    capacity = next((b.capacity for b in result.bounds if b.resource == limit.resource), 0.0)
    what = _resource(limit.resource, capacity, experiment)
    text = f"limited by {what}: {measured} {beside} {rate(limit.bound)}"
    if limit.utilisation is not None:
        text += f", utilisation {percent(limit.utilisation)}"
    if result.next and result.next.bound is not None:
        text += f"; next would be {resources.words(result.next.resource)} at {rate(result.next.bound)}"
    return text + "."


def _resource(resource: str, capacity: float, experiment: Experiment) -> str:
    load_unit = "users" if isinstance(experiment.load, ClosedLoad) else "arrivals per second"
    return RESOURCES[resource].described(capacity, load_unit) if resource in RESOURCES else resource


def rate(value: float) -> str:
    """Requests per second: ``9.24/s``, ``199.9/s``, ``2,950/s``."""
    digits = 0 if value >= 1000 else 1 if value >= 10 else 2
    text = f"{value:,.{digits}f}"
    return (text.rstrip("0").rstrip(".") if "." in text else text) + "/s"

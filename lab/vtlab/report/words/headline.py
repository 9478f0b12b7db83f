"""A verdict in sentences that need no statistics to read; the same for terminal, Markdown and HTML."""

from __future__ import annotations

import math

from vtlab.analysis.comparable import keeps_up
from vtlab.analysis.statistics import sequential
from vtlab.catalogue import resources
from vtlab.model.experiment import MAX_ERRORS, Experiment
from vtlab.model.load import ClosedLoad
from vtlab.model.records import is_cold
from vtlab.model.run import Analysis
from vtlab.model.units import in_blocks, percent
from vtlab.model.variant import kind
from vtlab.model.verdict import Comparison, Decision, VariantResult, Verdict
from vtlab.report.words import bottlenecks, figures, hints

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

#: From this ratio on the ends of an interval are times, not percentages.
_FAR = 3.0
#: Share of a bound from which on a variant is near it.
_NEAR = 0.8
#: Reasons for failing that fit a headline.
_MOST_REASONS = 3
#: What is said of variants that answered, but were not steady after the warm-up: that is no service that breaks.
COLD, BOTH_COLD = "reaches no steady state under this load", "neither reaches a steady state under this load"

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
    what, more, less = _NOUNS.get(metric, (metric, "more", "less"))
    if ratio >= TIMES:
        return f"{ratio:,.1f} times the {what}" if ratio < 20 else f"{ratio:,.0f} times the {what}"
    share = abs(ratio - 1)
    if share < 0.0005:
        return f"the same {what}"
    digits = 0 if 0.0995 <= share < 0.99 else 1
    return f"{percent(share, digits)} {more if ratio > 1 else less} {what}"


def noun(metric: str) -> str:
    """A metric in a sentence: ``throughput``, ``p99 latency``."""
    return _NOUNS.get(metric, (metric,))[0]


def label(analysis: Analysis) -> str:
    """The verdict in a word, with its symbol: ``▲ faster``."""
    c = analysis.verdict.primary_comparison
    outcome = c.verdict or "inconclusive"
    by_overload = c.ratio is None and outcome in ("faster", "slower")
    return f"{SYMBOLS[outcome]} {outcome}" + (" (overloaded)" if by_overload else "")


def headline(analysis: Analysis) -> str:
    """The verdict in one line, for beside its label: ``Virtual threads: 5.0 times the throughput``."""
    v, c = analysis.verdict, analysis.verdict.primary_comparison
    if c.verdict == "fails":
        return _fails(v, c)
    if c.verdict == "inconclusive":
        return _inconclusive(v, c)
    if c.ratio is None:
        up, down = (c.of, c.over) if c.verdict == "faster" else (c.over, c.of)
        state = _overloaded(v.variants[down])
        return f"{name(up)} {_verb(up, 'keep')} up with the arrivals; {_inside(down)} {_verb(down, 'are')} {state}"
    text = amount(c.metric, c.ratio)
    if c.verdict == "equivalent":
        return _same_at_this_load(analysis, c) or f"{name(c.of)}: {text}, too little to matter"
    if c.is_lower_bound and c.overloaded:
        lost = figures.listed([_inside(of) for of in c.overloaded])
        return f"{name(c.of)}: at least {text}; {lost} {_verb(c.overloaded[0], 'are')} overloaded in some trials"
    if c.is_lower_bound:
        most = load_words(analysis.run.experiment)
        if c.ratio > 1:
            return f"At least {text}: {_inside(c.of)} {_verb(c.of, 'are')} not saturated at {most}"
        return f"{name(c.of)}: at least {text}; {_inside(c.over)} {_verb(c.over, 'are')} not saturated at {most}"
    return f"{name(c.of)}: {text}"


def load_words(experiment: Experiment) -> str:
    """The load in words: ``1,000 users``, ``150 arrivals a second``."""
    load = experiment.load
    if isinstance(load, ClosedLoad):
        return f"{load.users:,} user{'' if load.users == 1 else 's'}"
    return f"{load.rate:,.10g} arrivals a second"


def _verb(variant: str, plural: str) -> str:
    """The verb for ``virtual threads``, or for a variant that goes by its name."""
    if kind(variant) in ("platform", "virtual"):
        return plural
    return {"are": "is"}.get(plural, f"{plural}s")


def _overloaded(result: VariantResult) -> str:
    return bottlenecks.growing(result.growth) if result.growth is not None else "overloaded"


def no_difference(metric: str, low: float, high: float) -> str:
    """What an interval of a ratio that has 1 in it rules out: ``no difference in throughput larger than 27 %``; ``no
    clear difference`` where that is more than twofold."""
    largest = max(high - 1, 1 - low)
    if high > 2 or low < 0.5:
        return f"no clear difference in {noun(metric)}"
    # Rounded up, and never to nothing: it is what the interval rules out.
    step, digits = (0.01, 0) if largest >= 0.1 else (0.001, 1)
    ruled_out = percent(math.ceil(round(largest / step, 6)) * step, digits).replace(".0 %", " %")
    return f"no difference in {noun(metric)} larger than {ruled_out}"


def broken_blocks(v: Verdict, c: Comparison) -> str:
    """That a variant failed in blocks that count, or was cold in them; empty where none did."""
    failed = [v.variants[of].failures for of in (c.of, c.over) if v.variants[of].failed_blocks]
    if not failed:
        return ""
    what = "was not warm" if all(map(is_cold, failed)) else "failed"
    return f"a variant {what} in " + ("some blocks" if v.n > 1 else "the only block")


def _inconclusive(v: Verdict, c: Comparison) -> str:
    if broken := broken_blocks(v, c):
        counts = ", ".join(_count(v, of) for of in (c.of, c.over))
        return f"No verdict, for {broken}: {counts}"
    if c.ratio is None:
        if len(c.overloaded) > 1:
            states = "; ".join(f"{of} is {_overloaded(v.variants[of])}" for of in (c.over, c.of))
            return f"Neither keeps up with the arrivals: {states}"
        return f"{name(c.of)}: no comparison"
    of_what = noun(c.metric)
    if c.low is None or c.high is None:
        return f"{name(c.of)}: no verdict, for one block gives no interval"
    if not v.valid:
        return f"{name(c.of)}: no verdict, for blocks are missing"
    ends = f"({_change(c.low, c.high)})"
    if c.low <= 1 <= c.high:
        return f"{name(c.of)}: no clear difference in {of_what} {ends}"
    beyond = c.low > 1 + v.margin or c.high < 1 / (1 + v.margin)
    among = " among so many runs" if beyond else ""
    return f"{name(c.of)}: a difference in {of_what}, but not clearly beyond {percent(v.margin)}{among} {ends}"


def _change(low: float, high: float) -> str:
    """An interval of ratios as changes: ``-18 % to +27 %``, ``0.82 to 5.1 times``."""
    if high > _FAR or low < 1 / _FAR:
        return figures.interval(low, high, lambda value, more: figures.significant(value, 2 + more)) + " times"
    digits = 0 if high - low >= 0.03 else 1
    return figures.interval(low, high, lambda value, more: f"{100 * (value - 1):+.{digits + more}f} %")


def _fails(v: Verdict, c: Comparison) -> str:
    failing = [of for of in (c.of, c.over) if of in c.fails]
    if len(failing) > 1 and all(is_cold(v.variants[of].failures) for of in failing):
        return f"{BOTH_COLD}: {figures.listed([_count(v, of) for of in failing])}"
    if len(failing) > 1:
        return "both fail under this load: " + "; ".join(f"{of}, {_failure(v, of)}" for of in failing)
    failed = failing[0]
    other = c.over if failed == c.of else c.of
    survivor = v.variants[other]
    failures = v.variants[failed].failures
    if is_cold(failures):
        text = f"{failed} {COLD} {_of_blocks(v, failed)}"
    else:
        colon = ":" if len({f.reason for f in failures}) == 1 else ""
        text = f"{failed} fails under this load{colon} {_failure(v, failed)}"
    text += f"; {other}, {survivor.failed_blocks} of {v.n}"
    return text + (f", serves {figures.rate(survivor.throughput)}" if survivor.throughput else "")


def _of_blocks(v: Verdict, variant: str) -> str:
    result = v.variants[variant]
    return in_blocks(result.failed_blocks, v.n) + _of_starts(result)


def _failure(v: Verdict, variant: str) -> str:
    """``out of heap memory in 3 of 3 blocks (29 to 100 % of starts)``; several reasons stand behind the count."""
    result, count = v.variants[variant], _of_blocks(v, variant)
    reasons = list(dict.fromkeys(f.reason for f in result.failures))
    if len(reasons) == 1:
        return f"{reasons[0]} {count}"
    shown = reasons[:_MOST_REASONS] + [f"{len(reasons) - _MOST_REASONS} more"] * (len(reasons) > _MOST_REASONS)
    return f"{count}: {figures.listed(shown)}" if shown else count


def _count(v: Verdict, variant: str) -> str:
    result = v.variants[variant]
    return f"{variant} in {result.failed_blocks} of {v.n}{_of_starts(result)}"


def _of_starts(result: VariantResult) -> str:
    if result.failed_interval is None:
        return ""
    low, high = result.failed_interval
    return f" ({100 * low:.0f} to {percent(high)} of starts)"


def _same_at_this_load(analysis: Analysis, c: Comparison) -> str | None:
    """Where the load limits both: that it cannot tell them apart, and which load would. None where it limits one."""
    experiment = analysis.run.experiment
    results = {of: analysis.verdict.variants[of] for of in (c.over, c.of)}
    if not all(keeps_up(result) for result in results.values()):
        return None
    if any(_nearest(result, experiment) is None for result in results.values()):
        return "The same at this load, which is what limits both"
    if max(_nearest(result, experiment) or 0.0 for result in results.values()) >= _NEAR:
        return "The same at this load, which is what limits both, but not far from a limit of their own"
    text = "The same at this load; neither is near its limit"
    starts = {of: bottlenecks.binds_from(result, experiment) for of, result in results.items()}
    known = {of: start for of, start in starts.items() if start is not None}
    if not known:
        return text
    first = min(known, key=lambda of: known[of][1])
    bound, most = known[first]
    resource = resources.without_article(resources.bottleneck_words(bound.resource))
    unit = "users" if isinstance(experiment.load, ClosedLoad) else "arrivals a second"
    return f"{text}: {first}'s {resource} would bind from about {figures.significant(most, 2)} {unit} on"


def _nearest(result: VariantResult, experiment: Experiment) -> float | None:
    """The largest share of a bound that a variant reaches, that of the CPU among them; None where that is unknown."""
    if result.cpu_per_request is None:
        return None
    used = result.cpu_per_request * result.throughput / experiment.limits.cpu
    return max([used, *(bound.utilisation for bound in bottlenecks.other_bounds(result))])


def explanation(analysis: Analysis) -> list[str]:
    """What the headline rests on, and what to do where it is none."""
    v, c = analysis.verdict, analysis.verdict.primary_comparison
    sentences = [
        sentence(analysis),
        _width(v, c),
        *(_failed_blocks(v, of) for of in (c.of, c.over)),
        _errors(v, (c.over, c.of), analysis.run.experiment),
        hints.hint(analysis),
    ]
    return [text for text in sentences if text]


def _width(v: Verdict, c: Comparison) -> str | None:
    """That a settled verdict has a wider interval than was wanted, and why; None where it has not."""
    d = v.decision
    if d is None or not v.valid or c.verdict not in ("faster", "slower", "equivalent"):
        return None
    if c.low is None or c.high is None or sequential.is_precise(c.low, c.high, d.precision):
        return None
    why = {
        "futile": f"up to {d.looks[-1]} blocks would hardly reach it",
        "within": "the next look did not fit into the time (--within)",
    }.get(d.ended or "", f"{v.n} blocks are the most of a run")
    return f"The interval is wider than the precision of {percent(d.precision)} that was wanted: {why}."


def _failed_blocks(v: Verdict, variant: str) -> str | None:
    result = v.variants[variant]
    if not result.failed_blocks:
        return None
    return f"Failures of {variant}: {bottlenecks.failures(result)}."


def _errors(v: Verdict, variants: tuple[str, str], experiment: Experiment) -> str | None:
    """The share of errors of both, where there were any or more than by default are allowed."""
    most = experiment.max_errors
    if most <= MAX_ERRORS and not any(v.variants[of].error_ratio for of in variants):
        return None
    shares = ", ".join(f"{of} {figures.share(v.variants[of].error_ratio)}" for of in variants)
    return f"Errors among the answers: {shares}; up to {figures.share(most)} do not fail a variant."


def sentence(analysis: Analysis) -> str | None:
    """The ratio, its interval, the number of blocks, the margin, any overload; None where failing decided."""
    v, c = analysis.verdict, analysis.verdict.primary_comparison
    blocks = len(c.log_ratios) or v.n
    over = f"over {blocks} blocks" if blocks != 1 else "from a single block"
    if c.ratio is None:
        if v.n == 0:
            return "No block passed the validity checks, so there is nothing to compare."
        if c.overloaded:
            rates = [
                f"{of} answered {figures.rate(v.variants[of].throughput)} of {load_words(analysis.run.experiment)}"
                for of in c.overloaded
            ]
            text = f"{figures.listed(rates)}, {over}; latency grows with the length of the window, so none is given."
            return text[0].upper() + text[1:]
        if c.verdict == "fails":
            return None
        where = f"in every block, {over}" if blocks != 1 else "in the only block"
        return f"{_noun(c.metric)} was not measured {where}."
    text = f"{_noun(c.metric)} of {c.of} is {_ratio(c.ratio)} times that of {c.over}"
    if c.low is None or c.high is None:
        text += f", {over}, which gives no interval"
    else:
        text += f", {percent(v.confidence)} interval {figures.interval(c.low, c.high, _ratio)}, {over}{_at_look(v)}"
    if c.verdict is not None:
        text += f"; differences up to {percent(v.margin)} do not count"
    if c.overloaded:
        text += (
            f". In some blocks {figures.listed(c.overloaded)} could not keep up with the arrivals: there the latency"
            " grows with the length of the window"
        )
    return text + "."


def _at_look(v: Verdict) -> str:
    """Which look of a run the interval is of: ``(look 2 of at most 6; the interval allows for all)``."""
    d = v.decision
    if d is None or d.blocks not in d.looks:
        return ""
    return f" (look {d.looks.index(d.blocks) + 1} of at most {len(d.looks)}; the interval allows for all)"


def look(decision: Decision) -> str:
    """What a run's last look showed, and what follows, for the progress."""
    blocks, most = decision.blocks, decision.looks[-1]
    following = sequential.next_goal(decision.looks, blocks)
    return {
        "settled": f"settled after {blocks} blocks",
        "failing": f"no further blocks: a variant failed in each of the first {blocks}",
        "futile": f"no further blocks: up to {most} blocks would hardly settle it",
        "within": f"no further blocks: {following} would take longer than --within allows",
        "last look": f"not settled after {blocks} blocks, the most of a run",
        None: f"not settled after {blocks} blocks, the next look is after {following}",
    }[decision.ended]


def _noun(metric: str) -> str:
    text = noun(metric)
    return text[0].upper() + text[1:]


def _ratio(value: float, more_digits: int = 0) -> str:
    return figures.ratio(value, more_digits).removesuffix("×")


def validity(analysis: Analysis) -> str | None:
    """That the run is invalid, and why; None when every planned block counts."""
    verdict, planned = analysis.verdict, analysis.run.manifest.blocks
    if verdict.valid:
        return None
    attempts = len(verdict.rejected)
    rejected = f", {attempts} rejected" if attempts else ""
    count = _unfinished(verdict.n, verdict.decision) if verdict.decision else counted(verdict.n, planned)
    return f"Not valid: {count}{rejected}. Do not decide by this run."


def counted(blocks: int, planned: int) -> str:
    """How many of a run's blocks count: ``5 of 6 planned blocks count``."""
    return f"{blocks} of {planned} planned " + ("block counts" if planned == 1 else "blocks count")


def _unfinished(blocks: int, decision: Decision) -> str:
    """How many blocks count of a run that lacks some: ``3 blocks count, the next look is after 4``."""
    after = (
        "another does not fit into the time (--within)"
        if decision.ended
        else (f"the next look is after {sequential.next_look(decision.looks, blocks)}")
    )
    return f"{blocks} block{' counts' if blocks == 1 else 's count'}, {after}"


def rejected(blocks: int) -> str:
    """``2 blocks were rejected``."""
    return f"{blocks} block{' was' if blocks == 1 else 's were'} rejected"

"""The next action after a run, with the command where one exists."""

from __future__ import annotations

import math
from collections.abc import Mapping

from vtlab.analysis import run_status, time_plan
from vtlab.analysis.criteria.reasons import NOT_STEADY
from vtlab.analysis.validity import generator
from vtlab.analysis.validity.warm_up_checks import is_cold
from vtlab.catalogue.resources import RESOURCES, bottleneck_words
from vtlab.model import units
from vtlab.model.blocks import FULL_RUN
from vtlab.model.load import NONE, ClosedLoad
from vtlab.model.run import Analysis
from vtlab.model.verdict import VariantResult
from vtlab.report.words import bottlenecks, calls, curve_sentences, hints
from vtlab.report.words.effects import PROPERTY, Pair
from vtlab.report.words.why import measured_finding

#: Findings whose cure the run has measured: its decision says what that is worth.
_CURED_BY_VIRTUAL_THREADS = ("throttled-platform-threads",)
#: Blocks that a longer run has time for.
_MORE_BLOCKS = 4
#: Where the advice is to switch: it says the way back, too.
SWITCH = f"Set {PROPERTY}: true in application.yaml; to go back, false and a restart"
_WARMER = "More warm-up cycles may help: windows.max_cycles in a file (vtlab init)"


def sentence(analysis: Analysis) -> str:
    """Says what to do next; without a full stop."""
    verdict = analysis.verdict
    pair = Pair(analysis)
    if not verdict.valid:
        return _after_invalid(analysis)
    decision = pair.decision
    if decision.rule is None or decision.advice == "no decision":
        return _towards_a_decision(pair)
    if decision.differences:
        return "Find out first why they answer differently"
    if decision.advice == "turn it on" and decision.is_probable and _more_blocks_tell_more(pair):
        return _more_blocks(pair)
    if decision.advice == "turn it on" or decision.at_full == "turn it on":
        return _switch(pair)
    if finding := measured_finding(analysis, _CURED_BY_VIRTUAL_THREADS):
        return _step(finding.cure.removesuffix("."), finding.command)
    if decision.fault == "fails":
        return f"Read the log of {decision.loser}: the results directory has it in its folder logs"
    if decision.advice == "trade-off" and analysis.run.manifest.slo is None:
        return "Decide which of both your users feel; --slo p95=200ms tells which variant meets such a limit"
    return _other_limit(pair)


def _step(text: str, command: str | None) -> str:
    return f"{text}: {command}" if command else text


def _after_invalid(analysis: Analysis) -> str:
    if not analysis.verdict.rejected:
        return "Measure the missing blocks: vtlab resume"
    planned, experiment = analysis.run.manifest.typical, analysis.run.experiment
    none_counts = not analysis.accepted
    if planned and none_counts and all(generator.late_typical_load(b, experiment) for b in analysis.run.blocks):
        half = round(planned.rate / 2, 1)
        command = calls.again(analysis, {**calls.same_load(analysis), "--rate": f"{half:g}"})
        text = "k6 sent typical load too late in each rejected block: end what else runs here, or lower the rate"
        return _step(text, command)
    is_cold_alone = all(is_cold(rejection.reasons) for rejection in analysis.verdict.rejected)
    text = _WARMER if is_cold_alone else "The report says why blocks were rejected"
    end = analysis.verdict.end
    return f"{text}. {_longer(analysis)}" if end and end.ended == "within" else text


def _towards_a_decision(pair: Pair) -> str:
    """Says how to get a decision."""
    analysis, results = pair.analysis, pair.results
    if analysis.verdict.n > 1 and all(result.failed_blocks for result in results):
        return "Measure fewer users, or give the variants more memory"
    if any(result.failed_blocks for result in results):
        return "Measure more blocks: a variant fails if it failed in at least two of them and in more than half"
    if all(result.overloaded_blocks for result in results):
        return "Lower the rate (--rate) until one of them keeps up"
    if _is_rate_too_high(pair):
        return "Lower the rate (--rate): at this one queues were not steady"
    if analysis.verdict.n < 2:
        if any(is_cold(rejection.reasons) for rejection in analysis.verdict.rejected):
            return f"{_WARMER}. {_longer(analysis)}"
        return _longer(analysis)
    return _more_blocks(pair)


def _is_rate_too_high(pair: Pair) -> bool:
    """Tells whether queues that came and went within the windows of a load that is open alone left all undecided."""
    undecided = [pair.outcome(key) for key in pair.decision.undecided]
    is_open = pair.analysis.run.experiment.load_.full == NONE
    return is_open and bool(undecided) and all(outcome.reason == NOT_STEADY for outcome in undecided)


def _longer(analysis: Analysis) -> str:
    """Says how much more time lets the run decide."""
    end = analysis.verdict.end
    if end is None:
        return _step("Measure until it is settled", calls.until_settled(analysis))
    if end.within is None:
        return "Measure at least two blocks, better six"
    minutes = _planned_minutes(analysis) or _minutes_of_more_blocks(analysis, end.within)
    command = calls.again(analysis, {**calls.same_load(analysis), "--max-time": f"{minutes}m"})
    return _step("Give it more time", command or f"--max-time {minutes}m")


def _planned_minutes(analysis: Analysis) -> int:
    """Returns the minutes that the run has named after its only block; 0 where it has named none."""
    run = analysis.run
    plan = time_plan.plan(run, run_status.status_of(run)) if analysis.verdict.n == 1 else None
    return plan.minutes if plan else 0


def _minutes_of_more_blocks(analysis: Analysis, within: float) -> int:
    seconds = (hints.seconds_of(analysis, _MORE_BLOCKS) or 0.0) + time_plan.MARGIN
    return math.ceil(max(seconds, 2 * within) / 60)


def _more_blocks(pair: Pair) -> str:
    """Says how many blocks would settle what is undecided, and how long they take; or that they cannot."""
    analysis, blocks = pair.analysis, _needed_blocks(pair)
    end = analysis.verdict.end
    if blocks is None and end and end.ended == "within":
        return _longer(analysis)
    if blocks is None and end is None and analysis.verdict.n < FULL_RUN:
        return _step("Measure until it is settled", calls.until_settled(analysis))
    if blocks is None:
        counted = f"Judging by {analysis.verdict.n} blocks, this machine cannot settle it"
        return f"{counted}: a difference is too close to its margin, or blocks differ too much"
    seconds = hints.seconds_of(analysis, blocks)
    takes = f", in about {hints.time_in_words(seconds)}" if seconds else ""
    command = calls.again(analysis, {**calls.same_load(analysis), "--blocks": str(blocks)})
    return _step(f"{blocks} blocks would probably settle it{takes}", command or f"--blocks {blocks}")


def _more_blocks_tell_more(pair: Pair) -> bool:
    """Tells whether more blocks would settle what is undecided, or there were few."""
    end, n = pair.analysis.verdict.end, pair.analysis.verdict.n
    return bool(_needed_blocks(pair)) or (n < FULL_RUN and (end is None or end.ended == "within"))


def _needed_blocks(pair: Pair) -> int | None:
    """Returns the blocks that would settle all that is undecided; None where that is not known of one."""
    needed = [pair.outcome(key).blocks_needed for key in pair.decision.undecided]
    known = [blocks for blocks in needed if blocks is not None]
    return max(known) if known and len(known) == len(needed) else None


def _switch(pair: Pair) -> str:
    if pair.is_switch:
        return SWITCH
    properties = pair.analysis.run.experiment.properties_of(pair.decision.of)
    settings = [f"{name}={value}" for name, value in properties.settings.items()]
    return f"Run it as {pair.decision.of}" + (f": {' '.join(settings)}" if settings else "")


def _other_limit(pair: Pair) -> str:
    """Says what to change of that which limits the second variant, or what tells more about the pair."""
    keep_up = all(result.keeps_up for result in pair.results)
    if not keep_up and (cure := _cure(pair)):
        return cure
    if pair.decision.rule == 4 and _needed_blocks(pair):
        return _more_blocks(pair)
    result = pair.results[1]
    is_by_load = result.bottleneck.resource == "load" and result.growth is None
    return _more_load(pair) if keep_up or is_by_load else _find_out(pair)


def _cure(pair: Pair) -> str | None:
    """Says what to change of that which limits the second variant; None where it is the load, or unknown."""
    result = pair.results[1]
    limit = result.bottleneck
    if limit.inside is not None and bottlenecks.is_slow(limit.inside):
        held = bottleneck_words(limit.inside.pool).removeprefix("its ")
        place = f" ({limit.inside.place})" if limit.inside.place else ""
        return f"Shorten the time that {held} are held{place}: a larger pool does not help"
    # Of a limit beside the load, more load is no cure.
    resource = next((name for name in limit.resources if name != "load"), "load")
    if resource in ("load", "unknown"):
        return None
    if resource not in _STEPS:
        name = bottleneck_words(resource)
        return f"Shorten what requests wait for: {name}" if resource not in RESOURCES else f"Enlarge {name}"
    text, option = _STEPS[resource]
    if resource == "cpu" and bottlenecks.long_pauses(pair.analysis, pair.decision.of):
        text = _WITH_LONG_PAUSES
    options = _doubled(pair, option, result) if option else {}
    return _step(text, calls.again(pair.analysis, options) if options else None)


#: By what limits a variant: what to do, and the option that tries it with twice as much.
_STEPS: Mapping[str, tuple[str, str]] = {
    "cpu": ("Compute less for a request, or give it more CPU", "--cpu"),
    "memory": ("Keep less on the heap, or give it more memory", "--memory"),
    "db-pool": ("Hold connections more briefly, or try a larger pool", "--variant"),
    "database": ("Make the database faster: threads of both kinds only wait for it", ""),
    "downstream": ("Make the service downstream faster: threads of both kinds only wait for it", ""),
    "carriers": ("Find what keeps the carriers: thread dumps and pinned places are in the report", ""),
}


#: What to do about the CPU where garbage collection takes a good part of it.
_WITH_LONG_PAUSES = "Give it a larger heap, compute less for a request, or give it more CPU"


def _doubled(pair: Pair, option: str, result: VariantResult) -> dict[str, str]:
    limits = pair.analysis.run.experiment.limits
    if option == "--cpu":
        return {option: f"{2 * limits.cpu:g}"}
    if option == "--memory":
        return {option: f"{2 * units.size(limits.memory) // 2**20}Mi"}
    bound = bottlenecks.bound_of(result, "db-pool")
    return {**calls.same_load(pair.analysis), option: f"pool={2 * bound.capacity:.0f}"} if bound else {}


def _more_load(pair: Pair) -> str:
    """Says which load may tell the variants apart."""
    analysis = pair.analysis
    experiment = analysis.run.experiment
    if not isinstance(experiment.load, ClosedLoad):
        keeps_up = "both keep" if all(result.keeps_up for result in pair.results) else f"{pair.decision.of} keeps"
        return f"Measure a higher rate: at this one {keeps_up} up"
    starts = [bottlenecks.binds_from(result, experiment) for result in pair.results]
    first = min((start[1] for start in starts if start), default=float(experiment.load.users))
    users = curve_sentences.users_that_part(analysis) or math.ceil(2 * max(first, experiment.load.users))
    command = calls.again(analysis, {"--users": f"{users}"})
    return _step("Measure more users, if you expect them", command or f"{users:,} users")


def _find_out(pair: Pair) -> str:
    """Says how to find out what limits the second variant."""
    analysis, name = pair.analysis, pair.decision.of
    asked = f"Find out what requests of {name} wait for"
    if any(name in block.diagnosis for block in analysis.accepted):
        return f"{asked}: the report shows where its threads stood"
    if analysis.run.manifest.target == "kubernetes":
        return f"{asked}: take thread dumps in its pod under load (jcmd)"
    command = calls.again(analysis, {"--thread-dumps": "always"})
    return f"{asked}: {command or 'vtlab run FILE --thread-dumps always, with a file of vtlab init'}"

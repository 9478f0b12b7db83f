"""The decision of a pair in a sentence: what to do, the largest effect, and the load."""

from __future__ import annotations

from vtlab.analysis.criteria.decisions import load_of_claims
from vtlab.model.outcome import Advice, Key
from vtlab.model.run import Analysis
from vtlab.model.units import in_blocks
from vtlab.report.words import block_counts, figures
from vtlab.report.words.effects import PROPERTY, Pair, costs
from vtlab.report.words.failures import failing_loads, failure

NO_DECISION = "No decision"


def sentence(analysis: Analysis) -> str:
    """Says what to do, and by which outcome; without a full stop."""
    if not analysis.verdict.valid:
        return f"{NO_DECISION}: {lacking(analysis)}"
    pair = Pair(analysis)
    decision = pair.decision
    if decision.rule is None:
        return f"{NO_DECISION}: {_missing(pair)}"
    unjudged = [] if decision.rule == 1 else _unjudged(pair)
    return ". ".join(
        filter(
            None,
            [
                _decided(pair),
                costs(pair),
                f"But they answer differently: {figures.listed(decision.differences)}" * bool(decision.differences),
                f"Undecided: {pair.named(decision.undecided)}" * bool(decision.undecided),
                f"Without outcome: {pair.named(unjudged)}" * bool(unjudged),
            ],
        )
    )


def _unjudged(pair: Pair) -> list[Key]:
    """Selects claims that have values but no outcome: a reader would take them for the same."""
    claims = [o for o in pair.analysis.verdict.outcomes if o.is_claim and o.judgement is None and not o.is_provisional]
    return [o.key for o in claims if o.value is not None or o.base_value is not None]


def _decided(pair: Pair) -> str:
    decision = pair.decision
    if decision.rule == 1:
        return f"{_lead(pair, decision.advice)}: {_fault(pair)}"
    if decision.rule == 4:
        return _same(pair)
    if decision.rule == 3:
        return _at_full_load(pair)
    if decision.advice == "trade-off":
        return _trade_off(pair)
    lead = _lead(pair, decision.advice)
    probable = f"Probably {lead[0].lower()}{lead[1:]}" if decision.is_probable else lead
    return f"{probable}: {pair.effect(decision.because[0])}"


def _lead(pair: Pair, advice: Advice | str) -> str:
    is_on = advice == "turn it on"
    if pair.is_switch:
        return f"Turn on {PROPERTY}" if is_on else f"Leave {PROPERTY} off"
    return f"Prefer {pair.decision.of if is_on else pair.decision.over}"


def _trade_off(pair: Pair, is_full: bool = False) -> str:
    """Says what is gained, and what is lost."""
    decision = pair.decision
    probably = "probably " if decision.is_probable and not is_full else ""
    gain, loss = (pair.effect(keys[0], with_load=not is_full) for keys in (decision.because, decision.against))
    return f"{_subject(pair)} is {probably}a trade-off: {gain}, but {loss}"


def _subject(pair: Pair) -> str:
    return PROPERTY if pair.is_switch else f"{pair.decision.of} in place of {pair.decision.over}"


def _at_full_load(pair: Pair) -> str:
    """Says that latency at full load differs, and what the claims show."""
    decision = pair.decision
    load = load_of_claims(pair.analysis.verdict.outcomes)
    where = f"at {pair.load(load)}" if load == "typical" else "in capacity"
    no_difference = "Probably no difference" if decision.is_probable else "No difference"
    first = f"{NO_DECISION if decision.advice == 'no decision' else no_difference} {where}"
    if decision.at_full == "trade-off":
        return f"{first}. At full load {_trade_off(pair, is_full=True)}"
    effect = pair.effect(decision.because[0], with_load=False)
    if decision.advice == "no decision":
        # One setting serves all loads: nothing is advised for one of them alone.
        return f"{first}. At full load {effect}" + f" with {decision.of}" * pair.is_switch
    lead = _lead(pair, decision.at_full or "")
    return f"{first}. At full load {lead[0].lower()}{lead[1:]}: {effect}"


def _same(pair: Pair) -> str:
    """Says at which loads nothing differs; of a full load with undecided latency, that capacity does not."""
    claims = [o for o in pair.analysis.verdict.outcomes if o.is_claim and o.judgement == "same"]
    loads = {o.key.load: pair.load(o.key.load) for o in sorted(claims, key=lambda o: o.key.load != "typical")}
    if pair.decision.undecided and "full" in loads:
        full = f"in capacity at {loads.pop('full')}"
        where = figures.listed([*(f"at {load}" for load in loads.values()), full])
    else:
        where = f"at {figures.listed(list(loads.values()))}"
    if pair.is_switch:
        return f"{PROPERTY} makes no difference {where}"
    return f"{pair.decision.over} and {pair.decision.of} do not differ {where}"


def _fault(pair: Pair) -> str:
    """Says how the worse variant breaks, and in how many blocks."""
    decision, verdict = pair.decision, pair.analysis.verdict
    loser = decision.loser or decision.of
    result = verdict.variants[loser]
    if decision.fault == "overloaded":
        return f"{loser} is overloaded at {pair.load('typical')} {in_blocks(result.overloaded_blocks, verdict.n)}"
    if decision.fault == "restarted":
        load, probe = max(result.probes.items(), key=lambda item: item[1].restarting_blocks)
        share = figures.share(probe.over_second / probe.sent)
        return f"a kubelet would restart {loser} at {pair.load(load)}: {share} of its probes took over 1 s"
    loads = [pair.load(name) for name in failing_loads(pair.analysis, loser)]
    where = f"at {figures.listed(loads)}" if loads else "under this load"
    return f"{loser} fails {where}: {failure(verdict, loser)}"


def _missing(pair: Pair) -> str:
    """Says what a decision lacks."""
    undecided = [pair.outcome(key) for key in pair.decision.undecided]
    if pair.analysis.verdict.n > 1 and undecided and not any(o.reason for o in undecided):
        are = "is" if len(undecided) == 1 else "are"
        return f"{pair.named(pair.decision.undecided)} {are} undecided"
    return pair.decision.missing or "there is nothing to compare"


def lacking(analysis: Analysis) -> str:
    """Says how many blocks count in a run that lacks some, or why the last does not count where the time was over
    before any did."""
    verdict = analysis.verdict
    if verdict.n or not (verdict.end and verdict.end.ended and verdict.rejected):
        return block_counts.planned_blocks(verdict.n, analysis.run.manifest.blocks)
    subject = "the only block" if len(verdict.rejected) == 1 else "the last block"
    return f"{subject} was rejected ({verdict.rejected[-1].reasons[0]}), and too little time was left for another"

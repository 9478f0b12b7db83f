"""Probes of a run: whether a kubelet would restart a variant, if the load lasted."""

from __future__ import annotations

from collections.abc import Sequence

from vtlab.analysis.criteria import reasons
from vtlab.analysis.criteria.criterion import loads_of, windows
from vtlab.analysis.criteria.judged import Judged, Pair
from vtlab.analysis.criteria.reasons import Reason
from vtlab.analysis.validity import failing
from vtlab.model.outcome import Judgement, Key, LoadName, Outcome, ProbeResult
from vtlab.model.records import Block, Probe

#: Share of slow probes in a window from which on three in a row fail, and below which none do.
RESTARTED, HEALTHY = 0.90, 0.05
_KEY = Key(criterion="probe")


def _probes(block: Block, judged: Judged, load: LoadName, variant: str) -> list[Probe]:
    trials = windows(block, judged.experiment, Key(criterion="probe", load=load))
    return [t.probe for t in trials if t.variant == variant and t.probe and t.probe.sent]


def _slow(probe: Probe) -> float:
    return probe.over_second / probe.sent


def result(judged: Judged, load: LoadName, variant: str) -> ProbeResult | None:
    """Summarises the probes of a variant under a load, in the blocks in which it did not fail; None without any."""
    by_block = [_probes(block, judged, load, variant) for block in judged.sound_blocks(variant)]
    sent = [probe for probes in by_block for probe in probes]
    if not sent:
        return None
    return ProbeResult(
        sent=sum(p.sent for p in sent),
        over_second=sum(p.over_second for p in sent),
        unanswered=sum(p.unanswered for p in sent),
        longest=max((p.longest for p in sent if p.longest is not None), default=None),
        restarts=_restarts(by_block) if any(p.healthy for p in sent) else None,
        restarting_blocks=_restarting(by_block),
    )


def _restarting(by_block: Sequence[Sequence[Probe]]) -> int:
    return sum(bool(probes) and all(_slow(p) >= RESTARTED for p in probes) for probes in by_block)


def _restarts(by_block: Sequence[Sequence[Probe]]) -> str:
    measured = [probes for probes in by_block if probes]
    restarting = _restarting(measured)
    if failing.fails_under_load(restarting, len(measured)):
        return "yes"
    return "no" if all(_slow(p) < HEALTHY for probes in measured for p in probes) else "at risk"


def outcome(judged: Judged, pair: Pair) -> Outcome:
    """Judges the probes of a pair over both loads: a restart or none."""
    by_variant = {v: [r for load in loads_of(judged.experiment) if (r := result(judged, load, v))] for v in pair.names}
    longest = {v: max((r.longest for r in found if r.longest), default=None) for v, found in by_variant.items()}
    reason = _reason(judged, pair, by_variant)
    return Outcome(
        key=_KEY,
        of=pair.of,
        over=pair.over,
        judgement=reason.judgement if reason else _judgement(*(_worst(by_variant[name]) for name in pair.names)),
        reason=reason.text if reason else None,
        fails=list(reason.fails) if reason else [],
        base_value=longest[pair.over],
        value=longest[pair.of],
        margin=0.0,
        better="lower",
    )


def _reason(judged: Judged, pair: Pair, by_variant: dict[str, list[ProbeResult]]) -> Reason | None:
    """Explains why the probes do not judge a pair; None where they do."""
    if reason := reasons.failing_reason(judged, pair):
        return reason
    if not all(by_variant.values()):
        return Reason(reasons.NOT_MEASURED)
    if any(r.restarts is None for found in by_variant.values() for r in found):
        return Reason("the service has no liveness endpoint there")
    if len(judged.blocks) < 2:
        return Reason(reasons.ONE_BLOCK)
    if any(_worst(found) == "at risk" for found in by_variant.values()):
        return Reason("some probes took over 1 s", "undecided")
    return None


def _judgement(over: str, of: str) -> Judgement:
    if over == of:
        return "same"
    return "better" if over == "yes" else "worse"


def _worst(found: Sequence[ProbeResult]) -> str:
    states = {r.restarts for r in found}
    return next(state for state in ("yes", "at risk", "no") if state in states)

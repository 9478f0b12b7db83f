"""``--assert 'capacity(virtual/platform) >= 1.5'``: an outcome that a pipeline can demand.

A demand on a ratio holds where every ratio that is possible is as demanded. ``probe.restart(virtual) == false`` demands
that a kubelet would not restart a variant under either load.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass

from vtlab.analysis.criteria import reasons
from vtlab.analysis.criteria.criterion import loads_of
from vtlab.errors import AssertionFailed, BadInput
from vtlab.model.experiment import Experiment
from vtlab.model.outcome import LoadName, Outcome
from vtlab.model.units import in_blocks
from vtlab.model.verdict import Verdict

#: Criteria with a ratio, as ``Key`` writes them, and the load that each needs.
RATIOS: dict[str, LoadName | None] = {
    "capacity": "full",
    "median": "typical",
    "tail": "typical",
    "median.full": "full",
    "tail.full": "full",
    "cpu": "typical",
    "memory": None,
}
RESTART = "probe.restart"
#: Names of version 0.2, which are refused with their new ones.
_OLD_NAMES = {
    "throughput": "capacity",
    "latency_mean": "median",
    "latency_p50": "median",
    "latency_p99": "tail",
    "cpu_per_request": "cpu",
}
_FORM = re.compile(
    r"\s*([\w.]+)\s*\(\s*([\w-]+)\s*(?:/\s*([\w-]+)\s*)?\)\s*(>=|<=|>|<|==)\s*(\d+(?:\.\d+)?|true|false)\s*"
)
_SIGNS_OF_RATIOS = (">=", ">", "<=", "<")


@dataclass(frozen=True)
class Demand:
    """One parsed assertion."""

    text: str
    #: As in ``RATIOS``, or ``RESTART``.
    name: str
    of: str
    #: Empty for one variant alone: of a probe, or in one run over another.
    over: str
    sign: str
    #: The value; of a probe 1 for true and 0 for false.
    value: float

    def holds(self, low: float | None, high: float | None) -> bool:
        """Tells whether the whole interval lies on the demanded side; never without an interval."""
        if low is None or high is None:
            return False
        edge = low if self.sign.startswith(">") else high
        return {
            ">=": edge >= self.value,
            ">": edge > self.value,
            "<=": edge <= self.value,
            "<": edge < self.value,
        }[self.sign]


def parse(text: str, *, alone: bool = False) -> Demand:
    """Parses an assertion; BadInput when ``text`` has another form. With ``alone`` a ratio may name one variant
    only."""
    match = _FORM.fullmatch(text)
    if not match:
        raise _bad_form(text)
    name, of, over, sign, value = match.groups()
    if new := _OLD_NAMES.get(name):
        fix = f"write '{text.strip().replace(name, new, 1)}'"
        raise BadInput(f"--assert '{text}': {name} is called {new}", fix)
    if name not in (*RATIOS, RESTART):
        raise BadInput(f"--assert '{text}': no criterion '{name}'", f"write one of {', '.join((*RATIOS, RESTART))}")
    is_boolean = value in ("true", "false")
    if name == RESTART:
        is_well_formed = not over and sign == "==" and is_boolean
    else:
        is_well_formed = bool(over or alone) and sign in _SIGNS_OF_RATIOS and not is_boolean
    if not is_well_formed:
        raise _bad_form(text, name)
    return Demand(text.strip(), name, of, over or "", sign, float(value == "true") if is_boolean else float(value))


def _bad_form(text: str, name: str = "capacity") -> BadInput:
    example = f"{RESTART}(virtual) == false" if name == RESTART else f"{name}(virtual/platform) >= 1.5"
    return BadInput(f"--assert '{text}' is not an assertion", f"write it as '{example}'")


def refuse_unknown(demands: Sequence[Demand], experiments: Sequence[Experiment]) -> None:
    """Raises BadInput for a demand that no run of the experiments could answer: to be asked before measuring."""
    for demand in demands:
        for experiment in experiments:
            _refuse_missing_load(demand, experiment)
            _refuse_unknown_variants(demand, experiment)


def _refuse_missing_load(demand: Demand, experiment: Experiment) -> None:
    loads, load = loads_of(experiment), RATIOS.get(demand.name)
    if load in (None, *loads):
        return
    names = [name for name, needed in RATIOS.items() if needed in (None, *loads)]
    raise BadInput(
        f"--assert '{demand.text}': {experiment.name} has no {load} load, so it has no outcome of {demand.name}",
        f"give it {load} load, or write one of {', '.join((*names, RESTART))}",
    )


def _refuse_unknown_variants(demand: Demand, experiment: Experiment) -> None:
    over, *others = experiment.variants
    if demand.name == RESTART:
        if demand.of not in experiment.variants:
            raise BadInput(
                f"--assert '{demand.text}': {experiment.name} has no variant {demand.of}",
                "write " + " or ".join(f"{RESTART}({name})" for name in experiment.variants),
            )
    elif demand.over != over or demand.of not in others:
        raise BadInput(
            f"--assert '{demand.text}': {experiment.name} does not compare {demand.of} with {demand.over}",
            "write " + " or ".join(f"{demand.name}({other}/{over})" for other in others),
        )


def check(demands: Sequence[Demand], verdicts: Sequence[Verdict]) -> None:
    """Raises AssertionFailed unless every demand holds in every verdict; BadInput for what the verdict does not
    have."""
    failed = [
        f"{verdict.experiment}: '{demand.text}' does not hold: {reason}"
        for demand in demands
        for verdict in verdicts
        if (reason := reason_broken(demand, verdict))
    ]
    if failed:
        raise AssertionFailed("; ".join(failed), "an assertion holds when the whole interval lies on its side")


def reason_broken(demand: Demand, verdict: Verdict) -> str | None:
    """Explains why a demand does not hold in a verdict; None where it holds. No demand holds for a variant that failed
    in any block. BadInput for a criterion that the verdict does not have."""
    if any(failed := [_failed(verdict, name) for name in (demand.over, demand.of)]):
        return " and ".join(filter(None, failed))
    if demand.name == RESTART:
        return _restart_broken(demand, verdict)
    if outcome := _outcome(demand, verdict):
        return _ratio_broken(demand, outcome)
    known = ", ".join(f"{o.key}({o.of}/{o.over})" for o in verdict.outcomes if str(o.key) in RATIOS)
    raise BadInput(f"--assert '{demand.text}': {verdict.experiment} has no such outcome", f"write one of {known}")


def _ratio_broken(demand: Demand, outcome: Outcome) -> str | None:
    if outcome.judgement is None:
        return f"no outcome: {outcome.reason}"
    low, high = _possible(outcome)
    if demand.holds(low, high):
        return None
    if outcome.ratio is None:
        return f"there is no ratio: {outcome.reason}"
    if not demand.holds(outcome.low, outcome.high):
        return _interval(outcome)
    if outcome.judgement == "same":
        return f"{_interval(outcome)} is what the load asked for: with more users the capacities can differ"
    side = "larger" if outcome.ratio > 1 else "smaller"
    return f"{_interval(outcome)} is only the least difference: more load may show a {side} ratio"


def _possible(outcome: Outcome) -> tuple[float | None, float | None]:
    """Returns the range of the ratios that are possible; None where nothing is known."""
    if outcome.low is None or outcome.high is None:
        # The queue of one variant grows without end, and with it the latency.
        return {"better": (0.0, 1.0), "worse": (1.0, math.inf)}.get(outcome.judgement or "", (None, None))
    if not outcome.is_lower_bound:
        return outcome.low, outcome.high
    if outcome.judgement == "same":
        return 0.0, math.inf
    return (outcome.low, math.inf) if (outcome.ratio or 0.0) > 1 else (0.0, outcome.high)


def _restart_broken(demand: Demand, verdict: Verdict) -> str | None:
    state = _restarts(demand.of, verdict)
    if verdict.n < 2:
        return f"no outcome: {reasons.ONE_BLOCK}"
    if state is None:
        return "no outcome: no probe of a liveness endpoint was measured"
    if state == ("yes" if demand.value else "no"):
        return None
    would = {"yes": "would restart", "no": "would not restart", "at risk": "might restart"}
    return f"a kubelet {would[state]} {demand.of}"


def _restarts(variant: str, verdict: Verdict) -> str | None:
    """Returns the worst of what the probes show over the loads; None where one of them shows nothing."""
    result = verdict.variants.get(variant)
    states = [probes.restarts for probes in result.probes.values()] if result else []
    if not states or None in states:
        return None
    return next(state for state in ("yes", "at risk", "no") if state in states)


@dataclass(frozen=True)
class Judged:
    """An assertion as a report shows it. ``reason_broken`` says why it does not hold; None where it holds."""

    text: str
    broken: str | None
    #: What was measured, in words; empty where there is nothing.
    measured: str


def judge(texts: Sequence[str], verdict: Verdict) -> list[Judged]:
    """Judges those of a run's assertions that concern a pair in this verdict. One that nothing can answer does not
    hold."""
    pairs = {(outcome.of, outcome.over) for outcome in verdict.outcomes}
    variants = {name for pair in pairs for name in pair}
    judged = []
    for text in texts:
        try:
            demand = parse(text)
            if demand.of in variants if demand.name == RESTART else (demand.of, demand.over) in pairs:
                judged.append(Judged(demand.text, reason_broken(demand, verdict), _measured(demand, verdict)))
        except BadInput as error:
            judged.append(Judged(text, error.message, ""))
    return judged


def _measured(demand: Demand, verdict: Verdict) -> str:
    if demand.name == RESTART:
        return _restarts(demand.of, verdict) or ""
    outcome = _outcome(demand, verdict)
    return _interval(outcome) if outcome and outcome.ratio is not None else ""


def _outcome(demand: Demand, verdict: Verdict) -> Outcome | None:
    wanted = (demand.name, demand.of, demand.over)
    return next((o for o in verdict.outcomes if (str(o.key), o.of, o.over) == wanted), None)


def _failed(verdict: Verdict, variant: str) -> str:
    """Says in how many blocks the variant failed, and why first; empty where it did not."""
    result = verdict.variants.get(variant)
    if result is None or not result.failed_blocks:
        return ""
    return f"{variant} failed {in_blocks(result.failed_blocks, verdict.n)}: {result.failures[0].reason}"


def _interval(outcome: Outcome) -> str:
    if outcome.low is None or outcome.high is None:
        return f"{outcome.ratio:.4g}, no interval from a single block"
    kind = "provisional interval" if outcome.is_provisional else "95 % interval"
    return f"{outcome.ratio:.4g} ({kind} {outcome.low:.4g} to {outcome.high:.4g})"

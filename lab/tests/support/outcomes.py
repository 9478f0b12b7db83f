"""Analyses of a pair with given outcomes, and the decision that follows from them: for words, pages and dashboards."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

from tests.support import felt, recorded
from vtlab.analysis.criteria.decisions import by_outcomes
from vtlab.analysis.criteria.judged import Pair
from vtlab.model.outcome import Decision, Judgement, Key, Outcome
from vtlab.model.run import Analysis
from vtlab.model.verdict import Bottleneck, Bound

#: Half of an interval, as a share of its ratio.
SPREAD = 0.1
_VALUES = {"capacity": 48.8, "median": 0.21, "tail": 0.23, "cpu": 1.0, "memory": 363 * 2.0**20, "probe": 0.014}
_MARGINS = {"capacity": 0.05, "median": 0.2, "tail": 0.2, "cpu": 0.05, "memory": 0.1, "probe": 0.0}
_KEYS = ("capacity", "median", "tail", "median.full", "tail.full", "cpu", "memory", "probe")
POOL = Bottleneck(resource="db-pool", utilisation=1.0, bound=49.0)
CONNECTIONS = Bound(resource="db-pool", bound=49.0, utilisation=1.0, capacity=10.0, service_demand=0.2)


def key(text: str) -> Key:
    """Reads a key as assertions write it."""
    name, _, full = text.partition(".")
    load = "full" if full or name == "capacity" else None if name in ("memory", "probe") else "typical"
    return Key.model_validate({"criterion": name, "load": load})


def outcome(text: str, ratio: float = 1.0, judgement: Judgement | None = None, **fields: Any) -> Outcome:
    """Makes an outcome of virtual over platform: judged by its ratio, unless a judgement is given."""
    wanted = key(text)
    name = wanted.criterion
    better = "higher" if name == "capacity" else "lower"
    margin, base = _MARGINS[name], _VALUES[name]
    is_same = abs(math.log(ratio)) <= math.log1p(margin)
    by_ratio = "same" if is_same else "better" if (ratio > 1) == (better == "higher") else "worse"
    spread = SPREAD if not is_same else margin / 4
    interval = {"ratio": ratio, "low": ratio * (1 - spread), "high": ratio * (1 + spread)} if name != "probe" else {}
    made: dict[str, Any] = {
        "key": wanted,
        "of": "virtual",
        "over": "platform",
        "judgement": judgement or by_ratio,
        "percentile": "p95" if name == "tail" else None,
        "base_value": base,
        "value": base * ratio,
        "margin": margin,
        "better": better,
        "is_claim": name == "capacity" or (name in ("median", "tail") and wanted.load == "typical"),
        **interval,
        **fields,
    }
    return Outcome.model_validate(made)


def concluded(*outcomes: Outcome, decision: Decision | None = None, base: Analysis | None = None) -> Analysis:
    """Returns an analysis with these outcomes beside others that are the same, and the decision that follows."""
    given = {str(o.key): o for o in outcomes}
    all_outcomes = [given.get(name) or outcome(name) for name in _KEYS]
    analysis = base or BASE
    made = decision or by_outcomes(Pair("virtual", "platform"), all_outcomes)
    update = {"outcomes": all_outcomes, "decisions": [made]}
    return replace(analysis, verdict=analysis.verdict.model_copy(update=update))


def limited(
    platform: Bottleneck = POOL, virtual: Bottleneck = POOL, bound: Bound = CONNECTIONS, base: Analysis | None = None
) -> Analysis:
    """Returns an analysis whose variants have these limits."""
    fields = [{"bottleneck": limit, "bounds": [bound]} for limit in (platform, virtual)]
    return recorded.changed(base or BASE, platform=fields[0], virtual=fields[1])


def _base() -> Analysis:
    call = "vtlab try shop.jar 'GET /orders/17' --max-time 20m"
    run = recorded.run(blocks=6, experiment=felt.experiment(), typical=felt.PLAN, command=call)
    return recorded.analysed(felt.felt(run))


#: Six blocks with typical load beside full load; the pool is what both wait for.
BASE = limited(base=_base())

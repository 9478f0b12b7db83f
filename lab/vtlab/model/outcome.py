"""Outcomes of the six criteria, and the decision that follows from them: parts of ``verdict.json``."""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, ConfigDict

from vtlab.model.manifest import Percentile

CriterionName = Literal["capacity", "median", "tail", "cpu", "memory", "probe"]
#: Load that a criterion is judged at.
LoadName = Literal["full", "typical"]
#: Values of a criterion that are good.
Better = Literal["higher", "lower"]
#: Judgement of a variant, beside the first one.
Judgement = Literal["better", "same", "worse", "undecided", "fails"]
#: Advice for two variants: what a user does with the second. Of a pair other than platform and virtual threads "turn
#: it on" prefers the second variant, and "leave it off" the first.
Advice = Literal["turn it on", "leave it off", "no difference", "trade-off", "no decision"]
#: How a variant loses by itself (rule 1).
Fault = Literal["fails", "overloaded", "restarted"]


class _Conclusion(BaseModel):
    """Base of conclusions: unknown keys are errors, as in records."""

    model_config = ConfigDict(extra="forbid")


class Key(_Conclusion):
    """Criterion at a load: names an outcome among those of a pair."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    criterion: CriterionName
    #: None where a criterion is about both loads: ``memory``, ``probe``.
    load: LoadName | None = None

    def __str__(self) -> str:
        """Writes it as assertions do: ``tail``, ``tail.full``."""
        return f"{self.criterion}.full" if self.load == "full" and self.criterion != "capacity" else self.criterion


class Outcome(_Conclusion):
    """Outcome of one criterion: a variant beside the first one.

    Values and ratio are of the blocks in which neither of the two failed. ``ratio`` is ``of`` over ``over``. The unit
    of the values: OK answers a second (``capacity``), seconds (``median``, ``tail``), CPU seconds per 1,000 OK answers
    (``cpu``), bytes (``memory``), seconds of the longest probe (``probe``, which has no ratio).
    """

    key: Key
    of: str
    over: str
    #: None: the criterion has no outcome here, for the reason.
    judgement: Judgement | None
    #: Why there is no outcome, or one without regard to the interval: a clause that completes "no outcome: …".
    reason: str | None = None
    #: Percentile of ``tail``.
    percentile: Percentile | None = None
    #: Geometric means over the blocks, whose quotient is the ratio; None where they were not measured.
    base_value: float | None = None
    value: float | None = None
    ratio: float | None = None
    low: float | None = None
    high: float | None = None
    #: Two-sided level of the interval; None where there is none.
    level: float | None = None
    #: Differences up to this share are too small to matter: from 1/(1+margin) to 1+margin. 0 of ``probe``.
    margin: float
    better: Better
    #: Whether the run ends when this is settled (among others).
    is_claim: bool = False
    #: Interval of a single block: by the prior alone.
    is_provisional: bool = False
    #: Whether the true ratio may be further from 1: the load alone limited the better variant, and a resource whose
    #: bound is known, or the load, the other.
    is_lower_bound: bool = False
    #: Variants that fail, where the judgement is ``fails``.
    fails: list[str] = []
    #: Log ratio of each block in which neither failed, in block order; their standard deviation as the interval has it
    #: (moderated, at least the floor), and its degrees of freedom.
    log_ratios: list[float] = []
    sd: float | None = None
    df: float | None = None
    #: Blocks of a new run, fixed before its start, that would probably settle it; None where it is settled or unknown.
    blocks_needed: int | None = None

    @property
    def is_settled(self) -> bool:
        """Tells whether it is better, the same or worse."""
        return self.judgement in ("better", "same", "worse")

    @property
    def is_one_sided(self) -> bool:
        """Tells whether the true ratio may be further from 1. What is the same at this load may differ to either
        side."""
        return self.is_lower_bound and self.judgement != "same"


class Decision(_Conclusion):
    """Decision for one pair of variants, by the first rule that holds (``vtlab.analysis.criteria.decisions``)."""

    of: str
    over: str
    advice: Advice
    #: The number of the rule; None where none holds: nothing is decided.
    rule: Literal[1, 2, 3, 4] | None
    #: What to do at full load, by rule 3. The advice is about typical load: "no difference", or "no decision".
    at_full: Literal["turn it on", "leave it off", "trade-off"] | None = None
    #: Claims are undecided, or what decided is near its margin: "Probably …".
    is_probable: bool = False
    #: All that decided one way lies near its margin, of fewer than six blocks.
    is_near_margin: bool = False
    #: The variant that loses by rule 1, and how.
    loser: str | None = None
    fault: Fault | None = None
    #: What decided, the largest effect first: for the advice, and of a trade-off against it.
    because: list[Key] = []
    against: list[Key] = []
    #: ``cpu`` and ``memory`` where they differ.
    beside: list[Key] = []
    #: Claims without a settled outcome; of rule 4, where each is settled, ``median`` and ``tail`` at full load.
    undecided: list[Key] = []
    #: What the variants answer differently, in clauses: shares of errors, of answer shapes.
    differences: list[str] = []
    #: What is missing in *no decision*, a clause.
    missing: str | None = None


class ProbeResult(_Conclusion):
    """Probes of a variant under one load, over the blocks that count."""

    sent: int
    over_second: int
    unanswered: int
    #: Seconds; None where none was sent.
    longest: float | None
    #: Whether a kubelet would restart it, if this load lasted; None without a real liveness endpoint.
    restarts: Literal["yes", "no", "at risk"] | None
    #: Blocks in whose every window at least 90 % of the probes took over 1 s.
    restarting_blocks: int

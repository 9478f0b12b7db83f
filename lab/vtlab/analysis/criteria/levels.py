"""Levels of the intervals of a run: how the claims, and the criteria beside them, share the chance of an error.

The family is one run: its claims share 5 % over all looks. What is read once, where the run ended, has a family of its
own. Experiments of one call are separate questions.
"""

from __future__ import annotations

from vtlab.analysis.criteria.criterion import count_claims
from vtlab.analysis.criteria.judged import Levels
from vtlab.analysis.statistics import stopping_rule
from vtlab.model.experiment import Experiment
from vtlab.model.manifest import SequentialRule
from vtlab.model.run import Run
from vtlab.model.verdict import RunEnd

#: Criteria of a pair that are read once: ``median`` and ``tail`` at full load, ``cpu``, ``memory``.
READ_ONCE = 4


def levels_at(run: Run, blocks: int) -> Levels:
    """Computes the levels after so many blocks that count: those of the look that they reach, or, where the number of
    blocks was fixed before the start, of that one look."""
    rule = run.manifest.rule
    return of_fixed_blocks(run.experiment) if rule is None else _levels(run, rule, stopping_rule.level(rule, blocks))


def levels_of_end(run: Run, end: RunEnd | None, blocks: int) -> Levels:
    """Computes the levels of a run's verdict: those of the look at which it ended, or that its blocks reach."""
    rule = run.manifest.rule
    return _levels(run, rule, end.level) if rule and end and end.ended else levels_at(run, blocks)


def _levels(run: Run, rule: SequentialRule, level: float) -> Levels:
    return Levels(level, stopping_rule.level_among(level, rule.claims, _read_once(run.experiment)))


def of_fixed_blocks(experiment: Experiment) -> Levels:
    """Computes the levels of a run whose number of blocks is fixed before its start: its one look has all of 5 %."""
    claims = max(1, count_claims(experiment))
    return Levels(stopping_rule.ALPHA / claims, stopping_rule.ALPHA / _read_once(experiment))


def _read_once(experiment: Experiment) -> int:
    return READ_ONCE * (len(experiment.variants) - 1)

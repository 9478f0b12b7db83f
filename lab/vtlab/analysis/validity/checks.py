"""Every validity check, of three kinds. Every reason names the value and the limit.

*Machine*: the load generator, the machine and the lab's own parts. What disturbs one trial rejects its whole block,
since the block is the unit of replication, and the block is measured again. A value that was not measured never passes
silently.

*Service* (``vtlab.analysis.validity.failing``): the variant failed in this block, and the block counts. What is missing
of a variant because it failed does not reject the block.

*Mark*: neither rejects nor fails, but tells which figures of a variant do not hold.
"""

from __future__ import annotations

import operator
from collections.abc import Sequence
from typing import Any

from vtlab.analysis.validity import completeness, failing, generator, interference, littles_law, warm_up_checks, windows
from vtlab.analysis.validity.check import Check, Kind, Value
from vtlab.model.experiment import Experiment
from vtlab.model.records import Block
from vtlab.model.run import CheckResult

#: Every check, in the order of the report.
CHECKS: tuple[Check[Any], ...] = (
    completeness.NO_FAULT,
    completeness.AGREED,
    completeness.INSTANCES,
    windows.LENGTH,
    warm_up_checks.CYCLES,
    warm_up_checks.MEASURED,
    warm_up_checks.STEADY,
    completeness.TRIALS,
    completeness.DRAIN_MEASURED,
    completeness.NO_REQUEST_LOST,
    windows.ANSWERS,
    windows.ROUNDS,
    *generator.GENERATOR,
    interference.STEAL,
    interference.CORE_WAIT,
    completeness.SERVER_MEASURED,
    warm_up_checks.JIT,
    warm_up_checks.TREND,
    *failing.SERVICE,
    littles_law.LITTLES_LAW,
)


def reasons(block: Block, experiment: Experiment) -> list[str]:
    """Explains why this block does not count; empty when it does."""
    beyond = (value for check in CHECKS if check.kind == "machine" for value in check.beyond(block, experiment))
    return [f"{value.where}: {value.reason}" if value.where else value.reason for value in beyond]


def certain_reasons(block: Block, experiment: Experiment) -> list[str]:
    """Explains why no further attempt at this block can count; empty where one may."""
    beyond = ((check, value) for check in CHECKS for value in check.beyond(block, experiment))
    return [
        f"{value.where}: {value.reason}"
        for check, value in beyond
        if check.certain is not None and value.number is not None and value.number >= check.certain
    ]


def results(blocks: Sequence[Block], experiment: Experiment) -> list[CheckResult]:
    """Finds the worst of those blocks by each check that applies to them; lateness does not under closed load."""
    judged = []
    for check in CHECKS:
        values = [(block, value) for block in blocks for value in check.values(block, experiment)]
        if not values:
            continue
        block, worst = max(values, key=lambda pair: _badness(check, pair[1]))
        passed = check.passes(worst)
        where = ", ".join(filter(None, [f"block {block.block}", worst.where]))
        text = worst.text if passed and not worst.number else f"{worst.text} ({where})"
        judged.append(CheckResult(check.name, check.rule, text, passed))
    return judged


def _badness(check: Check[Any], value: Value) -> tuple[bool, float]:
    """Orders values, the larger the worse: values beyond the limit first, and of these what was not measured."""
    if value.number is None:
        return True, float("inf")
    beyond = abs(value.number) if check.worse is operator.ne else value.number
    return not check.passes(value), -beyond if check.worse is operator.lt else beyond


_KINDS: dict[Kind, str] = {
    "machine": "the block is measured again",
    "service": "the variant failed in this block",
    "mark": "the block counts, and the report shows it",
}


def page() -> str:
    """Writes ``docs/reference/validity-checks.md``."""
    rows = [f"| {check.name} | {check.rule} | {_KINDS[check.kind]} |" for check in CHECKS]
    return "\n".join([_INTRODUCTION, "| check | limit | if exceeded |", "|---|---|---|", *rows, ""])


_INTRODUCTION = """# The validity checks

Generated from `lab/vtlab/analysis/validity` by `make generate`: do not edit this page.

A block counts if the load generator, the machine and the lab were as they should be. What the service does is a result:
a variant fails in a block, and the block counts. Figures that were not measured (steal and the wait for a core: in a
cluster, or in older results) are not judged.
[When does a block count?](../explanation/method/validity.md) has the reasons.
"""

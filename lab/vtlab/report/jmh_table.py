"""The scores of the JMH benchmark."""

from __future__ import annotations

from collections.abc import Sequence

from vtlab.jmh import Score
from vtlab.report.parts.part import Table
from vtlab.report.words import figures

BENCHMARK = "001: 500 tasks on an executor, by JMH"


def benchmark(scores: Sequence[Score]) -> Table:
    """What JMH measured."""
    head = ["tasks", "executor", "published", "expected", "ours", "99.9 %", "n"]
    caption = "Milliseconds that all tasks take together, with JMH's interval."
    rows = [[score.benchmark, score.executor, *_milliseconds(score)] for score in scores]
    return Table(caption, head, rows, numeric=(2, 3, 4, 5, 6))


def _milliseconds(score: Score) -> list[str]:
    def shown(value: float | None) -> str:
        return figures.DASH if value is None else f"{figures.short(figures.significant(value, 4))} ms"

    error = figures.DASH if score.error is None else f"± {figures.significant(score.error, 3)} ms"
    return [shown(score.published), shown(score.expected), shown(score.milliseconds), error, str(score.n)]

"""The tables of published comparisons beside ours: for the terminal, as Markdown and as JSON."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from itertools import groupby

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from vtlab.report.parts.reproduced_variants import ReproducedVariant
from vtlab.report.words import figures

_HEAD = ("variant", "published", "expected", "ours", "interval", "n", "bottleneck")


def terminal_tables(variants: Sequence[ReproducedVariant]) -> Group:
    """Renders a table for each experiment, with its explanation."""
    parts: list[RenderableType] = []
    for group in _by_experiment(variants):
        table = Table(*_HEAD, box=None, pad_edge=False)
        for variant in group:
            table.add_row(*_cells(variant))
        first = group[0]
        title = f"{first.number} {first.experiment}, measured here {_limits_and_machine(first)}"
        parts += [Text(title, "bold"), table, Text(f"{first.explanation}\n")]
    return Group(*parts)


def markdown(variants: Sequence[ReproducedVariant]) -> str:
    """Renders the same as Markdown: what ``docs/evidence/published-comparisons.md`` shows."""
    lines: list[str] = []
    for group in _by_experiment(variants):
        first = group[0]
        lines += [f"### {first.number}: {first.title} (`{first.experiment}`)", ""]
        lines += [f"Published: {first.setting}. Measured here {_limits_and_machine(first)}.", ""]
        lines += [f"| {' | '.join(_HEAD)} |", f"|{'---|' * len(_HEAD)}"]
        lines += [f"| {' | '.join(_cells(variant))} |" for variant in group]
        lines += ["", first.explanation, ""]
    return "\n".join(lines)


def json_document(variants: Sequence[ReproducedVariant]) -> str:
    """Writes all of it as JSON."""
    return json.dumps({"rows": [asdict(variant) for variant in variants]}, indent=2) + "\n"


def _by_experiment(variants: Sequence[ReproducedVariant]) -> Iterator[list[ReproducedVariant]]:
    for _, group in groupby(variants, key=lambda variant: (variant.number, variant.experiment)):
        yield list(group)


def _cells(variant: ReproducedVariant) -> list[str]:
    reached = f" ({figures.reached(variant.utilisation)})" if variant.utilisation is not None else ""
    return [
        variant.variant,
        variant.published or figures.DASH,
        figures.rate(variant.expected),
        figures.rate(variant.throughput),
        figures.interval(variant.low, variant.high, figures.rate),
        str(variant.n),
        variant.bottleneck + reached,
    ]


def _limits_and_machine(variant: ReproducedVariant) -> str:
    return f"{variant.limits}, on {variant.machine}"

"""Experiments that were measured under several CPU limits, side by side."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from vtlab.model.outcome import Key, Outcome
from vtlab.model.run import Analysis
from vtlab.report.charts.forest import forest
from vtlab.report.parts.part import Panel, Table
from vtlab.report.words import bottlenecks, figures, labels, outcome_rows
from vtlab.report.words.verdict_lines import verdict_lines


@dataclass(frozen=True)
class LimitGroup:
    """One experiment under several CPU limits."""

    experiment: str
    panels: list[Panel]
    table: Table


def limit_groups(analyses: Sequence[Analysis]) -> list[LimitGroup]:
    """Groups the experiments that were measured under several CPU limits, the smallest limit first."""
    groups = []
    for name in dict.fromkeys(a.verdict.experiment for a in analyses):
        by_limit = [a for a in analyses if a.verdict.experiment == name]
        by_limit.sort(key=lambda a: a.run.experiment.limits.cpu)
        compared = {tuple(a.run.experiment.variants) for a in by_limit}
        if len({a.run.experiment.limits.cpu for a in by_limit}) > 1 and len(compared) == 1:
            groups.append(LimitGroup(name, _panels(by_limit), _limit_table(by_limit)))
    return groups


def _claims(by_limit: Sequence[Analysis]) -> list[Key]:
    """Lists the claims that a run judged under any of the limits."""
    claims = [o.key for a in by_limit for o in a.verdict.outcomes if o.is_claim and o.ratio is not None]
    return list(dict.fromkeys(claims))


def _panels(by_limit: Sequence[Analysis]) -> list[Panel]:
    return [_panel(by_limit, key) for key in _claims(by_limit)]


def _panel(by_limit: Sequence[Analysis], key: Key) -> Panel:
    over, of = labels.variant_names(by_limit[0])
    rows: list[tuple[str, Outcome]] = []
    for analysis in by_limit:
        if row := outcome_rows.row_of(analysis, key):
            rows.append((figures.cores(analysis.run.experiment.limits.cpu), row.outcome))
    title = f"{str(key).capitalize()} of {of} beside {over}"
    caption = "Dots: what was measured. Lines: their intervals. Grey bands: too small to matter."
    return Panel(title, forest(rows, f"{title} under each CPU limit"), caption)


def _limit_table(by_limit: Sequence[Analysis]) -> Table:
    names, claims = labels.variant_names(by_limit[0]), _claims(by_limit)
    rows = []
    for a in by_limit:
        results = [a.verdict.variants[name] for name in names]
        rows.append(
            [
                labels.limits(a),
                verdict_lines(a).verdict + " (not valid)" * (not a.verdict.valid),
                *(outcome_rows.cell(outcome_rows.row_of(a, key)) for key in claims),
                str(a.verdict.n),
                *(bottlenecks.resource_names(result.bottleneck) for result in results),
            ]
        )
    head = ["limits", "decision", *(str(key) for key in claims), "blocks", *(f"{name}: bottleneck" for name in names)]
    return Table("One run for each CPU limit.", head, rows, numeric=(2 + len(claims),))

"""Outcomes of a pair: a picture with a row for each criterion, tables, and the ratio of every block as charts."""

from __future__ import annotations

from dataclasses import dataclass

from markupsafe import Markup

from vtlab.analysis.validity import failing
from vtlab.model.outcome import Outcome
from vtlab.model.run import Analysis
from vtlab.model.units import percent
from vtlab.report.charts import forest
from vtlab.report.charts.ratios import block_ratios
from vtlab.report.parts.part import Panel, Table
from vtlab.report.words import figures, labels, outcome_rows
from vtlab.report.words.outcome_rows import OutcomeRow


@dataclass(frozen=True)
class PictureRow:
    """A criterion in the picture: its values, its interval beside its margin, its outcome."""

    criterion: str
    load: str
    base_value: str
    value: str
    picture: Markup | None
    change: str
    outcome: str
    #: Class in the style sheet.
    tone: str


@dataclass(frozen=True)
class OutcomePicture:
    """The criteria of a pair as a picture."""

    head: Markup
    rows: list[PictureRow]
    caption: str


def outcome_picture(analysis: Analysis) -> OutcomePicture | None:
    """Draws the criteria of an analysis of one pair, then writes the errors; None where no block counts."""
    shown = outcome_rows.shown(analysis)
    if not shown:
        return None
    axis = forest.row_axis([row.outcome for row in shown])
    rows = [
        PictureRow(
            row.heading,
            row.load,
            row.base_value,
            row.value,
            forest.row_picture(axis, row.outcome, row.name),
            row.change,
            f"{row.symbol} {row.judgement}",
            forest.TONES[row.outcome.judgement],
        )
        for row in shown
    ]
    if errors := outcome_rows.errors_row(analysis):
        values = (errors.base_value, errors.value)
        rows.append(PictureRow(errors.criterion, errors.load, *values, None, errors.note, "", "none"))
    _, of = labels.variant_names(analysis)
    caption = (
        f"From left to right: {of} is {axis.end:g} times worse to {axis.end:g} times better. Dot: the measured change."
        " Line: its interval; an arrow at its end: it is longer than the axis. Grey band: too small to matter."
    )
    if any(row.outcome.is_one_sided for row in shown):
        caption += " Dashed line: the true difference can be larger."
    return OutcomePicture(forest.row_head(axis), rows, caption)


def outcome_table(analysis: Analysis) -> Table:
    """Lists the criteria as the terminal does, for an analysis of one pair: both values, the change, the outcome; then
    the errors."""
    rows = [
        [row.heading, row.load, row.base_value, row.value, row.change, f"{row.symbol} {row.judgement}"]
        for row in outcome_rows.shown(analysis)
    ]
    if errors := outcome_rows.errors_row(analysis):
        rows.append([errors.criterion, errors.load, errors.base_value, errors.value, errors.note, ""])
    head = ["criterion", "load", *labels.variant_names(analysis), "change (95 %)", "outcome"]
    return Table("Outcomes", head, rows, numeric=(2, 3))


def interval_table(analysis: Analysis) -> Table:
    """Lists what each outcome rests on: ratio, interval with its level, margin, scatter of the blocks."""
    over, of = labels.variant_names(analysis)
    rows = [_interval_row(row) for row in outcome_rows.rows(analysis) if row.outcome.ratio is not None]
    head = ["criterion", "ratio", "interval", "level", "margin", "better", "SD", "df", "blocks needed", "outcome"]
    caption = (
        f"Ratios {of} over {over}, of their means in each block. The criteria of a run share an error of 5 %: hence the"
        " levels. SD: standard deviation of a block's log ratio, moderated by what other services showed; df: its"
        " degrees of freedom. Blocks needed: of a new run, so that it probably settles the criterion. The largest"
        " number of the claims probably settles all of them."
    )
    return Table(caption, head, rows, numeric=(1, 2, 3, 4, 6, 7, 8))


def _interval_row(row: OutcomeRow) -> list[str]:
    outcome = row.outcome
    return [
        row.name,
        outcome_rows.bound_sign(outcome) + figures.ratio(outcome.ratio),
        figures.interval(outcome.low, outcome.high) + (" (provisional)" if outcome.is_provisional else ""),
        figures.DASH if outcome.level is None else f"{figures.significant(100 * (1 - outcome.level))} %",
        f"±{percent(outcome.margin)}",
        outcome.better,
        figures.DASH if outcome.sd is None else f"{figures.significant(100 * outcome.sd)} %",
        figures.DASH if outcome.df is None else figures.significant(outcome.df),
        figures.DASH if outcome.blocks_needed is None else str(outcome.blocks_needed),
        row.judgement,
    ]


def block_panels(analysis: Analysis) -> list[Panel]:
    """Draws the ratio of every block that counts and in which neither variant failed, for each criterion."""
    over, of = labels.variant_names(analysis)
    blocks = [b.block for b in failing.sound_blocks(analysis.accepted, analysis.run.experiment, of, over)]
    return [
        Panel(row.name, block_ratios(row.outcome, blocks, row.name), _caption(row.outcome))
        for row in outcome_rows.rows(analysis)
        if row.outcome.log_ratios and len(row.outcome.log_ratios) == len(blocks)
    ]


def _caption(outcome: Outcome) -> str:
    return f"Dots: blocks. Line: their mean, with its interval. Grey band: ±{percent(outcome.margin)}."

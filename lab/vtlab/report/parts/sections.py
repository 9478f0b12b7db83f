"""The sections of a run's evidence, in the order of the report. Every page takes its sections from here."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from vtlab.model.run import Analysis
from vtlab.report.parts import (
    breakdowns,
    felt,
    findings,
    load_curve,
    outcomes,
    performance,
    provenance,
    resource_use,
    thresholds,
)
from vtlab.report.parts.part import Panel, Table
from vtlab.report.words import labels

#: Titles of the sections that a short page shows first.
OUTCOMES, FAILURES = "Ratio in each block", "Failures"
PERFORMANCE, BOUNDS = "Throughput and latency", "Bound beside measurement"


@dataclass(frozen=True)
class NamedTable:
    """A table with its name for a screen reader. ``heading``: one of its own, below the section's title."""

    name: str
    table: Table
    heading: str = ""


@dataclass(frozen=True)
class Section:
    """A section of a run's evidence: a note, charts and tables. Tables without rows are left out."""

    title: str
    tables: Sequence[NamedTable] = ()
    note: str = ""
    #: One chart by itself, or several side by side.
    chart: Panel | None = None
    panels: Sequence[Panel] = ()
    #: Whether a key of the variants' colours stands above the charts.
    has_key: bool = False
    #: Text in place of charts where there are none.
    no_charts: str = ""
    #: Title where a page shows the tables alone.
    tables_title: str = ""
    #: Whether a page that shows the tables alone leaves them out where no block counts.
    needs_blocks: bool = True
    #: Whether the verdict card of the HTML page already has it.
    is_on_card: bool = False

    @property
    def is_empty(self) -> bool:
        """Tells whether there is nothing to show."""
        has_text = bool(self.note or self.no_charts)
        return not (has_text or self.chart or self.panels or any(named.table.rows for named in self.tables))


def sections(analysis: Analysis) -> list[Section]:
    """Returns the evidence of a run, section by section; leaves out those with nothing to show."""
    listed = [
        _curve(analysis),
        _outcomes(analysis),
        _felt(analysis),
        _tables(FAILURES, performance.failure_table(analysis)),
        _performance(analysis),
        _over_time(analysis),
        _bounds(analysis),
        _tables(thresholds.TITLE, thresholds.threshold_table(analysis)),
        _tables(breakdowns.TITLE, breakdowns.breakdown_table(analysis)),
        _tables("Time within pools", resource_use.pool_table(analysis)),
        _tables("Where threads stood", resource_use.place_table(analysis)),
        _tables("Pinned virtual threads", resource_use.pinning_table(analysis)),
        Section(
            "Findings",
            [NamedTable("findings", findings.finding_table(analysis))],
            needs_blocks=False,
            is_on_card=True,
        ),
        _checks(analysis),
        Section(
            "Environment",
            [NamedTable("environment", provenance.environment_table(analysis))],
            needs_blocks=False,
        ),
    ]
    return [section for section in listed if not section.is_empty]


def _tables(title: str, table: Table) -> Section:
    """Returns a section of one table, which has the section's name."""
    return Section(title, [NamedTable(title[0].lower() + title[1:], table)])


def _curve(analysis: Analysis) -> Section:
    curve = analysis.run.manifest.curve
    table = load_curve.curve_table(curve, labels.variant_names(analysis)) if curve else Table("", [], [])
    return _tables("Throughput and latency over users", table)


def _outcomes(analysis: Analysis) -> Section:
    return Section(
        OUTCOMES,
        [NamedTable("intervals by criterion", outcomes.interval_table(analysis))],
        note="A block is one fresh start of every variant: the unit of replication. Blocks that agree narrow the"
        " interval.",
        panels=outcomes.block_panels(analysis),
        no_charts="No ratios to draw.",
        tables_title="Intervals by criterion",
    )


def _felt(analysis: Analysis) -> Section:
    shown = felt.loads(analysis)
    panels = [*felt.latency_panels(shown), *felt.probe_panels(shown)]
    return Section(
        felt.TITLE,
        [
            NamedTable("latency by load", felt.latency_table(shown)),
            NamedTable("latency by kind of request", felt.kind_table(shown)),
            NamedTable("probes", felt.probe_table(shown)),
        ],
        note=felt.NOTE if panels else "",
        panels=panels,
        has_key=True,
    )


def _performance(analysis: Analysis) -> Section:
    if not analysis.verdict.n:
        return Section(PERFORMANCE, no_charts="No block counts, so there is nothing to show.")
    return Section(
        PERFORMANCE,
        [
            NamedTable("latency by variant", performance.latency_table(analysis)),
            NamedTable("throughput and costs by variant", performance.cost_table(analysis)),
        ],
        panels=performance.performance_panels(analysis),
        has_key=True,
        tables_title="Throughput, latency and costs",
    )


def _over_time(analysis: Analysis) -> Section:
    panels = resource_use.over_time_panels(analysis)
    return Section(
        "Resource use over time",
        note=resource_use.over_time_note(analysis) if panels else "",
        panels=panels,
        has_key=True,
        no_charts="This run has no samples over time: it stopped before writing them, or no block counts.",
    )


def _bounds(analysis: Analysis) -> Section:
    panels = resource_use.bound_panels(analysis)
    note = "Throughput as a share of what each resource allows. A little more of the bottleneck would help most."
    return Section(
        BOUNDS,
        [NamedTable("bounds by resource", resource_use.bound_table(analysis))],
        note=note if panels else "",
        panels=panels,
        no_charts="The measurements allow no bound.",
    )


def _checks(analysis: Analysis) -> Section:
    return Section(
        "Validity checks",
        [
            NamedTable("validity checks", provenance.check_table(analysis)),
            NamedTable("rejected attempts", provenance.rejection_table(analysis), heading="Rejected attempts"),
        ],
        note=provenance.checks_note(analysis),
        tables_title="Validity checks and rejected attempts",
        needs_blocks=False,
    )

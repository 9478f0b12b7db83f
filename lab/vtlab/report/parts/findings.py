"""The findings of a run as a table."""

from __future__ import annotations

from vtlab.model.run import Analysis
from vtlab.report.parts.part import Table
from vtlab.report.words.finding_lines import PUBLISHED, place_and_amount


def finding_table(analysis: Analysis) -> Table:
    """Lists the findings of a run; no rows where there are none."""
    rows = [
        [
            finding.title,
            f"measured, {finding.variant}" if finding.kind == "measured" else "published",
            place_and_amount(finding),
            f"{finding.cause} {finding.cure}",
            finding.command,
            finding.source,
        ]
        for finding in analysis.verdict.findings
    ]
    caption = f"Measured: seen in this run. Published: {PUBLISHED}; only a measurement shows whether it affects you."
    return Table(caption, ["finding", "kind", "where and how much", "cause and cure", "try it", "source"], rows)

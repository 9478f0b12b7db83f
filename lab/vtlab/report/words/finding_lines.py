"""Findings in words: for a jar alone, and a section of a run's report."""

from __future__ import annotations

from collections.abc import Sequence

from vtlab.model.finding import Finding
from vtlab.model.inspection import Inspection
from vtlab.model.run import Analysis
from vtlab.report.parts.part import Table

#: Of a static finding: it is not known to be the reader's problem.
PUBLISHED = "a published problem in a version or setting that you have"
_SERVERS = {"tomcat": "Tomcat", "jetty": "Jetty"}
_PACKAGING = {
    "nested": "an executable jar",
    "war": "an executable war",
    "extracted": "a jar with its libraries beside it",
    "shaded": "a shaded jar",
}


def table(analysis: Analysis) -> Table:
    """The findings of a run; no rows where there are none."""
    rows = [
        [
            finding.title,
            f"measured, {finding.variant}" if finding.kind == "measured" else "published",
            _with_amount(finding),
            f"{finding.cause} {finding.cure}",
            finding.command,
            finding.source,
        ]
        for finding in analysis.verdict.findings
    ]
    caption = f"Measured: what this run showed. Published: {PUBLISHED}; whether it is yours a measurement says."
    return Table(caption, ["finding", "kind", "where and how much", "cause and cure", "try it", "source"], rows)


def line(finding: Finding) -> str:
    """A finding on one line of a terminal."""
    kind = f"{finding.variant}: " if finding.kind == "measured" else ""
    return f"finding: {kind}{finding.title} ({_with_amount(finding)}). {finding.cure} Try it: {finding.command}"


def of_jar(inspection: Inspection, jdk: str | None, found: Sequence[Finding]) -> list[str]:
    """What a jar is, and the published problems in it, line by line."""
    lines = [
        f"{inspection.jar}: {_PACKAGING[inspection.packaging]} with {_parts(inspection)}",
        f"classes: for Java {inspection.java} or newer"
        + (f", built by JDK {inspection.built_with}" * bool(inspection.built_with)),
        f"JDK: {jdk}" if jdk else "JDK: none was found here, so problems of any JDK are shown",
        *(
            [
                "settings: " + ", ".join(f"{name}={value}" for name, value in inspection.settings.items()),
                "  (of the default profile's files in the jar; environment and code may say otherwise)",
            ]
            if inspection.settings
            else []
        ),
        "",
    ]
    if not found:
        return [*lines, "No published problem that vtlab knows is in these versions and settings."]
    lines.append(f"{len(found)} finding{'' if len(found) == 1 else 's'}, each {PUBLISHED}:")
    for finding in found:
        lines += [
            "",
            f"{finding.title}",
            f"  where:   {_with_amount(finding)}",
            f"  symptom: {finding.symptom}",
            f"  cause:   {finding.cause}",
            f"  cure:    {finding.cure}",
            f"  try it:  {finding.command}",
            f"  source:  {finding.source}",
        ]
    return lines


def _parts(inspection: Inspection) -> str:
    server = f"{_SERVERS[inspection.server]} {inspection.server_version}".rstrip()
    parts = [
        f"Spring Boot {inspection.boot or 'of an unknown version'}",
        server,
        f"{len(inspection.libraries)} libraries",
        "actuator" if inspection.actuator else "no actuator",
    ]
    return ", ".join(parts)


def _with_amount(finding: Finding) -> str:
    """Where, and how much: ``db-pool: 12 % of the answers are errors``, ``com.zaxxer:HikariCP 7.0.2, on JDK 21``."""
    joint = ": " if finding.kind == "measured" else ", "
    return joint.join(part for part in (finding.place, finding.amount) if part)

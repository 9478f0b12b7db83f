"""Findings in lines of text: of a jar alone, and of a run for a terminal."""

from __future__ import annotations

from collections.abc import Sequence

from vtlab.model.finding import Finding
from vtlab.model.inspection import Inspection

#: A static finding, which is not known to be the reader's problem.
PUBLISHED = "a published problem with a version or setting in use here"
_SERVERS = {"tomcat": "Tomcat", "jetty": "Jetty"}
_PACKAGING = {
    "nested": "an executable jar",
    "war": "an executable war",
    "extracted": "a jar with its libraries beside it",
    "shaded": "a shaded jar",
}


def finding_line(finding: Finding) -> str:
    """Puts a finding on one line of a terminal."""
    kind = f"{finding.variant}: " if finding.kind == "measured" else ""
    return f"finding: {kind}{finding.title} ({place_and_amount(finding)}). {finding.cure} Try it: {finding.command}"


def jar_lines(inspection: Inspection, jdk: str | None, findings: Sequence[Finding]) -> list[str]:
    """Says what a jar is, and the published problems in it, line by line."""
    lines = [
        f"{inspection.jar}: {_PACKAGING[inspection.packaging]} with {_parts(inspection)}",
        f"classes: for Java {inspection.java} or newer"
        + (f", built by JDK {inspection.built_with}" * bool(inspection.built_with)),
        f"JDK: {jdk}" if jdk else "JDK: not found, so the problems of every JDK are shown",
        *(
            [
                "settings: " + ", ".join(f"{name}={value}" for name, value in inspection.settings.items()),
                "  (from the default profile's files in the jar; environment and code can override them)",
            ]
            if inspection.settings
            else []
        ),
        "",
    ]
    if not findings:
        return [*lines, "vtlab knows no published problem with these versions and settings."]
    lines.append(f"{len(findings)} finding{'' if len(findings) == 1 else 's'}, each {PUBLISHED}:")
    for finding in findings:
        lines += [
            "",
            f"{finding.title}",
            f"  where:   {place_and_amount(finding)}",
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
        f"Spring Boot {inspection.boot or '(unknown version)'}",
        server,
        f"{len(inspection.libraries)} libraries",
        "actuator" if inspection.actuator else "no actuator",
    ]
    return ", ".join(parts)


def place_and_amount(finding: Finding) -> str:
    """Says where, and how much: ``db-pool: 12 % of the answers are errors``, ``com.zaxxer:HikariCP 7.0.2, on JDK
    21``."""
    joint = ": " if finding.kind == "measured" else ", "
    return joint.join(part for part in (finding.place, finding.amount) if part)

"""``docs/reference/findings.md``: the rows of ``findings.json`` with their conditions in words."""

from __future__ import annotations

from maintain.reference.pages import code, page
from vtlab.catalogue.findings import Row, rows
from vtlab.model import maven

_INTRODUCTION = """What is known to break under virtual threads. `vtlab check app.jar` looks into a Spring Boot jar and
shows the published problems in its versions and settings; it starts nothing. The exit code is 0 with findings, too,
and 2 for a jar that vtlab cannot measure. `--json` prints the same as JSON, `--java 21` asks for another JDK than
`vtlab try` would take, each `--jvm` takes a flag that the JVM has in production. A report of a run shows these and what
the run measured.

A published problem need not be yours: you have the version, and your service may never come near. A measurement
says. The command of a finding tries its cure as a third variant."""
_STATIC = """## Published problems

Found in the jar alone."""
_MEASURED = """## Measured

Found in the figures of a run, for a variant on virtual threads."""


def text() -> str:
    """Renders every row: its conditions, symptom, cause, cure, the command that tries the cure, and the source."""
    static = [_section(row) for row in rows() if row.kind == "static"]
    measured = [_section(row) for row in rows() if row.kind == "measured"]
    return page("Findings", "lab/vtlab/catalogue/findings.json", _INTRODUCTION, _STATIC, *static, _MEASURED, *measured)


def _section(row: Row) -> str:
    lines = [
        f"### {row.title}",
        "",
        " · ".join([code(row.id), *_conditions(row)]),
        "",
        f"- Symptom: {row.symptom}",
        f"- Cause: {row.cause}",
        f"- Cure: {row.cure_for('app.jar')}",
        f"- Try it: {code(row.command_for('app.jar'))}",
        f"- Source: <{row.source}>",
    ]
    return "\n".join(lines)


def _conditions(row: Row) -> list[str]:
    """Puts the conditions of a row into words."""
    libraries = [
        f"{code(name)} {maven.range_in_words(versions) if versions else 'in every version'}"
        for name, versions in row.libraries.items()
    ]
    settings = [code(f"{name}*" if name.endswith(".") else name) for name in row.settings]
    conditions = [" or ".join(libraries)]
    conditions += [f"Spring Boot {maven.range_in_words(row.boot)}"] if row.boot else []
    conditions += [f"JDK {maven.range_in_words(row.jdk)}"] if row.jdk else []
    conditions += [f"packaging: {', '.join(row.packaging)}"] if row.packaging else []
    conditions += [f"server: {', '.join(row.servers)}"] if row.servers else []
    conditions += [f"set: {' or '.join(settings)}"] if settings else []
    conditions += [f"below {row.settings_below:g}"] if row.settings_below is not None else []
    conditions += [f"flag: {', '.join(map(code, row.jvm_flags))}"] if row.jvm_flags else []
    conditions += [f"flags with {' and '.join(map(code, row.jvm_flags_with))}"] if row.jvm_flags_with else []
    return [condition for condition in conditions if condition]

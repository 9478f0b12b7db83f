"""Published problems in the versions and settings of a jar: the static rows of ``findings.json``."""

from __future__ import annotations

from collections.abc import Sequence

from vtlab.catalogue import findings
from vtlab.catalogue.findings import Row
from vtlab.model import maven
from vtlab.model.finding import Finding
from vtlab.model.inspection import Inspection, Library, uniform


def static_findings(inspection: Inspection, java: str | None = None, jvm_flags: Sequence[str] = ()) -> list[Finding]:
    """Finds the static rows that hold for a jar, in the order of the file.

    ``java``: the version of the JDK that runs it (``21.0.8``); None holds rows for any JDK. ``jvm_flags``: its flags.
    """
    return [
        finding
        for row in findings.rows()
        if row.kind == "static" and (finding := _finding(row, inspection, java, jvm_flags)) is not None
    ]


def jdk_findings(java: str, jvm_flags: Sequence[str] = (), jar: str = "app.jar") -> list[Finding]:
    """Finds the static rows that hold for a JDK with these flags, whatever service it runs."""
    return [
        _shown(row, java, found or [f"JDK {java}"], jar)
        for row in findings.rows()
        if row.kind == "static" and row.is_of_jdk and (found := _of_jdk(row, java, jvm_flags)) is not None
    ]


def _of_jdk(row: Row, java: str, jvm_flags: Sequence[str]) -> list[str] | None:
    """Finds the flags of the row, for a JDK in its range; None where it does not hold. ``java`` may have the build and
    the vendor behind the version."""
    if not row.jdk or java.partition("+")[0] not in maven.parse_range(row.jdk):
        return None
    found = [next((flag for flag in jvm_flags if part in flag), None) for part in row.jvm_flags_with]
    return None if None in found else [flag for flag in found if flag]


def affected(row: Row, inspection: Inspection) -> Library | None:
    """Finds the library of the row that the service has in an affected version; None without one."""
    for coordinates, versions in row.libraries.items():
        library = inspection.library(coordinates)
        if library and (versions is None or (library.version and library.version in maven.parse_range(versions))):
            return library.model_copy(update={"group": coordinates.partition(":")[0]})
    return None


def _finding(row: Row, inspection: Inspection, java: str | None, jvm_flags: Sequence[str]) -> Finding | None:
    if row.is_of_jdk:
        found = None if java is None else _of_jdk(row, java, jvm_flags)
        return None if found is None else _shown(row, java, found or [f"JDK {java}"], inspection.jar)
    if not _fits(row, inspection, java):
        return None
    causes = []
    if row.libraries:
        library = affected(row, inspection)
        if library is None:
            return None
        causes.append(f"{library.group}:{library.artifact} {library.version}".rstrip())
    if row.settings:
        present_settings = _settings(row, inspection)
        if not present_settings:
            return None
        causes += present_settings
    if row.jvm_flags:
        flags = [flag for flag in jvm_flags if flag.startswith(tuple(row.jvm_flags))]
        if not flags:
            return None
        causes += flags
    if row.boot:
        causes.append(f"Spring Boot {inspection.boot}")
    return _shown(row, java, causes, inspection.jar)


def _shown(row: Row, java: str | None, causes: Sequence[str], jar: str) -> Finding:
    return Finding(
        id=row.id,
        kind="static",
        title=row.title,
        symptom=row.symptom,
        cause=row.cause,
        amount=f"on JDK {java}" if row.jdk and java and not row.is_of_jdk else "",
        place=", ".join(causes),
        source=row.source,
        cure=row.cure_for(jar),
        command=row.command_for(jar),
    )


def _fits(row: Row, inspection: Inspection, java: str | None) -> bool:
    return (
        (not row.packaging or inspection.packaging in row.packaging)
        and (not row.servers or inspection.server in row.servers)
        and (not row.jdk or java is None or java in maven.parse_range(row.jdk))
        and (not row.boot or (inspection.boot is not None and inspection.boot in maven.parse_range(row.boot)))
    )


def _settings(row: Row, inspection: Inspection) -> list[str]:
    """Finds the settings of the row that the jar has, as ``name=value``."""
    names = tuple(map(uniform, row.settings))
    held = {
        key: value
        for key, value in inspection.settings.items()
        if uniform(key) in names or uniform(key).startswith(tuple(n for n in names if n.endswith(".")) or ("\0",))
    }
    if row.settings_below is not None:
        # A placeholder is no number: then nobody knows.
        held = {k: v for k, v in held.items() if v.isdigit() and int(v) < row.settings_below}
    return [f"{key}={value}" for key, value in held.items()]

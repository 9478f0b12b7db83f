"""``vtlab doctor app.jar``: the contents of a service's jar, and what is known to break in it. Nothing is started."""

from __future__ import annotations

import json
import shlex
from pathlib import Path

from vtlab.analysis.findings import commands, static
from vtlab.commands.output import console
from vtlab.errors import BadInput
from vtlab.model import documents, experiment_files
from vtlab.planning.shipped_experiments import EXPERIMENTS
from vtlab.report.words.finding_lines import jar_lines
from vtlab.services import inspection
from vtlab.services.resolve import find_java


def check_jar(path: Path, wanted: str | None, flags: str, *, as_json: bool) -> None:
    """Prints what a jar holds, and the static findings; of a file the jar that its service has. BadInput for a jar that
    vtlab cannot measure.

    ``wanted``: the JDK that would run it, as ``tools.find_java`` takes it. ``flags``: those of its JVM, in one line.
    """
    jar, named, of_file = _jar_of(path)
    java = find_java(wanted or named)
    inspected = inspection.inspect(jar, java)
    published = [
        finding.model_copy(update={"command": _cure(finding.command, jar, path)})
        for finding in static.static_findings(inspected, java.version if java else None, [*of_file, *_split(flags)])
    ]
    if as_json:
        document = {
            "jdk": java.version if java else None,
            "inspection": inspected.model_dump(mode="json"),
            "findings": [finding.model_dump(mode="json") for finding in published],
        }
        print(json.dumps(document, indent=2))
        return
    for line in jar_lines(inspected, java.version if java else None, published):
        console.print(line, highlight=False, markup=False)


def _split(flags: str) -> list[str]:
    try:
        return shlex.split(flags)
    except ValueError as error:
        raise BadInput(f"--jvm {flags}: {error}", "quote it as for a shell: --jvm '-Xmx1g -Da=b'") from None


def _cure(command: str, jar: Path, path: Path) -> str:
    return commands.cure_for_jar(command, jar) if jar == path else commands.cure_for_file(command, jar, path)


def _jar_of(path: Path) -> tuple[Path, str | None, list[str]]:
    """Returns the jar, and what its service says of JDK and flags, where the path is that of an experiment's file.
    BadInput for a service without a jar."""
    if path.suffix not in documents.SUFFIXES:
        return path, None, []
    experiment = experiment_files.load(str(path), EXPERIMENTS)
    service = experiment.service
    if isinstance(service, str) or service.jar_path is None:
        raise BadInput(f"{path}: its service has no jar to look into", "name a jar: vtlab check app.jar")
    return service.jar_path, None if service.java is None else str(service.java), service.jvm_flags

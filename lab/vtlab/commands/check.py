"""``vtlab check``: the contents of a service's jar, and what is known to break in it. Nothing is started."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

from vtlab.analysis.findings import commands, static
from vtlab.commands import options
from vtlab.commands.options import Jdk, JvmFlags
from vtlab.commands.output import Terminal, console
from vtlab.errors import BadInput
from vtlab.measuring.progress import Progress
from vtlab.model import documents, experiment_files
from vtlab.model.variant import flags_in
from vtlab.planning.shipped_experiments import EXPERIMENTS
from vtlab.report.words.finding_lines import jar_lines
from vtlab.services import inspection
from vtlab.services.resolve import find_java

EXAMPLES = """\
vtlab check app.jar
vtlab check vtlab.yaml --java 21 --json
"""


def check(
    service: Annotated[Path, typer.Argument(metavar="SERVICE", help="Spring Boot jar, or a file that names one.")],
    java: Jdk = None,
    flags: JvmFlags = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the findings as JSON, and nothing else.")] = False,
) -> None:
    """Check a jar or vtlab.yaml: settings and known problems; runs nothing.

    Shows versions, server, libraries and settings, and their published problems under virtual threads.
    """
    given = options.jvm_flags(flags or [])
    with Progress(Terminal(stderr=True) if as_json else console, f"reading {service.name}"):
        jar, java_of_file, flags_of_file = _jar_of(service)
        jdk = find_java(java or java_of_file)
        inspected = inspection.inspect(jar, jdk)
    published = [
        finding.model_copy(update={"command": _cure(finding.command, jar, service)})
        for finding in static.static_findings(inspected, jdk.version if jdk else None, [*flags_of_file, *given])
    ]
    if as_json:
        document = {
            "jdk": jdk.version if jdk else None,
            "inspection": inspected.model_dump(mode="json"),
            "findings": [finding.model_dump(mode="json") for finding in published],
        }
        print(json.dumps(document, indent=2))
        return
    for line in jar_lines(inspected, jdk.version if jdk else None, published):
        console.print(line, highlight=False, markup=False)


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
    flags = [*service.jvm_flags, *flags_in({**service.settings, **experiment.settings})]
    return service.jar_path, None if service.java is None else str(service.java), flags

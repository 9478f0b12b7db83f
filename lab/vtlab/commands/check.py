"""``vtlab check``: the contents of a service's jar, and what is known to break in it. Nothing is started."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from vtlab.analysis.findings import commands, static
from vtlab.commands import options
from vtlab.commands.options import Jdk, JvmFlags
from vtlab.commands.output import console
from vtlab.errors import PrerequisiteMissing
from vtlab.host import tools
from vtlab.host.tools import Java
from vtlab.model import documents, service_file
from vtlab.report.words.finding_lines import jar_lines
from vtlab.services import inspection

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
    """Look for known problems in a jar, in seconds.

    Shows versions, server, libraries and settings, and their published problems under virtual threads. Starts nothing.
    """
    jvm_flags = options.jvm_flags(flags or [])
    if service.suffix in documents.SUFFIXES:
        file = service_file.read(service)
        service, java = service.parent / file.service, java or (str(file.java) if file.java else None)
        jvm_flags = [*file.jvm, *jvm_flags]
    check_jar(service, java, jvm_flags, as_json=as_json)


def check_jar(jar: Path, wanted: str | None, flags: Sequence[str], *, as_json: bool) -> None:
    """Prints what a jar holds, and the static findings. BadInput for a jar that vtlab cannot measure.

    ``wanted``: the JDK that would run it, as ``tools.find_java`` takes it. ``flags``: those of its JVM.
    """
    java = _java(wanted)
    inspected = inspection.inspect(jar, java)
    published = [
        finding.model_copy(update={"command": commands.cure_for_jar(finding.command, jar)})
        for finding in static.static_findings(inspected, java.version if java else None, flags)
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


def _java(wanted: str | None) -> Java | None:
    """Finds the JDK that would run the service; None where no JDK is asked for and none is here: a look needs none."""
    try:
        return tools.find_java(wanted)
    except PrerequisiteMissing:
        if wanted:
            raise
        return None

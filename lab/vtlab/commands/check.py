"""``vtlab doctor app.jar``: the contents of a service's jar, and what is known to break in it. Nothing is started."""

from __future__ import annotations

import json
import shlex
from pathlib import Path

from vtlab.analysis.findings import commands, static
from vtlab.commands.output import console
from vtlab.errors import BadInput, PrerequisiteMissing
from vtlab.host import tools
from vtlab.host.tools import Java
from vtlab.report.words.finding_lines import jar_lines
from vtlab.services import inspection


def check_jar(jar: Path, wanted: str | None, flags: str, *, as_json: bool) -> None:
    """Prints what a jar holds, and the static findings. BadInput for a jar that vtlab cannot measure.

    ``wanted``: the JDK that would run it, as ``tools.find_java`` takes it. ``flags``: those of its JVM, in one line.
    """
    java = _java(wanted)
    inspected = inspection.inspect(jar, java)
    published = [
        finding.model_copy(update={"command": commands.cure_for_jar(finding.command, jar)})
        for finding in static.static_findings(inspected, java.version if java else None, _split(flags))
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


def _java(wanted: str | None) -> Java | None:
    """Finds the JDK that would run the service; None where no JDK is asked for and none is here: a look needs none."""
    try:
        return tools.find_java(wanted)
    except PrerequisiteMissing:
        if wanted:
            raise
        return None

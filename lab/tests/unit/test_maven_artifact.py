"""An artifact is fetched once, by its checksum: from a repository that the user names, or by Maven."""

from __future__ import annotations

import hashlib
from dataclasses import replace
from pathlib import Path

import pytest

from tests.support.programs import program
from vtlab.errors import PrerequisiteMissing
from vtlab.host import maven_artifact
from vtlab.host.maven_artifact import Artifact
from vtlab.host.tools import MAVEN_REPOSITORY

pytestmark = pytest.mark.usefixtures("invented_tools")

CONTENT = b"a jar"
ARTIFACT = Artifact(
    "A thing", "org.example.things", "thing", "1.2", hashlib.sha256(CONTENT).hexdigest(), 3, "install it"
)


@pytest.fixture
def repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A repository with the artifact, which the user does not name yet, on a machine without Maven."""
    folder = tmp_path / "repository"
    jar = folder / "org" / "example" / "things" / "thing" / "1.2" / "thing-1.2.jar"
    jar.parent.mkdir(parents=True)
    jar.write_bytes(CONTENT)
    (tmp_path / "bin").mkdir()
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    return folder


def test_it_is_downloaded_once_and_said(
    repository: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv(MAVEN_REPOSITORY, f"{repository.as_uri()}/")
    assert maven_artifact.has_source()
    jar = maven_artifact.fetched(ARTIFACT, tmp_path / "cache" / "things")
    monkeypatch.setenv(MAVEN_REPOSITORY, "file:///nowhere")
    assert maven_artifact.fetched(ARTIFACT, jar.parent) == jar
    assert (jar.name, jar.read_bytes(), len(list(jar.parent.iterdir()))) == ("thing-1.2.jar", CONTENT, 1)
    written = capsys.readouterr()
    assert written.out == ""
    assert written.err == "vtlab: fetching A thing, once (3 MB)\n"


def test_a_broken_one_is_fetched_again(repository: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(MAVEN_REPOSITORY, repository.as_uri())
    (tmp_path / ARTIFACT.file).write_bytes(b"half")
    assert maven_artifact.fetched(ARTIFACT, tmp_path).read_bytes() == CONTENT


def test_another_than_the_one_expected_is_refused(
    repository: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(MAVEN_REPOSITORY, repository.as_uri())
    with pytest.raises(PrerequisiteMissing, match=r"A thing was not fetched: the SHA-256 of thing-1\.2\.jar") as error:
        maven_artifact.fetched(replace(ARTIFACT, sha256="0" * 64), tmp_path / "cache")
    assert error.value.fix == "name a Maven repository: VTLAB_MAVEN_REPOSITORY=URL; or install it"
    assert list((tmp_path / "cache").iterdir()) == []


@pytest.mark.parametrize(
    ("url", "words"),
    [
        ("file:///nowhere", "No such file"),
        ("nowhere", "VTLAB_MAVEN_REPOSITORY is not the address of a repository"),
        ("https://me:secret-word@h/maven", "VTLAB_MAVEN_REPOSITORY is not the address of a repository"),
    ],
)
def test_a_repository_without_it_is_named_and_no_password(
    url: str, words: str, repository: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(MAVEN_REPOSITORY, url)
    with pytest.raises(PrerequisiteMissing, match=f"A thing was not fetched: .*{words}") as error:
        maven_artifact.fetched(ARTIFACT, tmp_path)
    assert "secret-word" not in error.value.message + error.value.fix


def test_without_a_repository_maven_copies_it(
    repository: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}:/usr/bin:/bin")
    jar = next(repository.rglob("*.jar"))
    script = f'echo "$JAVA_HOME $*" >>{tmp_path}/calls; cp {jar} "${{5#-DoutputDirectory=}}"'
    program(tmp_path / "bin" / "mvn", script)
    assert maven_artifact.fetched(ARTIFACT, tmp_path / "cache").read_bytes() == CONTENT
    (call,) = (tmp_path / "calls").read_text(encoding="utf-8").splitlines()
    words = "/jdk -q -B dependency:copy -Dartifact=org.example.things:thing:1.2 -DoutputDirectory="
    assert call.startswith(f"{words}{tmp_path / 'cache'}/")


def test_a_failed_maven_is_named_with_its_last_lines(repository: Path, tmp_path: Path) -> None:
    program(tmp_path / "bin" / "mvn", "for line in 1 2 3 4 5 6 7; do echo line $line; done\nexit 1")
    assert maven_artifact.has_source()
    with pytest.raises(PrerequisiteMissing, match=r"not fetched: line 2\nline 3(?s:.*)line 7$"):
        maven_artifact.fetched(ARTIFACT, tmp_path)


def test_without_either_it_says_what_is_missing(repository: Path, tmp_path: Path) -> None:
    assert not maven_artifact.has_source()
    with pytest.raises(PrerequisiteMissing, match=r"there is neither VTLAB_MAVEN_REPOSITORY nor Maven \(mvn on PATH\)"):
        maven_artifact.fetched(ARTIFACT, tmp_path)

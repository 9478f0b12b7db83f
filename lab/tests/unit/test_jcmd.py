"""Orders to a JVM go to JVMs alone, by a jcmd that is there."""

from __future__ import annotations

import os
from pathlib import Path
from types import SimpleNamespace

import pytest

from vtlab.errors import BadInput, LabError, PrerequisiteMissing
from vtlab.host import jcmd


def test_what_is_no_jvm_gets_no_signal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("subprocess.run", lambda *_, **__: pytest.fail("it was sent"))
    assert jcmd.order(os.getpid(), ["VM.version"]) is None


def test_a_process_that_is_gone_answers_nothing() -> None:
    assert jcmd.order(2**22, ["VM.version"]) is None


@pytest.fixture
def jvm(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> int:
    """The number of a process of a Java without jcmd; PATH has none either."""
    process = tmp_path / "7"
    process.mkdir()
    (process / "maps").write_text("7f0000000000-7f0000001000 r-xp 0 00:00 0 /jdk/lib/libjvm.so\n", encoding="utf-8")
    (process / "exe").symlink_to(tmp_path / "runtime" / "bin" / "java")
    monkeypatch.setattr(jcmd, "PROC", tmp_path)
    monkeypatch.setenv("PATH", str(tmp_path))
    return 7


@pytest.mark.parametrize("error", [PrerequisiteMissing("no JDK", ""), BadInput("no Java at VTLAB_JAVA_HOME", "")])
def test_without_a_jdk_there_is_no_jcmd(jvm: int, monkeypatch: pytest.MonkeyPatch, error: LabError) -> None:
    def find_java(**_: object) -> None:
        raise error

    monkeypatch.setattr(jcmd.tools, "find_java", find_java)
    assert jcmd.command_for(jvm) is None


def test_a_jdk_may_lack_it(jvm: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(jcmd.tools, "find_java", lambda **_: SimpleNamespace(home=tmp_path / "jdk"))
    assert jcmd.command_for(jvm) is None
    program = tmp_path / "jdk" / "bin" / "jcmd"
    program.parent.mkdir(parents=True)
    program.touch(0o755)
    command = jcmd.command_for(jvm)
    assert command is not None
    assert (command[0], command[-1]) == (str(program), "7")

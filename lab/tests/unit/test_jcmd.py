"""Orders to a JVM go to JVMs alone."""

from __future__ import annotations

import os

import pytest

from vtlab.host import jcmd


def test_what_is_no_jvm_gets_no_signal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("subprocess.run", lambda *_, **__: pytest.fail("it was sent"))
    assert jcmd.order(os.getpid(), ["VM.version"]) is None


def test_a_process_that_is_gone_answers_nothing() -> None:
    assert jcmd.order(2**22, ["VM.version"]) is None

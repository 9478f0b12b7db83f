"""Unit tests see nothing of this machine: neither its programs nor its environment."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

from vtlab.host import tools
from vtlab.host.tools import Java, Tool
from vtlab.runs import estimates
from vtlab.services import sample

#: Without a known problem.
JDK = Java(Path("/jdk/bin/java"), "25.0.4", "a vendor")


@pytest.fixture(autouse=True)
def _plain_output(monkeypatch: pytest.MonkeyPatch) -> None:
    # Golden outputs are 80 columns wide, wherever the tests run.
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.setenv("TERM", "dumb")
    for name in ("NO_COLOR", "FORCE_COLOR", "VTLAB_DATABASE_URL", "VTLAB_DOWNSTREAM_URL", "VTLAB_JAVA_HOME"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
def invented_tools(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """A JDK 25, k6, Prometheus and the app, as far as anyone asks for their versions; no JDK 21. The app's jar."""

    find = tools.find_java

    def java(wanted: str | None = None, places: Sequence[Path] | None = None, compiler: bool = False) -> Java:
        if wanted == "21":
            return find(wanted, [])
        return JDK

    jar = tmp_path / "app.jar"
    jar.write_bytes(b"a jar")
    monkeypatch.setattr(tools, "find_java", java)
    monkeypatch.setattr(tools, "find_k6", lambda: Tool(Path("/k6"), "1.8.1"))
    monkeypatch.setattr(tools, "find_prometheus", lambda: Tool(Path("/prometheus"), "3.15.0"))
    monkeypatch.setattr(sample, "JAR", jar)
    monkeypatch.setattr(sample, "train", lambda *_: None)
    # Only k6 knows the length of a block, and tells it by its plan.
    monkeypatch.setattr(estimates, "block_seconds", lambda *_: 60.0)
    return jar

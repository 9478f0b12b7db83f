"""Unit tests see nothing of this machine: neither its programs nor its environment."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

from vtlab.analysis.criteria import priors
from vtlab.host import core_speed, tools
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
    monkeypatch.setenv("XDG_CACHE_HOME", "/nowhere/cache")
    for name in ("NO_COLOR", "FORCE_COLOR"):
        monkeypatch.delenv(name, raising=False)
    for name in ("DATABASE_URL", "DOWNSTREAM_URL", "JAVA_HOME", "MAVEN_REPOSITORY"):
        monkeypatch.delenv(f"VTLAB_{name}", raising=False)


_PRIOR = priors.prior
# Each new series changes the priors, and with them the intervals of all runs: these tests have none, also where a
# module analyses a run when it is read.
pytest.MonkeyPatch().setattr(priors, "prior", lambda _: None)


@pytest.fixture
def shipped_priors(monkeypatch: pytest.MonkeyPatch) -> None:
    """Gives a test the priors that vtlab has, for what was generated with them."""
    monkeypatch.setattr(priors, "prior", _PRIOR)


@pytest.fixture
def invented_tools(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """A JDK 25, k6, Prometheus and the app, as far as anyone asks for their versions; no JDK 21; cores that do not slow
    each other. The app's jar."""

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
    monkeypatch.setattr(core_speed, "two_over_one", lambda: 2.0)
    # Only k6 knows the length of a block, and tells it by its plan.
    monkeypatch.setattr(estimates, "block_seconds", lambda *_: 60.0)
    return jar

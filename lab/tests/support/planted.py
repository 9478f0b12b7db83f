"""The sample application with planted controllers as a service, and a downstream that slows under load."""

from __future__ import annotations

import contextlib
import shutil
import subprocess
import zipfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from vtlab import shipped
from vtlab.host import ports, server, tools
from vtlab.host.process_ledger import Command, Ledger
from vtlab.host.processes import Process
from vtlab.host.server import Server
from vtlab.services import process, sample
from vtlab.services.companions import downstream

APP = shipped.ROOT / "app"
PACKAGE = "lab/virtualthreads/planted"


@pytest.fixture(scope="session")
def planted_service(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """Builds the sample application with its package ``planted``; returns the service."""
    folder = tmp_path_factory.mktemp("planted")
    target, sources = APP / "target" / "test-classes", APP / "src" / "test" / "java"
    newest = max(source.stat().st_mtime for source in (sources / PACKAGE).glob("*.java"))
    compiled = list((target / PACKAGE).glob("*.class"))
    if not compiled or min(file.stat().st_mtime for file in compiled) < newest:
        maven = ["java", "mvn", "-q", "-f", APP / "pom.xml", "test-compile"]
        subprocess.run([shipped.ROOT / "lab" / "setup", *maven], check=True)
        compiled = list((target / PACKAGE).glob("*.class"))
    service = sample.service()
    original = service.jar_path
    assert original is not None
    jar = Path(shutil.copy(original, folder))
    # Where the jar's manifest looks for its class path, and the app for its drivers.
    for beside in ("lib", "drivers"):
        (folder / beside).symlink_to(original.parent / beside)
    with zipfile.ZipFile(jar, "a") as archive:
        for file in compiled:
            archive.write(file, file.relative_to(target))
    changed = service.model_copy(update={"name": "planted", "jar": jar.name, "directory": str(folder)})
    return changed.model_dump(mode="json", exclude_none=True)


@contextlib.contextmanager
def slow_downstream(folder: Path, threads: int) -> Iterator[str]:
    """Runs a downstream that answers so many requests at a time: alone as fast as any other, slower under load. Yields
    its URL. ``folder``: of the test."""
    service = sample.service()
    jar, java = service.jar_path, tools.find_java()
    assert jar is not None
    with Ledger(folder) as ledger:

        def spawn(chosen: Sequence[int]) -> Process:
            return ledger.start(
                Command(
                    [str(java.path), *process.jvm_flags(service, downstream.HEAP, None), "-jar", str(jar)],
                    role="downstream",
                    log=folder / "downstream.log",
                    environment=tools.clean_environment(
                        **process.listen_environment(chosen[0], chosen[1]), SERVER_TOMCAT_THREADS_MAX=str(threads)
                    ),
                )
            )

        def answers(chosen: Sequence[int]) -> bool:
            return server.answers_ok(chosen[1], service.readiness)

        started = server.start(Server("the slow downstream", spawn, answers, process.READY_WITHIN, count=2))
        yield f"http://{ports.HOST}:{started.port}"

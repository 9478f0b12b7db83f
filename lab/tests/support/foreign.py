"""Two services that know nothing of vtlab (``lab/tests/foreign``), and the one command that measures them.

``KIOSK``   Spring Boot 3.2 on Jetty, without an actuator
``SHOP``    Spring Boot 4 on Tomcat, with a pool of connections, a semaphore, a cache, a downstream
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest

from tests.support.experiments import tiny
from tests.support.lab_call import leftovers, only, verdict, vtlab
from vtlab import shipped
from vtlab.host import ports
from vtlab.model.experiment import Experiment
from vtlab.services.resolve import complete

_FOLDER = shipped.ROOT / "lab" / "tests" / "foreign"
KIOSK, SHOP = (_FOLDER / name / "target" / f"{name}.jar" for name in ("kiosk", "shop"))


@dataclass(frozen=True)
class Tried:
    """Output and results of a ``vtlab try``."""

    text: str
    folder: Path
    verdict: dict[str, Any]

    def bottleneck(self, variant: str) -> dict[str, Any]:
        """Returns the bottleneck of a variant in ``verdict.json``."""
        bottleneck: dict[str, Any] = self.verdict["variants"][variant]["bottleneck"]
        return bottleneck


def built(jar: Path) -> Path:
    """Returns the jar; fails with the command that builds it where there is none."""
    if not jar.is_file():
        pytest.fail(f"{jar} is not built: make setup-test")
    return jar


def kiosk(folder: Path, **changes: Any) -> Experiment:
    """Returns an experiment with the service on Jetty, as a look into its jar describes it."""
    return complete(tiny(service={"jar": str(built(KIOSK)), "directory": str(folder)}, **changes))


def tried(root: Path, jar: Path, *arguments: str, env: dict[str, str] | None = None, timeout: float = 900) -> Tried:
    """Measures a service by one command, without typical load, which would take further 38 s a block. ``root``: an
    empty folder for its results."""
    file = root / ".service.json"
    service = {"jar": built(jar).name, "directory": str(jar.parent.absolute())}
    file.write_text(json.dumps({"service": service, "load": {"typical": "none"}}), encoding="utf-8")
    done = vtlab("try", file, *arguments, "--results", root, env=env, timeout=timeout)
    assert done.returncode == 0, done.stdout + done.stderr
    assert leftovers(root) == []
    folder = only(root)
    return Tried(done.stdout, folder, verdict(folder))


@contextlib.contextmanager
def supplier() -> Iterator[str]:
    """Runs a service that answers ``/wait?duration=200ms`` after that long, to any number of requests at once; yields
    its URL."""
    loop = asyncio.new_event_loop()
    (port,) = ports.free(1)

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while head := await reader.readline():
                while (await reader.readline()).strip():
                    pass
                (duration,) = parse_qs(urlsplit(head.split()[1].decode()).query)["duration"]
                await asyncio.sleep(float(duration.removesuffix("ms")) / 1000)
                writer.write(b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: 2\r\n\r\nok")
                await writer.drain()
        except (ConnectionError, asyncio.IncompleteReadError, asyncio.CancelledError):
            pass
        finally:
            writer.close()

    server = loop.run_until_complete(asyncio.start_server(answer, ports.HOST, port, backlog=256))
    thread = threading.Thread(target=loop.run_forever, daemon=True)
    thread.start()
    try:
        yield f"http://{ports.HOST}:{port}"
    finally:
        loop.call_soon_threadsafe(loop.stop)
        thread.join(10)
        server.close()
        # Connections that are kept wait for the next request.
        waiting = asyncio.all_tasks(loop)
        for task in waiting:
            task.cancel()
        loop.run_until_complete(asyncio.wait(waiting) if waiting else asyncio.sleep(0))
        # Transports close a moment later.
        loop.run_until_complete(asyncio.sleep(0))
        loop.close()

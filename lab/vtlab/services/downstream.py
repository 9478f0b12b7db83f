"""The second service, which the variants call: the same app on virtual threads, under no limit, or the user's own."""

from __future__ import annotations

import os
from pathlib import Path
from urllib.parse import urlsplit

import httpx

from vtlab.errors import BadInput, PrerequisiteMissing
from vtlab.host import ports, server
from vtlab.host.processes import Ledger, Process
from vtlab.host.server import Server
from vtlab.host.tools import Java, Tool, clean_environment, find_aot_cache
from vtlab.model import variant
from vtlab.services import jvm

URL = "VTLAB_DOWNSTREAM_URL"
HEAP = "256m"


def environment(url: str) -> dict[str, str]:
    """What tells a variant."""
    return {"LAB_DOWNSTREAM_URL": url}


def own() -> str | None:
    """The URL of the user's own; None where VTLAB_DOWNSTREAM_URL is not set. BadInput where it makes no sense."""
    url = os.environ.get(URL)
    if not url:
        return None
    try:
        parts = urlsplit(url)
        fine = parts.scheme in ("http", "https") and parts.hostname and parts.port != 0 and "@" not in parts.netloc
    except ValueError:
        fine = False
    if not fine:
        raise BadInput(
            f"{URL} is no http://HOST:PORT", f"{URL}=http://HOST:PORT, or unset it for one that vtlab starts"
        )
    return url


def require(url: str) -> None:
    """PrerequisiteMissing when the user's own does not answer, whatever it answers."""
    try:
        with httpx.Client(trust_env=False, timeout=5) as client:
            client.get(url)
    except httpx.TransportError as error:
        raise PrerequisiteMissing(
            f"the downstream of {URL} does not answer: {error}", f"start it, or unset {URL} for one that vtlab starts"
        ) from None


class Downstream:
    """One JVM; the ledger stops it at last."""

    def __init__(self, java: Java, app: Tool, ledger: Ledger, log: Path) -> None:
        self._java = java
        self._app = app
        self._ledger = ledger
        self._log = log
        self._server: Server | None = None

    @property
    def url(self) -> str:
        """Where it answers; RuntimeError before ``start``."""
        return f"http://{ports.HOST}:{self._running().port}"

    def start(self) -> None:
        """Starts it unless it runs. BlockFault when that does not work."""
        if self._server is not None and self._server.process.ended() is None:
            return
        self._server = None
        self._server = server.start("the downstream", self._spawn, _answers, jvm.READY_WITHIN)

    def ended(self) -> str | None:
        """That it ended, and how; None while it runs."""
        return self._running().ended()

    def _running(self) -> Server:
        if self._server is None:
            raise RuntimeError("start comes first")
        return self._server

    def _spawn(self, port: int) -> Process:
        cache = find_aot_cache(self._app, self._java)
        return self._ledger.start(
            [
                str(self._java.path),
                *jvm.JVM_FLAGS,
                f"-Xms{HEAP}",
                f"-Xmx{HEAP}",
                *([f"-XX:AOTCache={cache}"] if cache else []),
                "-jar",
                str(self._app.path),
            ],
            role="jvm downstream",
            log=self._log,
            environment=clean_environment(
                **variant.ENVIRONMENT["virtual"],
                SERVER_ADDRESS=ports.HOST,
                SERVER_PORT=str(port),
                # The same: nobody scrapes it.
                MANAGEMENT_SERVER_PORT=str(port),
            ),
        )


def _answers(port: int) -> bool:
    try:
        with httpx.Client(trust_env=False, timeout=5) as client:
            return client.get(f"http://{ports.HOST}:{port}/actuator/health/readiness").status_code == 200
    except httpx.TransportError:
        return False

"""The second service, which the variants call: the sample application on virtual threads, or the user's own."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from urllib.parse import urlsplit

import httpx

from vtlab.errors import BadInput, PrerequisiteMissing
from vtlab.host import archives, ports, server
from vtlab.host.process_ledger import Command, Ledger
from vtlab.host.processes import Process
from vtlab.host.server import Server
from vtlab.host.tools import Java, clean_environment
from vtlab.model import variant
from vtlab.model.service import Service
from vtlab.services import process

URL = "VTLAB_DOWNSTREAM_URL"
HEAP = "256m"


def from_environment() -> str | None:
    """Reads the URL of the user's own; None where VTLAB_DOWNSTREAM_URL is not set. BadInput where it makes no sense."""
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
            f"{URL} is not of the form http://HOST:PORT",
            f"{URL}=http://HOST:PORT, or unset it: vtlab starts one",
        )
    return url


def require(url: str) -> None:
    """Raises PrerequisiteMissing when the user's downstream service does not answer; any answer will do."""
    try:
        with httpx.Client(trust_env=False, timeout=5) as client:
            client.get(url)
    except httpx.TransportError as error:
        raise PrerequisiteMissing(
            f"the downstream of {URL} does not answer: {error}", f"start it, or unset {URL} so that vtlab starts one"
        ) from None


class Downstream:
    """One JVM of the sample application; the ledger stops it at last."""

    def __init__(self, service: Service, java: Java, ledger: Ledger, log: Path) -> None:
        self._service = service
        self._java = java
        self._ledger = ledger
        self._log = log
        self._server: Server | None = None

    @property
    def url(self) -> str:
        """Returns its address; RuntimeError before ``start``."""
        if self._server is None:
            raise RuntimeError("start comes first")
        return f"http://{ports.HOST}:{self._server.port}"

    def start(self) -> None:
        """Starts it unless it runs. BlockFault when that does not work."""
        if self._server is not None and self._server.process.exit_description() is None:
            return
        self._server = None
        self._server = server.start(Server("the downstream", self._spawn, self._answers, process.READY_WITHIN))

    def exit_description(self) -> str | None:
        """Describes how it ended; None while it runs, or before ``start``."""
        return self._server.exit_description() if self._server else None

    def _spawn(self, chosen: Sequence[int]) -> Process:
        jar = self._service.jar_path
        assert jar is not None
        flags = process.jvm_flags(self._service, HEAP, archives.find(jar, self._java))
        return self._ledger.start(
            Command(
                [str(self._java.path), *flags, "-jar", str(jar)],
                role="jvm downstream",
                log=self._log,
                environment=clean_environment(
                    **variant.ENVIRONMENT["virtual"],
                    SERVER_ADDRESS=ports.HOST,
                    SERVER_PORT=str(chosen[0]),
                    # The same port, as Prometheus does not scrape it. Spring then refuses a separate address for it.
                    MANAGEMENT_SERVER_PORT=str(chosen[0]),
                ),
            )
        )

    def _answers(self, chosen: Sequence[int]) -> bool:
        return server.answers_ok(chosen[0], self._service.readiness)

"""Reaches the cluster's Prometheus through kubectl port-forward, and reaches it again when that ends."""

from __future__ import annotations

import os
import shutil
import time
from pathlib import Path
from urllib.parse import urlsplit

import httpx

from vtlab.errors import BlockFault, PrerequisiteMissing
from vtlab.host import ports
from vtlab.host.processes import Ledger, Process
from vtlab.targets.kubernetes.cluster import Where

#: Seconds until Prometheus must answer through it, also after its pod was replaced.
PATIENCE = 60.0


def kubectl() -> str:
    """The kubectl on PATH; PrerequisiteMissing without one."""
    found = shutil.which("kubectl")
    if found is None:
        raise PrerequisiteMissing("no kubectl on PATH, which reaches Prometheus in the cluster", "install kubectl")
    return found


def service(remote_write: str) -> tuple[str, str, int]:
    """(service, namespace, port) in the URL that k6 pushes to; PrerequisiteMissing when it names no Service."""
    parts = urlsplit(remote_write)
    names = (parts.hostname or "").split(".")
    if len(names) < 2 or not parts.port:
        raise PrerequisiteMissing(
            f"'{remote_write}', where k6 pushes its samples, names no Service as http://service.namespace:port",
            "helm upgrade … --set monitoring.enabled=true, or monitoring.prometheusUrl with such a URL",
        )
    return names[0], names[1], parts.port


class Forward(httpx.BaseTransport):
    """A port of this machine that leads to Prometheus, and the transport for a client of it: a request that finds
    the way broken mends it and tries again."""

    def __init__(self, where: Where, remote_write: str, ledger: Ledger, log: Path) -> None:
        self._service, self._namespace, self._remote_port = service(remote_write)
        self._where, self._ledger, self._log = where, ledger, log
        self._kubectl = kubectl()
        (self._port,) = ports.free(1)
        self._process: Process | None = None
        self._transport = httpx.HTTPTransport()

    @property
    def url(self) -> str:
        """Where Prometheus answers."""
        return f"http://{ports.HOST}:{self._port}"

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        """As of ``httpx.BaseTransport``. BlockFault when Prometheus stays away, PrerequisiteMissing when the cluster
        forbids the way there."""
        end = time.monotonic() + PATIENCE
        while True:
            try:
                self._ensure()
                response = self._transport.handle_request(request)
                # Started, but still replaying its log.
                if response.status_code != 503:
                    return response
                response.close()
                reason = "status 503"
            except httpx.TransportError as error:
                reason = str(error) or type(error).__name__
                self._stop()
            if time.monotonic() > end:
                said = self._process.last_lines(2) if self._process else ""
                raise BlockFault(
                    f"Prometheus (service {self._service} in namespace {self._namespace}) does not answer: "
                    f"{said or reason}"
                )
            time.sleep(0.5)

    def close(self) -> None:
        """Ends kubectl."""
        self._stop()
        self._transport.close()

    def _ensure(self) -> None:
        if self._process and self._process.exit_description() is None:
            return
        context = ["--context", self._where.context] if self._where.context else []
        local = f"{self._port}:{self._remote_port}"
        # What those before it said stands there, too.
        begun = self._log.stat().st_size if self._log.exists() else 0
        self._process = self._ledger.start(
            [self._kubectl, *context, "-n", self._namespace, "port-forward", f"svc/{self._service}", local],
            role="kubectl port-forward",
            log=self._log,
            # Whatever the user's kubeconfig needs, programs for credentials among it.
            environment=dict(os.environ),
            folder=Path.cwd(),
        )
        end = time.monotonic() + 10
        while self._process.exit_description() is None and time.monotonic() < end:
            if ports.listening_pid(self._port) == self._process.pid:
                return
            time.sleep(0.1)
        if self._process.exit_description() is not None:
            self._refuse_forbidden(begun)

    def _refuse_forbidden(self, begun: int) -> None:
        """PrerequisiteMissing when kubectl, whose log begins there, ended for lack of a right: no use in waiting."""
        said = [line for line in self._log.read_bytes()[begun:].decode(errors="replace").splitlines() if line.strip()]
        forbidden = [line for line in said[-3:] if "forbidden" in line.lower()]
        if forbidden:
            raise PrerequisiteMissing(
                f"the cluster does not let you forward a port to Prometheus (service {self._service} in namespace "
                f"{self._namespace}): {forbidden[-1].strip()}",
                "vtlab doctor --target kubernetes says which right is missing",
            )

    def _stop(self) -> None:
        if self._process:
            self._process.stop(1)

"""The run's own Prometheus: scrapes the JVMs every second and takes what k6 and vtlab write."""

from __future__ import annotations

import contextlib
import shutil
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import httpx

from vtlab.errors import BlockFault
from vtlab.host import ports, process_ledger, server
from vtlab.host.process_ledger import Command, Ledger
from vtlab.host.processes import Process
from vtlab.host.server import Server
from vtlab.host.tools import Tool
from vtlab.prometheus import run_server

READY_WITHIN = 30.0


@dataclass(frozen=True)
class PrometheusFiles:
    """Files of a Prometheus process."""

    #: For its configuration and storage.
    folder: Path
    log: Path
    #: Recording rules; None for none.
    rules: Path | None = None


class PrometheusServer:
    """One Prometheus process; the ledger stops it at last."""

    def __init__(self, tool: Tool, files: PrometheusFiles, ledger: Ledger, port: int | None = None) -> None:
        """``port`` fixes its port; PrerequisiteMissing when that is taken."""
        self._tool = tool
        self._folder = files.folder
        self._ledger = ledger
        self._log = files.log
        self._fixed = port
        self._rules = [str(files.rules.absolute())] if files.rules else []
        self._server: Server | None = None
        if port is not None:
            ports.require_free(port, "the local Prometheus")

    @property
    def url(self) -> str:
        """Base URL; BlockFault when it was never started."""
        return f"http://{ports.HOST}:{self._running().port}"

    @property
    def remote_write(self) -> str:
        """URL that k6 writes its samples to."""
        return f"{self.url}/api/v1/write"

    @property
    def process(self) -> Process:
        """Running process; BlockFault when it was never started."""
        return self._running().process

    def exit_description(self) -> str | None:
        """Describes how it ended; returns None while it runs."""
        return self._running().exit_description()

    def scrape(self, targets: Mapping[str, str], path: str) -> None:
        """Scrapes that path of these from now on (variant -> host:port) instead of those before; (re)starts Prometheus
        if it does not run. BlockFault when it does not get ready or refuses the configuration."""
        self._configure(targets, path)
        if self._server is None or self._server.exit_description() is not None:
            self._server = server.start(
                Server(
                    "Prometheus",
                    self._spawn,
                    lambda chosen: server.answers_ok(chosen[0], "/-/ready"),
                    READY_WITHIN,
                    ports=[self._fixed] if self._fixed else [],
                    fixed=self._fixed is not None,
                )
            )
            return
        with httpx.Client(trust_env=False, timeout=15) as client:
            try:
                client.post(f"{self.url}/-/reload").raise_for_status()
            except httpx.HTTPError as error:
                raise BlockFault(f"Prometheus does not load its configuration: {error}") from error

    def remove(self) -> None:
        """Stops it and deletes its storage: what counts is in the results by then."""
        if self._server is not None:
            self._server.process.stop(5)
            self._server = None
        shutil.rmtree(self._folder, ignore_errors=True)

    def _running(self) -> Server:
        if self._server is None:
            raise BlockFault("Prometheus: not started")
        return self._server

    def _configure(self, targets: Mapping[str, str], path: str) -> None:
        self._folder.mkdir(parents=True, exist_ok=True)
        document = run_server.configuration(targets, path, self._rules)
        (self._folder / "prometheus.yml").write_text(document, encoding="utf-8")

    def _spawn(self, chosen: Sequence[int]) -> Process:
        return self._ledger.start(
            Command(
                [
                    str(self._tool.path),
                    f"--config.file={self._folder / 'prometheus.yml'}",
                    f"--storage.tsdb.path={self._folder / 'data'}",
                    f"--web.listen-address={ports.HOST}:{chosen[0]}",
                    "--web.enable-otlp-receiver",
                    "--web.enable-lifecycle",
                    *run_server.OPTIONS,
                ],
                role="prometheus",
                log=self._log,
                folder=self._folder,
            )
        )


@contextlib.contextmanager
def serving(tool: Tool, folder: Path, log: Path, port: int | None = None) -> Iterator[PrometheusServer]:
    """Starts a Prometheus on what another one kept in ``folder``; it scrapes nothing."""
    with process_ledger.open_exclusive(folder) as ledger:
        prometheus = PrometheusServer(tool, PrometheusFiles(folder, log), ledger, port)
        prometheus.scrape({}, "/")
        yield prometheus

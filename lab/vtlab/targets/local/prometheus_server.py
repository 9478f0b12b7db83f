"""The run's own Prometheus: scrapes the JVMs every second and takes what k6 writes."""

from __future__ import annotations

import json
import shutil
import time
from collections.abc import Mapping
from pathlib import Path

import httpx

from vtlab.errors import BlockFault
from vtlab.host import ports
from vtlab.host.processes import Ledger, Process
from vtlab.host.tools import Tool

#: Seconds between scrapes. (A scrape may take as long.)
INTERVAL = 1
#: Seconds for which a sample counts as current: a JVM of the block before must not linger in sums.
LOOKBACK = 10
READY_WITHIN = 30.0


class PrometheusServer:
    """One Prometheus process, its configuration and storage below ``folder``; the ledger stops it at last."""

    def __init__(
        self, tool: Tool, folder: Path, ledger: Ledger, log: Path, port: int | None = None, rules: Path | None = None
    ) -> None:
        """``port`` fixes its port; PrerequisiteMissing when that is taken. ``rules``: a file of recording rules."""
        self._tool = tool
        self._folder = folder
        self._ledger = ledger
        self._log = log
        self._fixed = port
        self._rules = [str(rules.absolute())] if rules else []
        self._port = port or 0
        self._targets: dict[str, str] = {}
        self._process: Process | None = None
        if port is not None:
            ports.require_free(port, "the local Prometheus")

    @property
    def url(self) -> str:
        return f"http://{ports.HOST}:{self._port}"

    @property
    def remote_write(self) -> str:
        """Where k6 writes its samples to."""
        return f"{self.url}/api/v1/write"

    @property
    def process(self) -> Process:
        """The running process; BlockFault when it was never started."""
        if self._process is None:
            raise BlockFault("Prometheus: not started")
        return self._process

    def ended(self) -> str | None:
        """How it ended; None while it runs."""
        return self.process.ended()

    def scrape(self, targets: Mapping[str, str]) -> None:
        """Scrapes these from now on (variant -> host:port) instead of those before; (re)starts Prometheus if
        it does not run. BlockFault when it does not get ready or refuses the configuration."""
        self._targets = dict(targets)
        self._configure()
        if self._process is None or self._process.ended() is not None:
            self._start()
            return
        with httpx.Client(trust_env=False, timeout=15) as client:
            try:
                client.post(f"{self.url}/-/reload").raise_for_status()
            except httpx.HTTPError as error:
                raise BlockFault(f"Prometheus does not load its configuration: {error}") from error

    def remove(self) -> None:
        """Stops it and deletes its storage: what counts is in the results by then."""
        if self._process is not None:
            self._process.stop(5)
            self._process = None
        shutil.rmtree(self._folder, ignore_errors=True)

    def _configure(self) -> None:
        self._folder.mkdir(parents=True, exist_ok=True)
        jobs = [
            {
                "job_name": variant,
                "metrics_path": "/actuator/prometheus",
                # The same labels in every block, though ports differ: one series, not one per JVM.
                "static_configs": [{"targets": [address], "labels": {"variant": variant, "instance": variant}}],
            }
            for variant, address in self._targets.items()
        ]
        every = f"{INTERVAL}s"
        config = {
            "global": {"scrape_interval": every, "scrape_timeout": every},
            "rule_files": self._rules,
            "scrape_configs": jobs,
        }
        # JSON is YAML.
        (self._folder / "prometheus.yml").write_text(json.dumps(config, indent=2), encoding="utf-8")

    def _start(self) -> None:
        for attempt in range(1, ports.ATTEMPTS + 1):
            if self._fixed is None:
                (self._port,) = ports.free(1)
            self._process = self._ledger.start(
                [
                    str(self._tool.path),
                    f"--config.file={self._folder / 'prometheus.yml'}",
                    f"--storage.tsdb.path={self._folder / 'data'}",
                    "--storage.tsdb.retention.time=10y",
                    "--storage.tsdb.no-lockfile",
                    f"--query.lookback-delta={LOOKBACK}s",
                    f"--web.listen-address={ports.HOST}:{self._port}",
                    "--web.enable-remote-write-receiver",
                    "--web.enable-lifecycle",
                    "--log.level=warn",
                ],
                role="prometheus",
                log=self._log,
                folder=self._folder,
            )
            how = self._await_ready()
            if how is None:
                return
            said = self._process.last_lines()
            if not (ports.taken(said) and self._fixed is None and attempt < ports.ATTEMPTS):
                raise BlockFault(f"Prometheus {how}: {said or 'it said nothing'}")

    def _await_ready(self) -> str | None:
        """None once it is ready, else why it will not be."""
        end = time.monotonic() + READY_WITHIN
        with httpx.Client(trust_env=False, timeout=2) as client:
            while time.monotonic() < end:
                how = self.process.ended()
                if how is not None:
                    return f"ended with {how} while it started"
                try:
                    answer = client.get(f"{self.url}/-/ready")
                    # Whoever won a race for the port may answer, too.
                    if answer.status_code == 200 and ports.holder(self._port) == self.process.pid:
                        return None
                except httpx.TransportError:
                    pass
                time.sleep(0.05)
        return f"was not ready after {READY_WITHIN:.0f} s"

"""This machine as the blocks of a run find it: folders, tools, and the processes beside the variants."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from vtlab.host import logs
from vtlab.host.process_ledger import Ledger
from vtlab.host.tools import Tool
from vtlab.services.companions.companion_services import CompanionServices
from vtlab.targets.local.prometheus_server import PrometheusServer
from vtlab.targets.preflight import Preflight


@dataclass(frozen=True)
class LocalSite:
    """Folders, tools and processes that all blocks of a run on this machine have in common."""

    #: The run's folder, and the one of all results.
    folder: Path
    root: Path
    ledger: Ledger
    k6: Tool
    #: Put before k6's command.
    k6_prefix: Sequence[str]
    prometheus: PrometheusServer
    companions: CompanionServices
    #: Tells the run's samples of k6 from others'.
    run_id: str
    #: Tells the user something.
    say: Callable[[str], None]
    preflight: Preflight = field(default_factory=Preflight)

    def bound_logs(self) -> None:
        """Keeps the logs of all that runs small, and tells the user which were not."""
        for log in self.ledger.bound_logs():
            most, kept = logs.MOST // 1024**2, logs.KEPT // 1024**2
            self.say(
                f"{log.name} has over {most} MiB and keeps its first and last {kept} MiB; figures include its cost"
            )

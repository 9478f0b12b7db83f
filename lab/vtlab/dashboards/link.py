"""Links to a run in the dashboards: the address, where a Grafana is known, and the time range that has all of it."""

from __future__ import annotations

from datetime import UTC, datetime
from urllib.parse import urlencode

from vtlab.model.run import Run

#: The environment variable with the address of a Grafana that has the dashboards: ``http://localhost:3000``.
GRAFANA = "VTLAB_GRAFANA"
#: Milliseconds: rules see what was true three seconds ago, and are evaluated every five.
_RULES_LATER = 10_000


def time_range(run: Run, verdict_at: int) -> tuple[int, int]:
    """Returns the time from the first trial of a run until its verdict (dated ``verdict_at``, epoch ms) and what the
    rules record of its last trial. Where variants failed before any trial, from the first warm-up on."""
    trials = [trial for block in run.blocks for trial in block.trials]
    phases = trials or [phase for block in run.blocks for phase in (*block.warmup, *block.single)]
    begin = min((phase.begin for phase in phases), default=verdict_at)
    last = max((phase.drained for phase in phases), default=verdict_at)
    return begin, max(last, verdict_at) + _RULES_LATER


def line(run: Run, verdict_at: int, grafana: str | None) -> str:
    """Writes a link to the verdict in Grafana; without one, what to choose at the top of a dashboard."""
    times = time_range(run, verdict_at)
    manifest = run.manifest
    if grafana:
        chosen = {
            "from": times[0],
            "to": times[1],
            "var-experiment": manifest.experiment.name,
            "var-run": manifest.run_id,
            **({"var-namespace": manifest.cluster["namespace"]} if "namespace" in manifest.cluster else {}),
        }
        return f"dashboards: {grafana.rstrip('/')}/d/vtlab-verdict?{urlencode(chosen)}"
    begin, end = (datetime.fromtimestamp(at / 1000, UTC).strftime("%Y-%m-%d %H:%M:%S") for at in times)
    return f"dashboards: run {manifest.run_id}, time range {begin} to {end} (UTC); {GRAFANA}=http://… makes it a link"

"""The dashboards as they are committed."""

from __future__ import annotations

import json
from typing import Any

from vtlab import shipped
from vtlab.dashboards import substitute

FOLDER = shipped.ROOT / "grafana-dashboards"
DOCUMENTS = {path.stem: json.loads(path.read_text(encoding="utf-8")) for path in sorted(FOLDER.glob("*.json"))}
#: Grafana's variables of a run.
VALUES: substitute.Values = {
    "datasource": "prometheus",
    "namespace": substitute.ALL,
    "experiment": substitute.ALL,
    "run": "20261121T212016Z-blocking",
    "variants": ["platform", "virtual"],
}


def panels(name: str) -> list[dict[str, Any]]:
    """Returns the panels of a dashboard that draw something, also in closed rows."""
    top_level = DOCUMENTS[name]["panels"]
    inner = [panel for row in top_level for panel in row.get("panels", ())]
    return [panel for panel in [*top_level, *inner] if panel["type"] != "row"]

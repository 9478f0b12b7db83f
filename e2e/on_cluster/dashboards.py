"""The dashboards' JSON, what can be chosen in them, and what has no data in a block of `blocking` by hand."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from functools import cache
from typing import Any

from e2e.on_cluster import lab

FOLDER = lab.REPOSITORY / "grafana-dashboards"
FILES = sorted(path.stem for path in FOLDER.glob("*.json"))
#: Panel and letter: there is a pool of connections only where there is a database.
POOL = ("Queues inside the server", "C")
_BOTTLENECK = {("What limits each variant", letter) for letter in "AB"}
#: dashboard -> panel and letter of its queries without data in a block of `blocking` by hand, which has no verdict.
EMPTY = {
    # All but "one block: no verdict", and the ratios.
    "comparison": {
        *(("Verdict", letter) for letter in "ABCDEG"),
        *_BOTTLENECK,
        *((panel, "C") for panel in ("Throughput", "Latency, median", "Latency, 99th percentile")),
        *((panel, "C") for panel in ("CPU per request", "Memory")),
    },
    # An arrival rate is asked for under open load only.
    "load": {("Requests sent and arrivals asked for", "B")},
    # Bound and service demand.
    "saturation": {
        *_BOTTLENECK,
        *((f"Resources of {variant}", letter) for variant in ("platform", "virtual") for letter in "BC"),
        POOL,
    },
}
#: The bands behind the lines, of every variant in any panel.
BANDS = "W"


@cache
def read(name: str) -> dict[str, Any]:
    """The dashboard's JSON."""
    document: dict[str, Any] = json.loads((FOLDER / f"{name}.json").read_text(encoding="utf-8"))
    return document


def choices(name: str) -> Iterator[tuple[str, str, str]]:
    """Every variable that is asked of Prometheus: its name, and the selector and the label of its options."""
    for variable in read(name)["templating"]["list"]:
        if variable["type"] == "query":
            query = re.fullmatch(r"label_values\((.*), *(\w+)\)", variable["query"]["query"])
            assert query, variable["query"]
            yield variable["name"], query[1], query[2]

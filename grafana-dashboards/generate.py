"""The dashboards, from the named expressions of ``vtlab.catalogue.expressions``; ``make generate`` writes them.

| dashboard | uid | question |
|---|---|---|
| ``comparison.json`` | vtlab-comparison | which variant is ahead, by how much, and what holds each one back |
| ``saturation.json`` | vtlab-saturation | how near each resource is to its bound, where requests wait |
| ``jvm.json`` | vtlab-jvm | what the JVM does: threads of both kinds, collections, memory, compilation |
| ``load.json`` | vtlab-load | what was asked for, whether the load generator did it, what clients saw |

One module for each dashboard; what they share: ``panels`` (constructors of panels), ``queries`` (PromQL), ``frame``
(variables, links, time range), ``style`` (colours), and ``substitute``, for whoever sends the queries without Grafana.
Figures of a run are over its measured windows, whatever the time range shows beside it; lines are what is scraped.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import comparison
import jvm
import load
import saturation

DASHBOARDS: dict[str, Callable[[], dict[str, Any]]] = {
    "comparison": comparison.dashboard,
    "saturation": saturation.dashboard,
    "jvm": jvm.dashboard,
    "load": load.dashboard,
}


def files() -> dict[str, str]:
    """What each file is to hold."""
    return {f"{name}.json": json.dumps(made(), indent=1, sort_keys=True) + "\n" for name, made in DASHBOARDS.items()}

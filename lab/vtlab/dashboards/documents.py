"""The text of each dashboard's file."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from vtlab.dashboards import verdict, why

DASHBOARDS: dict[str, Callable[[], dict[str, Any]]] = {"verdict": verdict.dashboard, "why": why.dashboard}


def files() -> dict[str, str]:
    """Writes the text of each file."""
    return {
        f"{name}.json": json.dumps(dashboard(), indent=1, sort_keys=True) + "\n"
        for name, dashboard in DASHBOARDS.items()
    }

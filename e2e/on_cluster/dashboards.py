"""The dashboards' JSON, what can be chosen in them, and what has no data in a block of `blocking` by hand."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from functools import cache
from typing import Any

from e2e.on_cluster import lab
from tests.support.panels import POOL, WITHOUT_DATA

__all__ = ["POOL", "WITHOUT_DATA"]

FOLDER = lab.REPOSITORY / "grafana-dashboards"
FILES = sorted(path.stem for path in FOLDER.glob("*.json"))


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

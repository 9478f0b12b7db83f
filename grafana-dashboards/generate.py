"""Writes the dashboards, from the named expressions of ``vtlab.catalogue.expressions``:

    .venv/bin/python grafana-dashboards/generate.py            # writes *.json beside this file
    .venv/bin/python grafana-dashboards/generate.py --check    # exit 1 if one of them is not what it would write

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
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import comparison
import jvm
import load
import saturation

FOLDER = Path(__file__).resolve().parent
DASHBOARDS: dict[str, Callable[[], dict[str, Any]]] = {
    "comparison": comparison.dashboard,
    "saturation": saturation.dashboard,
    "jvm": jvm.dashboard,
    "load": load.dashboard,
}


def files() -> dict[str, str]:
    """What each file is to hold."""
    return {f"{name}.json": json.dumps(made(), indent=1, sort_keys=True) + "\n" for name, made in DASHBOARDS.items()}


def stale(folder: Path = FOLDER) -> list[str]:
    """The files in ``folder`` that are missing, differ, or are no longer written."""
    wanted = files()
    found = {path.name: path.read_text(encoding="utf-8") for path in folder.glob("*.json")}
    return sorted(name for name in wanted.keys() | found.keys() if wanted.get(name) != found.get(name))


def main(arguments: list[str]) -> int:
    if arguments not in ([], ["--check"]):
        print("usage: generate.py [--check]", file=sys.stderr)
        return 2
    if arguments:
        old = stale()
        if old:
            print(f"stale in {FOLDER.name}/: {', '.join(old)}", file=sys.stderr)
            print(f"  fix: .venv/bin/python {FOLDER.name}/generate.py", file=sys.stderr)
        return bool(old)
    for name, text in files().items():
        (FOLDER / name).write_text(text, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

"""Short experiments: with the sample application, and with a stub service that starts at once."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tests.support.lab_call import TINY
from vtlab.model import experiment_files
from vtlab.model.experiment import Experiment

SUPPORT = Path(__file__).parent
#: An experiment with a service that starts at once.
STUB = SUPPORT / "stub-block.json"
#: Windows of runs by the command line: light load would take another half a minute.
WITHOUT_LIGHT_LOAD = {"wait_for_answers": False}
#: Load of these runs, 20 requests a second: a service that wakes as seldom waits for a core but for a small part of the
#: time, also beside other tests, and its blocks count.
SELDOM: dict[str, object] = {
    "requests": [{"path": "/thread", "query": {"duration": "200ms"}}],
    "load": {"full": {"users": 4}},
}


def document(base: Path, **changes: object) -> dict[str, Any]:
    """Returns an experiment's document with some keys replaced, one level deep but for service and load; the paths of
    its service are absolute. Without typical load, unless ``changes`` name one: it would take another half a
    minute."""
    data: dict[str, Any] = json.loads(base.read_text(encoding="utf-8"))
    if base == STUB:
        data["service"]["directory"] = str(SUPPORT)
    for key, value in changes.items():
        is_merged = isinstance(value, dict) and key in data and key not in ("service", "load")
        data[key] = {**data[key], **value} if is_merged else value
    data["load"] = {"typical": "none", **data["load"]}
    return data


def tiny(**changes: object) -> Experiment:
    """Returns an experiment with the sample application."""
    return experiment_files.of_document(document(TINY, **changes), TINY)


def stub(**changes: object) -> Experiment:
    """Returns an experiment with the stub service."""
    return experiment_files.of_document(document(STUB, **changes), STUB)


def stub_file(folder: Path, **changes: object) -> Path:
    """Writes an experiment with the stub service to a file, for the command line."""
    path = folder / "stub-block.json"
    path.write_text(json.dumps(document(STUB, **SELDOM | changes)), encoding="utf-8")
    return path


def stub_service(**environment: str) -> dict[str, Any]:
    """Returns the stub service with variables that no variant overrides."""
    service: dict[str, Any] = document(STUB)["service"]
    settings = [f"{name}={value}" for name, value in environment.items()]
    return {**service, "command": ["/usr/bin/env", *settings, sys.executable, "-IS", "stub_service.py"]}


def service_file(folder: Path, service: str | Mapping[str, Any], **keys: object) -> Path:
    """Writes a file that has a service and, beside it, those keys alone."""
    path = folder / "service.json"
    path.write_text(json.dumps({"service": service, **keys}), encoding="utf-8")
    return path

"""Short experiments: with the sample application, and with a stub service that starts at once."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from tests.support.lab_call import TINY
from vtlab.model import experiment_files
from vtlab.model.experiment import Experiment

SUPPORT = Path(__file__).parent
#: A service that starts at once, and an experiment with it.
STUB_SERVICE, STUB = SUPPORT / "stub.json", SUPPORT / "stub-block.json"
#: Windows of runs by the command line: light load would take another half a minute.
WITHOUT_LIGHT_LOAD = {"wait_for_answers": False}
#: Load of these runs, 20 requests a second: a service that wakes as seldom waits for a core but for a small part of the
#: time, also beside other tests, and its blocks count.
SELDOM: dict[str, object] = {
    "request": {"path": "/thread", "query": {"duration": "200ms"}},
    "load": {"model": "closed", "users": 4},
}


def document(base: Path, **changes: object) -> dict[str, Any]:
    """Returns an experiment's document with some keys replaced, one level deep, and its service by an absolute path."""
    data: dict[str, Any] = json.loads(base.read_text(encoding="utf-8"))
    if base == STUB:
        data["service"] = str(STUB_SERVICE)
    for key, value in changes.items():
        data[key] = {**data[key], **value} if isinstance(value, dict) and key in data else value
    return data


def tiny(**changes: object) -> Experiment:
    """Returns an experiment with the sample application."""
    return experiment_files.parse(json.dumps(document(TINY, **changes)), str(TINY))


def stub(**changes: object) -> Experiment:
    """Returns an experiment with the stub service."""
    return experiment_files.parse(json.dumps(document(STUB, **changes)), str(STUB))


def stub_file(folder: Path, **changes: object) -> Path:
    """Writes an experiment with the stub service to a file, for the command line."""
    path = folder / "stub-block.json"
    path.write_text(json.dumps(document(STUB, **SELDOM | changes)), encoding="utf-8")
    return path


def stub_with(folder: Path, **environment: str) -> str:
    """Writes a stub service with variables that no variant overrides; returns its path."""
    data = json.loads(STUB_SERVICE.read_text(encoding="utf-8"))
    settings = [f"{name}={value}" for name, value in environment.items()]
    data["command"] = ["/usr/bin/env", *settings, sys.executable, "-IS", str(SUPPORT / "stub_service.py")]
    path = folder / "service.json"
    path.write_text(json.dumps(data), encoding="utf-8")
    return str(path)

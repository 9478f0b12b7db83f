"""Documents of vtlab 0.1 (version 1) as those of today. Pure functions from a document to a document.

A document of any other version is returned as it is: the models refuse what they do not know. Only reports read
migrated results. A run that vtlab 0.1 began is not resumed: half of its blocks would be measured by another program.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, get_args

from vtlab.model import earlier
from vtlab.model.records import VERSION, MachineFigure

Document = Mapping[str, Any]

#: Figures of a trial: the resource ``users`` is the ``load``, ``downstream`` the ``client-pool``.
_SERVER = {
    **{f"{figure}_users": f"{figure}_load" for figure in ("capacity", "utilization", "demand")},
    **{f"{figure}_downstream": f"{figure}_client-pool" for figure in ("capacity", "utilization", "demand")},
    **{f"downstream_{figure}": f"client_pool_{figure}" for figure in ("active", "pending")},
}


def manifest(document: Document) -> Document:
    """``manifest.json``."""
    if not _is_first(document):
        return document
    # Version 1 has the run's name only within its id, after the time, and the publication within the experiment.
    name = re.sub(r"^\d{8}T\d{6}Z-", "", str(document.get("run_id", "")))
    experiment = earlier.experiment(document.get("experiment", {}))
    publication = _publication(experiment.pop("publication", None))
    return {**document, "version": VERSION, "name": name, "experiment": experiment, "publication": publication}


def _publication(document: Document | None) -> Document | None:
    if document is None:
        return None
    figures = {name: _renamed(figure, {"said": "text"}) for name, figure in document.get("figures", {}).items()}
    return {**document, "figures": figures}


def block(document: Document) -> Document:
    """A line of ``trials.jsonl``."""
    if not _is_first(document):
        return document
    trials = {kind: [_trial(trial) for trial in document.get(kind, [])] for kind in ("warmup", "single", "trials")}
    return {**document, **trials, "version": VERSION}


def _trial(document: Document) -> Document:
    machine = {name: value for name, value in document.get("machine", {}).items() if name in get_args(MachineFigure)}
    return {**document, "server": _renamed(document.get("server", {}), _SERVER), "machine": machine}


def _renamed(document: Document, names: Mapping[str, str]) -> dict[str, Any]:
    return {names.get(key, key): value for key, value in document.items()}


def _is_first(document: Document) -> bool:
    return document.get("version") == 1

"""The reports of a run in a ConfigMap: they outlive a vtlab that ran as a Job."""

from __future__ import annotations

import contextlib
from collections.abc import Mapping
from pathlib import Path

from vtlab.errors import PrerequisiteMissing
from vtlab.targets.kubernetes.api.cluster import Cluster
from vtlab.targets.kubernetes.api.connection import NotFound
from vtlab.targets.kubernetes.api.release_ref import ReleaseRef

#: Files of a results directory, the most important first.
FILES = ("report.md", "verdict.json", "junit.xml", "report.html")
#: Bytes for reports in a ConfigMap: its 1 MiB, less the names.
ROOM = 1_000_000


def clear(ref: ReleaseRef, name: str) -> None:
    """Removes the reports of an earlier run. PrerequisiteMissing where the ConfigMap or a right is missing: that shows
    before the run, not after it."""
    _patch(ref, name, dict.fromkeys(FILES))


def fill(ref: ReleaseRef, name: str, folder: Path) -> None:
    """Writes the reports in ``folder``, as many as there is room for. Errors as in ``clear``."""
    reports: dict[str, str] = {}
    room = ROOM
    for file in FILES:
        path = folder / file
        if path.is_file() and path.stat().st_size <= room:
            reports[file] = path.read_text(encoding="utf-8")
            room -= path.stat().st_size
    if reports:
        _patch(ref, name, reports)


def _patch(ref: ReleaseRef, name: str, reports: Mapping[str, str | None]) -> None:
    with contextlib.closing(Cluster(ref)) as cluster:
        try:
            cluster.fill_config_map(name, reports)
        except NotFound:
            raise PrerequisiteMissing(
                f"there is no ConfigMap {name} in namespace {ref.namespace}", ref.kubectl("create", "configmap", name)
            ) from None

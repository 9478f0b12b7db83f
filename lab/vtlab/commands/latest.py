"""The latest run in a folder, for commands that are called without one."""

from __future__ import annotations

from pathlib import Path

from vtlab.analysis import run_status
from vtlab.errors import BadInput
from vtlab.runs import publish, store

_OTHER_FOLDER = "name its directory, or the folder that holds the runs: --results DIR"


def latest(root: Path) -> Path:
    """Returns the latest results directory in ``root``. BadInput where there is none."""
    folders = store.results_in(root)
    if not folders:
        raise BadInput(f"{root} holds no run", _OTHER_FOLDER)
    return folders[-1]


def latest_unfinished(root: Path) -> Path:
    """Returns the latest results directory in ``root`` whose run still needs blocks. BadInput where there is none."""
    last = latest(root)
    found = next(filter(_is_unfinished, reversed(store.results_in(root))), None)
    if found is None:
        raise BadInput(f"{root} holds no unfinished run; the latest is {last.name}", f"vtlab report {last} shows it")
    return found


def latest_with_kept_data(root: Path) -> Path:
    """Returns the latest results directory in ``root`` with the data of a Prometheus. BadInput where there is none."""
    found = next(filter(publish.has_kept_data, reversed(store.results_in(root))), None)
    if found is None:
        raise BadInput(f"{root} holds no run that kept Prometheus data", "measure one with --prometheus-port 9090")
    return found


def _is_unfinished(folder: Path) -> bool:
    """Tells whether a run still needs blocks; not of what another version stored, or what is broken."""
    try:
        return any(run_status.blocks_left(run) for run in store.read_runs(folder).values())
    except BadInput:
        return False

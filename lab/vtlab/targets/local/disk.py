"""A full disk of the results, named as what it is."""

from __future__ import annotations

import contextlib
import shutil
from collections.abc import Iterator
from pathlib import Path

from vtlab.errors import BlockFault, LabError, PrerequisiteMissing
from vtlab.host import processes

#: Below this many free bytes a fault is the disk's.
_LITTLE = 8 * 1024**2


@contextlib.contextmanager
def named_when_full(root: Path) -> Iterator[None]:
    """Raises PrerequisiteMissing for a full disk, in place of the error that the full disk caused."""
    try:
        yield
    except OSError as error:
        if not processes.no_space(error):
            raise
        raise _full(root) from error
    except BlockFault as fault:
        if shutil.disk_usage(root).free < _LITTLE:
            raise _full(root) from fault
        raise


def _full(root: Path) -> LabError:
    return PrerequisiteMissing(f"no space left on the disk of {root}", "make room there")

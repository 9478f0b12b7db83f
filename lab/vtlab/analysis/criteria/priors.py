"""Priors of the criteria: how log ratios of blocks scatter in other services (``priors.json``).

``python -m maintain.priors`` in ``lab/`` fits them to the archive of series (``lab/archive``).
"""

from __future__ import annotations

import functools
import json
from pathlib import Path

from vtlab.analysis.statistics.moderated import Prior
from vtlab.model.outcome import Key

FILE = Path(__file__).with_name("priors.json")


def prior(key: Key) -> Prior | None:
    """Returns the prior of a criterion; None where the archive has too few series of it."""
    return _priors().get(str(key))


@functools.cache
def _priors() -> dict[str, Prior]:
    return {name: Prior(**fields) for name, fields in json.loads(FILE.read_text(encoding="utf-8")).items()}

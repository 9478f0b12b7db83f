"""Environment variables for what a user brings: the service, its workload, and what runs beside them.

They are those of vtlab's own environment, and before them those of ``--env NAME=VALUE``. The latter are the service's
alone: ``--env JAVA_HOME=/opt/jdk`` chooses no JDK for vtlab.
"""

from __future__ import annotations

import os
from collections import ChainMap
from collections.abc import Mapping

_given: dict[str, str] = {}


def give(name: str, value: str) -> None:
    """Sets a variable until vtlab ends. No record has its value."""
    _given[name] = value


def known() -> Mapping[str, str]:
    """All of them, by name."""
    return ChainMap(_given, os.environ)

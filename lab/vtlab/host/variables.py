"""Environment variables for the user's programs: the service, its workload, and its companions.

An option ``--env NAME=VALUE`` overrides vtlab's own environment, for the service alone: ``--env JAVA_HOME=/opt/jdk``
chooses no JDK for vtlab.
"""

from __future__ import annotations

import os
from collections import ChainMap
from collections.abc import Mapping

_by_option: dict[str, str] = {}


def add(name: str, value: str) -> None:
    """Sets a variable until vtlab ends. No record has its value."""
    _by_option[name] = value


def known() -> Mapping[str, str]:
    """Returns all variables, by name."""
    return ChainMap(_by_option, os.environ)

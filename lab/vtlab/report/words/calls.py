"""Calls of vtlab with other options, ready to be typed."""

from __future__ import annotations

import shlex
from collections.abc import Mapping

from vtlab.model.run import Analysis

#: Options that only ``vtlab try`` has.
_OF_TRY = ("--users", "--rate", "--memory")
#: Options that exclude another.
_INSTEAD = {"--blocks": ("--blocks", "--max-time", "--precision"), "--max-time": ("--max-time", "--blocks")}


def again(analysis: Analysis, options: Mapping[str, str]) -> str | None:
    """Writes the call of a run with these options in place of its own; None where that call does not take them."""
    call = analysis.run.manifest.command
    is_try = call.startswith("vtlab try ")
    if not is_try and (not call.startswith("vtlab run ") or any(name in _OF_TRY for name in options)):
        return None
    replaced = [other for name in options for other in _INSTEAD.get(name, (name,)) if name != "--variant"]
    words = _without(shlex.split(call), replaced)
    return shlex.join([*words, *(word for item in options.items() for word in item)])


def same_load(analysis: Analysis) -> dict[str, str]:
    """Returns the options that spare another search: its load is known."""
    has_searched = analysis.run.manifest.curve is not None
    return {"--users": str(analysis.run.manifest.curve.chosen)} if has_searched and analysis.run.manifest.curve else {}


def _without(words: list[str], names: list[str]) -> list[str]:
    """Removes options with their values."""
    kept, is_value = [], False
    for word in words:
        if is_value:
            is_value = False
        elif word in names:
            is_value = True
        elif word.partition("=")[0] not in names:
            kept.append(word)
    return kept

"""Calls of vtlab with other options, ready to be typed."""

from __future__ import annotations

import shlex
from collections.abc import Mapping

from vtlab.model.run import Analysis

_TRY, _RUN = "vtlab try ", "vtlab run "
#: Calls that take options of a measurement.
_CALLS = (_TRY, _RUN)
#: Options that only ``vtlab try`` has, or only ``vtlab run``.
_OF_ONE = {"--users": _TRY, "--rate": _TRY, "--memory": _TRY, "--thread-dumps": _RUN}
#: Options that exclude another.
_INSTEAD = {"--blocks": ("--blocks", "--max-time", "--precision"), "--max-time": ("--max-time", "--blocks")}


def again(analysis: Analysis, options: Mapping[str, str]) -> str | None:
    """Writes the call of a run with these options in place of its own; None where that call does not take them."""
    call = analysis.run.manifest.command
    if not call.startswith(_CALLS) or not all(call.startswith(_OF_ONE.get(name, _CALLS)) for name in options):
        return None
    replaced = [other for name in options for other in _INSTEAD.get(name, (name,)) if name != "--variant"]
    words = _without(shlex.split(call), replaced)
    return shlex.join([*words, *(word for item in options.items() for word in item)])


def until_settled(analysis: Analysis) -> str | None:
    """Writes the call of a run without its fixed number of blocks, so that it ends when its outcomes are settled."""
    call = analysis.run.manifest.command
    return shlex.join(_without(shlex.split(call), ["--blocks"])) if call.startswith(_CALLS) else None


def same_load(analysis: Analysis) -> dict[str, str]:
    """Returns the options that spare another search: its load is known."""
    curve = analysis.run.manifest.curve
    return {"--users": str(curve.chosen)} if curve else {}


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

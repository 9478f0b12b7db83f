"""An experiment as vtlab 0.1 stored it, as one of today: for reports of its results."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

Document = Mapping[str, Any]

_WINDOWS = {"spread": "ramp_up", "measure_of": "measure_by_variant", "drain": "wait_for_answers"}


def experiment(document: Document) -> dict[str, Any]:
    """The same experiment with today's keys. What 0.1 expected of a variant paced its users, too."""
    today = dict(document)
    expected: dict[str, float] = today.pop("ideal", None) or {}
    publication = today.get("publication")
    if publication and publication.get("sizes"):
        today["publication"] = {**publication, "sizes": _parts(publication["sizes"], expected)}
    return {**_parts(today, expected), "expected": expected}


def _parts(document: Document, expected: Mapping[str, float]) -> dict[str, Any]:
    today = dict(document)
    if today.get("windows"):
        windows = {_WINDOWS.get(key, key): value for key, value in today["windows"].items()}
        # All of its cycles were judged: none was one of those before them.
        today["windows"] = {**windows, "warmup_cycles": 0}
    load = today.get("load")
    if load and load["model"] == "closed":
        # Rounded as k6 did: half a millisecond upwards.
        rounds = {name: max(1, math.floor(1000 * load["users"] / rate + 0.5)) for name, rate in expected.items()}
        today["load"] = {**load, "round": {name: f"{ms}ms" for name, ms in rounds.items()}}
    elif load:
        today["load"] = {**load, "gaps": "even"}
    return today

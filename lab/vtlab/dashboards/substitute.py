"""The queries of a dashboard as Grafana would send them: for tests, which have a Prometheus and no Grafana."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

#: What a variable stands for: one value, or those chosen of a variable with several. ``ALL`` is Grafana's All.
Values = Mapping[str, str | Sequence[str]]
ALL = ".*"

_VARIABLE = re.compile(r"\$(?:\{(\w+)\}|(\w+))")


@dataclass(frozen=True)
class Query:
    """One query of a panel; ``instant`` is at the end of the time range, else over it."""

    panel: str
    ref: str
    promql: str
    instant: bool


def expanded(document: Mapping[str, Any], values: Values, seconds: int, step: int = 1) -> Iterator[Query]:
    """Yields every query of a dashboard: with the variables' ``values``, over a time range of so many ``seconds`` whose
    points are ``step`` seconds apart at least. Panels of closed rows, too; a repeated panel comes once for each value.

    KeyError for a variable without a value.
    """
    for panel in _panels(document["panels"]):
        repeated = panel.get("repeat")
        chosen = values[repeated] if repeated else ""
        for value in [chosen] if isinstance(chosen, str) else chosen:
            panel_values: Values = {**values, repeated: [value]} if repeated else values
            for target in panel.get("targets", ()):
                least = _seconds(target.get("interval") or "1s")
                grafanas = {
                    "__range": f"{seconds}s",
                    "__rate_interval": f"{max(max(step, least) + least, 4 * least)}s",
                }
                yield Query(
                    panel["title"].replace(f"${repeated}", value) if repeated else panel["title"],
                    target["refId"],
                    filled(target["expr"], panel_values, grafanas),
                    bool(target.get("instant")),
                )


def _panels(panels: Sequence[Mapping[str, Any]]) -> Iterator[Mapping[str, Any]]:
    for panel in panels:
        if panel["type"] == "row":
            yield from _panels(panel.get("panels", ()))
        else:
            yield panel


def _seconds(interval: str) -> int:
    if not re.fullmatch(r"\d+s", interval):
        raise ValueError(f"min step {interval}: seconds are expected")
    return int(interval[:-1])


def filled(text: str, values: Values, grafanas: Mapping[str, str] = MappingProxyType({})) -> str:
    """Fills a text with its variables' values; ``grafanas`` are those that Grafana computes."""

    def replacement(match: re.Match[str]) -> str:
        name = match[1] or match[2]
        if name.isdigit():
            # Of label_replace.
            return match[0]
        if name in grafanas:
            return grafanas[name]
        value = values[name]
        if isinstance(value, str):
            return value
        return "|".join(re.escape(chosen).replace("\\", "\\\\") for chosen in value)

    return _VARIABLE.sub(replacement, text)

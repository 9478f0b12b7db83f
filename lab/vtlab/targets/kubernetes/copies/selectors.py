"""Selectors of the API, and the pods that they select. Pure functions of the API's JSON."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from vtlab.targets.kubernetes.api.types import Json


def selects(selector: Json | None, labels: Mapping[str, str]) -> bool:
    """Tells whether a LabelSelector selects a pod with these labels: an empty one selects every pod, None no pod."""
    if selector is None:
        return False
    labels_to_match = selector.get("matchLabels") or {}
    return labels_to_match.items() <= labels.items() and all(
        _holds(expression, labels) for expression in selector.get("matchExpressions") or []
    )


def _holds(expression: Json, labels: Mapping[str, str]) -> bool:
    value, values = labels.get(expression["key"]), expression.get("values") or []
    return {
        "In": value in values,
        "NotIn": value not in values,
        "Exists": value is not None,
        "DoesNotExist": value is None,
    }[expression["operator"]]


def selecting(objects: Mapping[str, Sequence[Json]], labels: Mapping[str, str]) -> list[str]:
    """Returns the objects that select a pod with these labels, as ``kind name``. ``objects``: by kind. A Service's
    selector is a plain map, and without one the Service selects nothing."""
    names = []
    for kind, present in objects.items():
        for candidate in present:
            selector = candidate["spec"].get("selector")
            if kind == "Service":
                selector = {"matchLabels": selector} if selector else None
            if selects(selector, labels):
                names.append(f"{kind} {candidate['metadata']['name']}")
    return names

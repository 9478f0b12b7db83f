"""``docs/reference/chart-values.md``: the values of the chart with their comments.

``helm/values.yaml`` is read line by line, for YAML itself forgets the comments. It has a key in each line, and the
comment of a key directly above it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from maintain.reference.pages import code, page, sentence, table

_LINE = re.compile(r"(?P<indent> *)(?:# ?(?P<comment>.*)|(?P<key>[A-Za-z][\w-]*):(?: (?P<value>.+))?)")
_INTRODUCTION = """`helm/values.schema.json` refuses keys that are not here. To change one value of a release and
keep the others: `helm upgrade lab helm -n lab --reset-then-reuse-values --set KEY=VALUE --wait`."""


@dataclass(frozen=True)
class Value:
    """One key with its path, its default (empty for a group of keys) and its comment."""

    path: str
    default: str
    comment: str


def read(text: str) -> Iterator[Value]:
    """Reads the keys of a values file in its order. Raises ValueError for a line that is neither key nor comment."""
    path: list[str] = []
    comment: list[str] = []
    for number, line in enumerate(text.splitlines(), 1):
        if not line.strip():
            comment = []
            continue
        match = _LINE.fullmatch(line)
        if not match:
            raise ValueError(f"values.yaml, line {number}: neither a key nor a comment: {line}")
        if match["comment"] is not None:
            comment.append(match["comment"])
            continue
        path = [*path[: len(match["indent"]) // 2], match["key"]]
        yield Value(".".join(path), match["value"] or "", " ".join(comment))
        comment = []


def text(repository: Path) -> str:
    """Renders the page of the values."""
    values = read((repository / "helm" / "values.yaml").read_text(encoding="utf-8"))
    rows = [(code(v.path), code(v.default), sentence(v.comment)) for v in values if v.default or v.comment]
    return page(
        "Values of the chart", "helm/values.yaml", _INTRODUCTION, table(("value", "default", "what it is"), rows)
    )

"""``docs/reference/chart-values.md``, and the README of the chart: its values with their comments.

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


_README = """Runs one Spring Boot image with and without virtual threads under one CPU limit, and k6 Jobs that compare
them. Prometheus scrapes the variants every second and takes k6's samples; two dashboards for Grafana show them.

```sh
helm install lab virtual-threads-lab-*.tgz -n lab --create-namespace \\
  --set image.repository=REGISTRY/virtual-threads-lab
helm test lab -n lab
```

- The image is built by the `Dockerfile` of the repository.
- Prometheus is 3.8 or newer and takes remote writes (`enableRemoteWriteReceiver: true`). Without the operator:
  `--set monitoring.enabled=false`.
- All pods run under Pod Security `restricted`, with NetworkPolicies. On OpenShift: `--set fixedUserIds=false`, and
  `networkPolicy.dns` as below.
- What to do next is in the notes that helm prints. `helm uninstall lab -n lab` removes everything."""


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
    return page("Values of the chart", "helm/values.yaml", _INTRODUCTION, _table(repository))


def readme(repository: Path) -> str:
    """Renders the README that a package of the chart has."""
    parts = (_README, "## Values", _INTRODUCTION.partition(" To change")[0].replace("helm/", ""), _table(repository))
    return page("Virtual Threads Lab", "helm/values.yaml", *parts)


def _table(repository: Path) -> str:
    values = read((repository / "helm" / "values.yaml").read_text(encoding="utf-8"))
    rows = [(code(v.path), code(v.default), sentence(v.comment)) for v in values if v.default or v.comment]
    return table(("value", "default", "what it is"), rows)

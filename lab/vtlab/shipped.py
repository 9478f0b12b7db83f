"""Paths of the files that vtlab reads or starts and that are no part of its package: k6 and Prometheus, k6's script,
the experiments, the publications, the rules, the chart.

In a checkout they stand where their authors change them. A wheel has a copy of them inside the package, at the same
paths (``setup.py``). Nothing else asks which of the two it is, but for what only one of them has.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from importlib import resources
from pathlib import Path

#: Inside the package.
FOLDER = "shipped"
#: What a wheel ships, below the repository. (The chart has the rules and the dashboards, too.)
PATTERNS = (
    "LICENSE",
    "agent/target/vtlab-agent.jar",
    "app/jvm.options",
    "k6/block.ts",
    "k6/lib/*.ts",
    "k6/experiments/*.json",
    "k6/plans/*.json",
    "lab/vtlab.schema.json",
    "lab/publications/*.json",
    "grafana-dashboards/*.json",
    "helm/**/*",
)
#: What a wheel ships besides, made by ``lab/setup wheel``: programs, and the licences of what is compiled into them.
PROGRAMS = (".tools/bin/k6", ".tools/bin/prometheus", ".tools/licences/*")
_CHECKOUT = Path(__file__).resolve().parents[2]
#: Whether this is the package of a checkout, and not of an installed wheel.
IS_CHECKOUT = (_CHECKOUT / "k6" / "block.ts").is_file()
#: The repository, or the copy of it.
ROOT = _CHECKOUT if IS_CHECKOUT else Path(str(resources.files("vtlab"))) / FOLDER


def files(patterns: Sequence[str] = (*PATTERNS, *PROGRAMS)) -> Iterator[Path]:
    """Yields what a wheel ships of this checkout, as paths relative to it. ValueError for a pattern without a file."""
    for pattern in patterns:
        matching = sorted(path.relative_to(ROOT) for path in ROOT.glob(pattern) if path.is_file())
        if not matching:
            raise ValueError(f"{ROOT} has no {pattern}")
        yield from matching

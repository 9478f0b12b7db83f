"""Which packages may import which: what is pure needs no machine."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

VTLAB = Path(__file__).resolve().parents[2] / "vtlab"


def imports(package: str) -> Iterator[tuple[str, str]]:
    """(module, what it imports) of every module in a package."""
    for path in (VTLAB / package).rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ImportFrom) and node.module:
                for alias in node.names:
                    yield path.relative_to(VTLAB).as_posix(), f"{node.module}.{alias.name}"
            elif isinstance(node, ast.Import):
                for alias in node.names:
                    yield path.relative_to(VTLAB).as_posix(), alias.name


@pytest.mark.parametrize(
    ("package", "others"),
    [
        *((pure, ["host", "services", "targets"]) for pure in ("model", "catalogue", "planning", "analysis", "report")),
        ("host", ["services", "targets"]),
        ("services", ["targets"]),
        ("targets/local", ["targets.kubernetes"]),
        ("targets/kubernetes", ["targets.local"]),
    ],
)
def test_a_layer_imports_nothing_above_it(package: str, others: list[str]) -> None:
    imported = list(imports(package))
    assert imported, "the package has modules"
    forbidden = tuple(f"vtlab.{other}." for other in others)
    assert [pair for pair in imported if f"{pair[1]}.".startswith(forbidden)] == []

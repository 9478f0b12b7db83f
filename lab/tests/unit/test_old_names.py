"""Names of earlier versions: none is left in what users read and type."""

from __future__ import annotations

import re

import pytest

from tests.support.versions import REPOSITORY
from vtlab.commands import usage

OLD = re.compile(
    rf"\bvtlab ({'|'.join(usage.MOVED)})\b"
    rf"|(?<![\w-])({'|'.join(name for name in usage.RENAMED if name.startswith('--'))})(?![\w-])"
    r"|\bvtlab doctor \S+\.jar\b|\bthroughput\(\w+/"
)
#: It has their table.
REFUSES = "usage.py"
PATTERNS = (
    *("lab/vtlab/**/*.py", "lab/vtlab/**/*.json", "lab/vtlab/**/*.j2", "lab/maintain/**/*.py", "lab/benchmarks/*.py"),
    *("k6/*.ts", "k6/lib/*.ts", "helm/**/*.yaml", "helm/**/*.tpl", "helm/**/*.txt", "Makefile"),
)


@pytest.mark.parametrize("pattern", PATTERNS)
def test_no_old_name_is_left(pattern: str) -> None:
    paths = [path for path in REPOSITORY.glob(pattern) if path.name != REFUSES]
    assert paths
    found = [
        f"{path.relative_to(REPOSITORY)}:{number}: {match[0]}"
        for path in paths
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1)
        if (match := OLD.search(line))
    ]
    assert found == []


@pytest.mark.parametrize(
    "text",
    [
        "vtlab aa cpu",
        "vtlab try a --with pool=50",
        "(--within)",
        "vtlab doctor app.jar",
        "throughput(virtual/platform)",
    ],
)
def test_what_an_old_name_is(text: str) -> None:
    assert OLD.search(text)


@pytest.mark.parametrize("text", ["vtlab lab aa cpu", "--think-time", "--without", "vtlab doctor", "capacity(a/b)"])
def test_what_none_is(text: str) -> None:
    assert not OLD.search(text)

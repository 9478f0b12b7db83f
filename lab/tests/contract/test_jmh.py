"""The JMH benchmark, a short real run of it under the CPU limit."""

from __future__ import annotations

from pathlib import Path

import pytest

from maintain import jmh
from tests.support.privileges import needs_root
from vtlab.errors import LabError
from vtlab.host import process_ledger

SHORT = ("-p", "tasks=40", "-p", "milliseconds=1", "-p", "iterations=10", "-wi", "0", "-i", "2", "-r", "200ms")
#: Milliseconds that tasks of 1 ms take at least: 40 in rounds of 8, or at once.
LEAST = {"pool8": 5, "pool200": 1, "virtual": 1}


@needs_root
@pytest.mark.timeout(300)
def test_the_benchmark_runs_and_leaves_nothing_behind(tmp_path: Path) -> None:
    """The JMH benchmark runs under the CPU limit, gives a score for each executor and leaves no process."""
    head, *lines = jmh.run(tmp_path / "run", tmp_path, SHORT).read_text(encoding="utf-8").splitlines()
    columns = head.split()
    rows = [dict(zip(columns, line.split(), strict=False)) for line in lines]
    waits = {row["(executor)"]: float(row["Score"]) for row in rows if row["Benchmark"].endswith(".waits")}
    hashes = {row["(executor)"] for row in rows if row["Benchmark"].endswith(".hashes")}
    assert hashes == {"processors", "pool8", "virtual"}
    assert waits.keys() == LEAST.keys()
    assert all(score >= LEAST[executor] for executor, score in waits.items())
    assert process_ledger.end_orphans(tmp_path) == []


@needs_root
@pytest.mark.timeout(120)
def test_a_benchmark_that_fails_is_no_result(tmp_path: Path) -> None:
    """A JMH benchmark that fails is an error, not a result."""
    with pytest.raises(LabError, match="JMH ended with"):
        jmh.run(tmp_path / "run", tmp_path, ("-wi", "0", "-i", "1", "-p", "tasks=none"))

"""The JMH benchmark, a short real run of it under the CPU limit."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.privileges import needs_root
from vtlab import jmh
from vtlab.errors import LabError
from vtlab.host import process_ledger
from vtlab.targets.local import benchmark

SHORT = ("-p", "tasks=40", "-p", "milliseconds=1", "-p", "iterations=10", "-wi", "0", "-i", "2", "-r", "200ms")


@needs_root
@pytest.mark.timeout(300)
def test_the_benchmark_runs_and_leaves_nothing_behind(tmp_path: Path) -> None:
    """The JMH benchmark runs under the CPU limit, gives a score for each executor and leaves no process."""
    scores = jmh.read(benchmark.run(tmp_path / "run", tmp_path, jmh.options(False, SHORT)))
    assert [(score.benchmark, score.executor) for score in scores] == [
        *(("hashes", executor) for executor in ("processors", "pool8", "virtual")),
        *(("waits", executor) for executor in ("pool8", "pool200", "virtual")),
    ]
    waits = {score.executor: score for score in scores if score.benchmark == "waits"}
    assert all(score.expected is not None and score.milliseconds >= score.expected for score in waits.values())
    assert waits["pool8"].expected == 5
    assert process_ledger.end_orphans(tmp_path) == []


@needs_root
@pytest.mark.timeout(120)
def test_a_benchmark_that_fails_is_no_result(tmp_path: Path) -> None:
    """A JMH benchmark that fails is an error, not a result."""
    with pytest.raises(LabError, match="JMH ended with"):
        benchmark.run(tmp_path / "run", tmp_path, jmh.options(True, ("-p", "tasks=none")))

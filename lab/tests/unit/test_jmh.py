"""The JMH benchmark: what its results say, and a short real run of it under the CPU limit."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from tests.support import recorded
from vtlab import jmh, reproductions
from vtlab.errors import BadInput
from vtlab.runs.report import write_files


def result(name: str, executor: str, score: float, error: float | str = 1.5, **params: str) -> dict[str, Any]:
    given = {"tasks": "500", "milliseconds": "50"} if name == "waits" else {"tasks": "500", "iterations": "2000"}
    return {
        "benchmark": f"lab.virtualthreads.fanout.FanOutBenchmark.{name}",
        "mode": "avgt",
        "params": {**given, "executor": executor, **params},
        "primaryMetric": {
            "score": score,
            "scoreError": error,
            "scoreUnit": "ms/op",
            "rawData": [[score, score, score]],
        },
    }


def written(folder: Path, *results: dict[str, Any]) -> Path:
    file = folder / jmh.FILE
    file.write_text(json.dumps(results), encoding="utf-8")
    return file


def test_scores_stand_beside_what_was_published_and_the_law(tmp_path: Path) -> None:
    file = written(
        tmp_path,
        result("waits", "pool8", 3168.4),
        result("waits", "pool200", 156.0),
        result("waits", "virtual", 51.2, "NaN"),
        result("hashes", "pool8", 1140.0),
        result("hashes", "virtual", 6300.0, iterations="500000"),
    )
    pool8, pool200, virtual, hashes, long = jmh.read(file)
    # 500 tasks in rounds of 8: 63 x 50 ms; of 200: 3; all at once: 1.
    assert [score.expected for score in (pool8, pool200, virtual)] == [3150, 150, 50]
    assert [score.published for score in (pool8, pool200, virtual)] == [3150, 178, 54]
    assert (pool8.milliseconds, pool8.error, pool8.n) == (3168.4, 1.5, 3)
    assert virtual.error is None
    # Another size than the published one has no published figure.
    assert (hashes.published, hashes.expected, long.published) == (None, None, 6350)
    text = io.StringIO()
    Console(width=120, file=text).print(reproductions.benchmark_table([pool8, virtual]))
    assert "3,168 ms" in text.getvalue()
    assert "| waits | virtual | 54 ms | 50 ms | 51.2 ms |" in reproductions.markdown(
        reproductions.Reproductions([], [virtual])
    )


@pytest.mark.parametrize(
    "content",
    [
        "",
        "{}",
        "[{}]",
        json.dumps([{**result("waits", "pool8", 1), "mode": "thrpt"}]),
        json.dumps([result("waits", "x", 1)]),
    ],
)
def test_what_is_no_result_is_refused(tmp_path: Path, content: str) -> None:
    (tmp_path / jmh.FILE).write_text(content, encoding="utf-8")
    with pytest.raises(BadInput, match="not a result of the benchmark"):
        jmh.read(tmp_path / jmh.FILE)


def test_the_reports_of_a_directory_show_what_jmh_measured_there(tmp_path: Path) -> None:
    analyses = [recorded.analysed(recorded.run(blocks=1))]
    write_files(tmp_path, analyses)
    for name in ("report.html", "report.md"):
        assert "by JMH" not in (tmp_path / name).read_text(encoding="utf-8")
    written(tmp_path, result("waits", "virtual", 51.2))
    write_files(tmp_path, analyses)
    assert "<h2>001: 500 tasks on an executor, by JMH</h2>" in (tmp_path / "report.html").read_text(encoding="utf-8")
    assert "| waits | virtual | 54 ms | 50 ms | 51.2 ms |" in (tmp_path / "report.md").read_text(encoding="utf-8")


def test_the_users_words_win_and_no_option_comes_twice() -> None:
    assert jmh.options(False) == []
    assert jmh.options(True) == ["-wi", "1", "-i", "2"]
    assert jmh.options(True, ["-wi", "3", "-p", "tasks=8"]) == ["-i", "2", "-wi", "3", "-p", "tasks=8"]

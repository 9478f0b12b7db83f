"""``python -m maintain.felt_by_raw``: a block's document against k6's raw samples."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from maintain import felt_by_raw
from tests.support import recorded
from vtlab.model.histogram import bucket
from vtlab.model.records import Block, Trial

#: Milliseconds of the OK answers, by part of the window and kind.
ANSWERS = {(0, 0): [1.0, 2.5], (0, 1): [30.0], (1, 0): [2.0, 1.5], (1, 1): []}
#: A form of 21 bytes of kind 0 with the shape 000ab, twice; one of kind 1 without JSON.
JSON_FORM, TEXT_FORM = 14 * 2**20 + 0xAB, (2**7 + 11) * 2**20


def latency(count: int, mean: float | None = None, longest: float | None = None) -> dict[str, Any]:
    no_percentiles = dict.fromkeys(("p50", "p90", "p95", "p99", "p99_9"))
    return {"count": count, "mean": mean, **no_percentiles, "max": longest}


def trial() -> Trial:
    """Returns a trial of one second with two kinds of requests and five probes."""
    answers = {
        "latency": None,
        "histogram": histogram(1.0, 2.5, 30.0, 2.0, 1.5),
        "parts": {"seconds": 0.5, "ok": [3, 2], "above": {}},
        "halves": {"arrived": [4, 2], "completed": [3, 3]},
        "kinds": [
            {
                "name": "GET /fast",
                "failed": 1,
                "halves": {"arrived": [3, 2], "completed": [2, 3]},
                "latency": latency(4, 0.00175, 0.0025),
            },
            {
                "name": "GET /slow",
                "failed": 0,
                "halves": {"arrived": [1, 0], "completed": [1, 0]},
                "latency": latency(1, 0.03, 0.03),
            },
        ],
        "forms": {"rows": [[0, 20, "000ab", 2], [1, 10, "", 1]], "others": 0},
    }
    probe = {
        "sent": 4,
        "skipped": 1,
        "healthy": 3,
        "unanswered": 1,
        "over_second": 2,
        "longest": 15.0,
        "times": [0.002, 1.25, None, 15.0, 0.003],
    }
    start = 1_000_000
    window = {"position": 1, "phase": "measure", "start": start, "end": start + 1000}
    counts = {"ok": 5, "failed": {"status-500": 1}, "latency": latency(5, 0.0074, 0.03)}
    record = recorded.trial("virtual").model_dump()
    return Trial.model_validate({**record, **window, **counts, "answers": answers, "probe": probe})


def histogram(*milliseconds: float) -> dict[str, Any]:
    buckets = [bucket(ms / 1000) for ms in milliseconds]
    counts = [buckets.count(number) for number in range(min(buckets), max(buckets) + 1)]
    return {"first": min(buckets), "counts": counts, "is_exact": True}


def samples() -> Iterator[tuple[str, float, dict[str, str]]]:
    """Yields metric, value and tags of what k6 added for that trial."""
    for (part, kind), values in ANSWERS.items():
        for value in values:
            yield "latency", value, {}
            yield "answer", value, {"part": str(part), "kind": str(kind)}
    yield "latency", 7.0, {"phase": "drain"}
    yield "failed", 1, {"kind": "0", "reason": "status-500"}
    for half, number, arrived, completed in (("1", "0", 3, 2), ("2", "0", 2, 3), ("1", "1", 1, 1)):
        yield "arrivals", arrived, {"half": half, "kind": number}
        yield "completions", completed, {"half": half, "kind": number}
    for code in (JSON_FORM, TEXT_FORM, JSON_FORM):
        yield "form", code, {}
    for slot, ms in ((0, 2.0), (1, 1250.0), (3, 15_000.0), (4, 3.0)):
        yield "probe", ms, {}
        yield "probe_slot", slot * 2**24 + 1000 * ms, {}
    for name, probes in (("skipped", 1), ("healthy", 3), ("unanswered", 1)):
        yield f"probe_{name}", probes, {}


def files(folder: Path, of: Trial) -> list[str]:
    """Writes a block's document and its raw samples; returns their paths."""
    document: dict[str, Any] = {
        "version": 2,
        "experiment": "x",
        "run_id": "by-hand",
        "block": 1,
        "order": ["virtual"],
        "agreed": True,
    }
    phases = {"warmup": [], "single": [], "trials": [of.model_dump(mode="json")]}
    (folder / "block.json").write_text(json.dumps({**document, **phases}), encoding="utf-8")
    common = {"variant": "virtual", "trial": "1", "phase": "measure"}
    lines: list[dict[str, Any]] = [{"type": "Metric", "metric": "trial_latency", "data": {"name": "trial_latency"}}]
    for metric, value, tags in samples():
        data = {"time": "2026-11-26T12:00:00Z", "value": value, "tags": {**common, **tags}}
        lines.append({"type": "Point", "metric": f"trial_{metric}", "data": data})
    lines.append({"type": "Point", "metric": "trial_latency", "data": {"value": 9.0, "tags": {"variant": "platform"}}})
    (folder / "raw.json").write_text("\n".join(map(json.dumps, lines)), encoding="utf-8")
    return [str(folder / "block.json"), str(folder / "raw.json")]


def test_a_record_equals_its_raw_samples(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code = felt_by_raw.main(files(tmp_path, trial()))
    assert capsys.readouterr().out.startswith("0 differences in ")
    assert code == 0


def test_of_a_run_the_last_block_is_compared(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    _, raw = files(tmp_path, trial())
    before = Block(block=1, attempt=1, order=["virtual"], trials=[recorded.copied(trial(), {"ok": 4})])
    last = Block(block=1, attempt=2, order=["virtual"], trials=[trial()])
    run = tmp_path / "trials.jsonl"
    run.write_text("".join(f"{block.model_dump_json()}\n" for block in (before, last)), encoding="utf-8")
    assert felt_by_raw.main([str(run), raw]) == 0
    assert capsys.readouterr().out.startswith("0 differences in ")


@pytest.mark.parametrize(
    ("part", "change", "line"),
    [
        ("answers", {"parts": {"seconds": 0.5, "ok": [2, 3], "above": {}}}, "answers.parts.ok.0: 2 recorded, 3 by raw"),
        ("answers", {"forms": None}, "answers.forms.rows.0.3: nothing recorded, 2 by raw samples"),
        ("probe", {"over_second": 1}, "probe.over_second: 1 recorded, 2 by raw samples"),
        ("probe", {"times": [0.002, 1.25, 0.9, 15.0, 0.003]}, "probe.times.2: 0.9 recorded, None by raw samples"),
        ("latency", {"max": 0.031}, "latency.max: 0.031 recorded, 0.03 by raw samples"),
    ],
)
def test_each_difference_is_a_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], part: str, change: dict[str, Any], line: str
) -> None:
    record = trial().model_dump()
    changed = Trial.model_validate({**record, part: {**record[part], **change}})
    assert felt_by_raw.main(files(tmp_path, changed)) == 1
    assert f"1 virtual: {line}" in capsys.readouterr().out


def test_a_histogram_that_is_not_exact_may_be_off_by_a_little(tmp_path: Path) -> None:
    record = trial().model_dump()
    near = {**record["answers"], "histogram": {**histogram(1.0, 2.5, 29.0, 2.0, 1.5), "is_exact": False}}
    moved = Trial.model_validate({**record, "answers": near})
    assert felt_by_raw.main(files(tmp_path, moved)) == 0
    far = {**near, "histogram": {**histogram(31.0, 32.5, 30.0, 32.0, 31.5), "is_exact": False}}
    assert felt_by_raw.main(files(tmp_path, Trial.model_validate({**record, "answers": far}))) == 1


def test_percentiles_are_interpolated_as_k6_does() -> None:
    figures = felt_by_raw.latency([float(ms) for ms in range(1, 202)])
    assert (figures["p50"], figures["p90"], figures["p95"]) == (0.101, 0.181, 0.191)
    assert figures["p99"] is None, "two samples lie beyond it"


def test_a_document_without_windows_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    bare = recorded.copied(trial(), {"answers": None, "probe": None})
    assert felt_by_raw.main(files(tmp_path, bare)) == 2
    assert "no phase has answers or probes" in capsys.readouterr().err

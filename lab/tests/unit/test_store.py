"""The results directory: complete records survive a next record that is broken."""

from __future__ import annotations

import errno
import gzip
import json
import os
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from tests.support import recorded
from vtlab import shipped
from vtlab.errors import BadInput, PrerequisiteMissing
from vtlab.model import documents, experiment_files, normalised
from vtlab.model.run import Run
from vtlab.runs import store

LAB = Path(__file__).resolve().parents[2]
EXPERIMENTS = LAB.parent / "k6" / "experiments"
RUN = recorded.run(blocks=2)


def stored(folder: Path, run: Run = RUN) -> Path:
    store.create(folder, run.manifest)
    for block in run.blocks:
        store.append_block(folder, block)
        store.append_series(folder, block, run.series[block.block, block.attempt])
    return folder


def test_what_was_written_is_read(tmp_path: Path) -> None:
    run = store.read(stored(tmp_path / "a" / "b"))
    assert (run.manifest, run.experiment, run.blocks) == (RUN.manifest, RUN.experiment, RUN.blocks)
    assert run.series == RUN.series
    assert run.warnings == []
    assert run.name == "threads", "as planned"
    written = (tmp_path / "a" / "b" / "experiment.json").read_text(encoding="utf-8")
    assert experiment_files.of_document(json.loads(written), Path("experiment.json")) == RUN.experiment
    assert (tmp_path / "a" / "b" / "plan.json").read_text(encoding="utf-8") == normalised.as_json(RUN.experiment)
    assert recorded.analysed(run).verdict == recorded.analysed(RUN).verdict


def test_the_series_are_plain_gzip(tmp_path: Path) -> None:
    lines = gzip.decompress((stored(tmp_path) / "series.json.gz").read_bytes()).decode().splitlines()
    assert [(json.loads(line)["block"], json.loads(line)["attempt"]) for line in lines] == [(1, 1), (2, 1)]


def test_a_run_without_blocks_is_read(tmp_path: Path) -> None:
    store.create(tmp_path / "new", RUN.manifest)
    run = store.read(tmp_path / "new")
    assert (run.blocks, run.series, run.warnings) == ([], {}, [])


def test_a_ratio_of_nothing_is_stored_as_not_measured(tmp_path: Path) -> None:
    store.create(tmp_path / "run", RUN.manifest)
    block = recorded.block()
    block.trials[0].server["throttled_periods"] = float("nan")
    store.append_block(tmp_path / "run", block)
    assert store.read(tmp_path / "run").blocks[0].trials[0].server["throttled_periods"] is None


def test_create_never_overwrites(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="already holds a run"):
        store.create(stored(tmp_path), RUN.manifest)


@pytest.mark.parametrize("cut", [1, 100, 10_000])
def test_an_unfinished_last_line_is_passed_over_then_cut_off(tmp_path: Path, cut: int) -> None:
    path = stored(tmp_path) / "trials.jsonl"
    whole = path.read_bytes()
    path.write_bytes(whole[:-cut])
    run = store.read(tmp_path)
    assert run.blocks == RUN.blocks[:1]
    assert len(run.warnings) == 1
    assert f"{path}: line 2 is incomplete" in run.warnings[0]
    store.append_block(tmp_path, RUN.blocks[1])
    assert path.read_bytes() == whole
    assert store.read(tmp_path).warnings == []


@pytest.mark.parametrize("cut", [1, 500])
def test_an_unfinished_last_member_is_passed_over_then_cut_off(tmp_path: Path, cut: int) -> None:
    path = stored(tmp_path) / "series.json.gz"
    whole = path.read_bytes()
    path.write_bytes(whole[:-cut])
    run = store.read(tmp_path)
    assert list(run.series) == [(1, 1)]
    assert len(run.warnings) == 1
    assert str(path) in run.warnings[0]
    store.append_series(tmp_path, RUN.blocks[1], RUN.series[2, 1])
    assert path.read_bytes() == whole


def test_a_broken_line_in_the_middle_is_named(tmp_path: Path) -> None:
    path = stored(tmp_path) / "trials.jsonl"
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(lines[0][:50] + b"\n" + lines[1])
    with pytest.raises(BadInput, match=r"trials\.jsonl: line 1: "):
        store.read(tmp_path)
    path.write_bytes(lines[0] + lines[1].replace(b'"attempt"', b'"atempt"'))
    with pytest.raises(BadInput, match=r"trials\.jsonl: line 2: .*at(t?)empt"):
        store.read(tmp_path)


def test_broken_series_and_manifests_are_named(tmp_path: Path) -> None:
    stored(tmp_path)
    path = tmp_path / "series.json.gz"
    path.write_bytes(b"nonsense" + path.read_bytes())
    with pytest.raises(BadInput, match=r"series\.json\.gz: broken at byte 0"):
        store.read(tmp_path)
    path.write_bytes(gzip.compress(b'{"block": 1}\n'))
    with pytest.raises(BadInput, match=r"series\.json\.gz: member 1"):
        store.read(tmp_path)
    manifest = tmp_path / "manifest.json"
    manifest.write_text(manifest.read_text().replace('"seed"', '"sead"'))
    with pytest.raises(BadInput, match=r"manifest\.json: se[ae]d"):
        store.read(tmp_path)


def test_runs_in(tmp_path: Path) -> None:
    late = recorded.run(blocks=1, started="2026-10-26T09:00:00Z")
    early = recorded.run(blocks=1, started="2026-10-26T08:00:00Z")
    a, b, c = stored(tmp_path / "a", late), stored(tmp_path / "b", early), stored(tmp_path / "c", early)
    (tmp_path / "other").mkdir()
    (tmp_path / "report.html").write_text("")
    assert store.runs_in(tmp_path) == [b, c, a]
    assert store.runs_in(a) == [a]
    with pytest.raises(BadInput, match="no run in it"):
        store.runs_in(tmp_path / "other")
    with pytest.raises(BadInput, match="directory not found"):
        store.runs_in(tmp_path / "nowhere")
    with pytest.raises(BadInput, match="not a results directory"):
        store.read(tmp_path / "other")


def full_up(*_: object) -> int:
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def test_a_full_disk_keeps_what_was_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    stored(tmp_path)
    path = tmp_path / "trials.jsonl"
    whole, write = path.read_bytes(), os.write
    left = [3000]

    def some(descriptor: int, data: Any) -> int:
        if left[0] == 0:
            return full_up()
        written = write(descriptor, data[: left[0]])
        left[0] -= written
        return written

    monkeypatch.setattr(store.os, "write", some)
    with pytest.raises(PrerequisiteMissing) as caught:
        store.append_block(tmp_path, RUN.blocks[0])
    assert str(path) in caught.value.message
    assert "No space left" in caught.value.message
    assert "free space" in caught.value.fix
    assert path.read_bytes() == whole


def test_a_place_that_cannot_be_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(PrerequisiteMissing, match="cannot write"):
        store.create(tmp_path / "file" / "run", RUN.manifest)

    def refuse(*_: object, **__: object) -> int:
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))

    stored(tmp_path / "run")
    monkeypatch.setattr(store.os, "open", refuse)
    with pytest.raises(PrerequisiteMissing, match="Permission denied") as caught:
        store.append_block(tmp_path / "run", RUN.blocks[0])
    assert "--results" in caught.value.fix


def test_a_directory_without_permission(tmp_path: Path) -> None:
    if os.geteuid() == 0:
        pytest.skip("root may write everywhere")
    closed = tmp_path / "closed"
    closed.mkdir(mode=0o555)
    with pytest.raises(PrerequisiteMissing, match="Permission denied"):
        store.create(closed / "run", RUN.manifest)


def test_write_atomic_replaces_the_whole_file(tmp_path: Path) -> None:
    path = tmp_path / "file"
    store.write_atomic(path, "one")
    store.write_atomic(path, "zwö")
    assert path.read_bytes() == "zwö".encode()
    assert [p.name for p in tmp_path.iterdir()] == ["file"]


def test_the_verdict_file_has_the_same_bytes_each_time(tmp_path: Path) -> None:
    folder = stored(tmp_path)
    first = store.write_verdict(folder, recorded.analysed(store.read(folder)).verdict).read_bytes()
    again = store.write_verdict(folder, recorded.analysed(store.read(folder)).verdict).read_bytes()
    assert first == again
    document = json.loads(first)
    assert (document["version"], document["experiment"], document["n"]) == (3, "threads", 2)


@pytest.mark.parametrize("name", experiment_files.names(EXPERIMENTS))
def test_every_experiment_validates_against_model_and_schema(name: str) -> None:
    schema = json.loads((shipped.ROOT / documents.SCHEMA).read_text(encoding="utf-8"))
    document = json.loads((EXPERIMENTS / f"{name}.json").read_text(encoding="utf-8"))
    jsonschema.Draft202012Validator(schema).validate(document)
    assert experiment_files.load(name, EXPERIMENTS).name == name
    document["load"]["userz"] = 1
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.Draft202012Validator(schema).validate(document)


@pytest.mark.parametrize(("version", "vtlab"), [(1, "0.1.0"), (2, "0.2.0"), (4, "9.9")])
def test_what_another_version_stored_is_refused(tmp_path: Path, version: int, vtlab: str) -> None:
    path = stored(tmp_path) / "manifest.json"
    document = json.loads(path.read_text(encoding="utf-8"))
    path.write_text(json.dumps({**document, "version": version, "versions": {"vtlab": vtlab}}), encoding="utf-8")
    expected = rf"manifest\.json: version {version}, stored by vtlab {vtlab}; this vtlab reads version 3$"
    with pytest.raises(BadInput, match=expected):
        store.read(tmp_path)

"""The results directory, written so that no crash, signal or full disk loses a finished block.

    manifest.json    before the first block, and by the first attempts that show what the run keeps from then on
    trials.jsonl     a line per block attempt
    search.jsonl     a line per trial of the search for the load, where vtlab chose it
    series.json.gz   a gzip member per block attempt, with one JSON line: {"block", "attempt", "samples"}
    verdict.json     from the rest, the same bytes each time

A line or member counts once it is complete. A last one that is not (the run was killed, the disk was full) is
passed over with a warning, and cut off before the next is written; anything else that is broken is an error.
"""

from __future__ import annotations

import errno
import gzip
import json
import os
import zlib
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError

from vtlab.errors import BadInput, PrerequisiteMissing
from vtlab.host import process_ledger
from vtlab.model import normalised, validation
from vtlab.model.experiment import Experiment
from vtlab.model.manifest import Manifest
from vtlab.model.records import VERSION, Block
from vtlab.model.run import BlockSeries, Run
from vtlab.model.verdict import Verdict

#: Beside them lies ``normalised.PLAN``, the experiment as k6 reads it.
MANIFEST, EXPERIMENT, TRIALS = "manifest.json", "experiment.json", "trials.jsonl"
SEARCH, SERIES, VERDICT = "search.jsonl", "series.json.gz", "verdict.json"

_Model = TypeVar("_Model", bound=BaseModel)


def create(folder: Path, manifest: Manifest) -> Path:
    """Creates a results directory with its manifest, its experiment and what k6 reads of it.

    BadInput when one is there already, PrerequisiteMissing when it cannot be written.
    """
    if (folder / MANIFEST).exists():
        raise BadInput(f"{folder} already holds a run", f"resume it (vtlab resume {folder}) or wait a second")
    with _storing(folder):
        folder.mkdir(parents=True, exist_ok=True)
    replace_manifest(folder, manifest)
    return folder


def replace_manifest(folder: Path, manifest: Manifest) -> None:
    """Writes the manifest, its experiment and what k6 reads of it in place of those before."""
    # The manifest comes last and makes the folder a run: so a run has both files, even when this is interrupted.
    write_experiment(folder, manifest.experiment)
    write_atomic(folder / MANIFEST, manifest.model_dump_json(indent=2) + "\n")


def forget_run(folder: Path) -> None:
    """Removes the manifest of a run of which nothing was measured: its folder keeps logs, and is no run."""
    (folder / MANIFEST).unlink(missing_ok=True)


def write_experiment(folder: Path, planned: Experiment) -> None:
    """Writes the resolved experiment, and its normalised form, which k6 reads."""
    write_atomic(folder / EXPERIMENT, json.dumps(planned.document(), indent=2) + "\n")
    write_atomic(folder / normalised.PLAN, normalised.as_json(planned))


def append_block(folder: Path, block: Block) -> None:
    """Adds a block attempt to ``trials.jsonl``; on the disk when this returns."""
    # NaN, which Prometheus gives for a ratio of nothing, becomes null: not measured.
    _append(folder / TRIALS, (block.model_dump_json() + "\n").encode(), _lines_end)


def append_series(folder: Path, block: Block, samples: BlockSeries) -> None:
    """Adds a block attempt's samples to ``series.json.gz``; on the disk when this returns."""
    document = {"block": block.block, "attempt": block.attempt, "samples": samples}
    line = json.dumps(document, separators=(",", ":"), allow_nan=False) + "\n"
    _append(folder / SERIES, gzip.compress(line.encode(), mtime=0), _members_end)


def read(folder: Path) -> Run:
    """Reads everything recorded in a results directory. BadInput names the file and line that cannot be read, and
    refuses what another version of vtlab stored."""
    path = folder / MANIFEST
    if not path.is_file():
        raise BadInput(f"{folder} is not a results directory: it has no {MANIFEST}", "name a directory below results/")
    document = _json(_bytes(path), str(path))
    _refuse_other_version(document, path)
    manifest = _parse(Manifest, document, str(path))
    warnings: list[str] = []
    blocks = _blocks(folder / TRIALS, warnings)
    series = _series(folder / SERIES, warnings)
    return Run(manifest, manifest.experiment, blocks, series, warnings)


def read_runs(folder: Path) -> dict[Path, Run]:
    """Reads the run of each results directory that ``runs_in`` finds for ``folder``."""
    return {run_folder: read(run_folder) for run_folder in runs_in(folder)}


def runs_in(folder: Path) -> list[Path]:
    """Returns the results directories that ``folder`` means: itself, or its children, the first started first."""
    if (folder / MANIFEST).is_file():
        return [folder]
    if not folder.is_dir():
        raise BadInput(f"{folder}: directory not found", "name a directory below results/")
    runs = [
        (_json(_bytes(child / MANIFEST), str(child / MANIFEST)).get("started", ""), child.name, child)
        for child in folder.iterdir()
        if (child / MANIFEST).is_file()
    ]
    if not runs:
        raise BadInput(f"{folder}: no run in it, nor in its directories", "name a directory below results/")
    return [child for _, _, child in sorted(runs)]


def results_in(root: Path) -> list[Path]:
    """Returns the results directories of the calls in ``root``, the first started first. Hidden directories are
    vtlab's."""
    folders = sorted(path for path in root.iterdir() if path.is_dir()) if root.is_dir() else []
    return [
        folder
        for folder in folders
        if not folder.name.startswith(".") and ((folder / MANIFEST).is_file() or any(folder.glob(f"*/{MANIFEST}")))
    ]


def root_of(folder: Path) -> Path:
    """Returns the results root that ``folder`` lies in: where vtlab keeps its ledger; else the folder's parent."""
    return next((parent for parent in folder.parents if (parent / process_ledger.FOLDER).is_dir()), folder.parent)


def write_verdict(folder: Path, verdict: Verdict) -> Path:
    """Writes ``verdict.json``."""
    path = folder / VERDICT
    write_atomic(path, verdict_text(verdict))
    return path


def verdict_text(verdict: Verdict) -> str:
    """Formats ``verdict.json``: the same bytes for the same verdict.

    Floats have 12 significant digits, since beyond them numerical libraries may differ.
    """
    return json.dumps(_rounded(verdict.model_dump(mode="json")), indent=2, allow_nan=False) + "\n"


def verdict_schema() -> str:
    """Returns the JSON Schema of ``verdict.json``, as committed in ``lab/verdict.schema.json``."""
    schema = {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        **Verdict.model_json_schema(mode="serialization"),
    }
    return json.dumps(schema, indent=2) + "\n"


def write_atomic(path: Path, text: str) -> None:
    """Writes a whole file or nothing: readers see the former content until the new one is on the disk."""
    new = path.with_name(f".{path.name}.new")
    with _storing(path):
        try:
            with new.open("wb") as file:
                file.write(text.encode())
                file.flush()
                os.fsync(file.fileno())
            new.replace(path)
        except OSError:
            new.unlink(missing_ok=True)
            raise
        _sync_folder(path.parent)


def _append(path: Path, data: bytes, valid_end: Callable[[bytes], int]) -> None:
    """Appends ``data``, after what is complete in the file. If that fails, the file is as long as before."""
    with _storing(path):
        before = path.read_bytes() if path.exists() else b""
        end = valid_end(before)
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT, 0o666)
        try:
            if end < len(before):
                os.ftruncate(descriptor, end)
            os.lseek(descriptor, end, os.SEEK_SET)
            try:
                view = memoryview(data)
                while view:
                    view = view[os.write(descriptor, view) :]
                os.fsync(descriptor)
            except BaseException:
                os.ftruncate(descriptor, end)
                raise
        finally:
            os.close(descriptor)
        if not before:
            _sync_folder(path.parent)


def _sync_folder(folder: Path) -> None:
    """Makes a new name in a folder survive a crash."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


@contextmanager
def _storing(path: Path) -> Iterator[None]:
    """Turns errors of the disk into PrerequisiteMissing: which path, and what to do."""
    try:
        yield
    except OSError as error:
        why = error.strerror or str(error)
        if error.errno in (errno.ENOSPC, errno.EDQUOT):
            fix = "free space on that disk; every finished block is kept"
        elif error.errno in (errno.EACCES, errno.EPERM, errno.EROFS):
            fix = "make it writable, or choose another directory (--results)"
        else:
            fix = "choose another directory (--results)"
        raise PrerequisiteMissing(f"cannot write {path}: {why}", fix) from error


def _bytes(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except FileNotFoundError:
        return b""
    except OSError as error:
        raise BadInput(f"cannot read {path}: {error.strerror or error}", "make it readable") from error


_RESTORE = "correct the file, or restore it from the machine that measured it"


def _refuse_other_version(document: Mapping[str, Any], path: Path) -> None:
    """Raises BadInput for the manifest of a run that another version of vtlab measured."""
    version = document.get("version")
    if version == VERSION:
        return
    versions = document.get("versions")
    vtlab = f" vtlab {versions['vtlab']}" if isinstance(versions, dict) and "vtlab" in versions else " another vtlab"
    raise BadInput(
        f"{path}: version {version}, stored by{vtlab}; this vtlab reads version {VERSION}",
        "measure again, or read the results with that vtlab",
    )


def _json(text: bytes, where: str) -> dict[str, Any]:
    try:
        document = json.loads(text)
    except ValueError as error:
        raise BadInput(f"{where}: not valid JSON: {error}", _RESTORE) from error
    if not isinstance(document, dict):
        raise BadInput(f"{where}: not a JSON object", _RESTORE)
    return document


def _parse(model: type[_Model], document: Mapping[str, Any], where: str) -> _Model:
    try:
        return model.model_validate(document)
    except ValidationError as error:
        raise BadInput(f"{where}: {validation.first_wrong_key(error)}", _RESTORE) from error


def _blocks(path: Path, warnings: list[str]) -> list[Block]:
    data = _bytes(path)
    end = _lines_end(data)
    lines = data[:end].split(b"\n")[:-1]
    if end < len(data):
        warnings.append(f"{path}: line {len(lines) + 1} is incomplete and skipped; its block was not kept")
    blocks = []
    for number, line in enumerate(lines, 1):
        where = f"{path}: line {number}"
        blocks.append(_parse(Block, _json(line, where), where))
    return blocks


def _lines_end(data: bytes) -> int:
    """Returns the length of the complete lines in ``data``."""
    return data.rfind(b"\n") + 1


def _series(path: Path, warnings: list[str]) -> dict[tuple[int, int], BlockSeries]:
    data = _bytes(path)
    samples: dict[tuple[int, int], BlockSeries] = {}
    end = 0
    for number, (end, text) in enumerate(_members(data, path), 1):  # noqa: B007 (end is used below)
        where = f"{path}: member {number}"
        try:
            document: Any = json.loads(text)
            samples[int(document["block"]), int(document["attempt"])] = document["samples"]
        except (ValueError, KeyError, TypeError) as error:
            raise BadInput(f"{where}: not the samples of a block", "restore it, or remove the file") from error
    if end < len(data):
        warnings.append(f"{path}: the last block's samples are incomplete and not in the charts")
    return samples


def _members_end(data: bytes) -> int:
    """Returns the length of the complete gzip members in ``data``."""
    end = 0
    for end, _ in _members(data, Path(SERIES)):  # noqa: B007 (the last one counts)
        pass
    return end


def _members(data: bytes, path: Path) -> Iterator[tuple[int, bytes]]:
    """Yields the complete gzip members, each with where it ends. BadInput for other bytes."""
    end = 0
    while end < len(data):
        member = zlib.decompressobj(wbits=31)
        try:
            text = member.decompress(data[end:])
        except zlib.error as error:
            raise BadInput(f"{path}: broken at byte {end}: {error}", "restore it, or remove the file") from error
        if not member.eof:
            return
        end = len(data) - len(member.unused_data)
        yield end, text


def _rounded(value: Any) -> Any:
    if isinstance(value, float):
        return float(f"{value:.12g}")
    if isinstance(value, dict):
        return {key: _rounded(inner) for key, inner in value.items()}
    if isinstance(value, list):
        return [_rounded(inner) for inner in value]
    return value

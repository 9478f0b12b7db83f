"""Writes every generated file (``make generate``), or says which are stale (``make check-generated``).

``TABLE`` has a row for each file and for each folder. A new generated file is a new row. Rows are written in their
order, so a row may copy what an earlier one wrote.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from maintain import claims, examples, few_blocks, measured_page, priors, readme_table
from maintain.pictures import (
    architecture,
    block_timeline,
    decision_tree,
    forest_plot,
    lockstep,
    one_block,
    recording,
    throttling,
    users_curve,
)
from maintain.reference import catalogue, commands, schemas, values
from maintain.reference import findings as finding_page
from vtlab.analysis.validity import checks
from vtlab.catalogue import findings, metrics, rules
from vtlab.dashboards import documents
from vtlab.k6 import call as k6
from vtlab.model import experiment_files, normalised
from vtlab.model.documents import SCHEMA
from vtlab.runs import store
from vtlab.services import sample

REPOSITORY = Path(__file__).resolve().parents[2]


@dataclass(frozen=True)
class File:
    """One generated file."""

    path: str
    text: Callable[[], str]


@dataclass(frozen=True)
class Folder:
    """A folder of generated files. What matches ``pattern`` there and is not generated is removed."""

    path: str
    pattern: str
    #: path below the folder -> text
    texts: Callable[[], Mapping[str, str]]


def _recorded(recordings: Mapping[str, str]) -> dict[str, str]:
    """Reads recorded outputs, by what names each."""
    return {name: (REPOSITORY / path).read_text(encoding="utf-8") for name, path in recordings.items()}


def _plans() -> dict[str, str]:
    folder = REPOSITORY / "k6" / "experiments"
    return {
        f"{name}.json": normalised.as_json(experiment_files.load(name, folder))
        for name in experiment_files.names(folder)
    }


def _chart_flags() -> str:
    return json.dumps({"flags": sample.jvm_flags()}, indent=2) + "\n"


def _copies(folder: str, *patterns: str) -> Callable[[], dict[str, str]]:
    """Makes the reader of a folder's files that match one of the patterns, for a chart has only its own files."""

    def texts() -> dict[str, str]:
        top = REPOSITORY / folder
        paths = (path for pattern in patterns for path in top.glob(pattern))
        return {path.relative_to(top).as_posix(): path.read_text(encoding="utf-8") for path in paths}

    return texts


TABLE: Sequence[File | Folder] = (
    File("helm/files/rules.json", rules.rules_json),
    File("lab/vtlab/model/metric_names.py", metrics.names_module),
    File("k6/lib/experiment.ts", normalised.typescript),
    Folder(normalised.FOLDER, "*.json", _plans),
    File(SCHEMA, experiment_files.schema),
    File("lab/verdict.schema.json", store.verdict_schema),
    File("lab/vtlab/catalogue/findings.schema.json", findings.schema),
    File(priors.PRIORS, priors.priors_json),
    File(few_blocks.PICTURE, few_blocks.picture),
    File(architecture.PICTURE, architecture.picture),
    File(decision_tree.PICTURE, lambda: decision_tree.picture(measured_page.read(REPOSITORY))),
    File(one_block.PICTURE, one_block.picture),
    File(lockstep.PICTURE, lockstep.picture),
    File(throttling.PICTURE, throttling.picture),
    File(recording.PICTURE, lambda: recording.picture(recording.call(REPOSITORY))),
    File(block_timeline.PICTURE, lambda: block_timeline.picture(_recorded(block_timeline.RECORDINGS))),
    File(users_curve.PICTURE, lambda: users_curve.picture(REPOSITORY / users_curve.RESULTS)),
    File(forest_plot.BY_CRITERION, lambda: forest_plot.by_criterion(measured_page.read(REPOSITORY))),
    File(forest_plot.THROUGHPUT, lambda: forest_plot.throughput(measured_page.read(REPOSITORY))),
    *(File(page, partial(examples.text, REPOSITORY, page)) for page in examples.PAGES),
    File(readme_table.PAGE, lambda: readme_table.text(REPOSITORY)),
    File("docs/reference/validity-checks.md", checks.page),
    File("docs/reference/findings.md", finding_page.text),
    File("docs/reference/cli.md", commands.text),
    File("docs/reference/vtlab-yaml.md", schemas.text),
    File("docs/reference/chart-values.md", lambda: values.text(REPOSITORY)),
    File("helm/README.md", lambda: values.readme(REPOSITORY)),
    File("docs/reference/metrics.md", catalogue.metrics_page),
    File("docs/reference/alerts.md", catalogue.alerts_page),
    File("docs/reference/glossary.md", catalogue.glossary_page),
    Folder("grafana-dashboards", "*.json", documents.files),
    File(measured_page.PAGE, lambda: measured_page.text(measured_page.read(REPOSITORY))),
    File(claims.DOCUMENT, lambda: claims.document(REPOSITORY)),
    File("helm/files/jvm.json", _chart_flags),
    File("helm/files/k6.json", k6.chart_file),
    Folder("helm/files/k6", "**/*", _copies("k6", "*.ts", "lib/*.ts", "plans/*.json")),
    Folder("helm/files/dashboards", "**/*", _copies("grafana-dashboards", "*.json")),
)


def stale(root: Path = REPOSITORY, table: Sequence[File | Folder] = TABLE) -> list[str]:
    """Lists the paths below ``root`` that are missing, out of date, or no longer generated."""
    return [path for row in table for path, _ in _differences(root, row)]


def write(root: Path = REPOSITORY, table: Sequence[File | Folder] = TABLE) -> list[str]:
    """Makes every generated file what it is to be. Returns the paths that changed."""
    changed = []
    for row in table:
        for path, text in _differences(root, row):
            changed.append(path)
            if text is None:
                (root / path).unlink()
            else:
                (root / path).parent.mkdir(parents=True, exist_ok=True)
                (root / path).write_text(text, encoding="utf-8")
    return changed


def _differences(root: Path, row: File | Folder) -> Iterator[tuple[str, str | None]]:
    """Maps each path of a row that is out of date to its new text; None for one to delete."""
    if isinstance(row, File):
        expected_texts = {row.path: row.text()}
        existing = [row.path] if (root / row.path).exists() else []
    else:
        expected_texts = {f"{row.path}/{name}": text for name, text in row.texts().items()}
        files = (path for path in (root / row.path).glob(row.pattern) if path.is_file())
        existing = [path.relative_to(root).as_posix() for path in files]
    for path in sorted({*expected_texts, *existing}):
        text = expected_texts.get(path)
        if text is None or path not in existing or (root / path).read_text(encoding="utf-8") != text:
            yield path, text


def main(arguments: Sequence[str]) -> int:
    if list(arguments) not in ([], ["--check"]):
        print("usage: python -m maintain.generate [--check]", file=sys.stderr)
        return 2
    if not arguments:
        for path in write():
            print(f"wrote {path}" if (REPOSITORY / path).exists() else f"removed {path}")
        return 0
    paths = stale()
    if paths:
        print(f"stale: {', '.join(paths)}\n  fix: make generate", file=sys.stderr)
    return 1 if paths else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

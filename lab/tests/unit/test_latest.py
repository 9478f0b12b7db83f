"""The latest run, for commands that are called without a results directory."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.support import recorded
from tests.support.cli_call import call
from vtlab.commands import latest, prometheus, report, resume
from vtlab.errors import BadInput
from vtlab.runs import store


def stored(folder: Path, blocks: int, planned: int = 3) -> Path:
    run = recorded.run(blocks=blocks, planned=planned)
    store.create(folder, run.manifest)
    for block in run.blocks:
        store.append_block(folder, block)
    return folder


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """Results of four calls: the second is unfinished, the third has two runs, the last is another version's."""
    root = tmp_path / "results"
    stored(root / "20261124T100000Z-a", blocks=3)
    stored(root / "20261125T100000Z-b", blocks=1)
    for name in ("threads", "pool"):
        stored(root / "20261126T100000Z-c" / name, blocks=3)
    (root / ".processes").mkdir()
    (root / "zz-no-run").mkdir()
    # The order is that of the names, not of the files.
    os.utime(root / "20261124T100000Z-a")
    return root


def test_it_is_the_last_by_name_that_holds_a_run(root: Path) -> None:
    assert latest.latest(root).name == "20261126T100000Z-c"
    assert [folder.name[:8] for folder in store.results_in(root)] == ["20261124", "20261125", "20261126"]


def test_the_unfinished_one_is_resumed(root: Path) -> None:
    assert latest.latest_unfinished(root).name == "20261125T100000Z-b"
    other = root / "20261127T100000Z-d"
    other.mkdir()
    (other / store.MANIFEST).write_text('{"version": 1}', encoding="utf-8")
    assert latest.latest_unfinished(root).name == "20261125T100000Z-b", "another version's is passed over"


def test_where_all_are_finished_the_latest_is_named(tmp_path: Path) -> None:
    stored(tmp_path / "20261124T100000Z-a", blocks=3)
    with pytest.raises(BadInput, match="holds no unfinished run; the latest is 20261124T100000Z-a") as error:
        latest.latest_unfinished(tmp_path)
    assert error.value.fix == f"vtlab report {tmp_path / '20261124T100000Z-a'} shows it"


def test_each_command_takes_it(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    taken: list[Path] = []
    monkeypatch.setattr(resume, "measure_and_report", lambda folder, *_: taken.append(folder))
    monkeypatch.setattr(prometheus, "serve_kept_data", lambda folder, *_: taken.append(folder))
    assert call("prometheus", "--results", root).code == 2
    (root / "20261124T100000Z-a" / "prometheus" / "data").mkdir(parents=True)
    monkeypatch.chdir(root.parent)
    assert [call(command).code for command in ("resume", "prometheus")] == [0, 0]
    assert [folder.name[:8] for folder in taken] == ["20261125", "20261124"]
    assert all(folder.is_absolute() for folder in taken)
    shown = call("report", "--results", root)
    assert shown.code == 0, shown.err
    assert f"report: {root / '20261126T100000Z-c' / 'report.html'}" in shown.out


@pytest.mark.parametrize("has_browser", [True, False])
def test_the_report_is_opened_in_a_browser(root: Path, monkeypatch: pytest.MonkeyPatch, has_browser: bool) -> None:
    opened: list[str] = []

    def open_page(url: str) -> bool:
        opened.append(url)
        return has_browser

    monkeypatch.setattr(report.webbrowser, "open", open_page)
    done = call("report", root / "20261124T100000Z-a", "--open")
    assert (done.code, opened) == (0, [(root / "20261124T100000Z-a" / "report.html").as_uri()])
    assert ("no browser was found" in done.out) != has_browser

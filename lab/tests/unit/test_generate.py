"""``make generate`` and ``make check-generated``."""

from __future__ import annotations

from pathlib import Path

import pytest

from maintain import generate
from maintain.generate import File, Folder

TABLE = (
    File("a/schema.json", lambda: "{}\n"),
    Folder("boards", "**/*.json", lambda: {"one.json": "1\n", "more/two.json": "2\n"}),
)


@pytest.mark.usefixtures("shipped_priors")
def test_every_committed_generated_file_is_fresh() -> None:
    assert generate.stale() == [], "make generate"


def test_writes_what_is_missing_or_differs_and_removes_what_is_no_longer_generated(tmp_path: Path) -> None:
    assert generate.stale(tmp_path, TABLE) == ["a/schema.json", "boards/more/two.json", "boards/one.json"]
    generate.write(tmp_path, TABLE)
    assert generate.stale(tmp_path, TABLE) == []

    (tmp_path / "boards/one.json").write_text("3\n", encoding="utf-8")
    (tmp_path / "boards/more/old.json").write_text("4\n", encoding="utf-8")
    (tmp_path / "boards/by-hand.txt").write_text("5\n", encoding="utf-8")
    assert generate.stale(tmp_path, TABLE) == ["boards/more/old.json", "boards/one.json"]
    assert generate.write(tmp_path, TABLE) == ["boards/more/old.json", "boards/one.json"]
    assert generate.stale(tmp_path, TABLE) == []
    assert (tmp_path / "boards/one.json").read_text(encoding="utf-8") == "1\n"
    assert not (tmp_path / "boards/more/old.json").exists()
    assert (tmp_path / "boards/by-hand.txt").exists()


def test_a_stale_file_is_named_with_the_command_that_writes_it(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(generate, "stale", lambda: ["helm/files/rules.json"])
    assert generate.main(["--check"]) == 1
    assert capsys.readouterr().err == "stale: helm/files/rules.json\n  fix: make generate\n"


def test_an_unknown_argument_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    assert generate.main(["--chekc"]) == 2
    assert "usage" in capsys.readouterr().err

"""Bad input at the command line: a message, a fix, the right exit code, nothing made."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.lab_call import TINY, vtlab


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (["run", "bloking"], 2, "unknown experiment 'bloking'"),
        (["run"], 2, "EXPERIMENT"),
        (["run", "blocking", "blocking"], 2, "twice"),
        (["run", "blocking", "--cpu", "0"], 2, "not above 0"),
        (["run", "blocking", "--cpu", "-1"], 2, "not above 0"),
        (["run", "blocking", "--cpu", "0.005"], 2, "no limit below 0.01"),
        (["run", "blocking", "--cpu", "many"], 2, "not a number of cores"),
        (["run", "blocking", "--cpu", ","], 2, "names no limit"),
        (["run", "blocking", "--cpu", "4096"], 2, "above this machine's"),
        (["run", "blocking", "--blocks", "0"], 2, "at least one block"),
        (["run", "blocking", "--max-rejected", "-1"], 2, "fewer than none"),
        (["run", "blocking", "--blocks", "six"], 2, "blocks"),
        (["run", "blocking", "--assert", "speed"], 2, "is no assertion"),
        (["run", "blocking", "--colour"], 2, "--colour"),
        (["aa", "blocking", "--variant", "green"], 2, "unknown variant 'green'"),
        (["dance"], 2, "dance"),
    ],
)
def test_bad_input_is_named(arguments: list[str], code: int, said: str, tmp_path: Path) -> None:
    extra = ["--results", str(tmp_path / "results")] if len(arguments) > 1 else []
    done = vtlab(*arguments, *extra)
    assert done.returncode == code, done.stderr
    assert said in done.stderr
    assert not (tmp_path / "results").exists()


def test_a_folder_without_results_is_named(tmp_path: Path) -> None:
    for command in ("report", "resume"):
        done = vtlab(command, tmp_path / "nothing")
        assert done.returncode == 2, done.stderr
        assert "nothing" in done.stderr
        assert "fix:" in done.stderr


def test_a_broken_experiment_is_named_with_its_file(tmp_path: Path) -> None:
    broken = tmp_path / "tiny.json"
    broken.write_text(TINY.read_text(encoding="utf-8").replace('"users"', '"userz"'), encoding="utf-8")
    done = vtlab("run", broken, "--results", tmp_path / "results")
    assert done.returncode == 2
    assert "load.userz: unknown key" in done.stderr
    assert str(broken) in done.stderr


def test_results_that_cannot_be_written_are_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way", encoding="utf-8")
    done = vtlab("run", TINY, "--results", tmp_path / "file" / "results")
    assert done.returncode == 3, done.stderr
    assert str(tmp_path / "file") in done.stderr


def test_list_shows_every_experiment() -> None:
    done = vtlab("list")
    assert done.returncode == 0
    for name in ("blocking", "blocking-5s", "blocking-100ms", "cpu", "mixed", "blocking-open"):
        assert name in done.stdout


def test_doctor_finds_what_make_set_up(tmp_path: Path) -> None:
    done = vtlab("doctor", "--results", tmp_path)
    assert done.returncode == 0, done.stdout
    for name in ("JDK", "k6", "Prometheus", "the app", "CPU limits"):
        assert name in done.stdout


def test_doctor_says_what_is_missing_and_the_fix(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("VTLAB_JAVA_HOME", str(tmp_path))
    done = vtlab("doctor", "--results", tmp_path)
    assert done.returncode == 3
    assert f"no working Java at {tmp_path}" in done.stdout

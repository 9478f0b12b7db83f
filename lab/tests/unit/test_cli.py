"""The command line in this process: its help, and bad input as a message, a fix, an exit code, with nothing made."""

from __future__ import annotations

from importlib.metadata import entry_points
from pathlib import Path

import pytest

from tests.support import golden_files
from tests.support.cli_call import call
from tests.support.lab_call import TINY
from vtlab import __main__
from vtlab.commands import report
from vtlab.errors import Interrupted

pytestmark = pytest.mark.usefixtures("invented_tools")

COMMANDS = (
    *("run", "aa", "reproduce", "resume", "report", "compare", "history", "prometheus", "list", "doctor"),
    "tools",
    "simulate",
)


def test_the_help_of_every_command() -> None:
    pages = [call("--help").out, *(call(command, "--help").out for command in COMMANDS)]
    golden_files.check("help.txt", "\n".join(pages))
    assert all(f"\n  {command} " in pages[0] for command in COMMANDS)


def test_the_installed_command_is_the_main_function() -> None:
    (command,) = entry_points(group="console_scripts", name="vtlab")
    assert command.load() is __main__.main


BAD = [
    ("run", "bloking"),
    ("run",),
    ("run", "blocking", "blocking"),
    ("run", "blocking", "--cpu", "0"),
    ("run", "blocking", "--cpu", "-1"),
    ("run", "blocking", "--cpu", "0.005"),
    ("run", "blocking", "--cpu", "many"),
    ("run", "blocking", "--cpu", ","),
    ("run", "blocking", "--blocks", "0"),
    ("run", "blocking", "--precision", "ten"),
    ("run", "blocking", "--precision", "0%"),
    ("run", "blocking", "--precision", "10%", "--blocks", "3"),
    ("run", "blocking", "--within", "soon"),
    ("run", "blocking", "--within", "0s"),
    ("run", "blocking", "--within", "8m", "--blocks", "3"),
    ("run", "blocking", "--max-rejected", "-1"),
    ("run", "blocking", "--blocks", "six"),
    ("run", "blocking", "--assert", "speed"),
    ("run", "blocking", "--colour"),
    ("run", "blocking", "--target", "moon"),
    ("run", "blocking", "--prometheus-port", "0"),
    ("run", "blocking", "--diagnosis", "never"),
    ("run", "blocking", "--diagnosis", "always", "--target", "kubernetes"),
    ("aa", "blocking", "--variant", "green"),
    ("simulate", "--runs", "0"),
    ("simulate", "--sd", "0"),
    ("reproduce", "007"),
    ("report", "nothing"),
    ("resume", "nothing"),
    ("compare", "nothing", "nothing"),
    ("compare", "nothing"),
    ("history", "nothing"),
    ("prometheus", "nothing"),
    ("prometheus", "nothing", "--port", "0"),
    ("dance",),
]


def test_bad_input_is_named_with_its_fix_and_nothing_is_made(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    before = sorted(tmp_path.iterdir())
    lines: list[str] = []
    for arguments in BAD:
        done = call(*arguments)
        assert done.out == "", arguments
        message = done.err.replace(str(tmp_path), ".")
        lines += [f"$ vtlab {' '.join(arguments)}", f"exit code {done.code}", message]
    golden_files.check("bad-input.txt", "\n".join(lines))
    assert sorted(tmp_path.iterdir()) == before


def test_a_limit_above_the_machine_is_named(tmp_path: Path) -> None:
    done = call("run", "blocking", "--cpu", "4096", "--results", tmp_path / "results")
    assert (done.code, "exceeds this machine's" in done.err) == (2, True), done
    assert not (tmp_path / "results").exists()


def test_a_broken_experiment_is_named_with_its_file(tmp_path: Path) -> None:
    broken = tmp_path / "tiny.json"
    broken.write_text(TINY.read_text(encoding="utf-8").replace('"users"', '"userz"'), encoding="utf-8")
    done = call("run", broken, "--results", tmp_path / "results")
    assert done.code == 2
    assert "load.userz: unknown key" in done.err
    assert str(broken) in done.err


def test_results_that_cannot_be_written_are_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way", encoding="utf-8")
    done = call("run", TINY, "--results", tmp_path / "file" / "results")
    assert done.code == 3, done.err
    assert str(tmp_path / "file") in done.err


def test_list_shows_every_experiment() -> None:
    done = call("list")
    assert done.code == 0
    for name in ("blocking", "blocking-5s", "blocking-100ms", "cpu", "mixed", "blocking-open"):
        assert name in done.out


@pytest.mark.parametrize(
    ("raised", "code", "message"),
    [
        (Interrupted("stopped by SIGINT", "vtlab resume x"), 130, "stopped by SIGINT\n  fix: vtlab resume x"),
        (OSError(28, "No space left on device", "/disk"), 3, "No space left on device: /disk\n  fix: see that"),
        (ZeroDivisionError("oh"), 70, "internal error: ZeroDivisionError: oh\n  fix: run again with VTLAB_DEBUG=1"),
    ],
    ids=["interrupted", "disk", "defect"],
)
def test_every_error_has_its_exit_code(
    raised: Exception, code: int, message: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> None:
        raise raised

    monkeypatch.setattr(report, "report_runs", fail)
    done = call("report", "x")
    assert (done.code, done.out) == (code, "")
    assert done.err.startswith(f"vtlab: {message}")


def test_a_defect_is_raised_where_one_debugs(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> None:
        raise ZeroDivisionError

    monkeypatch.setenv("VTLAB_DEBUG", "1")
    monkeypatch.setattr(report, "report_runs", fail)
    with pytest.raises(ZeroDivisionError):
        call("report", "x")

"""Output of a call: vtlab as it was called, the verdict alone, or its JSON."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from tests.support import recorded
from tests.support.cli_call import call
from vtlab.commands import experiments, resume
from vtlab.errors import AssertionFailed, BadInput, Interrupted, LabError
from vtlab.host import program
from vtlab.measuring.progress import Progress
from vtlab.runs import store
from vtlab.runs.report import report_runs


def calls(monkeypatch: pytest.MonkeyPatch, argv: list[str], orig_argv: list[str] | None = None, path: str = "") -> None:
    """Lets this process look as if it was called so; ``path``: what PATH has for vtlab."""
    monkeypatch.setattr(sys, "argv", argv)
    monkeypatch.setattr(sys, "orig_argv", orig_argv or ["/usr/bin/python3", *argv])
    monkeypatch.setattr(program.shutil, "which", lambda _: path or None)


@pytest.mark.parametrize(
    ("argv", "orig_argv", "path", "called"),
    [
        ([".venv/bin/vtlab", "try", "a.jar"], None, "", ".venv/bin/vtlab"),
        (["/opt/a b/vtlab", "history"], None, "/usr/bin/vtlab", "'/opt/a b/vtlab'"),
        (["/usr/bin/vtlab", "history"], None, "/usr/bin/vtlab", "vtlab"),
        (["/x/vtlab/__main__.py", "run", "a"], ["python", "-m", "vtlab", "run", "a"], "", "python -m vtlab"),
        (["/x/vtlab/__main__.py"], ["py", "-X", "dev", "-m", "vtlab"], "", "py -X dev -m vtlab"),
        (["/x/pytest/__main__.py", "tests"], None, "", "vtlab"),
    ],
)
def test_the_program_is_named_as_the_shell_had_it(
    argv: list[str], orig_argv: list[str] | None, path: str, called: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls(monkeypatch, argv, orig_argv, path)
    assert program.called() == called


@pytest.mark.parametrize(
    ("text", "printed"),
    [
        ("vtlab resume results/a", ".venv/bin/vtlab resume results/a"),
        ("see `vtlab experiments`; vtlab run x", "see `.venv/bin/vtlab experiments`; .venv/bin/vtlab run x"),
        ("(vtlab report x)", "(.venv/bin/vtlab report x)"),
        ("stored by vtlab 0.1, an earlier vtlab left this", None),
        ("/opt/vtlab run, my-vtlab run", None),
        ("vtlab runs on Linux", None),
    ],
)
def test_only_commands_are_written_as_called(text: str, printed: str | None, monkeypatch: pytest.MonkeyPatch) -> None:
    assert program.as_called(text) == text
    calls(monkeypatch, [".venv/bin/vtlab"])
    assert program.as_called(text) == (printed or text)


def test_a_command_in_the_message_of_an_error_is_written_as_called(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> None:
        raise BadInput("vtlab experiments lists none", "see vtlab experiments")

    monkeypatch.setattr(experiments, "_table", fail)
    calls(monkeypatch, [".venv/bin/vtlab"])
    expected = "vtlab: .venv/bin/vtlab experiments lists none\n  fix: see .venv/bin/vtlab experiments\n"
    assert call("experiments").err == expected


@pytest.fixture
def settled(tmp_path: Path) -> Path:
    """A results directory with its reports, whose verdict names a command."""
    run = recorded.run("pool", blocks=3, planned=3)
    folder = store.create(tmp_path / "results" / "20261126T101500Z-pool", run.manifest)
    for block in run.blocks:
        store.append_block(folder, block)
    return folder


def test_printed_commands_begin_as_the_call_did_and_stored_ones_with_vtlab(
    settled: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls(monkeypatch, [".venv/bin/vtlab", "report"])
    done = call("report", settled)
    assert done.code == 0, done.err
    assert "Try it: .venv/bin/vtlab try pool-service.yaml" in done.out
    stored = "".join(
        (settled / name).read_text(encoding="utf-8") for name in ("verdict.json", "report.md", "report.html")
    )
    assert "vtlab try pool-service.yaml" in stored
    assert ".venv/bin/vtlab" not in stored
    assert "fix: .venv/bin/vtlab check app.jar" in call("doctor", "app.jar").err


@pytest.mark.parametrize("error", [None, AssertionFailed("it does not hold")], ids=str)
def test_json_is_the_stored_verdict_and_the_rest_goes_to_stderr(
    settled: Path, monkeypatch: pytest.MonkeyPatch, error: LabError | None
) -> None:
    def measured(folder: Path, _: Path, progress: Progress) -> None:
        report_runs(folder, progress.console)
        if error:
            raise error

    monkeypatch.setattr(resume, "measure_and_report", measured)
    done = call("resume", settled, "--json")
    assert done.code == (1 if error else 0)
    assert done.out == (settled / "verdict.json").read_text(encoding="utf-8")
    assert json.loads(done.out)["n"] == 3
    assert "report.html" in done.err


def test_a_quiet_call_prints_the_verdict_alone(settled: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(resume, "measure_and_report", lambda folder, _, progress: report_runs(folder, progress.console))
    shown, quiet = call("resume", settled), call("resume", settled, "--quiet")
    assert (shown.code, quiet.code, quiet.err) == (0, 0, "")
    assert quiet.out.strip() in shown.out
    assert "\nreport: " in shown.out
    assert "report: " not in quiet.out
    assert quiet.out.strip()
    assert call("resume", settled, "-q", "--json").err == ""


def test_an_interrupted_call_has_no_verdict(settled: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(*_: object) -> None:
        raise Interrupted("stopped by SIGINT", f"vtlab resume {settled}")

    monkeypatch.setattr(resume, "measure_and_report", interrupted)
    done = call("resume", settled, "--json")
    assert (done.code, done.out) == (130, "")

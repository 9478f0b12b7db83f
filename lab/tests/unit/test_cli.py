"""The command line in this process: its help, and bad input as a message, a fix, an exit code, with nothing made."""

from __future__ import annotations

import re
import shlex
from collections.abc import Sequence
from importlib.metadata import entry_points
from pathlib import Path
from typing import Any

import pytest
import typer

from tests.support import golden_files
from tests.support.cli_call import call
from tests.support.lab_call import TINY
from vtlab import __main__, __version__
from vtlab.analysis import asserts
from vtlab.commands import app as cli
from vtlab.commands import help_pages, options, report, usage
from vtlab.errors import Interrupted
from vtlab.host import program

pytestmark = pytest.mark.usefixtures("invented_tools")

#: The words that name each command.
COMMANDS = [(name,) for commands in cli.SECTIONS.values() for name in commands]
COMMANDS += [("lab", name) for name in cli.LAB_COMMANDS]
GROUP: Any = typer.main.get_command(cli.app)


def test_the_help_of_every_command() -> None:
    pages = [call("--help").out, call("lab", "--help").out, *(call(*words, "--help").out for words in COMMANDS)]
    golden_files.check("help.txt", "\n".join(pages))
    assert [call(*words, "-h").out for words in ((), ("lab",), *COMMANDS)] == pages


def test_the_help_lists_the_commands_in_sections_and_cuts_no_description() -> None:
    page = call("--help").out
    sections = {title: page.partition(f"\n{title}:\n")[2].partition("\n\n")[0] for title in cli.SECTIONS}
    listed = {title: re.findall(r"^  (\S+)", text, re.M) for title, text in sections.items()}
    assert listed == {title: list(commands) for title, commands in cli.SECTIONS.items()}
    assert [name for names in listed.values() for name in names] == list(program.COMMANDS[:-1])
    pages = page + call("lab", "--help").out
    assert "..." not in pages.replace("COMMAND [ARGS]...", "")
    assert max(map(len, pages.splitlines())) <= 80


def test_a_call_without_a_command_shows_the_help() -> None:
    for words in ((), ("lab",)):
        done = call(*words)
        assert (done.code, done.out, done.err) == (2, call(*words, "--help").out, "")


def command_of(words: Sequence[str]) -> tuple[Any, list[str]]:
    """The command that is called, and the words that it takes."""
    group, rest = GROUP, list(words)
    while hasattr(group, "commands"):
        group = group.commands[rest.pop(0)]
    return group, rest


@pytest.mark.parametrize("words", [(), ("lab",), *COMMANDS], ids=" ".join)
def test_each_help_has_two_examples_that_can_be_typed(words: tuple[str, ...]) -> None:
    group = GROUP.commands["lab"] if words == ("lab",) else command_of(words)[0] if words else GROUP
    examples = help_pages.examples(group)
    assert len(examples) == 2
    for example in examples:
        assert f"\n  {example}\n" in call(*words, "--help").out
        assert len(example) <= 78, example
        vtlab, *typed = shlex.split(example.partition(" | ")[0])
        command, rest = command_of(typed)
        assert (vtlab, typed[: len(words)]) == ("vtlab", list(words))
        if "--help" not in rest:
            context = command.make_context(typed[0], rest)
            for text in context.params.get("demand") or []:
                asserts.parse(text, alone=True)


@pytest.mark.parametrize(
    ("typed", "completed"),
    [("vtlab re", ["resume", "report"]), ("vtlab run blocking-1", ["blocking-100ms"]), ("vtlab try --ru", [])],
)
def test_the_shell_completes_commands_and_experiments(
    typed: str, completed: list[str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("_VTLAB_COMPLETE", "complete_bash")
    monkeypatch.setenv("COMP_WORDS", typed)
    monkeypatch.setenv("COMP_CWORD", str(typed.count(" ")))
    with pytest.raises(SystemExit):
        cli.call([])
    assert capsys.readouterr().out.split() == completed


def test_its_version() -> None:
    assert call("--version").out == f"vtlab {__version__}\n"


@pytest.mark.parametrize(
    ("words", "fix"),
    [
        (("aa", "cpu", "--blocks", "16"), "vtlab lab aa cpu --blocks 16"),
        (("simulate",), "vtlab lab simulate"),
        (("reproduce", "--quick"), "vtlab lab reproduce-publication --quick"),
        (("normalise", "my file.json"), "vtlab lab k6-plan 'my file.json'"),
        (("lab", "reproduce", "000"), "vtlab lab reproduce-publication 000"),
        (("list",), "vtlab experiments"),
        (("serve", "results/a"), "vtlab prometheus results/a"),
        (("run", "blocking", "--within", "8m"), "write --max-time in its place"),
        (("run", "blocking", "--within=8m"), "write --max-time in its place"),
        (("run", "blocking", "--with", "pool=50"), "write --variant in its place"),
        (("run", "blocking", "--diagnosis", "always"), "write --thread-dumps in its place"),
        (("try", "app.jar", "GET /", "--with", "pool=50"), "write --variant in its place"),
        (("try", "app.jar", "GET /", "--between", "POST /reset"), "write --reset in its place"),
        (("try", "app.jar", "GET /", "--think", "1s"), "write --think-time in its place"),
        (("init", "app.jar", "--out", "shop.yaml"), "write --output in its place"),
        (("lab", "aa", "cpu", "--variant", "platform"), "write --threads in its place"),
        (("doctor", "app.jar"), "vtlab check app.jar"),
        (("doctor", "app.jar", "--json"), "look into a jar with: vtlab check app.jar --json"),
        (("run", "blocking", "--cpu", "0.5,1"), "repeat the option: --cpu 0.5 --cpu 1"),
        (("check", "app.jar", "--jvm", "-Xmx1g -Da=b"), "repeat the option: --jvm=-Xmx1g --jvm=-Da=b"),
        (("try", "app.jar", "GET /", "--jvm", "-Xmx1g -Da=b"), "repeat the option: --jvm=-Xmx1g --jvm=-Da=b"),
    ],
    ids=str,
)
def test_a_name_of_earlier_versions_is_refused_with_the_new_one(words: tuple[str, ...], fix: str) -> None:
    done = call(*words)
    assert (done.code, done.out) == (2, "")
    assert done.err.splitlines()[1] == f"  fix: {fix}"


def test_every_old_name_has_a_new_one_that_exists() -> None:
    for old, new in usage.MOVED.items():
        assert old not in GROUP.commands
        command_of(new.split())
    options = {option for words in COMMANDS for each in command_of(words)[0].params for option in each.opts}
    assert set(usage.RENAMED.values()) <= options
    assert options.isdisjoint(usage.RENAMED)


def test_no_secret_of_a_call_is_in_a_message() -> None:
    done = call("try", "app.jar", "GET /", "--env", "TOKEN=hunter2", "--within", "8m")
    assert done.code == 2
    assert "hunter2" not in done.err


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
    ("run", "blocking", "--max-time", "soon"),
    ("run", "blocking", "--max-time", "0s"),
    ("run", "blocking", "--max-time", "8m", "--blocks", "3"),
    ("run", "blocking", "--max-rejected", "-1"),
    ("run", "blocking", "--blocks", "six"),
    ("run", "blocking", "--slo", "p98=200ms"),
    ("run", "blocking", "--slo", "p99=fast"),
    ("run", "blocking", "--assert", "speed"),
    ("run", "blocking", "--assert", "speed(virtual/platform) > 1"),
    ("run", "blocking", "--assert", "throughput(virtual/platform) > 1"),
    ("run", "blocking", "--colour"),
    ("run", "blocking", "--block", "3"),
    ("run", "blocking", "--seed"),
    ("run", "blocking", "--target", "moon"),
    ("run", "blocking", "--prometheus-port", "0"),
    ("run", "blocking", "--thread-dumps", "never"),
    ("run", "blocking", "--thread-dumps", "always", "--target", "kubernetes"),
    ("try",),
    ("try", "app.jar", "GET /", "--max-time", "5m", "--blocks", "3"),
    ("try", "shop.jar", "--deployment", "shop"),
    ("try", "--deployment", "Shop!", "GET /"),
    ("try", "--deployment", "shop", "--target", "local", "GET /"),
    ("try", "app.jar", "GET /", "--users", "1.5"),
    ("try", "app.jar", "GET /", "--cpu", "many"),
    ("lab", "aa", "blocking", "--threads", "green"),
    ("lab", "simulate", "--runs", "0"),
    ("lab", "simulate", "--sd", "0"),
    ("lab", "reproduce-publication", "007"),
    ("lab", "dance"),
    ("experiments", "x"),
    ("report", "nothing"),
    ("report",),
    ("resume", "nothing"),
    ("resume",),
    ("compare", "nothing", "nothing"),
    ("compare", "nothing"),
    ("history", "nothing"),
    ("prometheus", "nothing"),
    ("prometheus",),
    ("prometheus", "nothing", "--port", "0"),
    ("repot",),
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
    assert "load.full.userz: unknown key" in done.err
    assert str(broken) in done.err


def test_results_that_cannot_be_written_are_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way", encoding="utf-8")
    done = call("run", TINY, "--results", tmp_path / "file" / "results")
    assert done.code == 3, done.err
    assert str(tmp_path / "file") in done.err


def test_every_experiment_is_shown() -> None:
    done = call("experiments")
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


@pytest.mark.parametrize(
    ("words", "service", "needs"),
    [
        (["--database", "shop.jar"], "shop.jar", ["database"]),
        (["shop.jar", "--database"], "shop.jar", ["database"]),
        (["--database", "vtlab.yaml", "--users", "5"], "vtlab.yaml", ["database"]),
        (["--database", "GET /a"], "GET /a", ["database"]),
        (["shop.jar", "--database", "mariadb"], "shop.jar", ["database"]),
        (["--database", "postgres", "shop.jar"], "shop.jar", ["postgres"]),
        (["shop.jar", "--database=postgres"], "shop.jar", ["postgres"]),
        (["shop.jar"], "shop.jar", []),
    ],
)
def test_a_database_is_named_or_mariadb(words: list[str], service: str, needs: list[str]) -> None:
    context = GROUP.commands["try"].make_context("try", list(words))
    assert context.params["service"] == service
    assert options.database_option(context.params["database"]).value == needs


def test_a_database_that_vtlab_does_not_start_is_refused() -> None:
    done = call("try", "shop.jar", "GET /a", "--database", "oracle")
    assert (done.code, done.err.splitlines()[0]) == (2, "vtlab: --database oracle: unknown database")
    assert "write mariadb or postgres" in done.err

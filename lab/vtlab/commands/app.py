"""The command line of vtlab: its commands, signals and exit codes."""

from __future__ import annotations

import os
import signal
import sys
import types
from collections.abc import Callable, Mapping, Sequence
from typing import Annotated

import typer

from vtlab import __version__
from vtlab.commands import (
    aa,
    check,
    compare,
    doctor,
    experiments,
    history,
    init,
    k6_plan,
    prometheus,
    report,
    reproduce_publication,
    resume,
    run,
    simulate,
    try_,
    usage,
)
from vtlab.commands.help_pages import Group, Page
from vtlab.errors import Interrupted, LabError
from vtlab.host import program

#: A command by its name, with its examples.
_Commands = Mapping[str, tuple[Callable[..., None], str]]
#: The sections of the help, and the commands of each, in order.
SECTIONS: Mapping[str, _Commands] = {
    "Measure": {
        "try": (try_.try_, try_.EXAMPLES),
        "run": (run.run, run.EXAMPLES),
        "resume": (resume.resume, resume.EXAMPLES),
    },
    "Prepare": {
        "init": (init.init, init.EXAMPLES),
        "check": (check.check, check.EXAMPLES),
        "doctor": (doctor.doctor_, doctor.EXAMPLES),
        "experiments": (experiments.experiments, experiments.EXAMPLES),
    },
    "Results": {
        "report": (report.report, report.EXAMPLES),
        "compare": (compare.compare, compare.EXAMPLES),
        "history": (history.history, history.EXAMPLES),
        "prometheus": (prometheus.prometheus, prometheus.EXAMPLES),
    },
}
#: Commands for work on vtlab itself: ``vtlab lab …``, which the help does not list.
LAB_COMMANDS: _Commands = {
    "aa": (aa.aa, aa.EXAMPLES),
    "simulate": (simulate.simulate, simulate.EXAMPLES),
    "reproduce-publication": (reproduce_publication.reproduce_publication, reproduce_publication.EXAMPLES),
    "k6-plan": (k6_plan.k6_plan, k6_plan.EXAMPLES),
}
EXAMPLES = """\
vtlab check app.jar
vtlab try app.jar "GET /orders/17"
"""
LAB_EXAMPLES = """\
vtlab lab aa cpu --blocks 16
vtlab lab reproduce-publication mysql-slow-query
"""


def _group(sections: Mapping[str, _Commands], examples: str) -> typer.Typer:
    group = typer.Typer(
        cls=Group,
        epilog=examples,
        invoke_without_command=True,
        pretty_exceptions_enable=False,
        rich_markup_mode=None,
        context_settings={"help_option_names": ["-h", "--help"]},
    )
    for title, commands in sections.items():
        for name, (command, command_examples) in commands.items():
            group.command(name, cls=Page, epilog=command_examples, rich_help_panel=title)(command)
    return group


app, _lab = _group(SECTIONS, EXAMPLES), _group({"Commands": LAB_COMMANDS}, LAB_EXAMPLES)
app.add_typer(_lab, name="lab", hidden=True)


def _show_version(is_asked: bool) -> None:
    if is_asked:
        print(f"{program.NAME} {__version__}")
        raise typer.Exit


@app.callback()
def _vtlab(
    context: typer.Context,
    version: Annotated[
        bool, typer.Option("--version", help="Show the version and exit.", callback=_show_version, is_eager=True)
    ] = False,
) -> None:
    """Tell what virtual threads change for a Spring Boot service, at what load, and why."""
    _show_help_alone(context)


@_lab.callback()
def _vtlab_lab(context: typer.Context) -> None:
    """Work on vtlab itself: noise, simulated verdicts, published comparisons."""
    _show_help_alone(context)


def _show_help_alone(context: typer.Context) -> None:
    if context.invoked_subcommand is None:
        print(context.get_help())
        raise typer.Exit(2)


def _interrupted(number: int, _: types.FrameType | None) -> None:
    # One is enough: further ones must not interrupt the clean-up.
    for other in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(other, signal.SIG_IGN)
    raise Interrupted(f"stopped by {signal.Signals(number).name}")


def main() -> None:
    """Runs the call of this process; ends with the exit code of the call; a signal interrupts it."""
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, _interrupted)
    # Under nohup a closed terminal must not end the run.
    if signal.getsignal(signal.SIGHUP) != signal.SIG_IGN:
        signal.signal(signal.SIGHUP, _interrupted)
    sys.exit(call(sys.argv[1:]))


def call(arguments: Sequence[str]) -> int:
    """Runs one command; returns its exit code. Every error becomes a message and a fix; never a traceback."""
    try:
        code = app(list(arguments), prog_name=program.NAME, standalone_mode=False)
        return code if isinstance(code, int) else 0
    except LabError as error:
        return _fail(error.message, error.fix, error.exit_code)
    except typer.Abort:
        return 130
    except OSError as error:
        file = f": {error.filename}" if error.filename else ""
        return _fail(f"{error.strerror or error}{file}", "see that this is there, writable, and the disk not full", 3)
    except Exception as error:
        if os.environ.get("VTLAB_DEBUG"):
            raise
        if hasattr(error, "format_message") and hasattr(error, "exit_code"):  # Typer's own errors of usage
            return _fail(*usage.explain(error, arguments), error.exit_code)
        return _fail(
            f"internal error: {type(error).__name__}: {error}", "run again with VTLAB_DEBUG=1 and report it", 70
        )


def _fail(message: str, fix: str, code: int) -> int:
    print(f"{program.NAME}: {program.as_called(message)}", file=sys.stderr)
    if fix:
        print(f"  fix: {program.as_called(fix)}", file=sys.stderr)
    return code

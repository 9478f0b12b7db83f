"""The command line of vtlab: its commands, signals and exit codes."""

from __future__ import annotations

import os
import signal
import sys
import types
from collections.abc import Callable, Mapping, Sequence

import typer

from vtlab.commands import (
    aa,
    compare,
    doctor,
    history,
    init,
    list_,
    normalise,
    prometheus,
    report,
    reproduce,
    resume,
    run,
    simulate,
    tools,
    try_,
)
from vtlab.errors import Interrupted, LabError

#: In the order in which the help lists them.
COMMANDS: Mapping[str, Callable[..., None]] = {
    "run": run.run,
    "try": try_.try_,
    "init": init.init,
    "aa": aa.aa,
    "simulate": simulate.simulate,
    "reproduce": reproduce.reproduce,
    "resume": resume.resume,
    "report": report.report,
    "compare": compare.compare,
    "history": history.history,
    "prometheus": prometheus.prometheus,
    "list": list_.list_,
    "normalise": normalise.normalise,
    "tools": tools.tools_,
    "doctor": doctor.doctor_,
}
app = typer.Typer(add_completion=False, pretty_exceptions_enable=False, rich_markup_mode=None)
for _name, _command in COMMANDS.items():
    app.command(_name)(_command)


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
        code = app(list(arguments), prog_name="vtlab", standalone_mode=False)
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
        if hasattr(error, "format_message") and hasattr(error, "exit_code"):  # click's own usage errors
            return _fail(error.format_message(), "vtlab --help", error.exit_code)
        return _fail(
            f"internal error: {type(error).__name__}: {error}", "run again with VTLAB_DEBUG=1 and report it", 70
        )


def _fail(message: str, fix: str, code: int) -> int:
    print(f"vtlab: {message}", file=sys.stderr)
    if fix:
        print(f"  fix: {fix}", file=sys.stderr)
    return code

"""What can go wrong, with the exit code that the command then ends with (README.md)."""

from __future__ import annotations


class LabError(Exception):
    """An error for the user: ``message`` says what and where, ``fix`` what to do about it."""

    exit_code = 1

    def __init__(self, message: str, fix: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.fix = fix


class AssertionFailed(LabError):
    """A verdict asserted with ``--assert`` did not hold."""

    exit_code = 1


class BadInput(LabError):
    """An argument, an experiment file or a results directory is wrong."""

    exit_code = 2


class PrerequisiteMissing(LabError):
    """Something this machine lacks: a JDK, k6, Prometheus, a CPU limit, a free port, disk space."""

    exit_code = 3


class InvalidRun(LabError):
    """Too many blocks were rejected by the validity checks: there is no verdict to give."""

    exit_code = 4


class Interrupted(LabError):
    """Ctrl-C or SIGTERM: everything is stopped, the blocks measured so far are kept."""

    exit_code = 130


class BlockFault(Exception):
    """Something broke in the middle of a block, which therefore does not count and is measured again.

    Not a LabError: the command continues with the next attempt.
    """

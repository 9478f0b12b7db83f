"""Errors, each with the exit code with which the command then ends (docs/reference/cli.md)."""

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


class GeneratorFailed(BlockFault):
    """The load generator was killed, as for lack of memory: fewer users may be what it can send."""


class VariantFailed(BlockFault):
    """A variant broke while it was measured: a result of the variant, and the others can be measured further.

    A BlockFault too, for callers that measure no others.
    """

    def __init__(self, variant: str, reason: str, phase: str | None = None, log: str = "") -> None:
        """``reason`` completes "it fails: …"; ``phase`` is k6's tag of the phase that loaded it last (``w2``, ``s1``,
        ``3``), ``log`` the end of what it said."""
        super().__init__(f"{variant}: {reason}" + (f" ({log})" if log else ""))
        self.variant = variant
        self.reason = reason
        self.phase = phase

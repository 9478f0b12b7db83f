"""The reset before each trial of a service that writes: a request to the variant, or a command."""

from __future__ import annotations

import shlex
import urllib.error
import urllib.request
from pathlib import Path

from vtlab.errors import BadInput, BlockFault
from vtlab.host import variables
from vtlab.host.process_ledger import Command, Ledger
from vtlab.host.server import any_certificate
from vtlab.host.wait import wait_until
from vtlab.model.workload import ENVIRONMENT, METHODS, body_text, filled, is_json, parse_line

#: Seconds that it may take.
WITHIN = 60.0


def run(text: str, variant: str, base: str, ledger: Ledger, log: Path) -> None:
    """Resets a variant at ``base`` by the request or command in ``text``, and waits for its end.

    BadInput where it fails, without what it sends, which may be secret; BlockFault where it takes too long or the
    variant does not answer.
    """
    values = {"base": base, "variant": variant}
    if text.partition(" ")[0] in METHODS:
        _request(text, values | {f"{ENVIRONMENT}{name}": value for name, value in variables.known().items()}, base)
    else:
        _command(text, values, ledger, log)


def _request(text: str, values: dict[str, str], base: str) -> None:
    try:
        fields = parse_line(text)
    except ValueError as error:
        raise BadInput(f"reset: {error}", "write reset: POST /test/reset, or a command") from None
    body = body_text(fields.get("body"))
    request = urllib.request.Request(
        base + filled(fields["path"], values),
        method=fields["method"],
        data=None if body is None else filled(body, values).encode(),
        headers={"Content-Type": "application/json"} if is_json(fields.get("body")) else {},
    )
    subject = f"reset: {fields['method']} {fields['path']}"
    # No proxy is asked for this machine.
    handlers = [urllib.request.ProxyHandler({}), urllib.request.HTTPSHandler(context=any_certificate())]
    try:
        with urllib.request.build_opener(*handlers).open(request, timeout=WITHIN) as answer:
            answer.read()
    except urllib.error.HTTPError as error:
        raise BadInput(f"{subject} was answered {error.code}", "correct the request of reset") from None
    except OSError as error:
        raise BlockFault(f"{subject} was not answered: {error}") from None


def _command(text: str, values: dict[str, str], ledger: Ledger, log: Path) -> None:
    words = [filled(word, values) for word in shlex.split(text)]
    process = ledger.start(Command(words, role="reset between two trials", log=log, environment=variables.known()))
    try:
        wait_until(f"reset: {text} did not end", lambda: process.returncode() is not None, WITHIN)
    finally:
        process.stop(1)
    if process.returncode():
        reason = f"{process.exit_description()}: {process.last_lines() or 'no output'}"
        raise BadInput(f"reset: {text} ended with {reason}", "correct the command of reset")

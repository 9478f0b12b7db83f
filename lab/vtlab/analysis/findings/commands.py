"""Command that tries a finding's cure, ready to be typed.

A row of ``findings.json`` knows neither the path of the jar nor what is asked of the service.
"""

from __future__ import annotations

import re
import shlex
from pathlib import PurePath

#: Calls that take ``--variant``.
_CALLS = ("vtlab try ", "vtlab run ")
_VARIANT = " --variant "
#: What can be asked of any service.
_REQUEST = shlex.quote("GET /")


def cure_in_call(command: str, jar: str, call: str) -> str:
    """Writes the call that measured the service, with the cure of ``command`` in it, if that is a variant or a jar;
    ``command`` itself where that call takes no further variant. ``jar``: the name of the service's jar, as it stands in
    ``command``."""
    if not call.startswith(_CALLS):
        return command
    _, has_variant, variant = command.partition(_VARIANT)
    words = shlex.split(call)
    if has_variant:
        return call if variant in words else f"{call}{_VARIANT}{variant}"
    # Another jar, made by a command before: it takes the place of the first.
    before, has_other, other = command.partition(" && vtlab try ")
    path = next((word for word in words if PurePath(word).name == jar), None)
    if not has_other:
        return call
    if path is None:
        return command
    again = shlex.join([other if word == path else word for word in words])
    return f"{_with_path(before, jar, path)} && {again}"


def cure_for_jar(command: str, path: PurePath) -> str:
    """Writes ``command``, which has the jar's name, for the jar at that path, with a request."""
    typed = _with_path(command, path.name, str(path))
    return re.sub(r"(vtlab try )('[^']*'|\S+)", rf"\1\2 {_REQUEST}", typed)


def cure_for_file(command: str, jar: PurePath, file: PurePath) -> str:
    """Writes ``command``, which has the jar's name, for the experiment's file that names the jar at that path."""
    return _with_path(command, jar.name, str(file)) if _VARIANT in command else cure_for_jar(command, jar)


def _with_path(command: str, name: str, path: str) -> str:
    return re.sub(rf"(?<= ){re.escape(name)}", lambda _: shlex.quote(path), command)

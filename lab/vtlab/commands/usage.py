"""Errors of usage, each with the change that helps: names that changed, names that are near, examples."""

from __future__ import annotations

import re
import shlex
from collections.abc import Sequence
from difflib import get_close_matches
from typing import Any

from vtlab.errors import BadInput
from vtlab.host import program

#: Commands of earlier versions, and what takes their place.
MOVED = {
    "list": "experiments",
    "serve": "prometheus",
    "aa": "lab aa",
    "simulate": "lab simulate",
    "reproduce": "lab reproduce-publication",
    "normalise": "lab k6-plan",
}
#: Options of earlier versions, of any command or of one, and what takes their place.
RENAMED = {
    "--within": "--max-time",
    "--with": "--variant",
    "--between": "--reset",
    "--think": "--think-time",
    "--diagnosis": "--thread-dumps",
    "--out": "--output",
    "lab aa --variant": "--threads",
}
#: Options of ``vtlab doctor`` that went to ``vtlab check``.
CHECKS = ("--json", "--java", "--jvm")
#: Words for the kinds of values that pydantic names.
_KINDS = {"int_parsing": "a whole number", "int_from_float": "a whole number", "float_parsing": "a number"}

#: Likeness from which a name may have been meant: --user for --users, not --colour for --cpu.
_NEAR = 0.7


def refuse_command(path: str, words: Sequence[str], known: Sequence[str]) -> None:
    """Raises BadInput for a command that is not there. ``path``: what stands before it, such as ``vtlab lab``;
    ``words``: the command and what follows."""
    name = words[0]
    if name in MOVED:
        moved = [program.NAME, *MOVED[name].split(), *words[1:]]
        raise BadInput(f"'{name}' is '{MOVED[name]}' now", shlex.join(moved))
    near = get_close_matches(name, known, 1, _NEAR)
    meant = f"did you mean {path} {near[0]}? " if near else ""
    command = f"{path} {name}".removeprefix(f"{program.NAME} ")
    raise BadInput(f"there is no command '{command}'", f"{meant}{path} --help lists the commands")


def explain(error: Any, words: Sequence[str]) -> tuple[str, str]:
    """Returns the message and the fix of an error that Typer found in the words of a call."""
    path = error.ctx.command_path if error.ctx else " ".join([program.NAME, *words[:1]])
    name, help_page = path.removeprefix(f"{program.NAME} "), f"{path} --help"
    parameter, option = getattr(error, "param", None), getattr(error, "option_name", None)
    if hasattr(error, "possibilities"):
        return _no_such_option(error, path)
    if option:
        return f"{name} {option} needs a value", f"{help_page} shows which"
    if parameter is None:
        message = re.sub(
            r"Got unexpected extra argument(?:s|\(s\))? \((.*)\)", r"unexpected argument \1", error.message
        )
        return f"{name}: {message}".rstrip("."), f"{help_page} shows what it takes"
    title = parameter.opts[-1] if parameter.param_type_name == "option" else parameter.metavar
    if type(error).__name__ == "MissingParameter":
        example = (error.ctx.command.epilog or help_page).splitlines()[0]
        return f"{name}: {title} is missing", f"write it, as in: {example}"
    causes = error.__cause__.errors() if hasattr(error.__cause__, "errors") else []
    kind = _KINDS.get(causes[0]["type"]) if causes else None
    if kind is None:
        return f"{name} {title}: {error.message}", f"{help_page} shows what it takes"
    return f"{name} {title} {shlex.quote(str(causes[0]['input']))}: not {kind}", f"write {kind}"


def _no_such_option(error: Any, path: str) -> tuple[str, str]:
    name, option = path.removeprefix(f"{program.NAME} "), error.option_name
    known = {option.lstrip("-"): option for parameter in error.ctx.command.params for option in parameter.opts}
    message, help_page = f"{name} has no option {option}", f"{path} --help lists the options"
    renamed = RENAMED.get(f"{name} {option}", RENAMED.get(option))
    if renamed in known.values():
        return f"{name} {option} is {renamed} now", f"write {renamed} in its place"
    if name == "doctor" and option in CHECKS:
        return message, f"look into a jar with: {program.NAME} check app.jar {option}"
    near = get_close_matches(option.lstrip("-"), known, 1, _NEAR)
    return message, f"did you mean {known[near[0]]}? {help_page}" if near else help_page

"""Help pages: options in groups, and examples that can be typed."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from typer.core import TyperCommand, TyperGroup

from vtlab.commands import usage

#: Groups of options.
LOAD, SERVICE, STOP, RESULTS, CLUSTER = "Load", "Service", "When to stop", "Results", "Cluster"
#: What ``--database`` stands for without a name.
MARIADB = "mariadb"
_DATABASE = "--database"


class Page(TyperCommand):
    """A command and its help."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Parses the words of a call. ``--database`` may stand alone."""
        return super().parse_args(ctx, with_database(args))

    def collect_usage_pieces(self, ctx: Any) -> list[str]:
        """Returns the parts of the usage line: ``[OPTIONS] SERVICE [REQUEST]...``."""
        arguments = [each for each in self.get_params(ctx) if not getattr(each, "hidden", False)]
        pieces = [piece for argument in arguments for piece in argument.get_usage_pieces(ctx)]
        return ["[OPTIONS]", *(piece.replace("{", "").replace("}", "") for piece in pieces)]

    def format_options(self, ctx: Any, formatter: Any) -> None:
        """Writes arguments and options, a section for each group."""
        _write_sections(self, ctx, formatter)

    def format_epilog(self, ctx: Any, formatter: Any) -> None:
        """Writes the examples."""
        _write_examples(self, formatter)


class Group(TyperGroup):
    """Several commands and their help."""

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """Finds the command of a call. BadInput for one that is not there, or no longer."""
        if not ctx.resilient_parsing and args[0] not in self.commands and not args[0].startswith("-"):
            visible = [name for name, command in self.commands.items() if not command.hidden]
            usage.refuse_command(ctx.command_path, args, visible)
        return super().resolve_command(ctx, args)

    def format_options(self, ctx: Any, formatter: Any) -> None:
        """Writes the commands, then the options."""
        self.format_commands(ctx, formatter)
        _write_sections(self, ctx, formatter)

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """Writes the commands, a section for each group, with the first sentence of each command's help."""
        sections: dict[str, list[tuple[str, str]]] = {}
        visible: dict[str, Any] = {name: each for name, each in self.commands.items() if not each.hidden}
        width = max(map(len, visible))
        for name, command in visible.items():
            sentence = command.get_short_help_str(len(command.help))
            sections.setdefault(command.rich_help_panel, []).append((name.ljust(width), sentence))
        _write_rows(sections, formatter)

    def format_epilog(self, ctx: Any, formatter: Any) -> None:
        """Writes the examples."""
        _write_examples(self, formatter)


def with_database(words: Sequence[str]) -> list[str]:
    """Writes the name of a database, or the default, into the word of its option. A jar, a file and a request
    have a dot, a slash or a space, so one that follows the option stays what it is."""
    written: list[str] = []
    for word in words:
        if written and written[-1] == _DATABASE and re.fullmatch(r"\w+", word):
            written[-1] = f"{_DATABASE}={word}"
        else:
            written.append(word)
    return [f"{_DATABASE}={MARIADB}" if word == _DATABASE else word for word in written]


def examples(command: Any) -> Sequence[str]:
    """Returns the examples of a command, each as it is typed."""
    return (command.epilog or "").splitlines()


def _write_sections(command: Any, ctx: Any, formatter: Any) -> None:
    sections: dict[str, list[tuple[str, str]]] = {}
    for parameter in command.get_params(ctx):
        record = parameter.get_help_record(ctx)
        if record is None:
            continue
        name, text = record
        if parameter.param_type_name == "argument":
            sections.setdefault("Arguments", []).append((parameter.metavar or name, text))
        else:
            sections.setdefault(parameter.rich_help_panel or "Options", []).append((name, text))
    _write_rows(sections, formatter)


def _write_rows(sections: Mapping[str, list[tuple[str, str]]], formatter: Any) -> None:
    for title, rows in sections.items():
        with formatter.section(title):
            formatter.write_dl(rows)


def _write_examples(command: Any, formatter: Any) -> None:
    if command.epilog:
        with formatter.section("Examples"):
            for example in examples(command):
                formatter.write(f"  {example}\n")

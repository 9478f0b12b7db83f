"""Strings that users read are in plain English: ``make prose`` and this test share their rules."""

from __future__ import annotations

import ast
import json
import re
import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.support.versions import REPOSITORY

VTLAB, STYLES = REPOSITORY / "lab/vtlab", REPOSITORY / ".vale/styles/Lab"
#: Docstrings of its public functions are the help of the command line.
COMMANDS = VTLAB / "commands"
#: Keys of the catalogue's files that hold text.
TEXTS = ("words", "with_amount", "summary", "description", "help", "title", "symptom", "cause", "cure")
#: Fewer than on a page: a figure or a name takes the place of a placeholder.
MOST_WORDS = 30
#: Values that recorded runs have, which are not shown.
STORED = ("levelled off",)
ERRORS = ("LabError", "AssertionFailed", "BadInput", "PrerequisiteMissing", "InvalidRun")

_FLAG_OR_CODE = re.compile(r"`[^`]*`|(?<!\w)--?[a-z][\w-]*|\w*\.\w+(?:\.\w+)+|\b\w+_\w+\b")
_WORD = re.compile(r"[A-Za-z{][\w.,'’/{}-]*")
_SEVERAL_WORDS = re.compile(r"[A-Za-z]{2,}[,;:]? [A-Za-z{]")


def rules() -> list[tuple[str, re.Pattern[str]]]:
    """Reads the patterns of the docs' style, by name."""
    found = []
    # Queries of Prometheus have parentheses within parentheses.
    for file in sorted(file for file in STYLES.glob("*.yml") if file.stem != "Parentheses"):
        style = yaml.safe_load(file.read_text(encoding="utf-8"))
        for token in [*style.get("tokens", ()), *(rf"\b(?:{key})\b" for key in style.get("swap", ()))]:
            found.append((file.stem, re.compile(_fixed_width(token), re.IGNORECASE)))
    return found


def _fixed_width(pattern: str) -> str:
    """Splits ``(?<!a|bc)``, which Python does not take, into ``(?<!a)(?<!bc)``."""
    return re.sub(r"\(\?<!([^()]*\|[^()]*)\)", lambda m: "".join(f"(?<!{part})" for part in m[1].split("|")), pattern)


RULES = rules()


def broken(text: str) -> list[str]:
    """Names the rules that a text breaks, with the words."""
    plain = _FLAG_OR_CODE.sub("X", text)
    faults = [f"{name}: '{match[0].strip()}'" for name, rule in RULES if (match := rule.search(plain))]
    longest = max(len(_WORD.findall(sentence)) for sentence in re.split(r"[.:;!?](?:\s|$)|\n\n", plain))
    return [*faults, *([f"{longest} words in a sentence"] if longest > MOST_WORDS else [])]


def strings(file: Path) -> Iterator[tuple[int, str]]:
    """Yields line and text of the strings of a Python file with two words or more; placeholders are ``{}``."""
    tree = ast.parse(file.read_text(encoding="utf-8"))
    parts = {id(part) for node in ast.walk(tree) if isinstance(node, ast.JoinedStr) for part in node.values}
    bare = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef) and file.is_relative_to(COMMANDS) and not node.name.startswith("_"):
            yield node.lineno, ast.get_docstring(node) or ""
        text = None if id(node) in parts | bare else _text(node)
        if text and text not in STORED and _SEVERAL_WORDS.search(text):
            yield getattr(node, "lineno", 0), text


def _text(node: ast.AST) -> str | None:
    if isinstance(node, ast.JoinedStr):
        return "".join(str(part.value) if isinstance(part, ast.Constant) else "{}" for part in node.values)
    return node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else None


def texts(value: Any, key: str = "") -> Iterator[str]:
    """Yields the texts of a catalogue's file."""
    if isinstance(value, str):
        yield from [value] if key in TEXTS else []
    elif isinstance(value, Mapping):
        for name, inner in value.items():
            yield from texts(inner, name)
    elif isinstance(value, list):
        for inner in value:
            yield from texts(inner, key)


def sources() -> Iterator[tuple[str, str]]:
    """Yields place and text of all that users read."""
    for file in sorted(VTLAB.rglob("*")):
        place = file.relative_to(VTLAB).as_posix()
        content = file.read_text(encoding="utf-8") if file.suffix in (".toml", ".j2", ".json") else ""
        if file.suffix == ".py":
            yield from ((f"{place}:{line}", text) for line, text in strings(file))
        elif file.suffix == ".toml":
            yield from ((place, text) for text in texts(tomllib.loads(content)))
        elif file.name == "findings.json":
            yield from ((place, text) for text in texts(json.loads(content)))
        elif file.suffix == ".j2":
            yield from ((place, text) for text in re.findall(r">([^<>{}]*[a-z] [a-z][^<>{}]*)<", content))


def test_strings_are_in_plain_english() -> None:
    faults = [f"{place}: {fault}" for place, text in sources() for fault in broken(text)]
    assert faults == [], "\n".join(faults)


def test_each_error_says_what_to_do() -> None:
    calls = [
        (file.relative_to(VTLAB).as_posix(), node)
        for file in VTLAB.rglob("*.py")
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8")))
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in ERRORS
    ]
    assert len(calls) > 100
    assert [f"{place}:{call.lineno}" for place, call in calls if len(call.args) + len(call.keywords) < 2] == []


@pytest.mark.parametrize(
    ("text", "is_plain"),
    [
        ("So many users", False),
        ("Wanted half-width of the ratio's interval; 25% if none", False),
        ("fewer than none", False),
        ("over 3 blocks (look 2 of at most 6; the interval allows for all)", False),
        ("{} is no jar", False),
        ("no verdict, for one block gives no interval", False),
        (f"it says {'one word and ' * 12}stops", False),
        ("measured 4.98× (4.77–5.21); the users ran out first", True),
        ("Stopped: too little time left for another block", True),
        ("completes only one block, too few for an interval", True),
        ("give --spread PERCENT, or --aa with two results directories", True),
    ],
)
def test_what_is_plain_english(text: str, is_plain: bool) -> None:
    assert (broken(text) == []) == is_plain


def test_all_kinds_of_files_are_read() -> None:
    assert {place.partition(":")[0].rsplit(".", 1)[-1] for place, _ in sources()} == {"py", "toml", "json", "j2"}

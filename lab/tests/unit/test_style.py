"""Rules of style that ruff does not have: beginnings of docstrings, lengths of functions, numbers of parameters."""

from __future__ import annotations

import ast
from collections.abc import Iterator

import pytest

from tests.support.versions import REPOSITORY

FOLDERS = ("lab/vtlab", "lab/maintain", "lab/benchmarks", "lab/tests/support", "e2e")
MOST_LINES, MOST_PARAMETERS = 40, 5
#: Neither a verb nor a noun.
REFUSED = ("of", "those", "with", "has", "as of", "in so many")
#: The same of a function that is no test: what a test holds may be a sentence with a condition.
REFUSED_OF_FUNCTION = (
    "by",
    "from",
    "to",
    "where",
    "when",
    "whether",
    "whose",
    "how",
    "true",
    "false",
    "true:",
    "false:",
)
#: The options of the command line are the parameters of its functions.
COMMANDS = "lab/vtlab/commands/"
#: What makes data for tests names by keyword what a test wants otherwise.
MAKERS = "lab/tests/support/"

_Function = ast.FunctionDef | ast.AsyncFunctionDef


def nodes(kinds: tuple[type[ast.AST], ...]) -> Iterator[tuple[str, ast.AST]]:
    """Yields ``path:line`` and the node for each node of these kinds in product code and in the tests of a cluster."""
    for path in sorted(path for folder in FOLDERS for path in (REPOSITORY / folder).rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, kinds):
                yield f"{path.relative_to(REPOSITORY).as_posix()}:{getattr(node, 'lineno', 1)}", node


def begins_badly(docstring: str, function: str = "") -> bool:
    """Tells whether a docstring begins with what is neither; ``function``: the name of what it documents."""
    words = docstring.lower().split(maxsplit=3)
    refused = (*REFUSED, *REFUSED_OF_FUNCTION * bool(function and not function.startswith("test_")))
    return any(" ".join(words[:count]) in refused for count in (1, 2, 3))


def field_comments() -> Iterator[tuple[str, str]]:
    """Yields ``path:line`` and the text of the first line of each ``#:`` comment."""
    for path in sorted(path for folder in FOLDERS for path in (REPOSITORY / folder).rglob("*.py")):
        before = ""
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
            mark, _, text = line.strip().partition("#: ")
            if not mark and text and not before.startswith("#: "):
                yield f"{path.relative_to(REPOSITORY).as_posix()}:{number}", text
            before = line.strip()


def parameters(function: _Function) -> int:
    """The number of parameters that a caller passes."""
    arguments = [*function.args.posonlyargs, *function.args.args, *function.args.kwonlyargs]
    return len([argument for argument in arguments if argument.arg not in ("self", "cls")])


def lines(function: _Function, place: str) -> int:
    """The length of a function; of a command without its options, which each have a line."""
    first = function.body[0].lineno if place.startswith(COMMANDS) else function.lineno
    return (function.end_lineno or first) - first + 1


def test_docstrings_begin_with_a_verb_or_a_noun() -> None:
    kinds = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Module)
    documented = [
        (place, ast.get_docstring(node) or "", node.name if isinstance(node, _Function) else "")  # type: ignore[arg-type]
        for place, node in nodes(kinds)
    ]
    assert [f"{place}: {text[:40]}" for place, text, function in documented if begins_badly(text, function)] == []


def test_comments_of_fields_begin_with_a_verb_or_a_noun() -> None:
    found = [f"{place}: {text[:40]}" for place, text in field_comments() if begins_badly(text)]
    assert found == []


def test_functions_are_short() -> None:
    long = [
        f"{place} {node.name}: {lines(node, place)} lines"
        for place, node in nodes((ast.FunctionDef, ast.AsyncFunctionDef))
        if isinstance(node, _Function) and lines(node, place) > MOST_LINES
    ]
    assert long == [], f"at most {MOST_LINES} lines"


def test_functions_take_few_parameters() -> None:
    many = [
        f"{place} {node.name}: {parameters(node)} parameters"
        for place, node in nodes((ast.FunctionDef, ast.AsyncFunctionDef))
        if isinstance(node, _Function)
        and parameters(node) > MOST_PARAMETERS
        and not place.startswith((COMMANDS, MAKERS))
    ]
    assert many == [], f"more than {MOST_PARAMETERS} take a frozen dataclass"


@pytest.mark.parametrize(
    ("docstring", "is_bad"),
    [
        ("Of a run, its blocks.", True),
        ("As of then.", True),
        ("In so many words.", True),
        ("Offers a port.", False),
        ("Hash of a file.", False),
        ("", False),
    ],
)
def test_how_a_docstring_may_not_begin(docstring: str, is_bad: bool) -> None:
    assert begins_badly(docstring) == is_bad


@pytest.mark.parametrize(
    ("function", "is_bad"), [("runs", True), ("test_it_runs", False), ("", False)], ids=["function", "test", "class"]
)
def test_what_is_a_question_documents_no_function(function: str, is_bad: bool) -> None:
    assert {begins_badly(docstring, function) for docstring in ("Whether it runs.", "True: it runs.")} == {is_bad}


def test_parameters_and_lines_are_counted() -> None:
    source = "class A:\n    def f(self, a, /, b, *, c):\n        return a\n"
    (function,) = [node for node in ast.walk(ast.parse(source)) if isinstance(node, ast.FunctionDef)]
    assert (parameters(function), lines(function, "lab/vtlab/a.py:2"), lines(function, f"{COMMANDS}a.py:2")) == (
        3,
        2,
        1,
    )


def test_there_is_code_to_look_at() -> None:
    places = [place for place, _ in nodes((ast.Module,))]
    assert [folder for folder in FOLDERS if not any(place.startswith(folder) for place in places)] == []

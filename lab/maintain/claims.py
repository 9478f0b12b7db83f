"""Claims of the tests above unit level: the tables of ``docs/maintainers/claims.md``, made from the tests' sources.

A claim is one sentence: the first of a Python test's docstring, the first of the Javadoc of a test class with
``@Tag("context")``, the title of a k6 test. Nothing is imported: reading the sources starts nothing.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from maintain.reference.pages import page

DOCUMENT = "docs/maintainers/claims.md"
_INTRODUCTION = "Each claim has one owner, the test beside it. [Tests](tests.md) explains levels and claims."
#: The levels above unit, in the order of the table.
LEVELS = ("contract", "truth", "truth-all", "truth-calls", "e2e", "e2e-all")

_JAVADOC = re.compile(
    r"/\*\*(?P<text>(?:(?!\*/).)*)\*/\s*(?P<annotations>(?:@[^\n]*\n\s*)*)(?:public )?class (?P<name>\w+)", re.S
)
_JAVA_CLASS = re.compile(r"^(?P<annotations>(?:@[^\n]*\n)*)(?:public )?class (?P<name>\w+)", re.M)
_TITLE = re.compile(r"^ *test\(\s*(['\"`])(?P<title>.*?)\1,", re.M | re.S)


@dataclass(frozen=True)
class Claim:
    """A statement that one test proves. ``text`` is empty where the test has none."""

    text: str
    #: Path below the repository and name: ``lab/tests/contract/test_target.py::test_a_whole_block``.
    owner: str
    level: str


def read(repository: Path) -> list[Claim]:
    """Reads the claims of all tests above unit level, by level, in the order of files and lines."""
    claims = [*_python(repository), *_java(repository), *_k6(repository)]
    return sorted(claims, key=lambda claim: LEVELS.index(claim.level))


def document(repository: Path) -> str:
    """Writes the text of ``docs/maintainers/claims.md``."""
    return page("Claims of the tests", "the tests", _INTRODUCTION, table(read(repository)))


def table(claims: Sequence[Claim]) -> str:
    """Renders one table for each level: a claim and the test that owns it."""
    lines: list[str] = []
    for level in LEVELS:
        rows = [claim for claim in claims if claim.level == level]
        if rows:
            lines += ["", f"## make {'test' if level == 'contract' else level}", "", "| claim | test |", "|---|---|"]
            lines += [f"| {_cell(claim.text)} | `{claim.owner}` |" for claim in rows]
    return "\n".join(lines) + "\n"


def _cell(text: str) -> str:
    return text.replace("|", "\\|")


def _python(repository: Path) -> Iterator[Claim]:
    for folder in ("lab/tests/contract", "lab/tests/truth", "e2e/on_cluster"):
        for path in sorted((repository / folder).rglob("test_*.py")):
            owner = path.relative_to(repository).as_posix()
            module = ast.parse(path.read_text(encoding="utf-8"))
            marks = _marks(module.body)
            for names, function in _tests(module):
                level = _level(folder, marks | {_mark(decorator) for decorator in function.decorator_list})
                yield Claim(_first_sentence(ast.get_docstring(function) or ""), f"{owner}::{names}", level)


def _tests(module: ast.Module) -> Iterator[tuple[str, ast.FunctionDef]]:
    for node in module.body:
        if isinstance(node, ast.FunctionDef) and node.name.startswith("test_"):
            yield node.name, node
        elif isinstance(node, ast.ClassDef) and node.name.startswith("Test"):
            for member in node.body:
                if isinstance(member, ast.FunctionDef) and member.name.startswith("test_"):
                    yield f"{node.name}::{member.name}", member


def _level(folder: str, marks: set[str]) -> str:
    if folder == "lab/tests/contract":
        return "contract"
    if folder == "lab/tests/truth":
        return "truth-calls" if "calls" in marks else "truth" if "small" in marks else "truth-all"
    return "e2e-all" if "cluster_all" in marks else "e2e"


def _marks(body: Sequence[ast.stmt]) -> set[str]:
    """Lists the names of the marks of a whole module."""
    for node in body:
        if isinstance(node, ast.Assign) and any(isinstance(t, ast.Name) and t.id == "pytestmark" for t in node.targets):
            values = node.value.elts if isinstance(node.value, ast.List) else [node.value]
            return {_mark(value) for value in values}
    return set()


def _mark(decorator: ast.expr) -> str:
    """Returns the name of a mark: ``small`` of ``pytest.mark.small`` and of ``pytest.mark.small(...)``."""
    target = decorator.func if isinstance(decorator, ast.Call) else decorator
    return target.attr if isinstance(target, ast.Attribute) else ""


def _java(repository: Path) -> Iterator[Claim]:
    folders = (repository / project / "src" / "test" for project in ("agent", "app"))
    for path in (path for folder in folders for path in sorted(folder.rglob("*Tests.java"))):
        source = path.read_text(encoding="utf-8")
        owner = path.relative_to(repository).as_posix()
        documented = {match["name"]: _plain(match["text"]) for match in _JAVADOC.finditer(source)}
        for match in _JAVA_CLASS.finditer(source):
            if '@Tag("context")' in match["annotations"]:
                yield Claim(_first_sentence(documented.get(match["name"], "")), owner, "contract")


def _plain(javadoc: str) -> str:
    text = re.sub(r"^\s*\*? ?", "", javadoc, flags=re.M)
    return re.sub(r"\{@\w+ ([^}]*)\}", r"\1", text).partition("\n@")[0]


def _k6(repository: Path) -> Iterator[Claim]:
    for path in sorted((repository / "k6" / "tests").glob("*.test.mjs")):
        if not path.name.startswith("pure."):
            level = "truth-calls" if path.name == "backlog.test.mjs" else "contract"
            for match in _TITLE.finditer(path.read_text(encoding="utf-8")):
                title = re.sub(r":? ?\$\{[^}]*\}", "", match["title"])
                yield Claim(f"{title[0].upper()}{title[1:]}.", path.relative_to(repository).as_posix(), level)


def _first_sentence(text: str) -> str:
    paragraph = " ".join(text.strip().partition("\n\n")[0].split())
    return re.split(r"(?<=[.!?]) ", paragraph, maxsplit=1)[0]

"""docs/how-to/troubleshooting.md: vtlab prints what the page says that one sees on one machine."""

from __future__ import annotations

import re

import pytest

from tests.support.versions import REPOSITORY

PAGE = (REPOSITORY / "docs/how-to/troubleshooting.md").read_text(encoding="utf-8")
#: The shortest piece of a message that is looked for: shorter pieces stand anywhere.
LEAST = 9
#: Examples in the messages of the page, where the code has a parameter.
EXAMPLES = r"…|GET /orders/17|\bk6\b"


def source() -> str:
    """The code of vtlab, with the parts of a string put together."""
    text = "\n".join(file.read_text(encoding="utf-8") for file in sorted((REPOSITORY / "lab/vtlab").rglob("*.py")))
    return re.sub(r'"\s*\n\s*f?"', "", text)


def symptoms() -> list[str]:
    """The messages in the first column of each table about one machine."""
    rows = []
    for section in re.findall(r"^## One machine.*?(?=^## |\Z)", PAGE, re.M | re.S):
        rows += re.findall(r"^\| ([^|]*) \|", section, re.M)
    return [message for row in rows for message in re.findall(r"`([^`]+)`", row) if " " in message]


def test_the_page_begins_with_one_machine() -> None:
    heads = re.findall(r"^## (.*)$", PAGE, re.M)
    assert [head.startswith("One machine") for head in heads[:3]] == [True] * 3
    assert len(symptoms()) >= 25


@pytest.fixture(scope="module")
def code() -> str:
    return source()


@pytest.mark.parametrize("message", symptoms())
def test_vtlab_prints_the_message(message: str, code: str) -> None:
    pieces = [piece.strip() for piece in re.split(EXAMPLES, message)]
    assert [piece for piece in pieces if len(piece) >= LEAST and piece not in code] == []

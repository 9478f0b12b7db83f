"""Common parts of the generated pages: a heading, a note of their source, tables."""

from __future__ import annotations

from collections.abc import Iterable, Sequence


def page(title: str, source: str, *parts: str) -> str:
    """Renders a page of paragraphs and tables. ``source``: the file to change in its place."""
    note = f"<!-- Generated from {source} by `make generate`: do not edit this page. -->"
    return "\n\n".join([f"# {title}", note, *(part.strip("\n") for part in parts)]) + "\n"


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Renders a Markdown table. Cells are Markdown: code in them has its backticks."""
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join(f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in line)} |" for line in lines)


def code(text: str) -> str:
    """Sets a text in code type; an empty text stays empty."""
    return f"`{text}`" if text else ""


def sentence(text: str) -> str:
    """Capitalises a help text, unless it begins with a number or a name."""
    text = " ".join(text.split())
    return text[:1].upper() + text[1:] if text.split(" ")[0].rstrip(",.").isalpha() else text

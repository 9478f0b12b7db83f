"""The words of each page of Markdown that readers get: ``python -m maintain.words``. A test holds pages that are
written by hand to ``MOST``."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from vtlab import shipped

#: The most words of a page that is written by hand. A longer page is two questions.
MOST = 1500
#: What generated pages begin with, after their title.
_GENERATED = re.compile(r"^(?:<!-- )?(?:Generated from|The tables are the output of) ", re.M)
_PAGES = ("*.md", "docs/**/*.md", "agent/README.md", "e2e/kind/README.md", "helm/README.md")


@dataclass(frozen=True)
class Page:
    """A page, by its path in the repository."""

    path: str
    words: int
    is_generated: bool


def pages(root: Path = shipped.ROOT) -> list[Page]:
    """Reads the pages of a repository, the longest first."""
    read = [_page(path, root) for pattern in _PAGES for path in root.glob(pattern)]
    return sorted(read, key=lambda page: (-page.words, page.path))


def _page(path: Path, root: Path) -> Page:
    text = path.read_text(encoding="utf-8")
    return Page(path.relative_to(root).as_posix(), len(text.split()), bool(_GENERATED.search(text)))


def table(read: Iterable[Page]) -> str:
    """Writes a line for each page, and both sums."""
    read = list(read)
    lines = [f"{page.words:6,}  {page.path}{'  (generated)' * page.is_generated}" for page in read]
    for name, is_generated in (("by hand", False), ("generated", True)):
        lines.append(f"{sum(page.words for page in read if page.is_generated == is_generated):6,}  {name}")
    return "\n".join(lines)


if __name__ == "__main__":
    print(table(pages()))

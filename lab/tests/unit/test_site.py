"""The site that mkdocs makes of the docs."""

from __future__ import annotations

import importlib.util
import re
from pathlib import Path

import pytest

from tests.support import site as site_of_docs
from tests.support.versions import REPOSITORY

pytestmark = pytest.mark.skipif(
    importlib.util.find_spec("material") is None, reason="no mkdocs: make setup installs it"
)


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return site_of_docs.build(tmp_path_factory.mktemp("site"))


def test_it_loads_nothing_from_other_hosts(site: Path) -> None:
    pages = list(site.rglob("*.html"))
    assert len(pages) > len(list((REPOSITORY / "docs").rglob("*.md")))
    loaded = re.compile(r'<(?:script|img|iframe|source)[^>]+src="(?:https?:)?//|<link[^>]+href="(?:https?:)?//')
    assert [page.name for page in pages if loaded.search(page.read_text(encoding="utf-8"))] == []
    styles = [sheet for sheet in site.rglob("*.css") if re.search(r"url\(['\"]?(?:https?:)?//", sheet.read_text())]
    assert styles == []


def test_it_can_be_searched(site: Path) -> None:
    index = (site / "search" / "search_index.json").read_text(encoding="utf-8")
    assert "When virtual threads help" in index

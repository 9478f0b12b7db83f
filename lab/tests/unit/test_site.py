"""The site that mkdocs makes of the docs."""

from __future__ import annotations

import importlib.util
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.versions import REPOSITORY

pytestmark = pytest.mark.skipif(
    importlib.util.find_spec("material") is None, reason="no mkdocs: make setup installs it"
)


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The site; strict, so that a page without a place in the navigation or a lost link fails."""
    folder = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "mkdocs", "build", "-q", "--strict", "-d", str(folder)]
    environment = {**os.environ, "NO_MKDOCS_2_WARNING": "1"}
    done = subprocess.run(command, cwd=REPOSITORY, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return folder


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

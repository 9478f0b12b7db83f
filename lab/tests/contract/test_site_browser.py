"""The front page of the docs' site in a real browser."""

from __future__ import annotations

from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser

from tests.contract.test_report_browser import AXE, SIZES, VIOLATIONS
from tests.support import site
from tests.support.browser import new_page
from tests.support.serving import serving


class Quiet(SimpleHTTPRequestHandler):
    """Serves files, and logs no request."""

    def log_message(self, format: str, *args: Any) -> None:
        """Drops the line."""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return site.build(tmp_path_factory.mktemp("site"))


@pytest.mark.parametrize("colours", ["light", "dark"])
@pytest.mark.parametrize("size", SIZES, ids=lambda s: f"{s[0]}x{s[1]}")
def test_axe_finds_no_violation(browser: Browser, folder: Path, size: tuple[int, int], colours: Any) -> None:
    """axe-core finds nothing on the front page of the docs' site that a keyboard or a screen reader would stumble
    over, and the page begins with the decision tree."""
    assert AXE.is_file(), "axe-core is missing: make setup-test installs it"
    page = new_page(browser, viewport={"width": size[0], "height": size[1]}, color_scheme=colours)
    with serving(ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=folder))) as port:
        page.goto(f"http://127.0.0.1:{port}/")
        tree = page.locator("article img").first
        assert str(tree.get_attribute("src")).endswith("decision-tree.svg")
        page.add_script_tag(path=AXE)
        assert page.evaluate(VIOLATIONS) == []
        page.close()

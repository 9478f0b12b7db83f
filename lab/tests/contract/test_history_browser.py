"""history.html in a real browser."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser

from tests.contract.test_report_browser import AXE, LOW_CONTRAST, SIZES, VIOLATIONS
from tests.support.browser import new_page
from tests.unit.test_report_html import RUNS
from vtlab.analysis.verdict import analyse_all
from vtlab.report.pages import run_history
from vtlab.report.pages.run_history import Entry


@pytest.fixture(scope="module")
def page_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    entries = [Entry(name, analysis) for name, run in RUNS.items() for analysis in analyse_all([run])]
    file = tmp_path_factory.mktemp("history") / "history.html"
    file.write_text(run_history.render("results", run_history.group(entries), {"x": "no run"}), encoding="utf-8")
    return file


@pytest.mark.parametrize("colours", ["light", "dark"])
@pytest.mark.parametrize("size", SIZES, ids=lambda s: f"{s[0]}x{s[1]}")
def test_it_fits_its_screen(browser: Browser, page_file: Path, size: tuple[int, int], colours: Any) -> None:
    """The history of runs fits phone and desktop in light and dark, with contrast, fetches nothing, and axe-core finds
    no violation in it."""
    page = new_page(browser, viewport={"width": size[0], "height": size[1]}, color_scheme=colours, bypass_csp=True)
    requests: list[str] = []
    page.on("request", lambda request: requests.append(request.url))
    page.goto(page_file.as_uri())
    assert page.evaluate("document.scrollingElement.scrollWidth <= innerWidth"), "the page scrolls sideways"
    assert page.evaluate(LOW_CONTRAST) == []
    pictures = page.locator("svg:has(> title):has(> desc)[aria-label]").count()
    assert pictures == page.locator("svg").count() > 0
    assert page.locator("table tbody th[scope=row]").count() == page.locator("table tbody tr").count()
    assert requests == [page_file.as_uri()]
    page.add_script_tag(path=AXE)
    assert page.evaluate(VIOLATIONS) == []
    page.close()

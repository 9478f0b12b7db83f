"""report.html in a real browser: first screen, no fetch, no sideways scroll, contrast, names of pictures, print."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Page

from tests.support import felt, recorded
from tests.support.browser import new_page
from tests.unit.test_report_html import RUNS, limited
from vtlab import shipped
from vtlab.analysis import verdict
from vtlab.runs import store
from vtlab.runs.report import write_files

AXE = shipped.ROOT / "k6" / "node_modules" / "axe-core" / "axe.min.js"
#: A run of vtlab try.
OWN_SERVICE = shipped.ROOT / "lab/tests/unit/recorded/own-service"
#: What axe finds wrong, in a line each.
VIOLATIONS = """async () => (await axe.run(document, {resultTypes: ['violations']})).violations.flatMap(
  v => v.nodes.map(n => `${v.id}: ${n.target.join(' ')}: ${n.failureSummary}`))"""
#: Elements that hold more than is seen of them, sideways.
CUT_OFF = """() => [...document.querySelectorAll('body *')].filter(
  e => e.clientWidth > 1 && e.scrollWidth > e.clientWidth + 1 && !e.closest('svg, .unseen')
    && getComputedStyle(e).overflowX !== 'visible').map(
    e => `${e.tagName} ${e.className} ${e.textContent.slice(0, 60)}`)"""
#: What a keyboard is to reach, in the order of the page: of the colours the chosen one.
REACHABLE = """() => [...document.querySelectorAll('a[href], summary, [tabindex="0"], input:checked')].filter(
  e => e.checkVisibility()).map(e => e.outerHTML.slice(0, 200))"""
#: What has the focus, and whether that is seen; nothing at the end of the page.
FOCUSED = """() => {
  const e = document.activeElement, seen = e.closest('label') ?? e;
  return e === document.body ? null : [e.outerHTML.slice(0, 200), getComputedStyle(seen).outlineStyle !== 'none'];
}"""
SIZES = [(1280, 800), (420, 800)]
#: Elements whose own text has too little contrast with the background behind it (WCAG 2: 4.5, large text 3).
LOW_CONTRAST = """() => {
  const colour = document.createElement('canvas').getContext('2d', {willReadFrequently: true});
  const rgb = text => { colour.clearRect(0, 0, 1, 1); colour.fillStyle = text; colour.fillRect(0, 0, 1, 1);
    return [...colour.getImageData(0, 0, 1, 1).data]; };
  const light = ([r, g, b]) => {
    const f = c => (c /= 255) <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4;
    return 0.2126 * f(r) + 0.7152 * f(g) + 0.0722 * f(b); };
  const behind = e => { for (; e; e = e.parentElement) {
    const background = rgb(getComputedStyle(e).backgroundColor); if (background[3] === 255) return background; }
    return [255, 255, 255, 255]; };
  const low = [];
  for (const e of document.querySelectorAll('body *')) {
    const hasText = [...e.childNodes].some(n => n.nodeType === 3 && n.data.trim());
    if (!hasText || !e.getClientRects().length) continue;
    const style = getComputedStyle(e), picture = e.namespaceURI.endsWith('svg');
    if (picture && e.tagName !== 'text') continue;
    const a = light(rgb(picture ? style.fill : style.color)), b = light(behind(e));
    const ratio = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
    const least = parseFloat(style.fontSize) >= 24 ? 3 : 4.5;
    if (ratio < least) low.push(`${e.textContent.trim()}: ${ratio.toFixed(2)}`);
  }
  return low;
}"""


@pytest.fixture(scope="module")
def reports(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    kinds = {
        "one": [recorded.run(blocks=3)],
        "many": [limited(0.5), limited(2.0), RUNS["pool"], RUNS["overloaded"], RUNS["inconclusive"]],
        "invalid": [RUNS["invalid"], RUNS["none"]],
        # With typical load, answers by kind, and probes that wait.
        "felt": [felt.felt(), felt.felt(unlike=True)],
        # With a curve, findings and thread dumps, and each label twice.
        "services": [store.read(OWN_SERVICE), store.read(OWN_SERVICE)],
    }
    places = {}
    for name, runs in kinds.items():
        places[name] = tmp_path_factory.mktemp(name) / "report.html"
        write_files(places[name].parent, verdict.analyse_all(runs))
    return places


@pytest.mark.parametrize("colours", ["light", "dark"])
@pytest.mark.parametrize("size", SIZES, ids=lambda s: f"{s[0]}x{s[1]}")
@pytest.mark.parametrize("name", ["one", "many", "invalid", "felt", "services"])
def test_a_stranger_can_read_it(
    browser: Browser, reports: dict[str, Path], name: str, size: tuple[int, int], colours: Any
) -> None:
    """The report fits phone and desktop in light and dark, with contrast and described pictures, and fetches none."""
    page = new_page(browser, viewport={"width": size[0], "height": size[1]}, color_scheme=colours)
    trouble: list[str] = []
    requests: list[str] = []
    page.on("console", lambda message: trouble.append(message.text))
    page.on("pageerror", lambda error: trouble.append(str(error)))
    page.on("request", lambda request: requests.append(request.url))
    address = reports[name].as_uri()
    page.goto(address)
    _first_screen(page, size)
    for details in page.locator("details").all():
        details.evaluate("e => { e.open = true }")
    assert page.evaluate("document.scrollingElement.scrollWidth <= innerWidth"), "the page scrolls sideways"
    assert page.evaluate(CUT_OFF) == []
    assert page.locator("svg").count() > (0 if name == "invalid" else 5)
    named = page.locator("svg:has(> title):has(> desc)[aria-label]").count()
    assert named == page.locator("svg").count()
    assert page.evaluate(LOW_CONTRAST) == []
    assert not trouble
    assert requests == [address]
    page.close()


@pytest.mark.parametrize("colours", ["light", "dark"])
@pytest.mark.parametrize("size", SIZES, ids=lambda s: f"{s[0]}x{s[1]}")
@pytest.mark.parametrize("name", ["one", "many", "invalid", "felt", "services"])
def test_axe_finds_no_violation(
    browser: Browser, reports: dict[str, Path], name: str, size: tuple[int, int], colours: Any
) -> None:
    """axe-core finds nothing in the report that a keyboard or a screen reader would stumble over."""
    # The report's policy lets no script run; this one is the test's.
    page = new_page(browser, viewport={"width": size[0], "height": size[1]}, color_scheme=colours, bypass_csp=True)
    page.goto(reports[name].as_uri())
    for details in page.locator("details").all():
        details.evaluate("e => { e.open = true }")
    assert AXE.is_file(), "axe-core is missing: make setup-test installs it"
    page.add_script_tag(path=AXE)
    assert page.evaluate(VIOLATIONS) == []
    page.close()


@pytest.mark.parametrize(("name", "runs"), [("many", 5), ("felt", 2)])
def test_it_prints_all_of_it(browser: Browser, reports: dict[str, Path], name: str, runs: int) -> None:
    """The printed report has the evidence of every run, on pages that cut nothing off."""
    page = new_page(browser, viewport={"width": 718, "height": 1000})
    page.goto(reports[name].as_uri())
    page.emulate_media(media="print")
    for heading in page.get_by_role("heading", name="Validity checks").all():
        assert heading.is_visible()
    assert page.get_by_role("heading", name="Validity checks").count() == runs
    assert page.evaluate(CUT_OFF) == []
    assert page.evaluate("document.scrollingElement.scrollWidth <= innerWidth"), "a page is cut off"
    assert not page.get_by_role("radio").first.is_visible()
    page.close()


def _first_screen(page: Page, size: tuple[int, int]) -> None:
    card = page.locator("article.card").first
    texts = [card.locator("h2").first, card.locator(".badges"), card.locator(".decision")]
    if size[0] > 1000 and card.locator(".picture").count():
        texts.append(card.locator(".picture tbody tr").first)
    for text in texts:
        box = text.bounding_box()
        assert box is not None
        assert box["y"] >= 0
        assert box["y"] + box["height"] <= size[1], f"{text.inner_text()!r} is below the first screen"
        assert box["x"] + box["width"] <= size[0]


def test_colours_can_be_chosen(browser: Browser, reports: dict[str, Path]) -> None:
    """The report's colours can be switched between light and dark."""
    page = new_page(browser, color_scheme="light")
    page.goto(reports["one"].as_uri())
    shade = "getComputedStyle(document.body).backgroundColor"
    light = page.evaluate(shade)
    page.get_by_text("Dark", exact=True).click()
    assert page.evaluate(shade) != light
    page.get_by_text("Light", exact=True).click()
    assert page.evaluate(shade) == light
    page.close()


@pytest.mark.parametrize("name", ["many", "felt", "services"])
def test_a_keyboard_reaches_all_of_it(browser: Browser, reports: dict[str, Path], name: str) -> None:
    """Tab goes through the report's links, colours, regions and evidence in their order, and shows where it is."""
    page = new_page(browser)
    page.goto(reports[name].as_uri())
    reachable = page.evaluate(REACHABLE)
    reached: list[str] = []
    while len(reached) <= len(reachable):
        page.keyboard.press("Tab")
        focused = page.evaluate(FOCUSED)
        if focused is None:
            break
        assert focused[1], f"the focus is not seen: {focused[0]}"
        reached.append(focused[0])
    assert reached == reachable
    page.close()


def test_keys_open_the_evidence_and_choose_the_colours(browser: Browser, reports: dict[str, Path]) -> None:
    """Enter opens and closes the report's evidence, and arrows choose its colours."""
    page = new_page(browser, color_scheme="light")
    page.goto(reports["many"].as_uri())
    summary, evidence = page.locator("summary").first, page.locator("#run-1")
    summary.focus()
    page.keyboard.press("Enter")
    evidence.wait_for(state="visible")
    page.keyboard.press("Enter")
    evidence.wait_for(state="hidden")
    page.locator("article.card").first.get_by_text("the evidence").focus()
    page.keyboard.press("Enter")
    evidence.wait_for(state="visible")
    shade = "getComputedStyle(document.body).backgroundColor"
    light = page.evaluate(shade)
    page.get_by_role("radio").first.focus()
    page.keyboard.press("ArrowRight")
    assert page.get_by_role("radio", name="Light").is_checked()
    page.keyboard.press("ArrowRight")
    assert page.evaluate(shade) != light
    page.close()


def test_arrows_scroll_what_is_wider_than_the_window(browser: Browser, reports: dict[str, Path]) -> None:
    """A table of the report that is wider than the window scrolls by the keyboard."""
    # What waits here is a script of the test's; the report's policy lets none run.
    page = new_page(browser, viewport={"width": 540, "height": 800}, bypass_csp=True)
    page.goto(reports["services"].as_uri())
    for details in page.locator("details").all():
        details.evaluate("e => { e.open = true }")
    wide = page.locator("[role=region][tabindex='0']")
    numbers = wide.evaluate_all("all => all.flatMap((e, i) => e.scrollWidth > e.clientWidth + 20 ? [i] : [])")
    assert numbers, "no region is wider than the window: choose another width"
    region = wide.nth(numbers[0])
    region.focus()
    page.keyboard.press("ArrowRight")
    page.wait_for_function("document.activeElement.scrollLeft > 0")
    page.close()


def test_the_evidence_opens_from_its_link(browser: Browser, reports: dict[str, Path]) -> None:
    """A card of the report links to its evidence, which opens."""
    page = new_page(browser)
    page.goto(reports["many"].as_uri())
    assert not page.locator("#run-2").is_visible()
    page.locator("article.card").nth(1).get_by_text("the evidence").click()
    page.locator("#run-2").wait_for(state="visible", timeout=30_000)
    page.close()

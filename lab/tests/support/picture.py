"""Pictures of a report: the card of a recorded run, light, dark, and with the numbers that ``docs/reference/report.md``
explains. ``make picture``

    cd lab && ../.venv/bin/python -m tests.support.picture

Each PNG has the text of the whole card, so that a test can tell when its words are stale, not its look (PNG
specification, section 11.3.4.5: iTXt).
"""

from __future__ import annotations

import struct
import tempfile
import zlib
from dataclasses import dataclass
from html.parser import HTMLParser
from pathlib import Path
from typing import Literal

from playwright.sync_api import Browser

from tests.support.browser import chromium, new_page
from vtlab import shipped
from vtlab.analysis import verdict
from vtlab.runs import store
from vtlab.runs.report import write_files

RUN = shipped.ROOT / "lab/tests/unit/recorded/behind-a-pool"
FOLDER = shipped.ROOT / "docs/images"
#: CSS pixels, of the window and below what is shown; and pixels of the picture for each of them.
WIDTH = 1120
MARGIN = 16
SCALE = 1.5
#: Keyword of the text in the PNG.
KEY = b"Description"
_SIGNATURE = b"\x89PNG\r\n\x1a\n"
_END = b"IEND"


class _CardText(HTMLParser):
    """The texts of the first card, one to a line."""

    def __init__(self) -> None:
        super().__init__()
        self.texts: list[str] = []
        self._cards = 0
        self._is_open = False

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag == "article":
            self._cards += 1
            self._is_open = self._cards == 1

    def handle_endtag(self, tag: str) -> None:
        if tag == "article":
            self._is_open = False

    def handle_data(self, data: str) -> None:
        if self._is_open and data.strip():
            self.texts.append(" ".join(data.split()))


def report(folder: Path) -> Path:
    """Writes the report of the recorded run, as it is made today; returns its path."""
    write_files(folder, verdict.analyse_all([store.read(RUN)]))
    return folder / "report.html"


def text_of_card(page: Path) -> str:
    """Returns the text of the first card of a report, with its charts."""
    parser = _CardText()
    parser.feed(page.read_text(encoding="utf-8"))
    return "\n".join(parser.texts)


def text_of_picture(png: bytes) -> str | None:
    """Returns the text that ``with_text`` put into a picture; None where there is none."""
    at = len(_SIGNATURE)
    while at < len(png):
        (size,) = struct.unpack(">I", png[at : at + 4])
        kind, body = png[at + 4 : at + 8], png[at + 8 : at + 8 + size]
        if kind == b"iTXt" and body.startswith(KEY + b"\0"):
            return body[len(KEY) + 5 :].decode()
        at += size + 12
    return None


def with_text(png: bytes, text: str) -> bytes:
    """Returns the picture with a text in it: not compressed, in no language, its key not translated."""
    chunk = b"iTXt" + KEY + b"\0\0\0\0\0" + text.encode()
    whole = struct.pack(">I", len(chunk) - 4) + chunk + struct.pack(">I", zlib.crc32(chunk))
    end = png.rindex(_END) - 4
    return png[:end] + whole + png[end:]


@dataclass(frozen=True)
class Picture:
    """A picture of the card: its file, its theme, and whether its parts have numbers."""

    name: str
    scheme: Literal["light", "dark"]
    is_numbered: bool = False

    @property
    def path(self) -> Path:
        """Returns the place of its file."""
        return FOLDER / self.name


PICTURES = (
    Picture("report.png", "light"),
    Picture("report-dark.png", "dark"),
    Picture("report-numbered.png", "light", is_numbered=True),
    Picture("report-numbered-dark.png", "dark", is_numbered=True),
)
#: Parts of the card that have a number, in its order.
NUMBERED = (
    ".lines div:nth-child(1) dt",
    ".lines div:nth-child(2) dt",
    ".lines div:nth-child(3) dt",
    ".picture tbody tr:nth-child(1) th",
    ".picture thead .axis",
    ".picture tbody tr:nth-child(1) .outcome",
)
_NUMBERING = """selectors => selectors.forEach((selector, index) => {
  const part = document.querySelector('article.card ' + selector), at = part.getBoundingClientRect();
  const left = part.matches('.axis') ? at.left + at.width / 2 - 9 : at.left - 21;
  const top = part.matches('dt') ? at.top : at.top + 3;
  const number = document.createElement('b');
  number.textContent = index + 1;
  number.style.cssText = `position:absolute;left:${left + scrollX}px;top:${top + scrollY}px;width:18px;` +
    'height:18px;border-radius:50%;background:#0b5ea8;color:#fff;font:600 12px/18px system-ui,sans-serif;' +
    'text-align:center';
  document.body.append(number);
})"""


def draw(browser: Browser, page_file: Path, picture: Picture) -> bytes:
    """Returns the picture of the card as PNG."""
    page = new_page(
        browser, viewport={"width": WIDTH, "height": 900}, device_scale_factor=SCALE, color_scheme=picture.scheme
    )
    page.goto(page_file.as_uri())
    if picture.is_numbered:
        page.evaluate(_NUMBERING, list(NUMBERED))
    card, last = (page.locator(part).bounding_box() for part in ("article.card", "article.card .outcomes"))
    assert card
    assert last
    # Cropped: the curve, what limits each variant, where the time goes, and the findings are below.
    part = {**card, "height": last["y"] + last["height"] + MARGIN - card["y"]}
    shown = page.screenshot(full_page=True, clip=part)
    page.close()
    return with_text(shown, text_of_card(page_file))


def main() -> None:
    """Writes the pictures."""
    with tempfile.TemporaryDirectory() as folder, chromium() as browser:
        page_file = report(Path(folder))
        for picture in PICTURES:
            picture.path.write_bytes(draw(browser, page_file, picture))
            print(picture.path.relative_to(shipped.ROOT))


if __name__ == "__main__":
    main()

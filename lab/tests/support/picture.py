"""The README's picture: the card of the report of the run that the README has as its example. ``make picture``

    cd lab && ../.venv/bin/python -m tests.support.picture

The PNG has the text of the whole card, so that a test can tell when its words are stale, not its look (PNG
specification, section 11.3.4.5: iTXt).
"""

from __future__ import annotations

import struct
import tempfile
import zlib
from html.parser import HTMLParser
from pathlib import Path

from tests.support.browser import chromium
from vtlab import shipped
from vtlab.analysis import verdict
from vtlab.runs import store
from vtlab.runs.report import write_files

RUN = shipped.ROOT / "lab/tests/unit/recorded/own-service"
PICTURE = shipped.ROOT / "docs/images/report.png"
#: CSS pixels, of the window and below what is shown; two of the picture are one of them.
WIDTH = 1120
MARGIN = 16
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


def main() -> None:
    """Writes the picture."""
    with tempfile.TemporaryDirectory() as folder, chromium() as browser:
        page_file = report(Path(folder))
        page = browser.new_page(viewport={"width": WIDTH, "height": 900}, device_scale_factor=2, color_scheme="light")
        page.goto(page_file.as_uri())
        card, last = (page.locator(part).bounding_box() for part in ("article.card", "article.card .why"))
        assert card
        assert last
        # Cropped: where the time goes, and the findings, are below.
        part = {**card, "height": last["y"] + last["height"] + MARGIN - card["y"]}
        shown = page.screenshot(full_page=True, clip=part)
        PICTURE.write_bytes(with_text(shown, text_of_card(page_file)))
    print(PICTURE.relative_to(shipped.ROOT))


if __name__ == "__main__":
    main()

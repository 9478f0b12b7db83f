"""A real Chromium."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from playwright.sync_api import Browser, Page, sync_playwright

from vtlab.errors import LabError

FLAGS = [
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]
#: Milliseconds for whatever Chromium is asked for: a slow machine stalls for seconds.
PATIENCE = 120_000


@contextmanager
def chromium() -> Iterator[Browser]:
    """Starts Chromium. LabError where there is none on PATH."""
    program = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
    if not program:
        raise LabError("no Chromium on PATH: apt-get install chromium (or your system's package), then run again")
    sandbox = ["--no-sandbox"] if os.geteuid() == 0 else []
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=program, args=[*sandbox, *FLAGS], timeout=PATIENCE)
        yield browser
        browser.close()


def new_page(browser: Browser, **options: Any) -> Page:
    """Opens a page that waits up to ``PATIENCE`` for whatever it is asked for."""
    page = browser.new_page(**options)
    page.set_default_timeout(PATIENCE)
    return page

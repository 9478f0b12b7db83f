"""The style that `make prose` holds the docs to."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.support.versions import REPOSITORY

VALE = shutil.which("vale", path=f"{REPOSITORY / '.tools/bin'}{os.pathsep}{os.environ.get('PATH', '')}")

pytestmark = pytest.mark.skipif(VALE is None, reason="no Vale: make prose builds it")

BAD = {
    "Lab.Words": [
        "The constraint of this run is the CPU.",
        "Platform is held back by its threads.",
        "A gate rejects the block.",
        "The ideal throughput is 200 requests per second.",
        "Users spread over one response time.",
        "The demand of a request for the CPU is 0.4 ms.",
        "Virtual is limited by the load itself.",
        "The throughput has levelled off.",
    ],
    "Lab.Filler": [
        "The set-up builds k6 where it finds no newer one.",
        "Resources limit both variants, as said above.",
        "It starts a server of its own.",
        "Several windows are longer than the old ones.",
    ],
    "Lab.Idioms": [
        "This is no duration.",
        "A database cannot be had here.",
        "Progress foretells the end of the run.",
        "The minikube goes on.",
    ],
    "Lab.Dialect": [
        "So many users wait at a time.",
        "Build the image anew.",
        "There is no verdict, for one block gives no interval.",
    ],
    "Lab.SentenceLength": [f"The lab counts {'one word and ' * 12} then stops."],
    "Lab.Parentheses": ["The window (30 s (or 60 s) here) opens late."],
}
GOOD = """
# What limits a variant

The bottleneck of `platform` is its pool of 200 Tomcat threads. Each user waits for one thread. There is no free thread
while 200 requests are in flight, so a longer ramp-up changes nothing.

The service demand is the CPU time of one request. It is no longer than 0.4 ms. The expected throughput follows from it,
and a volume grows on demand. The old key `ideal` and the option `--spread` are refused (see below).

| validity check | limit |
|---|---|
| throttled periods | 5 % |
"""


@pytest.mark.parametrize(("rule", "sentence"), [(rule, text) for rule, texts in BAD.items() for text in texts])
def test_the_style_refuses(rule: str, sentence: str, tmp_path: Path) -> None:
    assert alerts(sentence, tmp_path) == [rule]


def test_the_style_accepts_plain_english(tmp_path: Path) -> None:
    assert alerts(GOOD, tmp_path) == []


def alerts(text: str, folder: Path) -> list[str]:
    """The rules that the text breaks."""
    page = folder / "page.md"
    page.write_text(text, encoding="utf-8")
    assert VALE is not None
    done = subprocess.run(
        [VALE, f"--config={REPOSITORY / '.vale.ini'}", "--output=JSON", page],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode in (0, 1), done.stderr + done.stdout
    return [alert["Check"] for page_alerts in json.loads(done.stdout).values() for alert in page_alerts]

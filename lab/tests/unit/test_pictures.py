"""Pictures of the docs: what they show follows from their data, and every one has words, light and dark."""

from __future__ import annotations

import json
import re
import shutil
import xml.etree.ElementTree as ET
from itertools import pairwise
from pathlib import Path

import pytest
from markupsafe import escape

from maintain import generate, measured_page
from maintain.measured_page import Compared, Measured
from maintain.pictures import block_timeline, forest_plot, lockstep, recording, throttling, users_curve
from tests.support.versions import REPOSITORY
from vtlab.report.words import curve_sentences
from vtlab.runs import store

DRAWN = [row.path for row in generate.TABLE if row.path.startswith("docs/images/")]
SVG = "{http://www.w3.org/2000/svg}"
#: A call with lines of progress, a pause without any, and a verdict that is printed at once.
OUTPUT = """$ vtlab try shop.jar "GET /orders/17"
shop.jar: an executable jar
23:59:50  searching load: starting platform and virtual
00:00:10  block 1: platform 48.8/s; virtual 48.4/s

shop.jar · 1 CPU
VERDICT  No difference at 29/s
"""


@pytest.mark.parametrize("path", DRAWN)
def test_a_picture_has_words_and_both_themes(path: str) -> None:
    text = (REPOSITORY / path).read_text(encoding="utf-8")
    svg = ET.fromstring(text)
    title, description = svg.find(f"{SVG}title"), svg.find(f"{SVG}desc")
    assert title is not None
    assert title.text
    assert description is not None or path == "docs/images/few-blocks.svg"
    assert "prefers-color-scheme:dark" in text


def test_lines_of_a_recording_come_when_the_call_printed_them() -> None:
    rows = recording.rows(OUTPUT)
    assert [row.after for row in rows] == [0, 0, 0, 20, 20, 20, 20], "the call went on after midnight"
    assert [row.words for row in rows] == OUTPUT.splitlines()


def test_long_lines_of_a_recording_wrap_and_lose_nothing() -> None:
    words = " ".join(f"word{number}" for number in range(60))
    rows = recording.rows(f"$ vtlab try app.jar\n00:00:01  {words}\n")
    assert len(rows) > 3
    assert " ".join(row.words.strip() for row in rows[1:]) == f"00:00:01  {words}"


def test_a_recording_takes_ten_seconds_and_rolls_up_to_its_last_line() -> None:
    lines = "".join(f"00:{number // 60:02}:{number % 60:02}  line {number}\n" for number in range(0, 480, 10))
    text = recording.picture(f"$ vtlab try app.jar\n{lines}")
    assert "vtlab try: 7 min 50 s in 10 seconds" in text
    delays = [float(delay) for delay in re.findall(r"animation-delay:([\d.]+)s", text)]
    assert delays == sorted(delays)
    assert delays[-1] == recording.SECONDS
    # 49 lines on 30 rows: the last frame is rolled up by 19.
    rolled = [float(up) for up in re.findall(r"translateY\(-([\d.]+)px\)", text)]
    assert rolled == sorted(rolled)
    assert rolled[-1] == 19 * 17
    assert "prefers-reduced-motion" in text


def test_a_call_is_taken_over_with_its_figures_and_nothing_of_its_machine(tmp_path: Path) -> None:
    recorded, progress = REPOSITORY / recording.RESULTS, REPOSITORY / recording.PROGRESS
    results, log, repository = tmp_path / "results", tmp_path / "log", tmp_path / "repository"
    shutil.copytree(recorded, results)
    manifest = json.loads((results / store.MANIFEST).read_text(encoding="utf-8"))
    manifest["experiment"]["service"]["directory"] = "/home/me/petclinic"
    manifest["command"] = f"{manifest['command'].replace('target/', '/home/me/petclinic/')} --results /home/me/results"
    (results / store.MANIFEST).write_text(json.dumps(manifest), encoding="utf-8")
    for name in ("report.html", store.SEARCH):
        (results / name).write_text("not taken over", encoding="utf-8")
    lines = progress.read_text(encoding="utf-8").splitlines()[1:]
    log.write_text("\n".join(["a warning", *lines, "", "VERDICT  in the words of then"]), encoding="utf-8")

    recording.take_over(results, log, repository)
    taken = repository / recording.RESULTS
    assert {path.name for path in taken.iterdir()} == {path.name for path in recorded.iterdir()}
    for path in recorded.iterdir():
        assert (taken / path.name).read_bytes() == path.read_bytes(), path.name
    assert (repository / recording.PROGRESS).read_bytes() == progress.read_bytes()


def test_the_recorded_call_ends_with_its_verdict_and_names_no_path_of_a_machine() -> None:
    output = recording.call(REPOSITORY)
    assert output.startswith("$ vtlab try ")
    progress, _, verdict = output.partition("\nVERDICT ")
    assert re.search(r"^\d\d:\d\d:\d\d  .*block 1", progress, re.M)
    assert "\nNEXT " in verdict
    assert re.findall(r"(?<![\w.])/(?:home|root|tmp|work|usr|Users)/\S*", output) == []


def computing(spans: list[lockstep.Span]) -> list[lockstep.Span]:
    return sorted((span for span in spans if span.kind == "computes"), key=lambda span: span.start)


def test_one_carrier_runs_one_request_at_a_time_and_is_slower() -> None:
    carrier, threads = lockstep.on_one_carrier(), lockstep.on_platform_threads()
    assert all(one.end <= other.start for one, other in pairwise(computing(carrier)))
    assert any(one.end > other.start for one, other in pairwise(computing(threads)))
    assert lockstep.answered(carrier) < 0.8 * lockstep.answered(threads)


def test_nobody_starts_a_wait_while_the_carrier_computes() -> None:
    spans = lockstep.on_one_carrier()
    starts = [span.start for span in spans if span.kind == "waits"]
    assert [
        start for start in starts for span in computing(spans) if span.start < start - 1e-9 and start + 1e-9 < span.end
    ] == []


@pytest.mark.parametrize("simulated", [lockstep.on_one_carrier, lockstep.on_platform_threads])
def test_a_request_waits_and_computes_as_the_drawing_says(simulated: object) -> None:
    assert callable(simulated)
    for span in simulated():
        if span.kind == "waits":
            assert span.end - span.start == pytest.approx(lockstep.WAIT)
        if span.kind == "computes":
            assert span.end - span.start >= lockstep.COMPUTE - 1e-6


@pytest.mark.parametrize(("threads", "throttled"), [(1, 0.0), (2, 50.0), (200, 50.0)])
def test_a_period_has_its_quota_and_no_more(threads: int, throttled: float) -> None:
    cores = throttling.period(threads)
    assert sum(end - start for spans in cores for kind, start, end in spans if kind == "runs") == throttling.QUOTA
    assert sum(end - start for kind, start, end in cores[0] if kind == "throttled") == throttled


def test_every_measured_pair_and_comparison_with_an_interval_is_drawn() -> None:
    runs = measured_page.read(REPOSITORY)
    drawn = forest_plot.by_criterion(runs)
    pairs = [(run, pair) for run in runs for pair in run.pairs if any(o.drawn for o in pair.outcomes)]
    assert len(pairs) >= 7
    assert drawn.count(" over ") >= len(pairs)
    assert all(f">{run.experiment}</text>" in drawn for run, _ in pairs)
    text = forest_plot.throughput(runs)
    compared = [(run, c) for run in runs for c in run.comparisons if c.metric == "throughput" and "×" in c.interval]
    assert all(f">{run.experiment}: {c.of} over {c.over}</text>" in text for run, c in compared)


def run_with(ratio: str, interval: str, verdict: str) -> Measured:
    of = {"of": "virtual", "over": "platform", "metric": "throughput"}
    return Measured(
        experiment="shop",
        limits="1 CPU",
        target="one machine",
        command="vtlab run shop",
        machine="",
        date="",
        version="0.2.0",
        commit="",
        blocks=3,
        rejected=0,
        comparisons=[Compared(**of, ratio=ratio, interval=interval, verdict=verdict)],
        variants={},
    )


@pytest.mark.parametrize(
    ("verdict", "tone", "is_hollow"),
    [("▲ faster", "good", False), ("▼ slower", "bad", False), ("= equivalent", "same", False), ("? no", "open", True)],
)
def test_a_comparison_has_the_colour_of_its_verdict(verdict: str, tone: str, is_hollow: bool) -> None:
    text = forest_plot.throughput([run_with("1.20×", "0.90× to 1.50×", verdict)])
    assert (f'class="estimate {"hollow " if is_hollow else ""}{tone}"') in text


def test_an_interval_beyond_the_axis_ends_in_an_arrow() -> None:
    assert "<polygon" not in forest_plot.throughput([run_with("1.20×", "0.90× to 1.50×", "▲ faster")])
    assert "<polygon" in forest_plot.throughput([run_with("1.20×", "0.90× to 150×", "? no")])


def test_a_comparison_without_an_interval_is_not_drawn() -> None:
    assert "shop" not in forest_plot.throughput([run_with("1.20×", "–", "? no")])


def test_the_curve_has_every_level_of_the_search_and_says_where_the_variants_part() -> None:
    text = users_curve.picture(REPOSITORY / users_curve.RESULTS)
    run = store.read(REPOSITORY / users_curve.RESULTS)
    assert run.manifest.curve is not None
    assert all(f">{users:,}</text>" in text for users in run.manifest.curve.users)
    (first, *_) = curve_sentences.sentences(run.manifest.curve, list(run.experiment.variants))
    assert escape(first) in text


#: A call of version 0.2, whose search had a pair of JVMs of its own.
BEFORE = """10:00:00  shop: search: starting platform and virtual
10:00:30  shop: search: platform and virtual: not ready after 30 s, waiting
10:00:40  shop: search: warm-up with 64 users
10:01:20  shop: search: 1 user
users  platform
10:01:40  2 blocks to measure, at least 4 minutes, until 10:16
10:01:40  shop: block 1 of at most 12: starting platform and virtual
10:02:10  platform and virtual: not ready after 30 s, waiting
10:02:20  shop: block 1 of at most 12: warm-up, cycle 7 of 8 to 16
10:03:00  shop: block 1 of at most 12: virtual 7/s; platform 7/s
"""


def test_the_timeline_of_version_02_has_a_row_for_the_pair_of_its_search() -> None:
    search, block = block_timeline.rows({"0.2": BEFORE})
    assert (search.label, block.label) == ("0.2, search", "0.2, block 1")
    assert [(part.kind, part.end - part.begin) for part in search.parts] == [
        ("start", 30),
        ("start", 10),
        ("search", 40),
        ("search", 20),
    ]
    assert [(part.kind, part.end - part.begin) for part in block.parts] == [("start", 40), ("warm", 40)]


def test_the_timeline_has_every_second_of_a_block_but_the_pauses_between() -> None:
    output = """$ vtlab try app.jar
10:00:00  shop: block 1: starting platform and virtual
10:00:30  shop: block 1: warm-up, cycle 1 of those with more CPU
10:01:00  shop: block 1: warm-up, cycle 2 of those with more CPU
10:01:20  shop: block 1: searching load: 1 user
10:01:50  shop: block 1: warm-up, cycle 3 of 4 to 12
10:02:00  shop: block 1: measuring in the order virtual, platform, platform, virtual
10:02:30  shop: block 1: typical load, 9/s
10:02:50  shop: block 1: thread dumps of platform and virtual
10:03:00  shop: block 1: virtual 7/s; platform 7/s
10:03:05  shop: block 2: starting platform and virtual
10:03:10  shop: block 2: the block gets fresh JVMs
10:03:15  shop: block 2: virtual 7/s; platform 7/s
"""
    parts = block_timeline.parts(output)
    assert [(part.kind, part.end - part.begin) for part in parts if part.block == 1] == [
        ("start", 30),
        ("raised", 30),
        ("raised", 20),
        ("search", 30),
        ("warm", 10),
        ("trials", 30),
        ("typical", 20),
        ("once", 10),
    ]
    assert [(part.kind, part.begin) for part in parts if part.block == 2] == [("start", 185)]
    picture = block_timeline.picture({"0.2": BEFORE, "now": output})
    assert "now, block 1: start of the JVMs 30 s, warm-up with more CPU 50 s" in picture

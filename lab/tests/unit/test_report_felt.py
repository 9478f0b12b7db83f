"""What users feel, in the report: the distribution of latency, percentiles by kind of request, and the probes."""

from __future__ import annotations

import math
import re
from dataclasses import replace
from html import unescape

import pytest

from tests.support import felt as windows
from tests.support import recorded
from vtlab.model.histogram import merged, quantile
from vtlab.model.records import Histogram, Probe, Trial
from vtlab.model.run import Run
from vtlab.report.charts import latency_distribution, probes
from vtlab.report.pages import html, markdown
from vtlab.report.parts import felt, performance, provenance, sections
from vtlab.report.parts.part import Table
from vtlab.report.words import figures

RUN, UNLIKE = windows.felt(), windows.felt(unlike=True)


def shown(run: Run) -> list[felt.Load]:
    return felt.loads(recorded.analysed(run))


def described(chart: str) -> str:
    """Returns the words of a chart."""
    (words,) = re.findall(r"<desc>(.*?)</desc>", chart)
    return unescape(words)


def cells(table: Table, *names: str) -> list[list[str]]:
    """Returns these columns of a table."""
    columns = [table.head.index(name) for name in names]
    return [[row[column] for column in columns] for row in table.rows]


def trials(run: Run, variant: str, kind: str = "trials") -> list[Trial]:
    return [t for b in run.blocks for t in getattr(b, kind) if t.variant == variant]


def line_of(chart: str, slot: int) -> list[tuple[float, float]]:
    """Returns the points of a variant's line."""
    (points,) = re.findall(rf'<polyline points="([^"]*)" class="line v{slot}"', chart)
    return [(float(x), float(y)) for x, y in (point.split(",") for point in points.split())]


# --- the section ---------------------------------------------------------------


def test_it_stands_after_the_outcomes_with_typical_load_first() -> None:
    found = sections.sections(recorded.analysed(RUN))
    titles = [section.title for section in found]
    assert titles.index(felt.TITLE) == titles.index(sections.OUTCOMES) + 1
    (section,) = (section for section in found if section.title == felt.TITLE)
    assert [panel.title for panel in section.panels] == [
        "Latency at typical load (29.3/s)",
        "Latency at full load (20 users)",
        "Probes at typical load (29.3/s)",
        "Probes at full load (20 users)",
    ]
    assert section.has_key, "which variant a mark is of"


def test_a_run_that_tells_nothing_has_no_such_section() -> None:
    analysis = recorded.analysed(recorded.run(blocks=2))
    assert felt.TITLE not in [section.title for section in sections.sections(analysis)]
    assert "Latency by percentile" in [panel.title for panel in performance.performance_panels(analysis)]
    nothing = recorded.analysed(recorded.run(blocks=0, planned=6))
    assert felt.loads(nothing) == []


def test_full_load_alone_and_typical_load_alone() -> None:
    full = replace(RUN, blocks=[b.model_copy(update={"typical": []}) for b in RUN.blocks])
    assert [load.heading for load in shown(full)] == ["full load (20 users)"]
    open_load = windows.felt(recorded.under_open_load(recorded.run(blocks=2)))
    assert [load.heading for load in shown(open_load)] == ["typical load (150/s)"]
    assert cells(felt.latency_table(shown(open_load)), "variant", "load", "answers") == [
        ["platform", "150/s", "18,000"],
        ["virtual", "150/s", "18,000"],
    ]


def test_markdown_and_html_have_its_tables() -> None:
    analysis = recorded.analysed(UNLIKE)
    text = markdown.render([analysis])
    assert text.index(f"<summary>{felt.TITLE}") < text.index("<summary>Throughput")
    for page in (text, html.render([analysis])):
        assert "GET /report" in page
        assert "kubelet" in page


def test_twelve_blocks_make_no_large_page() -> None:
    run = windows.felt(recorded.run(blocks=12, experiment=windows.experiment(), typical=windows.PLAN), unlike=True)
    felt_bytes = len(html.render([recorded.analysed(run)]).encode())
    assert felt_bytes < 250_000


def test_the_environment_says_what_the_typical_load_comes_from() -> None:
    rows = dict(map(tuple, provenance.environment_table(recorded.analysed(RUN)).rows))  # type: ignore[arg-type]
    assert rows["typical load"] == (
        "open: 29.3 arrivals/s (60.0 % of platform's 48.8/s), 94 users, 15 s, variants in turn"
    )
    named = windows.PLAN.model_copy(update={"of": "", "throughput": None, "is_at_once": True})
    run = recorded.run(blocks=2, experiment=windows.experiment(), typical=named)
    rows = dict(map(tuple, provenance.environment_table(recorded.analysed(run)).rows))  # type: ignore[arg-type]
    assert rows["typical load"] == "open: 29.3 arrivals/s, 94 users, 15 s, variants at the same time"


# --- latency -------------------------------------------------------------------


def test_a_line_is_that_of_all_windows_until_ten_answers_lie_beyond() -> None:
    panel = next(panel for panel in felt.latency_panels(shown(RUN)) if "full" in panel.title)
    answers = [t.answers.histogram for t in trials(RUN, "virtual") if t.answers]
    whole = merged(answers)
    n = sum(whole.counts)
    assert n == sum(t.ok for t in trials(RUN, "virtual"))
    p50, p99 = (figures.duration(quantile(whole, p)) for p in (0.5, 0.99))
    assert re.search(rf"virtual: p50 {p50}, .*p99 {p99}$", described(panel.chart))
    # Places of both axes are logarithms: of the share that is longer, and of the time.
    points = line_of(panel.chart, 1)
    end = math.log10(n / 10)
    slope = (points[-1][0] - points[0][0]) / end
    middle = min(points, key=lambda point: abs(point[0] - points[0][0] - slope * latency_distribution.nines(0.9)))
    span = math.log(quantile(whole, 1 - 10 / n) / quantile(whole, 0))
    part = math.log(quantile(whole, 0.9) / quantile(whole, 0)) / span
    assert (middle[1] - points[0][1]) / (points[-1][1] - points[0][1]) == pytest.approx(part, abs=0.03)


def test_both_panels_have_one_scale() -> None:
    def of_height(height: float, chart: str) -> set[str]:
        return set(re.findall(rf'<text x="52" y="{height}"[^>]*>([^<]*)<', chart))

    typical, full = (panel.chart for panel in felt.latency_panels(shown(RUN)))
    labels = re.findall(r'<text x="52" y="([\d.]+)"', typical)
    assert labels
    for height in labels:
        assert of_height(float(height) if "." in height else int(height), typical) == of_height(
            float(height) if "." in height else int(height), full
        )


def test_marks_are_the_percentiles_that_k6_told_of_each_window() -> None:
    load = next(load for load in shown(RUN) if load.title == "full load")
    told = [t.latency for t in trials(RUN, "platform")]
    assert load.latencies()[0] == told
    one = replace(RUN, blocks=RUN.blocks[:1])
    chart = next(panel.chart for panel in felt.latency_panels(shown(one)) if "full" in panel.title)
    (marks,) = re.findall(r'<path d="([^"]*)" class="v0 faint"', chart)
    # Of two windows p50 and p90: 200 answers have no p95.
    assert 2 <= marks.count("M") <= 4


def test_a_script_is_felt_by_its_answers() -> None:
    """An iteration of several requests takes longer than any of them: what users wait for is an answer."""

    def as_script(trial: Trial) -> Trial:
        assert trial.answers
        own = windows.latency([0.05] * 600)
        histogram = windows.histogram([0.05] * 600)
        of_script = trial.answers.model_copy(update={"latency": own, "histogram": histogram})
        return trial.model_copy(update={"answers": of_script})

    run = recorded.with_trials(RUN, lambda _, trial: as_script(trial))
    full = [row for row in cells(felt.latency_table(shown(run)), "load", "answers", "p50") if row[0] == "20 users"]
    assert full == [["20 users", "3,600", "50.0 ms"]] * 2


def test_a_latency_that_grows_with_the_window_is_not_shown() -> None:
    run = windows.felt(recorded.under_open_load(recorded.run(blocks=2), "platform"))
    (load,) = shown(run)
    assert load.with_latency == ["virtual"]
    platform, virtual = cells(felt.latency_table([load]), "variant", "p50", "p99")
    assert platform[1:] == ["–", "–"]
    assert "–" not in virtual
    (panel,) = felt.latency_panels([load])
    assert described(panel.chart).startswith("Logarithmic axes. virtual: ")


def test_a_window_whose_latency_was_not_steady_is_in_no_line() -> None:
    unsteady = windows.latency([])
    run = recorded.with_trials(RUN, lambda _, trial: trial.model_copy(update={"latency": unsteady}))
    load = next(load for load in shown(run) if load.title == "full load")
    assert [sum(histogram.counts) for _, histogram in load.histograms()] == [0, 0]


def test_windows_with_few_answers_have_a_table_and_no_line() -> None:
    few = Histogram(first=500, counts=[19], is_exact=True)
    assert latency_distribution.ends_of([few]) is None
    assert latency_distribution.ends_of([few.model_copy(update={"counts": [20]})]) is not None


def test_equal_answers_have_an_axis() -> None:
    same = windows.histogram([0.1] * 100)
    ends = latency_distribution.ends_of([same])
    assert ends
    chart = latency_distribution.distribution("same", [("a", same)], [[windows.latency([0.1] * 100)]], ends)
    assert chart.count('class="tick"') >= 4


def test_a_kind_of_request_stands_alone() -> None:
    table = felt.kind_table(shown(UNLIKE))
    assert [row[:3] for row in table.rows] == [
        [kind, variant, load]
        for kind in ("GET /owners", "GET /report")
        for load in ("29.3/s", "20 users")
        for variant in ("platform", "virtual")
    ]
    first = trials(UNLIKE, "platform", "typical")
    light, heavy = (
        math.fsum(t.answers.kinds[kind].latency.p50 or 0 for t in first if t.answers) / len(first) for kind in (0, 1)
    )
    assert heavy / light == pytest.approx(10, rel=0.1)
    assert cells(table, "load", "variant", "p50")[0] == ["29.3/s", "platform", figures.duration(light)]
    assert felt.kind_table(shown(RUN)).rows == []


# --- probes --------------------------------------------------------------------


def test_the_table_of_probes_adds_up_all_windows() -> None:
    table = felt.probe_table(shown(UNLIKE))
    rows = {(row[0], row[1]): row[2:] for row in table.rows}
    assert rows["virtual", "20 users"][:3] == ["120", "0", "0 %"]
    found = [t.probe for t in trials(UNLIKE, "platform") if t.probe]
    slow, sent = sum(p.over_second for p in found), sum(p.sent for p in found)
    assert rows["platform", "20 users"] == [
        str(sent),
        str(slow),
        figures.share(slow / sent),
        "15.0 s",
        str(sum(p.unanswered for p in found)),
        "6",
        str(sum(p.healthy for p in found)),
    ]


def test_every_probe_is_a_mark_and_those_without_an_answer_are_at_the_top() -> None:
    found = windows.probe([0.01, 0.02, None, 2.0, 15.0])
    ends = probes.ends_of([found])
    assert ends == (0.01, 15.0)
    chart = probes.probe_dots("probes", [("a", [found]), ("b", [])], ends)
    (marks,) = re.findall(r'<path d="([^"]*)"', chart)
    assert marks.count("M") == 4, "what was not sent is no mark"
    heights = [float(y) for y in re.findall(r"M[\d.]+,([\d.]+)", marks)]
    assert heights == sorted(heights, reverse=True)
    (limit,) = re.findall(r'<line [^>]*y1="([\d.]+)"[^>]*class="limit"', chart)
    assert heights[1] > float(limit) > heights[2]
    assert described(chart) == "Over 1 s, logarithmic. a: 4 sent, 2 over 1 s, longest 15.0 s"


def test_the_limit_of_a_second_is_always_there() -> None:
    assert probes.ends_of([windows.probe([0.01])]) == (0.01, 1.0)
    assert probes.ends_of([windows.probe([12.0])]) == (1.0, 12.0)
    assert probes.ends_of([windows.probe([None])]) is None


def test_windows_without_a_probe_that_was_sent_have_no_chart() -> None:
    silent = Probe(sent=0, skipped=0, healthy=0, unanswered=0, over_second=0, longest=None, times=[])
    run = recorded.with_trials(RUN, lambda _, trial: trial.model_copy(update={"probe": silent}))
    assert [panel.title for panel in felt.probe_panels(shown(run))] == ["Probes at typical load (29.3/s)"]
    assert cells(felt.probe_table(shown(run)), "sent", "share", "longest")[-1] == ["0", "–", "–"]

"""report.html: structure, determinism, escaping, nothing fetched, every kind of run."""

from __future__ import annotations

import re
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path

import pytest

from tests.support import golden_files, recorded
from tests.unit.test_verdict import calls
from vtlab.analysis import verdict
from vtlab.analysis.statistics import stopping_rule
from vtlab.model.manifest import NO_COMMIT
from vtlab.model.run import Analysis, Run
from vtlab.report.pages import html, markdown
from vtlab.report.parts import provenance
from vtlab.runs.report import write_files

NASTY = "<script>alert('x')</script> & \"quotes\" | pipes"


def limited(cpu: float, **changes: object) -> Run:
    limits = {"cpu": cpu, "memory": "512Mi", "heap": "256m"}
    return recorded.run(experiment=recorded.experiment(limits=limits), **changes)  # type: ignore[arg-type]


def all_rejected() -> Run:
    run = recorded.run(blocks=2, planned=6)
    return replace(run, blocks=[recorded.spoiled(b, "steal") for b in run.blocks])


RUNS: dict[str, Run] = {
    "full": recorded.run(),
    "quick": recorded.run(blocks=3),
    "single": recorded.run(blocks=1),
    "settled": recorded.run(blocks=3, planned=12, rule=stopping_rule.sequential_rule(1)),
    "between-looks": recorded.with_ratio(
        recorded.run(blocks=5, planned=12, rule=stopping_rule.sequential_rule(2)), 1.1, 0.06
    ),
    "none": recorded.run(blocks=0, planned=6),
    "all-rejected": all_rejected(),
    "invalid": recorded.run(blocks=3, planned=6, rejected={1: "core_wait", 2: "fault", 3: "steal"}),
    "overloaded": recorded.under_open_load(recorded.run(), "platform"),
    "open": recorded.under_open_load(recorded.run()),
    "pool": recorded.run("pool"),
    "inconclusive": recorded.with_ratio(recorded.run(), 1.1, 0.15),
    "no-series": replace(recorded.run(), series={}),
    "aa": recorded.renamed(recorded.run("pool"), {"platform": "virtual-a", "virtual": "virtual-b"}),
    "unlimited": recorded.run(cpu_limited=False),
}


def without_roles(text: str) -> str:
    """Removes what a table repeats for screens on which it is a list."""
    return re.sub(r' (role|data-head)="[^"]*"', "", text)


def analyses(*names: str) -> list[Analysis]:
    return verdict.analyse_all([RUNS[n] for n in names])


class Outline(HTMLParser):
    """Headings and open elements of a page; complains about elements that are not closed."""

    VOID = frozenset({"meta", "link", "input", "br"})

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.outline: list[str] = []
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag, f"</{tag}> closes something else"

    def handle_data(self, data: str) -> None:
        if self.open and re.fullmatch("h[1-4]", self.open[-1]) and data.strip():
            self.outline.append(f"{self.open[-1]} {data.strip()}")


@pytest.mark.parametrize("name", RUNS)
def test_every_kind_of_run_renders(name: str) -> None:
    text = html.render(analyses(name))
    outline = Outline(text)
    assert not outline.open
    assert f"h2 {RUNS[name].experiment.name}" in outline.outline
    assert "NaN" not in text
    assert ">nan" not in text
    assert "None" not in text


def test_the_outline_is_that_of_the_golden_file() -> None:
    runs = [limited(0.5, blocks=3), limited(1.0, rejected={2: "steal"})]
    outline = Outline(html.render(verdict.analyse_all(runs))).outline
    golden_files.check("report-outline.txt", "\n".join(outline) + "\n")


def test_the_decision_comes_before_everything_else() -> None:
    text = html.render(analyses("quick"))
    places = [
        text.index(w)
        for w in (
            "quick look</span>",
            "<dt>VERDICT</dt><dd>Turn on spring.threads.virtual.enabled: virtual serves 2.00 times as much at 20 users",
            "<dt>WHY</dt>",
            "<dt>NEXT</dt>",
            'class="picture"',
            "<h3>In application.yaml:</h3>",
            "Where the time of a request goes",
            "Ratio in each",
        )
    ]
    assert places == sorted(places)
    assert "under 1 CPU, 768Mi" in text
    assert "of a full run, which takes about" in text


def test_an_invalid_run_says_so_first() -> None:
    text = html.render(analyses("invalid"))
    assert text.index("✕ not valid") < text.index("No decision: 3 of 6 planned blocks count")
    assert "Do not base a decision on this run" in text
    assert "exit code 137" in text


def test_an_overloaded_variant_has_no_ratio() -> None:
    text = html.render(analyses("overloaded"))
    assert "platform is overloaded at 150/s in 6 of 6 blocks" in text
    assert 'class="arrow good"' in text
    assert '<p class="figure">overloaded <span>49.5/s answered</span></p>' in text


def test_places_where_threads_were_pinned_are_listed_most_first() -> None:
    run = recorded.run(blocks=2)
    windows = [t for b in run.blocks for t in b.trials if t.variant == "virtual"]
    for trial in windows:
        trial.pinned = {"a.Rare:1": 2 * trial.window, "b.Often:<2>": 3 * trial.window}
    windows[0].pinned["c.Once:3"] = windows[0].window
    analysis = recorded.analysed(run)
    assert list(analysis.verdict.variants["virtual"].pinned.items()) == [
        ("b.Often:<2>", pytest.approx(3)),
        ("a.Rare:1", pytest.approx(2)),
        ("c.Once:3", pytest.approx(1 / len(windows))),
    ]
    text = without_roles(html.render([analysis]))
    assert text.index('<td>b.Often:&lt;2&gt;</td><td class="n">3/s</td>') < text.index("<td>a.Rare:1</td>")
    assert "Pinned virtual threads" in markdown.render([analysis])
    assert "Pinned virtual threads" not in html.render(analyses("full"))


def test_the_same_runs_give_the_same_bytes() -> None:
    assert html.render(analyses(*RUNS)) == html.render(analyses(*RUNS))


def test_several_cpu_limits_stand_side_by_side() -> None:
    text = html.render(verdict.analyse_all([limited(2.0), limited(0.5)]))
    assert "threads under CPU limits" in text
    assert text.index(">0.5 CPU</text>") < text.index(">2 CPU</text>")
    assert "under CPU limits" not in html.render(analyses("full", "pool"))


def test_everything_that_others_wrote_is_escaped() -> None:
    exp = recorded.experiment(description=NASTY, settings={"<b>": NASTY})
    run = recorded.run(
        blocks=2,
        rejected={1: "core_wait"},
        experiment=exp,
        command=f"vtlab run '{NASTY}'",
        machine={"<i>cpu": NASTY},
    )
    broken = run.blocks[0].model_copy(update={"faults": [NASTY]})
    text = html.render(verdict.analyse_all([replace(run, blocks=[broken, *run.blocks[1:]])]))
    assert text.count("&lt;script&gt;") >= 4
    assert "<script" not in text
    assert "<b>" not in text
    assert "<i>" not in text


def test_nothing_is_fetched() -> None:
    text = html.render(analyses(*RUNS))
    tags = Outline(text).tags
    for tag, attributes in tags:
        assert tag not in {
            "script",
            "link",
            "img",
            "iframe",
            "object",
            "embed",
            "base",
            "image",
            "use",
            "form",
        }
        assert not {"src", "srcset", "action", "background", "style"} & set(attributes), tag
        assert not [a for a in attributes if a.startswith("on")], tag
        assert (attributes.get("href") or "#").startswith("#"), attributes
    assert "url(" not in text
    assert "@import" not in text
    policy = next(a["content"] for t, a in tags if t == "meta" and "http-equiv" in a)
    assert policy is not None
    assert policy.startswith("default-src 'none'; style-src 'unsafe-inline'")


def test_every_chart_and_table_says_what_it_is() -> None:
    text = html.render(analyses(*RUNS))
    tags = Outline(text).tags
    charts = [a for t, a in tags if t == "svg"]
    assert charts
    assert all(a.get("aria-label") and a.get("role") == "img" for a in charts)
    assert text.count("<svg") == text.count("<desc>") == len(charts)
    assert text.count("<table ") == text.count("<caption>")


def test_absent_percentiles_are_dashes_with_the_reason() -> None:
    text = html.render(analyses("full"))
    assert "fewer than 10 samples" in text
    assert '<td class="n">–</td>' in without_roles(text)


def test_ten_times_the_blocks_cost_ten_times_the_work_at_most(tmp_path: Path) -> None:
    def work(run: Run) -> int:
        return calls(lambda: write_files(tmp_path, verdict.analyse_all([run])))

    five, fifty = (recorded.run(blocks=n) for n in (5, 50))
    # The templates are compiled once.
    write_files(tmp_path, verdict.analyse_all([five]))
    less = work(five)
    # Two thirds of it are not for the blocks.
    assert work(fifty) < 5 * less
    assert (tmp_path / "report.html").stat().st_size < 250_000


def test_long_series_are_thinned_but_keep_their_peaks() -> None:
    run = recorded.run(blocks=1)
    key = (1, 1)
    long = [[float(i), 0.5] for i in range(100_000)]
    long[77_777][1] = 0.93
    series = {v: {**run.series[key][v], "cpu_cores": long} for v in run.series[key]}
    text = html.render(verdict.analyse_all([replace(run, series={key: series})]))
    assert "platform: highest 0.930" in text
    assert len(text) < 200_000


def test_a_run_of_an_installed_vtlab_is_repeated_without_a_checkout() -> None:
    installed = recorded.analysed(recorded.run(blocks=2, commit=NO_COMMIT))
    assert provenance.commands_to_repeat(installed) == "vtlab run threads.json --blocks 2 --seed 20261123"
    assert provenance.commands_to_repeat(recorded.analysed(recorded.run(blocks=2))).startswith("git checkout 8de2")

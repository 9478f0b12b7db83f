"""report.md and the terminal's lines: golden outputs, escaping, no terminal."""

from __future__ import annotations

import io
from dataclasses import replace

from rich.console import Console

from tests.support import golden_files, recorded
from tests.unit.test_report_html import NASTY, RUNS, analyses, limited
from vtlab.analysis import verdict
from vtlab.model.run import Analysis
from vtlab.report.pages import html, markdown, terminal
from vtlab.report.parts import provenance
from vtlab.report.words import labels

RUN = analyses("full")[0]


def shown(console: Console, *names: str) -> str:
    console.print(terminal.render(analyses(*names)))
    file = console.file
    assert isinstance(file, io.StringIO)
    return file.getvalue()


def test_markdown_is_that_of_the_golden_file() -> None:
    runs = [limited(0.5, blocks=3), limited(1.0, rejected={2: "steal"}), RUNS["overloaded"], RUNS["pool"]]
    text = markdown.render(verdict.analyse_all(runs))
    golden_files.check("report.md", text)


def test_terminal_is_that_of_the_golden_file() -> None:
    text = shown(Console(file=io.StringIO(), soft_wrap=True), "full", "quick", "invalid", "overloaded", "none", "pool")
    golden_files.check("terminal.txt", text)


def test_a_variant_that_fails_is_the_verdict_of_page_and_markdown() -> None:
    analysis = recorded.analysed(recorded.run(blocks=3, failing=dict.fromkeys((1, 2, 3), "oom")))
    sentence = "Leave spring.threads.virtual.enabled off: virtual fails at 20 users: "
    for page in (html.render([analysis]), markdown.render([analysis])):
        assert sentence in page
        assert "✗ fails" in page
    assert '<p class="figure">fails <span>in 3 of 3 blocks</span></p>' in html.render([analysis])


def test_outcomes_under_several_cpu_limits_stand_side_by_side() -> None:
    text = html.render([RUN, other_limit(RUN)])
    assert "<h3>Capacity of virtual beside platform</h3>" in text
    assert "▲\u00a0better ≥ 2.00× (2.00–2.01)" in text


def other_limit(analysis: Analysis) -> Analysis:
    """Returns the run under another CPU limit, so that both stand side by side."""
    limits = analysis.run.experiment.limits.model_copy(update={"cpu": 0.5})
    experiment = analysis.run.experiment.model_copy(update={"limits": limits})
    return replace(analysis, run=replace(analysis.run, experiment=experiment))


def test_every_kind_of_run_renders() -> None:
    text = markdown.render(analyses(*RUNS))
    assert text == markdown.render(analyses(*RUNS))
    assert "None" not in text
    assert text.count("<details>") == text.count("</details>")
    assert len({line.count("|") for line in text.splitlines()[2 : 4 + len(RUNS)]}) == 1
    shown(Console(file=io.StringIO()), *RUNS)


def test_markdown_escapes_what_others_wrote() -> None:
    run = recorded.run(experiment=recorded.experiment(settings={"A": NASTY}), blocks=2, machine={"cpu": NASTY})
    text = markdown.render(verdict.analyse_all([run]))
    assert "<script" not in text
    assert "\\| pipes" in text


def test_a_command_cannot_end_its_code_block() -> None:
    run = recorded.run(blocks=2, command="vtlab run x\n```\n<script>")
    text = markdown.render(verdict.analyse_all([run]))
    assert text.partition("To repeat this run:")[2].count("```") == 2


def test_no_control_characters_without_a_terminal() -> None:
    text = shown(Console(file=io.StringIO(), width=40, soft_wrap=True), "full")
    assert "\x1b" not in text
    assert "limited by its 10 Tomcat threads" in text


def test_lines_are_wrapped_with_their_indent_in_a_terminal() -> None:
    # A TERM=dumb around the tests would have rich ignore the width.
    console = Console(
        file=io.StringIO(),
        width=60,
        soft_wrap=True,
        force_terminal=True,
        no_color=True,
        color_system=None,
        _environ={"TERM": "xterm"},
    )
    text = shown(console, "full")
    lines = text.splitlines()
    assert all(len(line) <= 60 for line in lines if not line.endswith("better"))
    assert lines[2] == "VERDICT  Turn on spring.threads.virtual.enabled: virtual"
    assert lines[3] == "         serves 2.00 times as much at 20 users (2.00–2.01);"
    assert any(line.startswith("capacity  20 users") and line.endswith("better") for line in lines), (
        "a row of the table stays whole"
    )


def test_the_environment_says_which_variants_have_other_windows_and_only_of_those_shown() -> None:
    windows = {"warmup_users": 200, "warmup_load": "6s", "measure": "5s", "measure_by_variant": {"virtual": "20s"}}
    exp = recorded.experiment(windows=windows)
    analysis = recorded.analysed(recorded.run(experiment=exp, blocks=3))
    assert "| measured window | 5s, virtual 20s |" in markdown.render([analysis])
    other = analysis.run.experiment.model_copy(update={"variants": ["platform", "platform-b"]})
    assert labels.windows(other) == "5s"


def test_the_environment_has_the_heap_that_a_jvm_chose() -> None:
    run = recorded.run(blocks=2)
    for block in run.blocks:
        block.instances[:] = [i.model_copy(update={"heap": 256.0 * 1024**2}) for i in block.instances]
    rows = dict(map(tuple, provenance.environment_table(recorded.analysed(run)).rows))
    assert rows["virtual: JVM"] == "Java 25.0.3+9-LTS Eclipse Adoptium, Serial GC, 1 processor, heap 256 MiB"

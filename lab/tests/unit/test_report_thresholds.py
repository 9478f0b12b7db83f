"""The thresholds of a user's k6 script, in the reports."""

from __future__ import annotations

from io import StringIO

from rich.console import Console

from tests.support import recorded
from vtlab.model.run import Analysis
from vtlab.report.pages import html, markdown, terminal
from vtlab.report.parts.thresholds import threshold_line, threshold_table

FAST, FEW = "p(95)<500", "rate<0.01"


def analysed(*held: dict[str, tuple[bool, bool] | None]) -> Analysis:
    """Analyses a run in which both thresholds hold as given, by variant and block; None where one was not measured."""
    run = recorded.run(blocks=len(held))
    for block, of in zip(run.blocks, held, strict=True):
        block.thresholds = {
            variant: {"http_req_duration": {FAST: both[0]}, "http_req_failed": {FEW: both[1]}}
            for variant, both in of.items()
            if both is not None
        }
    return recorded.analysed(run)


def test_a_threshold_stands_for_each_variant_with_the_blocks_in_which_it_holds() -> None:
    one = analysed(
        {"platform": (True, True), "virtual": (False, True)},
        {"platform": (True, False), "virtual": (False, True)},
        {"platform": (True, True), "virtual": None},
    )
    table = threshold_table(one)
    assert table.head == ["metric", "threshold", "platform", "virtual"]
    assert table.rows == [
        ["http_req_duration", FAST, "✓ holds", "✗ does not hold"],
        ["http_req_failed", FEW, "✗ holds in 2 of 3 blocks", "✓ holds"],
    ]
    assert threshold_line(one) == (
        f"Thresholds of the script: http_req_duration {FAST}: platform holds it, virtual does not;"
        f" http_req_failed {FEW}: platform holds it in 2 of 3 blocks, virtual holds it."
    )


def test_a_variant_that_no_block_has_is_not_said_to_hold_anything() -> None:
    one = analysed({"platform": (False, True), "virtual": None})
    assert [row[3] for row in threshold_table(one).rows] == ["–", "–"]
    assert "platform does not, virtual was not measured" in str(threshold_line(one))


def test_where_all_hold_one_line_says_so() -> None:
    one = analysed({"platform": (True, True), "virtual": (True, True)})
    assert threshold_line(one) == "Thresholds of the script: all hold in every block, for platform and virtual."


def test_every_report_has_them_where_the_script_has_any() -> None:
    def reports(analysis: Analysis) -> list[str]:
        screen = StringIO()
        Console(file=screen, width=400).print(terminal.render([analysis]))
        return [screen.getvalue(), markdown.render([analysis]), html.render([analysis])]

    for text in reports(analysed({"platform": (True, True), "virtual": (False, True)})):
        assert "Thresholds of the script" in text
        assert "p(95)" in text
    for text in reports(analysed({})):
        assert "Thresholds of the script" not in text
    assert threshold_line(analysed({})) is None

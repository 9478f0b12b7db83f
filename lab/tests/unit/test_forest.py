"""The picture of outcomes: which side is better, what an interval beyond the axis looks like, and its words."""

from __future__ import annotations

import re

import pytest

from tests.support.outcomes import concluded, outcome
from vtlab.report.charts import forest
from vtlab.report.parts import outcomes

MIDDLE = forest.ROW_WIDTH / 2


def place(text: str, ratio: float) -> float:
    """Returns where the dot of an outcome is, from left to right."""
    made = outcome(text, ratio)
    found = re.search(r'<circle cx="([\d.]+)"', forest.row_picture(forest.row_axis([made]), made, text))
    assert found is not None
    return float(found[1])


@pytest.mark.parametrize("text", ["tail", "median.full", "cpu", "memory"])
def test_what_is_lower_is_better_and_stands_at_the_right(text: str) -> None:
    assert place(text, 0.5) > MIDDLE > place(text, 2.0)


def test_more_capacity_is_better_and_stands_at_the_right() -> None:
    assert place("capacity", 2.0) > MIDDLE > place("capacity", 0.5)


def test_twice_as_good_is_as_far_from_the_middle_as_twice_as_bad() -> None:
    axis = forest.row_axis([outcome("tail", 2.0)])
    assert axis(2.0) - axis(1.0) == pytest.approx(axis(1.0) - axis(0.5))


def test_rows_share_an_axis_that_has_every_estimate() -> None:
    rows = [outcome("capacity", 1.01), outcome("tail", 2.31), outcome("median", 0.25)]
    axis = forest.row_axis(rows)
    assert axis.end == 5
    assert [label for _, label in axis.steps] == ["5×", "2×", "1", "2×", "5×"]


def test_an_axis_ends_at_ten_times_and_an_arrow_goes_on() -> None:
    far = outcome("median", 48.0)
    picture = forest.row_picture(forest.row_axis([far]), far, "median")
    assert forest.row_axis([far]).end == 10
    assert picture.count('class="arrow bad"') == 1
    assert "<circle" not in picture


def test_a_wide_interval_does_not_squeeze_the_others() -> None:
    wide = outcome("tail", 1.1, "undecided", low=0.5, high=40.0)
    axis = forest.row_axis([wide, outcome("capacity", 1.0)])
    assert axis.end == 5
    assert forest.row_picture(axis, wide, "tail").count('class="arrow open"') == 1


@pytest.mark.parametrize(("ratio", "is_better"), [(4.98, True), (0.2, False)])
def test_a_lower_bound_has_an_arrow_outwards(ratio: float, is_better: bool) -> None:
    bound = outcome("capacity", ratio, is_lower_bound=True)
    picture = forest.row_picture(forest.row_axis([bound]), bound, "capacity")
    (edge,) = re.findall(r'<polygon points="([\d.]+),', picture)
    assert (float(edge) > MIDDLE) == is_better
    assert 'class="whisker beyond good"' in picture or not is_better


def test_an_outcome_without_ratio_is_an_arrow_to_its_side_alone() -> None:
    nothing = {"ratio": None, "low": None, "high": None, "reason": "platform was overloaded"}
    overloaded = outcome("tail", 1.0, "better").model_copy(update=nothing)
    picture = forest.row_picture(forest.row_axis([overloaded]), overloaded, "tail")
    assert 'class="arrow good"' in picture
    assert "<circle" not in picture
    assert "<desc>no ratio, platform was overloaded, better</desc>" in picture


def test_an_undecided_estimate_is_hollow_so_that_colour_is_not_alone() -> None:
    undecided = outcome("tail", 1.1, "undecided", low=0.8, high=1.5)
    assert 'class="estimate hollow open"' in forest.row_picture(forest.row_axis([undecided]), undecided, "tail")


def test_a_row_is_described_in_words() -> None:
    made = outcome("tail.full", 2.31, low=2.04, high=2.6)
    picture = forest.row_picture(forest.row_axis([made]), made, "tail (p95) at 24 users")
    assert "<title>tail (p95) at 24 users</title>" in picture
    assert re.search(r"<desc>2\.31×, interval 2\.04× to 2\.60?×, margin ±20 %, worse</desc>", picture)


def test_the_picture_has_every_criterion_with_both_values_and_a_word() -> None:
    drawn = outcomes.outcome_picture(concluded(outcome("tail.full", 2.31), outcome("cpu", 1.3)))
    assert drawn is not None
    assert [(row.criterion, row.load, row.outcome, row.tone) for row in drawn.rows] == [
        ("capacity (req/s)", "20 users", "= same", "same"),
        ("median", "29.3/s", "= same", "same"),
        ("tail (p95)", "29.3/s", "= same", "same"),
        ("median", "20 users", "= same", "same"),
        ("tail (p95)", "20 users", "▼ worse", "bad"),
        ("cpu (s/1,000)", "29.3/s", "▼ worse", "bad"),
        ("memory", "", "= same", "same"),
        ("probe (longest)", "", "= same", "same"),
        ("errors", "20 users", "", "none"),
    ]
    assert all(row.base_value and row.value for row in drawn.rows)
    assert drawn.rows[4].change == "2.31× (2.08–2.54)"


@pytest.mark.parametrize(
    ("ratio", "is_lower_bound", "text"), [(5.0, True, "≥ 5.00×"), (0.2, True, "≤ 0.200×"), (5.0, False, "5.00×")]
)
def test_a_lower_bound_is_one_in_the_table_of_intervals_too(ratio: float, is_lower_bound: bool, text: str) -> None:
    table = outcomes.interval_table(concluded(outcome("capacity", ratio, is_lower_bound=is_lower_bound)))
    assert table.rows[0][:2] == ["capacity at 20 users", text]


def test_a_criterion_without_ratio_is_in_no_table_of_intervals() -> None:
    nothing = {"judgement": None, "ratio": None, "low": None, "high": None, "reason": "it was not measured"}
    analysis = concluded(outcome("memory").model_copy(update=nothing))
    names = [row[0] for row in outcomes.interval_table(analysis).rows]
    assert "memory" not in names
    assert "tail (p95) at 29.3/s" in names

"""Figures and names in words."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.support import recorded
from vtlab.report.pages import html
from vtlab.report.words import block_counts, bottlenecks, figures, hints


@pytest.mark.parametrize(
    ("ratio", "low", "high", "text"),
    [
        (4.98, 4.77, 5.21, "4.98× (4.77–5.21)"),
        (120.4, 119.0, 121.9, "120× (119–122)"),
        (1.5, 1.2, 1.9, "1.50× (1.20–1.90)"),
        (1.02, 0.2, 5.1, "1.02× (0.200–5.10)"),
        (5.0, 4.9982, 5.0031, "5.00× (4.998–5.003)"),
        (0.991, 0.979, 1.003, "−0.9 % (−2.1 to +0.3)"),
        (1.494, 1.45, 1.54, "+49 % (+45 to +54)"),
        (0.2, 0.19, 0.21, "−80.0 % (−81.0 to −79.0)"),
        (0.1, 0.08, 0.12, "−90 % (−92 to −88)"),
        (1.0, 0.9996, 1.0004, "0.00 % (−0.04 to +0.04)"),
        (0.97, None, None, "−3.0 %"),
        (0.004, None, None, "−99.6 %"),
        (2.31, None, None, "2.31×"),
        # Two blocks of spring-petclinic that differ.
        (1.04, 0.0223, 48.1, "1.04× (too wide)"),
        (0.372, 0.000297, 466, "0.372× (too wide)"),
    ],
)
def test_a_change_has_one_notation(ratio: float, low: float | None, high: float | None, text: str) -> None:
    assert figures.change(ratio, low, high) == text


def test_an_interval_has_the_digits_that_its_ends_need_to_differ() -> None:
    assert figures.interval(199.91, 199.94, figures.rate) == "199.91/s to 199.94/s"
    assert figures.interval(0.985, 1.02) == "0.985× to 1.020×"
    assert figures.interval(1.0, None) == figures.DASH
    assert figures.ends(199.91, 199.94, figures.rate) == " (199.91–199.94)"
    assert figures.ends(1.0, None) == figures.ends(1.0, 1.0) == ""


@pytest.mark.parametrize(
    ("value", "text"),
    [(9.236, "9.24/s"), (199.94, "199.9/s"), (200.0, "200/s"), (2950.4, "2,950/s"), (100.0, "100/s")],
)
def test_rates(value: float, text: str) -> None:
    assert figures.rate(value) == text


def test_a_run_without_a_block_that_counts_says_so() -> None:
    a = recorded.analysed(recorded.run(blocks=0, planned=3))
    assert hints.quick_look(a) == "Quick look: 0 blocks instead of the 6 of a full run."
    assert block_counts.why_invalid(a) == "Not valid: 0 of 3 planned blocks count. Do not base a decision on this run."
    full = recorded.analysed(recorded.run())
    assert hints.quick_look(full) is block_counts.why_invalid(full) is None


def test_one_block_is_counted_as_one() -> None:
    one = recorded.analysed(recorded.run(blocks=1, failing={1: "oom"}))
    gone = recorded.changed(one, virtual={"throughput": 0.0})
    assert bottlenecks.sentence(gone, "virtual").startswith("failed in the only block: ")
    assert "<span>in the only block</span>" in html.render([gone])
    rejected = recorded.analysed(recorded.run(blocks=1, planned=1))
    none = replace(rejected, verdict=rejected.verdict.model_copy(update={"n": 0, "valid": False}))
    assert "0 of 1 planned block counts" in str(block_counts.why_invalid(none))

"""``--assert``."""

from __future__ import annotations

import pytest

from tests.support import recorded
from vtlab.analysis import asserts, verdict
from vtlab.errors import AssertionFailed, BadInput


@pytest.mark.parametrize(
    ("text", "low", "high", "holds"),
    [
        ("throughput(virtual/platform) >= 1.2", 1.21, 1.4, True),
        ("throughput(virtual/platform) >= 1.2", 1.19, 1.4, False),
        ("throughput(virtual/platform)>1.2", 1.2, 1.4, False),
        ("throughput(virtual/platform) <= 1.4", 1.2, 1.4, True),
        ("throughput(virtual/platform) < 1.4", 1.2, 1.4, False),
        ("throughput(virtual/platform) >= 1.2", None, None, False),
    ],
)
def test_the_whole_interval_must_lie_on_the_demanded_side(
    text: str, low: float | None, high: float | None, holds: bool
) -> None:
    assert asserts.parse(text).holds(low, high) is holds


@pytest.mark.parametrize(
    "text", ["", "throughput >= 1", "throughput(virtual) > 1", "throughput(a/b) = 1", "throughput(a/b) > x"]
)
def test_another_form_is_bad_input(text: str) -> None:
    with pytest.raises(BadInput, match="is not an assertion"):
        asserts.parse(text)


def test_an_overload_fails_an_assertion_in_words() -> None:
    (analysis,) = verdict.analyse_all([recorded.run(blocks=1)])
    primary = analysis.verdict.comparisons[0]
    lost = primary.model_copy(update={"ratio": None, "low": None, "high": None, "overloaded": ["platform"]})
    changed = analysis.verdict.model_copy(update={"comparisons": [lost]})
    with pytest.raises(AssertionFailed, match="platform could not keep up"):
        asserts.check([asserts.parse("throughput(virtual/platform) >= 1.2")], [changed])


def test_the_only_block_in_which_a_variant_failed_is_no_1_of_1_blocks() -> None:
    (analysis,) = verdict.analyse_all([recorded.run(blocks=1, failing={1: "oom"})])
    with pytest.raises(AssertionFailed) as failed:
        asserts.check([asserts.parse("throughput(virtual/platform) >= 1.2")], [analysis.verdict])
    assert "virtual failed in the only block: out of heap memory" in failed.value.message


@pytest.mark.parametrize("failing", [(1,), (1, 2, 3)])
def test_of_a_variant_that_failed_no_assertion_holds(failing: tuple[int, ...]) -> None:
    (analysis,) = verdict.analyse_all([recorded.run(blocks=3, failing=dict.fromkeys(failing, "oom"))])
    for metric in ("throughput", "memory"):
        with pytest.raises(AssertionFailed) as failed:
            asserts.check([asserts.parse(f"{metric}(virtual/platform) >= 0.001")], [analysis.verdict])
        said = f"does not hold: virtual failed in {len(failing)} of 3 blocks: out of heap memory (256m)"
        assert said in failed.value.message


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("througput(virtual/platform) >= 1", "no metric 'througput'"),
        ("throughput(platform/virtual) >= 1", "does not compare platform with virtual"),
        ("throughput(virtual/reactive) >= 1", "does not compare virtual with reactive"),
    ],
)
def test_what_no_run_could_answer_is_refused_before_measuring(text: str, message: str) -> None:
    with pytest.raises(BadInput, match=message):
        asserts.refuse_unknown([asserts.parse(text)], [recorded.experiment()])
    asserts.refuse_unknown([asserts.parse("latency_p99(virtual/platform) < 1")], [recorded.arrivals()])

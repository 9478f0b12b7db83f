"""``--assert``."""

from __future__ import annotations

import math
import operator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support import recorded
from vtlab.analysis import asserts, verdict
from vtlab.errors import AssertionFailed, BadInput
from vtlab.model.verdict import Verdict

#: Of three blocks, of one, and of three in one of which a variant failed.
MEASURED, *UNDECIDED = (
    recorded.analysed(run).verdict
    for run in (recorded.run(blocks=3), recorded.run(blocks=1), recorded.run(blocks=3, failing={2: "oom"}))
)
SIGNS = {">=": operator.ge, ">": operator.gt, "<=": operator.le, "<": operator.lt}


@pytest.mark.parametrize(
    ("text", "low", "high", "holds"),
    [
        ("capacity(virtual/platform) >= 1.2", 1.21, 1.4, True),
        ("capacity(virtual/platform) >= 1.2", 1.19, 1.4, False),
        ("capacity(virtual/platform)>1.2", 1.2, 1.4, False),
        ("capacity(virtual/platform) <= 1.4", 1.2, 1.4, True),
        ("capacity(virtual/platform) < 1.4", 1.2, 1.4, False),
        ("capacity(virtual/platform) >= 1.2", None, None, False),
    ],
)
def test_the_whole_interval_must_lie_on_the_demanded_side(
    text: str, low: float | None, high: float | None, holds: bool
) -> None:
    assert asserts.parse(text).holds(low, high) is holds


@pytest.mark.parametrize(
    "text", ["", "capacity >= 1", "capacity(virtual) > 1", "capacity(a/b) = 1", "capacity(a/b) > x"]
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
        asserts.check([asserts.parse("capacity(virtual/platform) >= 1.2")], [changed])


def test_the_only_block_in_which_a_variant_failed_is_no_1_of_1_blocks() -> None:
    (analysis,) = verdict.analyse_all([recorded.run(blocks=1, failing={1: "oom"})])
    with pytest.raises(AssertionFailed) as failed:
        asserts.check([asserts.parse("capacity(virtual/platform) >= 1.2")], [analysis.verdict])
    assert "virtual failed in the only block: out of heap memory" in failed.value.message


@pytest.mark.parametrize("failing", [(1,), (1, 2, 3)])
def test_of_a_variant_that_failed_no_assertion_holds(failing: tuple[int, ...]) -> None:
    (analysis,) = verdict.analyse_all([recorded.run(blocks=3, failing=dict.fromkeys(failing, "oom"))])
    for metric in ("capacity", "memory"):
        with pytest.raises(AssertionFailed) as failed:
            asserts.check([asserts.parse(f"{metric}(virtual/platform) >= 0.001")], [analysis.verdict])
        said = f"does not hold: virtual failed in {len(failing)} of 3 blocks: out of heap memory (256m)"
        assert said in failed.value.message


def compared(low: float, high: float, *, is_least: bool) -> Verdict:
    """A verdict whose ratio lies between these; ``is_least``: the load limited the better variant."""
    change = {"ratio": math.sqrt(low * high), "low": low, "high": high, "is_lower_bound": is_least}
    return MEASURED.model_copy(update={"comparisons": [MEASURED.comparisons[0].model_copy(update=change)]})


RATIOS = st.floats(0.05, 20).map(lambda x: round(x, 3))


@given(RATIOS, RATIOS, st.booleans(), st.sampled_from(sorted(SIGNS)), RATIOS)
def test_a_demand_holds_where_it_does_of_every_ratio_that_is_possible(
    one: float, other: float, is_least: bool, sign: str, value: float
) -> None:
    low, high = sorted((one, other))
    judged = compared(low, high, is_least=is_least)
    possible = [low, high]
    if is_least:
        # The true ratio may be further from 1.
        possible.append(1e6 if math.sqrt(low * high) > 1 else 1e-6)
    reason = asserts.reason_broken(asserts.parse(f"capacity(virtual/platform) {sign} {value}"), judged)
    assert (reason is None) == all(SIGNS[sign](ratio, value) for ratio in possible), reason


@given(st.sampled_from(sorted(SIGNS)), RATIOS)
def test_nothing_holds_of_one_block_and_of_what_failed(sign: str, value: float) -> None:
    demand = asserts.parse(f"capacity(virtual/platform) {sign} {value}")
    assert all(asserts.reason_broken(demand, undecided) for undecided in UNDECIDED)


def test_a_least_difference_is_no_limit_to_the_ratio() -> None:
    demand = asserts.parse("capacity(virtual/platform) <= 2.5")
    assert asserts.reason_broken(demand, compared(1.984, 2.02, is_least=False)) is None
    assert asserts.reason_broken(demand, compared(1.984, 2.02, is_least=True)) == (
        "2.002 (95 % interval 1.984 to 2.02) is only the least difference: more load may show a larger ratio"
    )
    slower = asserts.parse("capacity(virtual/platform) >= 0.4")
    assert str(asserts.reason_broken(slower, compared(0.5, 0.5, is_least=True))).endswith("may show a smaller ratio")


def test_throughput_is_called_capacity() -> None:
    with pytest.raises(BadInput, match="throughput is called capacity") as error:
        asserts.parse("throughput(virtual/platform) >= 1.2")
    assert error.value.fix == "write 'capacity(virtual/platform) >= 1.2'"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("capacity(platform/virtual) >= 1", "does not compare platform with virtual"),
        ("capacity(virtual/reactive) >= 1", "does not compare virtual with reactive"),
    ],
)
def test_what_no_run_could_answer_is_refused_before_measuring(text: str, message: str) -> None:
    with pytest.raises(BadInput, match=message):
        asserts.refuse_unknown([asserts.parse(text)], [recorded.experiment()])
    with pytest.raises(BadInput, match="no criterion 'capcity'"):
        asserts.parse("capcity(virtual/platform) >= 1")
    asserts.refuse_unknown([asserts.parse("latency_p99(virtual/platform) < 1")], [recorded.arrivals()])

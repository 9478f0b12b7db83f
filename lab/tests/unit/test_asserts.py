"""``--assert``."""

from __future__ import annotations

import math
import operator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support import felt, recorded
from vtlab.analysis import asserts
from vtlab.errors import AssertionFailed, BadInput
from vtlab.model.load import NONE
from vtlab.model.outcome import Judgement, ProbeResult
from vtlab.model.verdict import Verdict

#: Of three blocks, of one, and of three in one of which a variant failed.
MEASURED, *UNDECIDED = (
    recorded.analysed(run).verdict
    for run in (recorded.run(blocks=3), recorded.run(blocks=1), recorded.run(blocks=3, failing={2: "oom"}))
)
#: Both loads and probes.
_TOLD: dict[str, Any] = {"typical": felt.PLAN, "percentiles": {"typical": "p95", "full": "p90"}}
FELT = recorded.analysed(felt.felt(recorded.run(blocks=3, experiment=felt.experiment(), **_TOLD))).verdict
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
    "text",
    [
        "",
        "capacity >= 1",
        "capacity(virtual) > 1",
        "capacity(a/b) = 1",
        "capacity(a/b) > x",
        "capacity(a/b) == 1",
        "capacity(a/b) > true",
        "probe.restart(a/b) == false",
        "probe.restart(a) >= 1",
        "probe.restart(a) == 0",
    ],
)
def test_another_form_is_bad_input(text: str) -> None:
    with pytest.raises(BadInput, match="is not an assertion"):
        asserts.parse(text)


def test_of_an_overloaded_variant_the_ratio_has_no_end() -> None:
    (run,) = [recorded.under_open_load(recorded.run(), "platform")]
    verdict = recorded.analysed(run).verdict
    assert asserts.reason_broken(asserts.parse("median(virtual/platform) <= 1.1"), verdict) is None
    for text in ("median(virtual/platform) <= 0.5", "median(virtual/platform) >= 0.5"):
        reason = asserts.reason_broken(asserts.parse(text), verdict)
        assert reason == "there is no ratio: platform was overloaded in 6 of 6 blocks"


def test_the_only_block_in_which_a_variant_failed_is_no_1_of_1_blocks() -> None:
    analysis = recorded.analysed(recorded.run(blocks=1, failing={1: "oom"}))
    with pytest.raises(AssertionFailed) as failed:
        asserts.check([asserts.parse("capacity(virtual/platform) >= 1.2")], [analysis.verdict])
    assert "virtual failed in the only block: out of heap memory" in failed.value.message


@pytest.mark.parametrize("failing", [(1,), (1, 2, 3)])
def test_of_a_variant_that_failed_no_assertion_holds(failing: tuple[int, ...]) -> None:
    analysis = recorded.analysed(recorded.run(blocks=3, failing=dict.fromkeys(failing, "oom")))
    for metric in ("capacity", "memory"):
        with pytest.raises(AssertionFailed) as failed:
            asserts.check([asserts.parse(f"{metric}(virtual/platform) >= 0.001")], [analysis.verdict])
        said = f"does not hold: virtual failed in {len(failing)} of 3 blocks: out of heap memory (256m)"
        assert said in failed.value.message


def judged(name: str, judgement: Judgement | None, verdict: Verdict = MEASURED, **fields: Any) -> Verdict:
    """A verdict whose outcome of that name has another judgement."""
    outcomes = [
        outcome.model_copy(update={"judgement": judgement, **fields}) if str(outcome.key) == name else outcome
        for outcome in verdict.outcomes
    ]
    return verdict.model_copy(update={"outcomes": outcomes})


def compared(low: float, high: float, *, is_least: bool, judgement: Judgement = "undecided") -> Verdict:
    """A verdict whose ratio lies between these; ``is_least``: the load limited the better variant."""
    ratio = {"ratio": math.sqrt(low * high), "low": low, "high": high}
    return judged("capacity", judgement, MEASURED, is_lower_bound=is_least, **ratio)


RATIOS = st.floats(0.05, 20).map(lambda x: round(x, 3))


@given(RATIOS, RATIOS, st.sampled_from(["", "better", "both"]), st.sampled_from(sorted(SIGNS)), RATIOS)
def test_a_demand_holds_where_it_does_of_every_ratio_that_is_possible(
    one: float, other: float, limited: str, sign: str, value: float
) -> None:
    """The load alone limits none, the better, or both."""
    low, high = sorted((one, other))
    verdict = compared(low, high, is_least=bool(limited), judgement="same" if limited == "both" else "better")
    possible = [low, high]
    if limited == "both":
        possible += [1e-6, 1e6]
    elif limited:
        # The true ratio may be further from 1.
        possible.append(1e6 if math.sqrt(low * high) > 1 else 1e-6)
    reason = asserts.reason_broken(asserts.parse(f"capacity(virtual/platform) {sign} {value}"), verdict)
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
    same = compared(0.99, 1.01, is_least=True, judgement="same")
    assert str(asserts.reason_broken(slower, same)).endswith("with more users the capacities can differ")


@pytest.mark.parametrize("name", ["capacity", "median", "tail", "median.full", "tail.full"])
def test_each_criterion_has_assertions(name: str) -> None:
    (outcome,) = [o for o in FELT.outcomes if str(o.key) == name]
    assert outcome.low is not None
    assert outcome.high is not None
    if name == "capacity":
        outcome.is_lower_bound = False
    below, within = outcome.low * 0.99, (outcome.low + outcome.high) / 2
    assert asserts.reason_broken(asserts.parse(f"{name}(virtual/platform) >= {below:.6f}"), FELT) is None
    reason = asserts.reason_broken(asserts.parse(f"{name}(virtual/platform) >= {within:.6f}"), FELT)
    assert reason == f"{outcome.ratio:.4g} (95 % interval {outcome.low:.4g} to {outcome.high:.4g})"


def test_a_criterion_without_outcome_has_its_reason() -> None:
    idle = judged("cpu", None, FELT, reason="platform uses less than 10 % of its CPU limit")
    reason = asserts.reason_broken(asserts.parse("cpu(virtual/platform) <= 100"), idle)
    assert reason == "no outcome: platform uses less than 10 % of its CPU limit"
    with pytest.raises(AssertionFailed, match="no outcome: the capacities differ by more than their margin"):
        asserts.check([asserts.parse("memory(virtual/platform) <= 100")], [FELT])


def restarting(full: str | None, typical: str | None) -> Verdict:
    """A verdict whose virtual threads show that of a probe under both loads."""

    def shown(restarts: str | None) -> ProbeResult:
        fields = {"sent": 75, "over_second": 0, "unanswered": 0, "longest": 0.1, "restarting_blocks": 0}
        return ProbeResult.model_validate({**fields, "restarts": restarts})

    probes = {"full": shown(full), "typical": shown(typical)}
    virtual = FELT.variants["virtual"].model_copy(update={"probes": probes})
    return FELT.model_copy(update={"variants": {**FELT.variants, "virtual": virtual}})


@pytest.mark.parametrize(
    ("full", "typical", "reason_against_false", "reason_against_true"),
    [
        ("no", "no", None, "a kubelet would not restart virtual"),
        ("yes", "no", "a kubelet would restart virtual", None),
        ("no", "at risk", "a kubelet might restart virtual", "a kubelet might restart virtual"),
        (None, "no", *2 * ["no outcome: no probe of a liveness endpoint was measured"]),
    ],
)
def test_a_restart_under_either_load(
    full: str | None, typical: str | None, reason_against_false: str | None, reason_against_true: str | None
) -> None:
    verdict = restarting(full, typical)
    assert asserts.reason_broken(asserts.parse("probe.restart(virtual) == false"), verdict) == reason_against_false
    assert asserts.reason_broken(asserts.parse("probe.restart(virtual) == true"), verdict) == reason_against_true
    one_block = verdict.model_copy(update={"n": 1})
    assert asserts.reason_broken(asserts.parse("probe.restart(virtual) == false"), one_block)


def test_a_report_shows_the_assertions_of_its_pair() -> None:
    texts = ["median(virtual/platform) <= 1.1", "probe.restart(platform) == false", "tail(reactive/platform) < 1"]
    shown = asserts.judge(texts, restarting("no", "no"))
    assert [(s.text, s.broken) for s in shown] == [(text, None) for text in texts[:2]]
    assert [s.measured[:4] for s in shown] == ["0.99", "no"]
    (bad,) = asserts.judge(["throughput(virtual/platform) > 1"], FELT)
    assert bad.broken is not None
    assert "throughput is called capacity" in bad.broken


@pytest.mark.parametrize(
    ("old", "new"), [("throughput", "capacity"), ("latency_p99", "tail"), ("cpu_per_request", "cpu")]
)
def test_an_old_name_is_refused_with_the_new_one(old: str, new: str) -> None:
    with pytest.raises(BadInput, match=f"{old} is called {new}") as error:
        asserts.parse(f"{old}(virtual/platform) >= 1.2")
    assert error.value.fix == f"write '{new}(virtual/platform) >= 1.2'"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("capacity(platform/virtual) >= 1", "does not compare platform with virtual"),
        ("capacity(virtual/reactive) >= 1", "does not compare virtual with reactive"),
        ("probe.restart(reactive) == false", "has no variant reactive"),
        ("tail(virtual/platform) <= 1", "has no typical load, so it has no outcome of tail"),
        ("cpu(virtual/platform) <= 1", "has no typical load, so it has no outcome of cpu"),
    ],
)
def test_what_no_run_could_answer_is_refused_before_measuring(text: str, message: str) -> None:
    full_alone = recorded.experiment(load={"full": {"users": 20}, "typical": NONE})
    with pytest.raises(BadInput, match=message):
        asserts.refuse_unknown([asserts.parse(text)], [full_alone])
    with pytest.raises(BadInput, match="no criterion 'capcity'"):
        asserts.parse("capcity(virtual/platform) >= 1")
    asserts.refuse_unknown([asserts.parse("tail(virtual/platform) < 1")], [recorded.arrivals()])
    with pytest.raises(BadInput, match="has no full load"):
        asserts.refuse_unknown([asserts.parse("tail.full(virtual/platform) < 1")], [recorded.arrivals()])

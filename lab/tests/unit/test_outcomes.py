"""Outcomes of the six criteria: what judges them, and what leaves one out."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support import felt, recorded
from vtlab.analysis.criteria import conclusions, outcomes, priors, prospects, reasons
from vtlab.analysis.criteria.criterion import count_claims
from vtlab.analysis.criteria.judged import Levels
from vtlab.analysis.statistics import moderated, stopping_rule
from vtlab.analysis.statistics.moderated import Goal, Prior, Seen
from vtlab.model.outcome import Key, Outcome
from vtlab.model.records import Block, Trial
from vtlab.model.run import Run
from vtlab.model.verdict import Bottleneck

PERCENTILES: dict[str, Any] = {"full": "p90", "typical": "p95"}


def made() -> Run:
    """Returns three blocks with both loads, equal CPU at typical load, and the memory of each JVM."""
    run = felt.felt(recorded.run(blocks=3, experiment=felt.experiment(), typical=felt.PLAN, percentiles=PERCENTILES))
    run = changed(
        run, lambda t: recorded.changed_trial(t, server={"cpu_cores": 0.2 + t.begin % 7 / 1000, "jit_cpu": 0.0})
    )
    return with_memory(run)


def with_memory(run: Run) -> Run:
    def of(block: Block) -> Block:
        instances = [i.model_copy(update={"resident_peak": 4e8 + block.block}) for i in block.instances]
        return block.model_copy(update={"instances": instances})

    return replace(run, blocks=[of(b) for b in run.blocks])


def judged(run: Run) -> dict[str, Outcome]:
    """Returns the outcomes of a run of two variants, by their names in assertions."""
    return {str(outcome.key): outcome for outcome in recorded.analysed(run).verdict.outcomes}


def changed(run: Run, change: Callable[[Trial], Trial], kind: str = "typical", blocks: int = 12) -> Run:
    """Returns the run with other phases of a kind, in its first so many blocks."""

    def of(block: Block) -> Block:
        return block.model_copy(update={kind: [change(t) for t in getattr(block, kind)]})

    return replace(run, blocks=[of(b) if b.block <= blocks else b for b in run.blocks])


def of_virtual(**changes: Any) -> Callable[[Trial], Trial]:
    return lambda t: recorded.changed_trial(t, **changes) if t.variant == "virtual" else t


def slowed(factor: float) -> Callable[[Trial], Trial]:
    """Returns a change that makes the latency of virtual threads longer."""

    def change(t: Trial) -> Trial:
        if t.variant != "virtual":
            return t
        longer = {k: v if v is None or k == "count" else v * factor for k, v in t.latency.model_dump().items()}
        return recorded.changed_trial(t, latency=t.latency.model_copy(update=longer))

    return change


RUN = made()


# --- what is judged ------------------------------------------------------------


def test_a_run_with_both_loads_has_all_criteria_in_the_order_of_reports() -> None:
    found = judged(RUN)
    assert list(found) == ["capacity", "median", "tail", "median.full", "tail.full", "cpu", "memory", "probe"]
    assert [name for name, o in found.items() if o.is_claim] == ["capacity", "median", "tail"]
    assert count_claims(RUN.experiment) == 3
    assert {name: o.judgement for name, o in found.items()} == {
        "capacity": "better",
        "median": "same",
        "tail": "same",
        "median.full": "better",
        "tail.full": "better",
        "cpu": "same",
        "memory": None,
        "probe": "same",
    }
    assert found["memory"].reason == "the capacities differ by more than their margin"
    assert found["capacity"].is_lower_bound, "20 users alone limit virtual threads"


def as_script(t: Trial) -> Trial:
    """Makes iterations of a second of a window's requests: its answers are those of the requests."""
    assert t.answers
    of_requests = t.answers.model_copy(update={"latency": t.latency})
    return recorded.changed_trial(t, latency=recorded.latency(t.ok, 1.0), answers=of_requests)


def test_a_script_is_felt_by_its_answers_and_serves_iterations() -> None:
    """Its iterations are all as long; of virtual threads the answers are twice as long, and the iterations half as
    many."""
    halved = of_virtual(throughput=24.4)
    requests = changed(changed(changed(RUN, slowed(2.0)), slowed(2.0), "trials"), halved, "trials")
    script = changed(changed(requests, as_script), as_script, "trials")
    expected, of_script = judged(requests), judged(script)
    assert of_script["capacity"].ratio == pytest.approx(0.5, rel=0.02), "iterations"
    for name in ("median", "tail", "median.full", "tail.full"):
        assert of_script[name].ratio == pytest.approx(expected[name].ratio), name
        assert of_script[name].value == pytest.approx(expected[name].value), f"{name}: an answer, not a second"
    assert (of_script["median"].judgement, of_script["capacity"].judgement) == ("worse", "worse")


def test_a_load_that_is_missing_has_no_criteria() -> None:
    alone = recorded.run(blocks=2)
    assert list(judged(alone)) == ["capacity", "median.full", "tail.full", "memory", "probe"]
    assert count_claims(alone.experiment) == 1
    typical = with_memory(recorded.under_open_load(recorded.run(blocks=2)))
    assert list(judged(typical)) == ["median", "tail", "cpu", "memory", "probe"]
    assert count_claims(typical.experiment) == 2
    assert judged(typical)["memory"].judgement is not None, "one rate for all: capacities do not matter"


def test_each_further_variant_has_its_outcomes_and_its_claims() -> None:
    three = recorded.with_variant(recorded.run(blocks=2), "virtual-small", factor=0.75)
    found = recorded.analysed(three).verdict.outcomes
    assert [o.of for o in found] == ["virtual"] * 5 + ["virtual-small"] * 5
    assert {o.over for o in found} == {"platform"}
    assert count_claims(three.experiment) == 2


# --- levels --------------------------------------------------------------------


def test_blocks_that_were_fixed_are_one_look_whose_level_the_claims_share() -> None:
    found = judged(RUN)
    assert found["capacity"].level == pytest.approx(0.05 / 3)
    assert found["tail.full"].level == found["cpu"].level == pytest.approx(0.05 / 4)


def test_what_is_read_once_has_the_level_of_four_claims_at_the_look_of_the_end() -> None:
    rule = stopping_rule.sequential_rule(3)
    found = judged(replace(RUN, manifest=RUN.manifest.model_copy(update={"rule": rule})))
    assert found["capacity"].level == pytest.approx(rule.levels[1])
    assert found["cpu"].level == pytest.approx(stopping_rule.sequential_rule(4).levels[1])


def test_one_block_has_a_provisional_interval_and_no_outcome(monkeypatch: pytest.MonkeyPatch) -> None:
    one = replace(RUN, blocks=RUN.blocks[:1], manifest=RUN.manifest.model_copy(update={"blocks": 1}))
    assert {o.judgement for o in judged(one).values()} == {None}
    assert judged(one)["median"].low is None, "nothing tells how blocks scatter"
    monkeypatch.setattr(priors, "prior", lambda _: Prior(0.01, 4.0))
    median = judged(one)["median"]
    assert (median.judgement, median.is_provisional, median.df) == (None, True, 4.0)
    assert median.low is not None
    assert median.ratio is not None
    assert median.low < median.ratio


@given(st.floats(0.05, 20), st.floats(1.0, 3.0), st.floats(0.01, 0.5), st.sampled_from(["higher", "lower"]))
def test_outcome_and_interval_agree(middle: float, width: float, margin: float, better: Any) -> None:
    low, high = middle / width, middle * width
    verdict = outcomes.judgement(low, high, margin, better)
    upper, lower = 1 + margin, 1 / (1 + margin)
    assert (verdict == "same") == (low >= lower and high <= upper)
    assert (verdict in ("better", "worse")) == (low > upper or high < lower)
    if verdict in ("better", "worse"):
        assert (verdict == "better") == ((low > 1) == (better == "higher"))


# --- margins -------------------------------------------------------------------


def test_a_margin_is_a_share_and_two_milliseconds_where_that_is_more() -> None:
    found = judged(RUN)
    assert (found["capacity"].margin, found["median"].margin, found["cpu"].margin) == (0.05, 0.20, 0.05)
    fast = changed(
        RUN,
        lambda t: recorded.changed_trial(t, latency=t.latency.model_copy(update={"p50": 0.004})),
    )
    assert judged(fast)["median"].margin == pytest.approx(0.5)


def test_an_undecided_outcome_says_how_many_blocks_would_probably_settle_it() -> None:
    def scattered(t: Trial) -> Trial:
        return slowed(1.1 + 0.04 * (t.begin % 3))(t)

    found = judged(changed(RUN, scattered))["median"]
    assert found.judgement == "undecided"
    assert found.blocks_needed is None or found.blocks_needed > 3
    assert judged(RUN)["capacity"].blocks_needed is None


def test_blocks_needed_would_settle_all_undecided_claims_together() -> None:
    levels = Levels(claim=0.05, beside=0.05)
    undecided = {"judgement": "undecided", "log_ratios": [0.1, 0.14, 0.08, 0.12], "margin": 0.05, "is_claim": True}
    median, tail = (judged(RUN)[name].model_copy(update={**undecided, "reason": None}) for name in ("median", "tail"))
    (alone,) = prospects.with_blocks_needed([median], levels)
    together, _ = prospects.with_blocks_needed([median, tail], levels)
    beside, _ = prospects.with_blocks_needed([median, tail.model_copy(update={"is_claim": False})], levels)
    assert alone.blocks_needed == beside.blocks_needed
    assert alone.blocks_needed is not None
    assert together.blocks_needed is not None
    assert together.blocks_needed > alone.blocks_needed


@pytest.mark.parametrize(("factor", "judgement"), [(1.1, "same"), (1.6, "worse"), (0.5, "better"), (1.2, "undecided")])
def test_the_median_at_typical_load_is_judged_by_a_fifth(factor: float, judgement: str) -> None:
    assert judged(changed(RUN, slowed(factor)))["median"].judgement == judgement


# --- reasons -------------------------------------------------------------------


def test_latency_that_is_not_steady_has_no_outcome() -> None:
    unsteady = changed(RUN, of_virtual(latency=recorded.latency(0, 0.0)), "trials")
    assert judged(unsteady)["tail.full"].reason == "latency is not steady within a window"
    assert judged(unsteady)["tail"].judgement == "same", "at the other load it is"


def test_a_percentile_that_a_window_tells_badly_has_no_outcome() -> None:
    def wide(t: Trial) -> Trial:
        times = [0.1 * 1.2**n for n in range(40)]
        return recorded.changed_trial(t, answers=felt.answers(times, t.window))

    found = judged(changed(RUN, wide))
    assert found["median"].judgement is None
    assert "between two modes" in (found["median"].reason or "")


def test_a_tail_of_which_half_was_sent_late_is_undecided() -> None:
    """Seen: 27 of 3,000 arrivals were sent late, which passes, and p99 was 27.5 ms beside 4.8."""

    def sent(late: int) -> Callable[[Trial], Trial]:
        times = [0.1 + n % 100 / 1000 for n in range(5000)]

        def change(t: Trial) -> Trial:
            counts = {"ok": 5000, "started": 5000, "completed": 5000, "late_arrivals": late, "late_max": 0.04}
            return recorded.changed_trial(
                t, answers=felt.answers(times, t.window), latency=recorded.latency(5000, 0.1), **counts
            )

        return change

    percentiles = {**PERCENTILES, "typical": "p99"}
    run = replace(RUN, manifest=RUN.manifest.model_copy(update={"percentiles": percentiles}))
    late, in_time = (judged(changed(run, sent(count))) for count in (30, 20))
    assert (late["tail"].judgement, in_time["tail"].judgement) == ("undecided", "same")
    assert late["tail"].reason == "k6 sent more arrivals late than half of those beyond p99"
    assert late["median"].judgement == "same"


def test_too_few_answers_for_a_percentile_have_no_tail() -> None:
    none = {"full": "p90", "typical": None}
    few = replace(RUN, manifest=RUN.manifest.model_copy(update={"percentiles": none}))
    assert judged(few)["tail"].reason == "the windows have too few answers for a p90"
    assert judged(few)["median"].judgement == "same"


def test_a_cpu_that_is_hardly_used_has_no_outcome() -> None:
    idle = changed(RUN, of_virtual(server={"cpu_cores": 0.05, "jit_cpu": 0.0}))
    assert judged(idle)["cpu"].reason == "virtual uses less than 10 % of its CPU limit"


def test_memory_is_judged_at_equal_capacities() -> None:
    for ratio, is_judged in ((1.0, True), (1.04, True), (1 / 1.04, True), (1.06, False), (1 / 1.06, False)):
        pair = with_memory(recorded.with_ratio(recorded.run("pool", blocks=2), ratio))
        assert (judged(pair)["memory"].judgement is not None) == is_judged, ratio


def test_what_one_block_lacks_has_no_outcome() -> None:
    run = with_memory(recorded.run("pool", blocks=2))
    instances = [i.model_copy(update={"resident_peak": None}) for i in run.blocks[1].instances]
    lacking = replace(run, blocks=[run.blocks[0], run.blocks[1].model_copy(update={"instances": instances})])
    assert judged(lacking)["memory"].reason == reasons.NOT_MEASURED


def test_where_the_load_alone_limits_both_the_capacities_are_not_told_apart() -> None:
    of, over = "virtual", "platform"
    results = recorded.analysed(recorded.with_ratio(recorded.run(blocks=2), 1.0)).verdict.variants
    load = results["virtual"].bottleneck.model_copy(update={"resource": "load", "together": []})
    both = {name: result.model_copy(update={"bottleneck": load}) for name, result in results.items()}
    plain = Outcome(
        key=Key(criterion="capacity", load="full"),
        of=of,
        over=over,
        judgement="undecided",
        ratio=1.02,
        low=0.9,
        high=1.2,
        margin=0.05,
        better="higher",
    )
    found = conclusions._bounded_by_load(plain, both)
    assert (found.judgement, found.is_lower_bound, found.reason) == ("same", True, conclusions.LOAD_ALONE)
    beyond = plain.model_copy(update={"judgement": "worse", "ratio": 0.8, "low": 0.78, "high": 0.82})
    found = conclusions._bounded_by_load(beyond, both)
    assert (found.judgement, found.is_lower_bound) == ("worse", True), "outcome and interval agree"


@pytest.mark.parametrize(("bound", "is_bound"), [(40.0, True), (None, False)])
def test_a_ratio_is_a_bound_only_beside_what_has_a_bound(bound: float | None, is_bound: bool) -> None:
    """Seen: "at most −28 %" of requests that wait for an idle carrier: with more users the CPU limits both alike."""
    results = recorded.analysed(recorded.run(blocks=2)).verdict.variants
    carriers = Bottleneck(resource="carriers", utilisation=None, bound=bound)
    load = Bottleneck(resource="load", utilisation=1.0, bound=48.0)
    limits = {"platform": load, "virtual": carriers}
    variants = {name: results[name].model_copy(update={"bottleneck": limit}) for name, limit in limits.items()}
    slower = Outcome(
        key=Key(criterion="capacity", load="full"),
        of="virtual",
        over="platform",
        judgement="worse",
        ratio=0.72,
        low=0.6,
        high=0.9,
        margin=0.05,
        better="higher",
    )
    assert conclusions._bounded_by_load(slower, variants).is_lower_bound is is_bound


def test_the_quotient_of_the_values_is_the_ratio() -> None:
    """Seen: 4.16 and 3.93 ms, "0.977×"."""
    scattered = judged(recorded.with_ratio(recorded.run(blocks=4), 1.2, noise=0.5))["capacity"]
    assert scattered.value
    assert scattered.base_value
    assert scattered.value / scattered.base_value == pytest.approx(scattered.ratio)


# --- failing and overload ------------------------------------------------------


def test_a_variant_that_fails_judges_every_criterion() -> None:
    found = judged(recorded.with_failing(RUN, dict.fromkeys((1, 2, 3), "oom")))
    assert {o.judgement for o in found.values()} == {"fails"}
    assert {tuple(o.fails) for o in found.values()} == {("virtual",)}
    once = judged(recorded.with_failing(RUN, {2: "oom"}))
    assert {o.judgement for o in once.values()} == {"undecided"}
    assert once["tail"].reason == "virtual failed in 1 of 3 blocks"


def test_errors_at_typical_load_fail_a_variant_where_their_share_is_clear() -> None:
    few = changed(RUN, of_virtual(failed={"status-500": 1}))
    assert judged(few)["median"].judgement == "same", "1 of 440 is above 0.1 %, its interval is not"
    many = changed(RUN, of_virtual(failed={"status-500": 5}))
    assert judged(many)["median"].judgement == "fails"
    failures = recorded.analysed(many).verdict.variants["virtual"].failures
    assert failures[0].moment == "typical load"


def test_an_overload_at_typical_load_decides_about_latency() -> None:
    def overloaded(run: Run, variant: str, blocks: int = 3) -> Run:
        return changed(run, lambda t: felt.behind(t) if t.variant == variant else t, blocks=blocks)

    worse = judged(overloaded(RUN, "virtual"))
    assert (worse["median"].judgement, worse["tail"].judgement) == ("worse", "worse")
    assert worse["tail"].reason == "virtual was overloaded in 3 of 3 blocks"
    assert worse["tail.full"].judgement == "better"
    assert judged(overloaded(RUN, "platform"))["tail"].judgement == "better"
    assert judged(overloaded(RUN, "virtual", 1))["tail"].judgement == "undecided"
    both = judged(overloaded(overloaded(RUN, "virtual"), "platform"))
    # None keeps up: three blocks may be chance.
    assert (both["tail"].judgement, both["capacity"].judgement) == ("undecided", "better")
    assert both["tail"].reason == "latency is not steady within a window"


# --- probes --------------------------------------------------------------------


def probed(slow: float, variant: str = "virtual", healthy: bool = True, blocks: int = 3) -> Run:
    """Returns the run with a variant whose probes take long under full load, in that share."""

    def change(t: Trial) -> Trial:
        share = slow if t.variant == variant else 0.0
        times: list[float | None] = [2.0 if n < share * 20 else 0.01 for n in range(20)]
        return recorded.changed_trial(t, probe=felt.probe(times, healthy))

    return changed(RUN, change, "trials", blocks)


@pytest.mark.parametrize(
    ("slow", "variant", "judgement"),
    [
        (0.95, "virtual", "worse"),
        (0.95, "platform", "better"),
        (0.5, "virtual", "undecided"),
        (0.0, "virtual", "same"),
    ],
)
def test_a_restart_or_none_judges_the_probes(slow: float, variant: str, judgement: str) -> None:
    probe = judged(probed(slow, variant))["probe"]
    assert (probe.judgement, probe.ratio, probe.margin) == (judgement, None, 0)


def test_without_a_liveness_endpoint_no_restart_is_said() -> None:
    probe = judged(probed(0.95, healthy=False))["probe"]
    assert (probe.judgement, probe.value) == (None, 2.0)


def test_restarts_in_one_block_of_three_are_a_risk() -> None:
    assert judged(probed(0.95, blocks=1))["probe"].judgement == "undecided"


# --- when a run ends -----------------------------------------------------------


def ended(run: Run, claims: int = 3, **changes: Any) -> tuple[str | None, int]:
    rule = stopping_rule.sequential_rule(claims, **changes)
    manifest = run.manifest.model_copy(update={"rule": rule, "blocks": 12})
    end = recorded.analysed(replace(run, manifest=manifest)).verdict.end
    assert end is not None
    return end.ended, end.blocks


def test_a_run_ends_when_all_its_claims_are_settled(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(priors, "prior", lambda _: Prior(0.01, 4.0))
    assert ended(RUN, precision=0.25)[0] == "settled"
    undecided = changed(RUN, slowed(1.2))
    assert ended(undecided, precision=0.25) == (None, 3), "the median is not"


def test_only_capacity_is_to_be_precise() -> None:
    assert ended(RUN, precision=1e-4) == (None, 3)
    typical = recorded.under_open_load(recorded.run(blocks=3))
    assert ended(typical, claims=2, precision=1e-9)[0] == "settled"


def test_a_claim_without_an_outcome_keeps_no_run() -> None:
    none: dict[str, Any] = {"full": "p90", "typical": None}
    few = replace(RUN, manifest=RUN.manifest.model_copy(update={"percentiles": none}))
    assert ended(few, precision=0.25)[0] == "settled"


def test_a_difference_that_settles_by_its_margin_has_its_chance_by_it() -> None:
    rule = stopping_rule.sequential_rule(3)
    seen = Seen(4, math.log(1.1), 0.03)
    by_fifth, by_twentieth = (moderated.chance(seen, Goal(12, rule.levels[-1], margin)) for margin in (0.2, 0.05))
    assert by_fifth > 0.9
    assert by_twentieth < by_fifth

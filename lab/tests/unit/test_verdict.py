"""From a run to its verdict, end to end."""

from __future__ import annotations

import cProfile
import json
import math
from collections.abc import Callable, Mapping
from typing import Any

import jsonschema
import pytest

from tests.support import recorded
from tests.support.blocks import at_rate
from vtlab.analysis import run_status, verdict
from vtlab.model.records import Block, Trial
from vtlab.model.run import Run
from vtlab.model.verdict import Comparison
from vtlab.report.pages import html, markdown
from vtlab.runs import store

SCHEMA = json.loads(store.verdict_schema())


def primary(run: Run) -> Comparison:
    return recorded.analysed(run).verdict.comparisons[0]


def of_three(failing: Mapping[int, str] | None = None, fails: str = "virtual-small", **changes: Any) -> Run:
    """Platform, virtual, and virtual with three quarters of its throughput."""
    three = recorded.with_variant(recorded.run(**changes), "virtual-small", factor=0.75)
    return recorded.with_failing(three, failing or {}, fails)


def by_hand(*pairs: tuple[float, float], planned: int | None = None) -> Run:
    """A run whose blocks have those throughputs (platform, virtual) in both of a variant's trials."""
    exp = recorded.experiment()
    blocks = []
    for number, values in enumerate(pairs, 1):
        rate = dict(zip(exp.variants, values, strict=True))
        made = recorded.block(number)
        trials = [recorded.changed_trial(at_rate(t, rate[t.variant]), throughput=rate[t.variant]) for t in made.trials]
        blocks.append(made.model_copy(update={"trials": trials}))
    return Run(recorded.manifest(exp, blocks=planned or len(pairs)), exp, blocks, {})


def test_a_run_end_to_end() -> None:
    a = recorded.analysed(recorded.run(rejected={2: "steal"}))
    v = a.verdict
    assert (v.n, v.valid, v.quick, v.primary, v.experiment) == (6, True, False, "throughput", "threads")
    assert [(b.block, b.attempt) for b in a.accepted] == [(1, 1), (2, 2), (3, 1), (4, 1), (5, 1), (6, 1)]
    assert [(r.block, r.attempt) for r in v.rejected] == [(2, 1)]
    assert "hypervisor" in v.rejected[0].reasons[0]
    first, *others = v.comparisons
    assert (first.metric, first.of, first.over) == ("throughput", "virtual", "platform")
    assert first.verdict == "faster"
    assert first.ratio == pytest.approx(2, rel=0.01)
    assert first.p_t is not None
    assert first.p_t == first.p_holm
    assert first.p_sign_flip == 1 / 64
    assert others == [], "under closed load, at throughputs that are not alike"
    others = recorded.analysed(recorded.run("pool")).verdict.comparisons[1:]
    assert all(c.verdict is None and c.p_t is None and c.low is not None for c in others)
    platform, virtual = v.variants["platform"], v.variants["virtual"]
    assert platform.bottleneck.resource == "tomcat-threads"
    assert virtual.bottleneck.resource == "load"
    next_of_pool = recorded.analysed(recorded.run("pool")).verdict.variants["virtual"].next
    assert next_of_pool is not None
    assert next_of_pool.resource == "load"
    assert platform.fidelity == pytest.approx(1, rel=0.01)
    assert platform.queue_time == pytest.approx(0.2, rel=0.02), "20 users, 10 threads, 0.2 s each"
    assert virtual.queue_time == pytest.approx(0, abs=0.02)
    assert platform.error_ratio == platform.dropped_ratio == 0
    assert v.environment["instances"]["virtual"]["gc"] == "Serial"
    assert (v.limits.cpu, v.limits.memory, v.limits.heap) == (1.0, "768Mi", "384m")
    assert all(check.passed for check in a.checks)


def test_by_hand() -> None:
    # Log ratios 0.10, 0.14, 0.08, 0.12, 0.06, 0.10 as in test_statistics: 1.0729 to 1.1385.
    logs = [0.10, 0.14, 0.08, 0.12, 0.06, 0.10]
    c = primary(by_hand(*[(200.0, 200.0 * math.exp(x)) for x in logs]))
    assert c.log_ratios == pytest.approx(logs)
    assert (c.low, c.high) == (pytest.approx(1.0729, abs=1e-4), pytest.approx(1.1385, abs=1e-4))
    assert c.verdict == "faster"
    assert primary(by_hand(*[(200.0 * math.exp(x), 200.0) for x in logs])).verdict == "slower"


def test_equal_blocks_have_the_interval_that_counting_allows() -> None:
    # Trials of 30 s at 200/s and 220/s count 6,000 and 6,600 answers: two of each sqrt(2)/24,000 and sqrt(2)/26,400,
    # together 7.97e-5.
    c = primary(by_hand(*[(200.0, 220.0)] * 6))
    assert c.sd == pytest.approx(7.97e-5, rel=1e-3)
    assert c.low is not None
    assert c.high is not None
    assert c.low < 1.1 < c.high
    assert c.high / c.low == pytest.approx(math.exp(2 * 2.570582 * 7.97e-5 / math.sqrt(6)), rel=1e-6)
    assert c.verdict == "faster"
    same = primary(by_hand(*[(200.0, 200.0)] * 6))
    assert (same.ratio, same.verdict) == (1, "equivalent")
    assert all(c.low < c.high for c in recorded.analysed(by_hand(*[(200.0, 220.0)] * 2)).verdict.comparisons if c.low)


def test_few_equal_answers_settle_nothing() -> None:
    run = by_hand(*[(200.0, 220.0)] * 3)
    for block in run.blocks:
        for trial in block.trials:
            trial.ok = 6 if trial.variant == "platform" else 7
    c = primary(run)
    assert c.verdict == "inconclusive"
    assert c.blocks_needed is not None, "by the floor, with which the interval is made"


def test_one_block_and_none() -> None:
    single = recorded.analysed(by_hand((200.0, 1000.0))).verdict
    assert (single.n, single.quick, single.valid) == (1, True, True)
    c = single.comparisons[0]
    assert (c.ratio, c.low, c.high, c.p_t, c.verdict, c.blocks_needed) == (
        pytest.approx(5),
        None,
        None,
        None,
        "inconclusive",
        None,
    )
    none = recorded.analysed(recorded.run(blocks=0, planned=6)).verdict
    assert (none.n, none.valid) == (0, False)
    assert [c.metric for c in none.comparisons] == ["throughput"]
    assert (none.comparisons[0].ratio, none.comparisons[0].verdict) == (None, "inconclusive")
    assert none.variants["virtual"].bottleneck.resource == "unknown"


def test_exactly_the_first_planned_blocks_count() -> None:
    pairs = [(200.0, 200.0)] * 3 + [(200.0, 2000.0)]
    a = recorded.analysed(by_hand(*pairs, planned=3))
    assert (a.verdict.n, a.verdict.valid) == (3, True)
    assert a.verdict.comparisons[0].ratio == 1
    assert a.verdict.rejected[0].reasons == ["the run already has its 3 blocks"]


def test_a_block_counts_once() -> None:
    run = by_hand((200.0, 200.0), (200.0, 2000.0), planned=3)
    twice = [run.blocks[0], run.blocks[1].model_copy(update={"block": 1, "attempt": 2})]
    a = recorded.analysed(Run(run.manifest, run.experiment, twice, {}))
    assert a.verdict.n == 1
    assert a.verdict.rejected[0].reasons == ["an earlier attempt at this block already counts"]
    assert a.verdict.valid is False


def test_inconclusive_says_how_many_blocks() -> None:
    c = primary(by_hand(*[(200.0, 200.0 * math.exp(0.1 + x)) for x in (0.09, -0.09, 0.07, -0.07, 0.05, -0.05)]))
    assert c.verdict == "inconclusive"
    assert c.blocks_needed is not None
    assert c.blocks_needed > 6


def test_several_experiments_are_adjusted_together() -> None:
    # Alone p = 0.0021 and the interval is beyond the margin; among 15 experiments Holm wants 0.025/15.
    logs = (0.20, 0.12, 0.26, 0.10, 0.24, 0.16)
    clear = by_hand(*[(200.0, 200.0 * math.exp(x)) for x in logs])
    noise = by_hand(*[(200.0, 200.0 * math.exp(x)) for x in (0.3, -0.3, 0.2, -0.2, 0.1, -0.11)])
    alone = primary(clear)
    assert alone.verdict == "faster"
    assert alone.p_t is not None
    many = [a.verdict.comparisons[0] for a in verdict.analyse_all([clear] + [noise] * 14)]
    assert many[0].p_t == alone.p_t
    assert many[0].p_holm == pytest.approx(15 * alone.p_t)
    assert 15 * alone.p_t > 0.025, "or this test tests nothing"
    assert many[0].verdict == "inconclusive"
    assert many[0].blocks_needed is not None
    same = by_hand(*[(200.0, 200.0 * math.exp(x)) for x in (0.02, -0.03, 0.025, -0.02, 0.03, -0.025)])
    assert primary(same).verdict == "equivalent"
    among = verdict.analyse_all([same, *[noise] * 14])[0].verdict.comparisons[0]
    assert (among.verdict, among.p_holm) == ("inconclusive", pytest.approx(15 * (among.p_t or 0)))
    sure = by_hand(*[(200.0, 200.0)] * 6)
    assert verdict.analyse_all([sure, *[noise] * 14])[0].verdict.comparisons[0].verdict == "equivalent"


def test_latency_is_better_when_lower() -> None:
    c = primary(recorded.under_open_load(recorded.run()))
    assert (c.metric, c.better, c.verdict) == ("latency_p99", "lower", "faster")
    assert c.ratio is not None
    assert c.ratio < 1


def overloaded(run: Run, blocks: set[int], variant: str) -> Run:
    """``run`` with every trial of that variant in those blocks overloaded, its measured latency as before."""

    def touch(t: Trial) -> Trial:
        return t.model_copy(update={"dropped": 500}) if t.variant == variant else t

    def touched(b: Block) -> Block:
        return b.model_copy(update={"trials": [touch(t) for t in b.trials]}) if b.block in blocks else b

    return Run(run.manifest, run.experiment, [touched(b) for b in run.blocks], run.series)


def test_overload() -> None:
    run = recorded.under_open_load(recorded.run(), "platform")
    a = recorded.analysed(run)
    c = a.verdict.comparisons[0]
    assert a.verdict.valid
    assert (c.verdict, c.overloaded, c.ratio, c.p_t) == ("faster", ["platform"], None, None)
    platform, virtual = a.verdict.variants["platform"], a.verdict.variants["virtual"]
    assert platform.dropped_ratio > 0.2
    assert platform.growth is not None
    assert platform.growth > 10
    assert (set(platform.latency.values()), platform.queue_time) == ({None}, None), "it depends on the window's length"
    assert virtual.growth is None
    assert virtual.latency["p99"] is not None
    throughput = next(c for c in a.verdict.comparisons if c.metric == "throughput")
    assert throughput.ratio == pytest.approx(3.03, rel=0.01)
    assert throughput.overloaded == []
    assert [c.metric for c in a.verdict.comparisons if c.metric.startswith("latency")] == ["latency_p99"]

    every = set(range(1, 7))
    good = recorded.under_open_load(recorded.run())
    assert primary(overloaded(good, every, "virtual")).verdict == "slower"
    both = primary(overloaded(overloaded(good, every, "virtual"), every, "platform"))
    assert (both.verdict, both.overloaded) == ("inconclusive", ["platform", "virtual"])
    # Now and then: platform's latency is at least what was measured, so "faster" stands and "slower" cannot.
    part = primary(overloaded(good, {2, 3}, "platform"))
    assert (part.verdict, part.overloaded, part.is_lower_bound) == ("faster", ["platform"], True)
    nothing = primary(overloaded(good, {2, 3}, "virtual"))
    assert (nothing.verdict, nothing.ratio) == ("inconclusive", None)


def test_an_overload_needs_two_blocks_and_every_trial() -> None:
    one = recorded.under_open_load(recorded.run(blocks=1), "platform")
    assert primary(one).verdict == "inconclusive"
    two = recorded.under_open_load(recorded.run(blocks=2), "platform")
    assert primary(two).verdict == "faster"
    trials = two.blocks[1].trials
    number = next(i for i, t in enumerate(trials) if t.variant == "platform")
    trials[number] = trials[number].model_copy(update={"dropped": 0})
    kept_up_once = primary(two)
    assert (kept_up_once.verdict, kept_up_once.is_lower_bound) == ("faster", True)
    assert kept_up_once.low is not None, "by its interval"


# Failing is a result


def test_a_variant_that_fails_in_three_blocks_of_three_fails_and_ends_the_run() -> None:
    run = recorded.run(blocks=3, planned=6, failing=dict.fromkeys((1, 2, 3), "oom"))
    v = recorded.analysed(run).verdict
    assert (v.n, v.valid, v.quick, v.rejected) == (3, True, False, [])
    (c,) = v.comparisons
    assert (c.verdict, c.fails, c.ratio, c.p_t) == ("fails", ["virtual"], None, None)
    virtual, platform = v.variants["virtual"], v.variants["platform"]
    assert (virtual.failed_blocks, virtual.failed_interval) == (3, (pytest.approx(0.292, abs=5e-4), 1.0))
    assert [f.reason for f in virtual.failures] == ["out of heap memory (256m)"] * 3
    assert (platform.failed_blocks, platform.failures) == (0, [])
    assert platform.failed_interval == (0.0, pytest.approx(0.708, abs=5e-4))
    assert platform.throughput == pytest.approx(50, rel=0.01), "what it serves is known"
    assert (virtual.throughput, virtual.bottleneck.resource) == (0.0, "unknown")


@pytest.mark.parametrize(
    ("failing", "planned", "verdict", "fails"),
    [
        ((1, 2), 3, "fails", ["virtual"]),
        ((1,), 3, "inconclusive", []),
        ((1, 2, 4), 6, "inconclusive", []),  # half of them
        ((1, 2, 4, 6), 6, "fails", ["virtual"]),
        ((1,), 1, "inconclusive", []),  # all, and one block is too few
        ((1, 2), 2, "fails", ["virtual"]),
    ],
)
def test_two_blocks_and_more_than_half_fail_a_variant(
    failing: tuple[int, ...], planned: int, verdict: str, fails: list[str]
) -> None:
    run = recorded.run(blocks=planned, failing=dict.fromkeys(failing, "errors"))
    v = recorded.analysed(run).verdict
    c = v.comparisons[0]
    assert (v.valid, c.verdict, c.fails) == (True, verdict, fails)
    assert v.variants["virtual"].failed_blocks == len(failing)
    assert len(c.log_ratios) == planned - len(failing), "over the blocks in which neither failed"
    assert (c.p_t, c.p_holm, c.blocks_needed) == (None, None, None)
    assert v.variants["virtual"].error_ratio > 0.02, "of all blocks, so that it can be shown beside the verdict"


def test_no_variant_that_failed_is_faster_or_equivalent_however_clear_the_rest_is() -> None:
    assert primary(recorded.run(failing={3: "unsteady"})).verdict == "inconclusive"
    assert primary(recorded.with_failing(recorded.run(), {3: "unsteady"}, "platform")).verdict == "inconclusive"
    assert primary(recorded.run("pool", failing={3: "start"})).verdict == "inconclusive"


def test_both_may_fail() -> None:
    run = recorded.run(blocks=3, failing=dict.fromkeys((1, 2, 3), "oom"))
    blocks = [recorded.broken(block, "platform", "errors") for block in run.blocks]
    c = primary(Run(run.manifest, run.experiment, blocks, {}))
    assert (c.verdict, c.fails) == ("fails", ["platform", "virtual"])


def test_a_run_that_was_stopped_does_not_say_that_a_variant_fails() -> None:
    c = primary(recorded.run(blocks=2, planned=6, failing={1: "oom", 2: "oom"}))
    assert (c.verdict, c.fails) == ("inconclusive", []), "two of six are still possible"


def test_of_several_variants_only_those_that_failed_are_not_compared() -> None:
    run = of_three(blocks=3, failing=dict.fromkeys((1, 2, 3), "oom"), fails="virtual-small")
    a = recorded.analysed(run)
    assert {c.of: c.verdict for c in a.verdict.comparisons if c.verdict} == {
        "virtual": "faster",
        "virtual-small": "fails",
    }
    assert not run_status.is_ended_by_failing(run.experiment, a.accepted), "the other comparison needs its blocks"
    ended = of_three(blocks=3, failing=dict.fromkeys((1, 2, 3), "oom"), fails="platform")
    assert run_status.is_ended_by_failing(ended.experiment, ended.blocks)
    assert not run_status.is_ended_by_failing(ended.experiment, ended.blocks[:2])


def test_a_winner_that_the_load_alone_limits_shows_a_lower_bound() -> None:
    c = primary(recorded.run())
    assert (c.verdict, c.is_lower_bound) == ("faster", True)
    # With more users something else would limit it.
    exp = recorded.experiment(load={"full": {"users": 6000}}, expected=None)
    bound = primary(recorded.run(experiment=exp, blocks=3))
    assert (bound.verdict, bound.is_lower_bound) == ("faster", False)
    # The same at this load.
    same = primary(recorded.with_ratio(recorded.run(blocks=3), 1.0))
    assert (same.verdict, same.is_lower_bound) == ("equivalent", False)


def test_users_without_an_answer_take_the_latency_away() -> None:
    run = recorded.run(blocks=2)
    for block in run.blocks:
        for number, t in enumerate(block.trials):
            if t.variant == "platform":
                block.trials[number] = t.model_copy(update={"latency": recorded.latency(t.ok, 0.1)})
    v = recorded.analysed(run).verdict
    platform, virtual = v.variants["platform"], v.variants["virtual"]
    assert platform.missing_users == pytest.approx(15, rel=0.01)
    assert (set(platform.latency.values()), platform.queue_time) == ({None}, None)
    assert virtual.missing_users is None
    assert virtual.latency["mean"] is not None
    assert not [c for c in v.comparisons if c.metric.startswith("latency")]


def test_a_metric_that_is_missing_once_is_not_compared() -> None:
    run = recorded.run(blocks=2)
    server = {**run.blocks[1].trials[0].server, "resident": None}
    run.blocks[1].trials[0].server.update(server)
    assert "memory" not in [c.metric for c in recorded.analysed(run).verdict.comparisons]


def test_shares_are_ratios_of_sums() -> None:
    run = recorded.run(blocks=2)
    run.blocks[0].trials[0].failed["status-500"] = 5
    name = run.blocks[0].trials[0].variant
    ok = sum(t.ok for b in run.blocks for t in b.trials if t.variant == name)
    assert recorded.analysed(run).verdict.variants[name].error_ratio == pytest.approx(5 / (ok + 5))


RUNS: dict[str, Any] = {
    "full": lambda: recorded.run(),
    "quick": lambda: recorded.run(blocks=2),
    "one": lambda: recorded.run(blocks=1),
    "none": lambda: recorded.run(blocks=0, planned=3),
    "pool": lambda: recorded.run("pool"),
    "open": lambda: recorded.under_open_load(recorded.run()),
    "overloaded": lambda: recorded.under_open_load(recorded.run(), "platform"),
    "zero": lambda: by_hand(*[(200.0, 200.0)] * 6),
    "fails": lambda: recorded.run(blocks=3, planned=6, failing=dict.fromkeys((1, 2, 3), "oom")),
    "once": lambda: recorded.run(failing={2: "errors"}),
    "rejected": lambda: recorded.run(rejected={1: "fault", 2: "core_wait", 3: "generator", 4: "steal"}),
    "aa": lambda: recorded.renamed(recorded.run("pool"), {"platform": "platform-a", "virtual": "platform-b"}),
}


@pytest.mark.parametrize("name", RUNS)
def test_verdicts_are_valid_json_and_the_same_each_time(name: str) -> None:
    text = store.verdict_text(recorded.analysed(RUNS[name]()).verdict)
    assert text == store.verdict_text(recorded.analysed(RUNS[name]()).verdict)

    def refuse(constant: str) -> None:
        raise AssertionError(f"{constant} in JSON")

    document = json.loads(text, parse_constant=refuse)
    jsonschema.Draft202012Validator(SCHEMA).validate(document)


def calls(action: Callable[[], object]) -> int:
    """Function calls of an action: unlike its time the same on every machine."""
    profile = cProfile.Profile()
    profile.runcall(action)
    return sum(entry.callcount for entry in profile.getstats())


def test_ten_times_the_blocks_cost_ten_times_the_work() -> None:
    five, fifty = (recorded.run(blocks=n) for n in (5, 50))
    assert recorded.analysed(fifty).verdict.n == 50
    assert calls(lambda: recorded.analysed(fifty)) < 10 * calls(lambda: recorded.analysed(five))


def test_several_variants_are_each_compared_with_the_first() -> None:
    a = recorded.analysed(of_three())
    primaries = [c for c in a.verdict.comparisons if c.metric == "throughput"]
    assert [(c.of, c.over, c.verdict) for c in primaries] == [
        ("virtual", "platform", "faster"),
        ("virtual-small", "platform", "faster"),
    ]
    assert a.verdict.comparisons[:2] == primaries, "the primary ones come first"
    assert [c.ratio for c in primaries] == [pytest.approx(2, rel=0.01), pytest.approx(1.5, rel=0.01)]
    # Two verdicts in one report are a family of two.
    assert all(c.p_holm is not None and c.p_t is not None and c.p_holm >= c.p_t for c in primaries)
    assert max(c.p_holm / c.p_t for c in primaries if c.p_holm and c.p_t) == pytest.approx(2)
    assert a.verdict.variants["virtual-small"].bottleneck.resource == "unknown"
    jsonschema.validate(json.loads(a.verdict.model_dump_json()), SCHEMA)


def test_a_report_shows_each_comparison_of_several_variants_by_itself() -> None:
    whole = recorded.analysed(of_three(rejected={2: "steal"}))
    first, second = verdict.split_by_comparison(whole)
    assert [p.run.experiment.variants for p in (first, second)] == [
        ["platform", "virtual"],
        ["platform", "virtual-small"],
    ]
    assert {c.of for c in first.verdict.comparisons} == {"virtual"}
    assert len(first.verdict.comparisons) + len(second.verdict.comparisons) == len(whole.verdict.comparisons)
    assert set(second.verdict.variants) == {"platform", "virtual-small"}
    assert (first.verdict.n, first.rejected, first.checks) == (6, whole.rejected, whole.checks)
    text = markdown.render([first, second])
    assert "## threads, virtual-small · 1 CPU" in text
    assert "1.50× (" in html.render([second])
    assert verdict.split_by_comparison(recorded.analysed(recorded.run())) == [recorded.analysed(recorded.run())]


def test_a_block_counts_with_all_its_variants_or_not_at_all() -> None:
    run = of_three()
    late = run.blocks[2]
    lost = [t.model_copy(update={"started": t.started + 1}) if t.variant == "virtual-small" else t for t in late.trials]
    run.blocks[2] = late.model_copy(update={"trials": lost})
    a = recorded.analysed(run)
    assert (a.verdict.n, a.verdict.valid) == (5, False)
    assert [p.verdict.n for p in verdict.split_by_comparison(a)] == [5, 5]

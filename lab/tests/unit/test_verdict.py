"""From a run to its verdict, end to end."""

from __future__ import annotations

import cProfile
import json
import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import Any

import jsonschema
import pytest

from tests.support import recorded
from tests.support.blocks import at_rate
from vtlab.analysis import run_status, verdict
from vtlab.analysis.criteria import priors
from vtlab.analysis.statistics import stopping_rule
from vtlab.analysis.statistics.moderated import MOST_BLOCKS
from vtlab.model.outcome import Outcome
from vtlab.model.records import Block, Halves, Trial
from vtlab.model.run import Analysis, Run
from vtlab.report.pages import html, markdown
from vtlab.report.words.verdict_lines import verdict_lines
from vtlab.runs import store

SCHEMA = json.loads(store.verdict_schema())


@pytest.fixture(autouse=True, scope="module")
def without_priors() -> Iterator[None]:
    """Intervals by hand know nothing of other services."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(priors, "prior", lambda _: None)
        yield


def outcome_of(analysis: Analysis, name: str, variant: str = "virtual") -> Outcome:
    """Returns the outcome of a criterion, by its name in assertions."""
    return next(o for o in analysis.verdict.outcomes if (str(o.key), o.of) == (name, variant))


def capacity(run: Run) -> Outcome:
    return outcome_of(recorded.analysed(run), "capacity")


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
    assert (v.n, v.valid, v.quick, v.experiment) == (6, True, False, "threads")
    assert [(b.block, b.attempt) for b in a.accepted] == [(1, 1), (2, 2), (3, 1), (4, 1), (5, 1), (6, 1)]
    assert [(r.block, r.attempt) for r in v.rejected] == [(2, 1)]
    assert "hypervisor" in v.rejected[0].reasons[0]
    first, *_ = v.outcomes
    assert (str(first.key), first.of, first.over) == ("capacity", "virtual", "platform")
    assert (first.judgement, first.level) == ("better", pytest.approx(0.05))
    assert first.ratio == pytest.approx(2, rel=0.01)
    assert [d.advice for d in v.decisions] == ["turn it on"]
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
    # Log ratios 0.10, 0.14, 0.08, 0.12, 0.06, 0.10: mean 0.1; squares 0 + 16 + 4 + 4 + 16 + 0 = 40e-4, over 5: SD
    # 0.0282843; error 0.0115470; t(5) 2.570582. So 1.0729 to 1.1385.
    logs = [0.10, 0.14, 0.08, 0.12, 0.06, 0.10]
    found = capacity(by_hand(*[(200.0, 200.0 * math.exp(x)) for x in logs]))
    assert found.log_ratios == pytest.approx(logs)
    assert (found.sd, found.df) == (pytest.approx(0.0282843, abs=1e-7), 5)
    assert (found.low, found.high) == (pytest.approx(1.0729, abs=1e-4), pytest.approx(1.1385, abs=1e-4))
    assert found.judgement == "better"
    assert capacity(by_hand(*[(200.0 * math.exp(x), 200.0) for x in logs])).judgement == "worse"


def test_equal_blocks_have_the_interval_that_counting_allows() -> None:
    # Trials of 30 s at 200/s and 220/s count 6,000 and 6,600 answers: two of each sqrt(2)/24,000 and sqrt(2)/26,400,
    # together 7.97e-5.
    found = capacity(by_hand(*[(200.0, 220.0)] * 6))
    assert found.sd == pytest.approx(7.97e-5, rel=1e-3)
    assert found.low is not None
    assert found.high is not None
    assert found.low < 1.1 < found.high
    assert found.high / found.low == pytest.approx(math.exp(2 * 2.570582 * 7.97e-5 / math.sqrt(6)), rel=1e-6)
    assert found.judgement == "better"
    same = capacity(by_hand(*[(200.0, 200.0)] * 6))
    assert (same.ratio, same.judgement) == (1, "same")
    two = capacity(by_hand(*[(200.0, 220.0)] * 2))
    assert two.low is not None
    assert two.high is not None
    assert two.low < two.high


def test_few_equal_answers_settle_nothing() -> None:
    run = by_hand(*[(200.0, 220.0)] * 3)
    for block in run.blocks:
        for trial in block.trials:
            trial.ok = 6 if trial.variant == "platform" else 7
    assert capacity(run).judgement == "undecided"


def test_one_block_and_none() -> None:
    single = recorded.analysed(by_hand((200.0, 1000.0)))
    assert (single.verdict.n, single.verdict.quick, single.verdict.valid) == (1, True, True)
    found = outcome_of(single, "capacity")
    assert found.ratio == pytest.approx(5)
    assert (found.low, found.high, found.judgement, found.blocks_needed) == (None, None, None, None)
    assert single.verdict.decisions[0].advice == "no decision"
    none = recorded.analysed(recorded.run(blocks=0, planned=6)).verdict
    assert (none.n, none.valid) == (0, False)
    assert {(o.ratio, o.judgement) for o in none.outcomes} == {(None, None)}
    assert none.variants["virtual"].bottleneck.resource == "unknown"


def test_exactly_the_first_planned_blocks_count() -> None:
    pairs = [(200.0, 200.0)] * 3 + [(200.0, 2000.0)]
    a = recorded.analysed(by_hand(*pairs, planned=3))
    assert (a.verdict.n, a.verdict.valid) == (3, True)
    assert outcome_of(a, "capacity").ratio == 1
    assert a.verdict.rejected[0].reasons == ["the run already has its 3 blocks"]


def test_a_block_counts_once() -> None:
    run = by_hand((200.0, 200.0), (200.0, 2000.0), planned=3)
    twice = [run.blocks[0], run.blocks[1].model_copy(update={"block": 1, "attempt": 2})]
    a = recorded.analysed(Run(run.manifest, run.experiment, twice, {}))
    assert a.verdict.n == 1
    assert a.verdict.rejected[0].reasons == ["an earlier attempt at this block already counts"]
    assert a.verdict.valid is False


def test_an_undecided_capacity_says_how_many_blocks() -> None:
    logs = [0.12 + x for x in (0.09, -0.09, 0.07, -0.07, 0.05, -0.05)]
    found = capacity(by_hand(*[(200.0, 200.0 * math.exp(x)) for x in logs]))
    assert found.judgement == "undecided"
    assert found.blocks_needed is not None
    assert 6 < found.blocks_needed <= MOST_BLOCKS


def test_what_else_a_report_has_changes_no_verdict() -> None:
    clear = by_hand(*[(200.0, 200.0 * math.exp(x)) for x in (0.20, 0.12, 0.26, 0.10, 0.24, 0.16)])
    noise = by_hand(*[(200.0, 200.0 * math.exp(x)) for x in (0.3, -0.3, 0.2, -0.2, 0.1, -0.11)])
    first, *_ = verdict.analyse_all([clear, *[noise] * 14])
    assert first == recorded.analysed(clear)
    assert outcome_of(first, "capacity").judgement == "better"


def test_blocks_that_differ_wildly_have_an_interval_within_numbers() -> None:
    run = by_hand((200.0, 200.0), (200.0, 2000.0))
    rule = stopping_rule.sequential_rule(30)
    manifest = run.manifest.model_copy(update={"rule": rule, "blocks": rule.looks[-1]})
    found = capacity(replace(run, manifest=manifest))
    assert found.low is not None
    assert found.high is not None
    assert 0 < found.low < found.high < math.inf


def overloaded(run: Run, blocks: set[int], variant: str) -> Run:
    """``run`` with every trial of that variant in those blocks overloaded, its measured latency as before."""

    def touch(t: Trial) -> Trial:
        if t.variant != variant:
            return t
        halves = Halves(arrived=(2200, 2300), completed=(2150, 2240))
        answers = recorded.answers(4390).model_copy(update={"halves": halves})
        return t.model_copy(update={"dropped": 500, "answers": answers})

    def touched(b: Block) -> Block:
        return b.model_copy(update={"trials": [touch(t) for t in b.trials]}) if b.block in blocks else b

    return Run(run.manifest, run.experiment, [touched(b) for b in run.blocks], run.series)


def test_overload() -> None:
    run = recorded.under_open_load(recorded.run(), "platform")
    a = recorded.analysed(run)
    median = outcome_of(a, "median")
    assert a.verdict.valid
    assert (median.judgement, median.ratio, median.reason) == (
        "better",
        None,
        "platform was overloaded in 6 of 6 blocks",
    )
    platform, virtual = a.verdict.variants["platform"], a.verdict.variants["virtual"]
    assert platform.dropped_ratio > 0.2
    assert platform.growth is not None
    assert platform.growth > 10
    assert (set(platform.latency.values()), platform.queue_time) == ({None}, None), "it depends on the window's length"
    assert virtual.growth is None
    assert virtual.latency["p99"] is not None
    assert "capacity" not in [str(o.key) for o in a.verdict.outcomes], "the rate sets what is served"


@pytest.mark.parametrize(
    ("overloads", "judgement"),
    [
        ({"virtual": 6}, "worse"),
        ({"platform": 6}, "better"),
        ({"platform": 6, "virtual": 6}, None),
        ({"platform": 4}, "better"),
        ({"platform": 2}, "undecided"),
        ({"platform": 4, "virtual": 1}, "undecided"),
    ],
)
def test_an_overload_in_more_than_half_of_the_blocks_judges_latency(
    overloads: dict[str, int], judgement: str | None
) -> None:
    run = recorded.under_open_load(recorded.run())
    for variant, blocks in overloads.items():
        run = overloaded(run, set(range(1, blocks + 1)), variant)
    assert outcome_of(recorded.analysed(run), "median").judgement == judgement


def test_an_overload_in_a_single_block_settles_nothing() -> None:
    one = recorded.under_open_load(recorded.run(blocks=1), "platform")
    assert outcome_of(recorded.analysed(one), "median").judgement == "undecided"


# Failing is a result


def test_a_variant_that_fails_in_three_blocks_of_three_fails_and_ends_the_run() -> None:
    run = recorded.run(blocks=3, planned=6, failing=dict.fromkeys((1, 2, 3), "oom"))
    v = recorded.analysed(run).verdict
    assert (v.n, v.valid, v.quick, v.rejected) == (3, True, False, [])
    assert {(o.judgement, *o.fails, o.ratio) for o in v.outcomes} == {("fails", "virtual", None)}
    virtual, platform = v.variants["virtual"], v.variants["platform"]
    assert (virtual.failed_blocks, virtual.failed_interval) == (3, (pytest.approx(0.292, abs=5e-4), 1.0))
    assert [f.reason for f in virtual.failures] == ["out of heap memory (256m)"] * 3
    assert (platform.failed_blocks, platform.failures) == (0, [])
    assert platform.failed_interval == (0.0, pytest.approx(0.708, abs=5e-4))
    assert platform.throughput == pytest.approx(50, rel=0.01), "what it serves is known"
    assert (virtual.throughput, virtual.bottleneck.resource) == (0.0, "unknown")


@pytest.mark.parametrize(
    ("failing", "planned", "judgement", "fails"),
    [
        ((1, 2), 3, "fails", ["virtual"]),
        ((1,), 3, "undecided", []),
        ((1, 2, 4), 6, "undecided", []),  # half of them
        ((1, 2, 4, 6), 6, "fails", ["virtual"]),
        ((1,), 1, "undecided", []),  # all, and one block is too few
        ((1, 2), 2, "fails", ["virtual"]),
    ],
)
def test_two_blocks_and_more_than_half_fail_a_variant(
    failing: tuple[int, ...], planned: int, judgement: str, fails: list[str]
) -> None:
    run = recorded.run(blocks=planned, failing=dict.fromkeys(failing, "errors"))
    a = recorded.analysed(run)
    found, virtual = outcome_of(a, "capacity"), a.verdict.variants["virtual"]
    assert (a.verdict.valid, found.judgement, found.fails) == (True, judgement, fails)
    assert virtual.failed_blocks == len(failing)
    assert (found.value is None) == (planned == len(failing)), "over the blocks in which neither failed"
    assert (found.ratio, found.blocks_needed) == (None, None), "however clear these are"
    assert virtual.error_ratio > 0.02, "of all blocks, so that it can be shown beside the verdict"


def test_no_variant_that_failed_is_better_or_the_same_however_clear_the_rest_is() -> None:
    assert capacity(recorded.run(failing={3: "errors"})).judgement == "undecided"
    assert capacity(recorded.with_failing(recorded.run(), {3: "errors"}, "platform")).judgement == "undecided"
    assert capacity(recorded.run("pool", failing={3: "start"})).judgement == "undecided"


def test_both_may_fail() -> None:
    run = recorded.run(blocks=3, failing=dict.fromkeys((1, 2, 3), "oom"))
    blocks = [recorded.broken(block, "platform", "errors") for block in run.blocks]
    a = recorded.analysed(Run(run.manifest, run.experiment, blocks, {}))
    found = outcome_of(a, "capacity")
    assert (found.judgement, found.fails) == ("fails", ["platform", "virtual"])
    assert a.verdict.decisions[0].advice == "no decision"


def test_a_run_that_was_stopped_decides_nothing() -> None:
    a = recorded.analysed(recorded.run(blocks=2, planned=6, failing={1: "oom", 2: "oom"}))
    assert not a.verdict.valid
    assert verdict_lines(a).verdict.startswith("No decision: "), "two of six are still possible"


def test_of_several_variants_only_those_that_failed_are_not_compared() -> None:
    run = of_three(blocks=3, failing=dict.fromkeys((1, 2, 3), "oom"), fails="virtual-small")
    a = recorded.analysed(run)
    assert {o.of: o.judgement for o in a.verdict.outcomes if str(o.key) == "capacity"} == {
        "virtual": "better",
        "virtual-small": "fails",
    }
    assert not run_status.is_ended_by_failing(run.experiment, a.accepted), "the other pair needs its blocks"
    ended = of_three(blocks=3, failing=dict.fromkeys((1, 2, 3), "oom"), fails="platform")
    assert run_status.is_ended_by_failing(ended.experiment, ended.blocks)
    assert not run_status.is_ended_by_failing(ended.experiment, ended.blocks[:2])


def test_a_winner_that_the_load_alone_limits_shows_a_lower_bound() -> None:
    found = capacity(recorded.run())
    assert (found.judgement, found.is_lower_bound) == ("better", True)
    # With more users something else would limit it.
    exp = recorded.experiment(load={"full": {"users": 6000}}, expected=None)
    found = capacity(recorded.run(experiment=exp, blocks=3))
    assert (found.judgement, found.is_lower_bound) == ("better", False)
    # The same at this load.
    same = capacity(recorded.with_ratio(recorded.run(blocks=3), 1.0))
    assert (same.judgement, same.is_lower_bound) == ("same", False)


def test_users_without_an_answer_take_the_latency_away() -> None:
    run = recorded.run(blocks=2)
    for block in run.blocks:
        for number, t in enumerate(block.trials):
            if t.variant == "platform":
                block.trials[number] = t.model_copy(update={"latency": recorded.latency(t.ok, 0.1)})
    a = recorded.analysed(run)
    platform, virtual = a.verdict.variants["platform"], a.verdict.variants["virtual"]
    assert platform.missing_users == pytest.approx(15, rel=0.01)
    assert (set(platform.latency.values()), platform.queue_time) == ({None}, None)
    assert virtual.missing_users is None
    assert virtual.latency["mean"] is not None
    assert outcome_of(a, "median.full").reason == "the answers do not account for all users"


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
    capacities = [o for o in a.verdict.outcomes if str(o.key) == "capacity"]
    assert [(o.of, o.over, o.judgement) for o in capacities] == [
        ("virtual", "platform", "better"),
        ("virtual-small", "platform", "better"),
    ]
    assert [o.ratio for o in capacities] == [pytest.approx(2, rel=0.01), pytest.approx(1.5, rel=0.01)]
    assert [o.level for o in capacities] == [pytest.approx(0.05 / 2)] * 2, "two claims of one run"
    assert a.verdict.variants["virtual-small"].bottleneck.resource == "unknown"
    jsonschema.validate(json.loads(a.verdict.model_dump_json()), SCHEMA)


def test_a_report_shows_each_pair_of_several_variants_by_itself() -> None:
    whole = recorded.analysed(of_three(rejected={2: "steal"}))
    first, second = verdict.split_by_pair(whole)
    assert [p.run.experiment.variants for p in (first, second)] == [
        ["platform", "virtual"],
        ["platform", "virtual-small"],
    ]
    assert {o.of for o in first.verdict.outcomes} == {d.of for d in first.verdict.decisions} == {"virtual"}
    assert len(first.verdict.outcomes) + len(second.verdict.outcomes) == len(whole.verdict.outcomes)
    assert set(second.verdict.variants) == {"platform", "virtual-small"}
    assert (first.verdict.n, first.rejected, first.checks) == (6, whole.rejected, whole.checks)
    text = markdown.render([first, second])
    assert "## threads, virtual-small · 1 CPU" in text
    assert "1.50× (" in html.render([second])
    assert verdict.split_by_pair(recorded.analysed(recorded.run())) == [recorded.analysed(recorded.run())]


def test_a_block_counts_with_all_its_variants_or_not_at_all() -> None:
    run = of_three()
    late = run.blocks[2]
    lost = [t.model_copy(update={"started": t.started + 1}) if t.variant == "virtual-small" else t for t in late.trials]
    run.blocks[2] = late.model_copy(update={"trials": lost})
    a = recorded.analysed(run)
    assert (a.verdict.n, a.verdict.valid) == (5, False)
    assert [p.verdict.n for p in verdict.split_by_pair(a)] == [5, 5]

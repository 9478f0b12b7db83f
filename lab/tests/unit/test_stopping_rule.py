"""Looks at a run: their levels, when a run ends, and what its verdict says then."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from typing import Any

import jsonschema
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmarks import levels
from tests.support import recorded
from tests.unit.test_verdict import SCHEMA, by_hand, of_three, outcome_of, overloaded
from vtlab.analysis import run_status, verdict
from vtlab.analysis.statistics import paired, simulated_runs, stopping_rule
from vtlab.analysis.statistics.simulation import EDGE, Noise
from vtlab.model.manifest import Manifest, SequentialRule
from vtlab.model.outcome import Outcome
from vtlab.model.run import Analysis, Run
from vtlab.model.verdict import RunEnd
from vtlab.report.pages import markdown
from vtlab.report.words import block_counts
from vtlab.report.words.notes import notes
from vtlab.report.words.verdict_lines import verdict_lines

RUNS = 10_000
RULE = stopping_rule.sequential_rule(1, simulated_runs.PRECISION)
LOOKS = st.sampled_from(stopping_rule.LOOKS)
JUDGEMENTS = {paired.ABOVE: "better", paired.BELOW: "worse", paired.INSIDE: "same", paired.ACROSS: "undecided"}


def error(share: float, runs: int = RUNS) -> float:
    """Four binomial standard errors."""
    return 4 * math.sqrt(share * (1 - share) / runs)


def with_looks(run: Run, rule: SequentialRule = RULE, seconds: float | None = None) -> Run:
    """``run`` with a rule in place of a fixed number of blocks, and the time that each block took."""
    blocks = [block.model_copy(update={"seconds": seconds}) for block in run.blocks]
    manifest = run.manifest.model_copy(update={"rule": rule, "blocks": rule.looks[-1]})
    return replace(run, manifest=manifest, blocks=blocks)


def of_logs(*logs: float, rule: SequentialRule = RULE, seconds: float | None = None) -> Analysis:
    """The analysis of a run whose blocks have those log ratios."""
    run = by_hand(*[(200.0, 200.0 * math.exp(x)) for x in logs])
    return recorded.analysed(with_looks(run, rule, seconds))


def capacity(analysis: Analysis) -> Outcome:
    return outcome_of(analysis, "capacity")


def decided(analysis: Analysis) -> RunEnd:
    assert analysis.verdict.end is not None
    return analysis.verdict.end


# --- levels ------------------------------------------------------------------


@pytest.mark.parametrize("claims", [1, 2, 5, 20])
def test_all_looks_together_spend_the_level(claims: int) -> None:
    least = levels.smallest(400_000, seed=7)
    share = stopping_rule.ALPHA / claims
    spent = float(np.mean(least <= stopping_rule.level_factor(claims) / claims))
    # The factors are calibrated with other random numbers, and rounded down by up to 1 %.
    assert share - 0.01 * share - error(share, least.size) <= spent <= share + error(share, least.size)


def test_the_nominal_levels_add_up_to_the_level() -> None:
    assert math.fsum(stopping_rule.NOMINAL) == pytest.approx(stopping_rule.ALPHA)
    assert len(stopping_rule.NOMINAL) == len(stopping_rule.LOOKS)
    assert list(stopping_rule.LOOKS) == sorted(set(stopping_rule.LOOKS))


@given(st.integers(1, 60))
def test_more_claims_have_less_each(claims: int) -> None:
    fewer, more = stopping_rule.sequential_rule(claims), stopping_rule.sequential_rule(claims + 1)
    assert all(a > b for a, b in zip(fewer.levels, more.levels, strict=True))
    # Whatever the looks share: independent ones spend no more than the sum of their levels.
    assert math.fsum(stopping_rule.sequential_rule(21 + claims).levels) * (21 + claims) <= stopping_rule.ALPHA * (
        1 + 1e-12
    )


@given(LOOKS, st.integers(1, 30), st.integers(1, 30))
def test_what_is_read_once_has_the_level_of_as_many_claims(look: int, claims: int, others: int) -> None:
    levels = [stopping_rule.level(stopping_rule.sequential_rule(m), look) for m in (claims, others)]
    assert stopping_rule.level_among(levels[0], claims, others) == pytest.approx(levels[1])


@given(st.integers(0, 12))
def test_the_level_between_two_looks_is_that_of_the_next(blocks: int) -> None:
    if blocks not in stopping_rule.LOOKS:
        following = stopping_rule.next_look(stopping_rule.LOOKS, blocks)
        assert stopping_rule.level(RULE, blocks) == stopping_rule.level(RULE, following)


@given(st.integers(1, 12), st.integers(1, 30))
def test_a_run_that_its_time_ends_spends_what_the_looks_before_left(blocks: int, claims: int) -> None:
    rule = stopping_rule.sequential_rule(claims)
    before, last = stopping_rule.in_time(rule, blocks).levels[:-1], stopping_rule.last_level(rule, blocks)
    assert before == [a for look, a in zip(rule.looks, rule.levels, strict=True) if look < blocks]
    assert last >= stopping_rule.level(rule, blocks)
    # More than the levels of all looks are wrong together where there is time for all of them.
    assert math.fsum([*before, last]) <= max(stopping_rule.ALPHA / claims, math.fsum(rule.levels)) * (1 + 1e-12)
    if last > stopping_rule.level(rule, blocks):
        assert math.fsum([*before, last]) == pytest.approx(stopping_rule.ALPHA / claims)


# --- simulated runs ----------------------------------------------------------


@pytest.mark.parametrize("blocks", simulated_runs.IN_TIME)
@pytest.mark.parametrize("ratio", [1.0, EDGE, 1.2])
def test_the_interval_of_a_run_that_its_time_ends_covers_the_truth(ratio: float, blocks: int) -> None:
    rule = stopping_rule.in_time(RULE, blocks)
    result = simulated_runs.simulate(ratio, Noise().with_sd(0.02), RUNS, rule)
    assert result.blocks <= blocks
    assert result.coverage >= paired.CONFIDENCE - error(paired.CONFIDENCE)
    # On the edge of the margin both "better" and "same" are false.
    wrong = max(result.better, result.same) if ratio == EDGE else result.false
    assert wrong <= paired.LEVEL + error(paired.LEVEL)


@pytest.mark.parametrize("sd", [0.01, 0.02, 0.06])
@pytest.mark.parametrize("ratio", [1.0, EDGE, 1.2])
def test_the_interval_of_a_run_that_ends_by_itself_covers_the_truth(ratio: float, sd: float) -> None:
    result = simulated_runs.simulate(ratio, Noise().with_sd(sd), RUNS, RULE)
    assert result.coverage >= paired.CONFIDENCE - error(paired.CONFIDENCE)
    if ratio == EDGE:
        assert result.better <= paired.LEVEL + error(paired.LEVEL)
        assert result.same <= paired.LEVEL + error(paired.LEVEL)
    else:
        assert result.false <= paired.LEVEL


def test_clear_answers_take_fewer_blocks_than_close_ones() -> None:
    clear, close = (simulated_runs.simulate(ratio, Noise().with_sd(0.01), 2000, RULE) for ratio in (5.0, 1.08))
    assert clear.blocks < close.blocks
    assert (clear.better, close.better) == (1, pytest.approx(1, abs=0.02))
    assert clear.width <= simulated_runs.PRECISION


def test_simulated_runs_end_like_real_ones() -> None:
    random = np.random.default_rng(3)
    logs = random.normal(0.09, 0.04, (24, 12))
    of, over = 1e9 * np.exp(logs)[..., None] * np.ones(2), 1e9 * np.ones((24, 12, 2))
    simulated = simulated_runs.ends(of, over, 1.09, RULE)
    assert set(simulated.blocks) == set(RULE.looks), "every look ends one"
    assert 0 < sum(simulated.is_futile) < 24
    for i in range(24):
        run = by_hand(*[(200.0, 200.0 * math.exp(x)) for x in logs[i]])
        for block in run.blocks:
            for trial in block.trials:
                trial.ok = 10**9
        a = recorded.analysed(with_looks(run))
        assert a.verdict.n == simulated.blocks[i]
        assert capacity(a).judgement == JUDGEMENTS[int(simulated.position[i])]
        assert (decided(a).ended == "futile") == simulated.is_futile[i]


# --- runs --------------------------------------------------------------------


def test_a_run_ends_at_the_first_look_that_settles_it() -> None:
    # Half-widths of 29 % at 2 blocks, whose SD is 0.014, and of 6 % at 3.
    a = of_logs(1.60, 1.62, 1.61)
    assert (a.verdict.n, a.verdict.valid, a.verdict.quick) == (3, True, False)
    d, c = decided(a), capacity(a)
    assert (d.ended, d.blocks, d.level) == ("settled", 3, pytest.approx(0.01))
    half = 9.9248 * 0.01 / math.sqrt(3)
    assert c.low is not None
    assert c.low == pytest.approx(math.exp(1.61 - half), rel=1e-3), "t of 2 degrees of freedom at 0.5 %"
    assert (c.judgement, c.level) == ("better", pytest.approx(0.01))
    assert block_counts.why_invalid(a) is None
    jsonschema.validate(json.loads(a.verdict.model_dump_json()), SCHEMA)


def test_a_verdict_with_a_wide_interval_is_measured_further() -> None:
    wide = by_hand((200.0, 600.0), (200.0, 608.0))
    assert run_status.blocks_left(with_looks(wide)) == 0
    assert run_status.blocks_left(with_looks(wide, stopping_rule.sequential_rule(1, precision=0.1))) == 1
    a = recorded.analysed(with_looks(wide, stopping_rule.sequential_rule(1, precision=0.1)))
    assert not a.verdict.valid
    why = "Not valid: 2 blocks count, checked again after 3. Do not base a decision on this run."
    assert block_counts.why_invalid(a) == why


def test_blocks_after_the_end_do_not_change_a_verdict() -> None:
    ended = of_logs(1.60, 1.62, 1.61)
    a = of_logs(1.60, 1.62, 1.61, -1.0, 0.0)
    assert a.verdict.outcomes == ended.verdict.outcomes
    assert [r.reasons for r in a.verdict.rejected] == [["the run already has its 3 blocks"]] * 2


def test_several_claims_of_a_run_need_more_than_one_alone() -> None:
    logs = (0.105, 0.095, 0.1)
    assert decided(of_logs(*logs)).ended == "settled"
    among = of_logs(*logs, rule=stopping_rule.sequential_rule(5))
    assert decided(among).ended is None
    # What is in the manifest decides, not what else is in the report.
    run = with_looks(by_hand(*[(200.0, 200.0 * math.exp(x)) for x in logs]))
    assert [a.verdict.end for a in verdict.analyse_all([run] * 5)] == [decided(of_logs(*logs))] * 5


def test_a_run_that_will_hardly_be_settled_ends_and_says_so() -> None:
    a = of_logs(0.2, -0.2, 0.15, -0.17)
    d = decided(a)
    assert (d.ended, d.blocks) == ("futile", 4)
    assert d.chance is not None
    assert d.chance < stopping_rule.FUTILE
    assert capacity(a).judgement == "undecided"
    why = "Stopped early: even 12 blocks would settle it with a probability below "
    assert str(verdict_lines(a).why).startswith(why)


def test_not_even_futility_ends_a_run_before_four_blocks() -> None:
    assert decided(of_logs(0.2, -0.2, 0.01)).ended is None


def test_the_last_look_ends_a_run() -> None:
    a = of_logs(*(0.085 + x for x in (0.05, -0.05) * 6))
    assert (decided(a).ended, a.verdict.n) == ("last look", 12)
    assert verdict_lines(a).why == "Not settled after 12 blocks, the maximum of a run"


#: Four blocks that settle nothing, and leave a chance.
OPEN = (0.16, 0.02, 0.14, 0.04)


@pytest.mark.parametrize(
    ("within", "ended", "blocks"), [(120, None, 4), (119, "within", 4), (40, "within", 2), (39, "within", 1)]
)
def test_a_run_ends_where_the_next_look_does_not_fit(within: float, ended: str | None, blocks: int) -> None:
    # Four blocks took 80 s, the next look is two blocks later.
    a = of_logs(*OPEN, rule=stopping_rule.sequential_rule(1, within=within), seconds=20.0)
    assert (decided(a).ended, decided(a).blocks) == (ended, blocks)
    if within == 40:
        assert capacity(a).level == decided(a).level == pytest.approx(stopping_rule.ALPHA), "no look before spent any"
    if within == 119:
        assert verdict_lines(a).why == "Stopped: too little time left for another block (--max-time)"


def test_a_block_slower_than_those_before_ends_a_run_between_two_looks() -> None:
    run = with_looks(
        by_hand(*[(200.0, 200.0 * math.exp(x)) for x in (*OPEN, 0.1)]), stopping_rule.sequential_rule(1, within=121.0)
    )
    lengths = (20.0, 20.0, 20.0, 20.0, 21.0)
    blocks = [b.model_copy(update={"seconds": s}) for b, s in zip(run.blocks, lengths, strict=True)]
    d = decided(recorded.analysed(replace(run, blocks=blocks)))
    assert (d.ended, d.blocks, d.level) == ("within", 5, RULE.levels[3])


def test_what_is_measured_once_is_not_expected_again() -> None:
    run = with_looks(recorded.run(blocks=1), stopping_rule.sequential_rule(1, within=100.0), 60.0)
    assert decided(recorded.analysed(run)).ended == "within"
    once = run.blocks[0].model_copy(update={"once_seconds": 20.0})
    assert decided(recorded.analysed(replace(run, blocks=[once]))).ended is None
    # It is where the attempt that had it does not count.
    rejected = recorded.spoiled(once, "steal")
    assert decided(recorded.analysed(replace(run, blocks=[rejected]))).ended == "within"


def test_a_run_whose_time_is_over_after_one_block_says_what_it_has_and_what_goes_on() -> None:
    a = recorded.analysed(
        with_looks(recorded.run(blocks=1), stopping_rule.sequential_rule(1, precision=0.1, within=80.0), 60.0)
    )
    assert (decided(a).ended, run_status.blocks_left(a.run), a.verdict.valid) == ("within", 0, True)
    assert block_counts.after_look(decided(a)) == "no further blocks: 2 would take longer than --max-time allows"
    assert verdict_lines(a).why == "Stopped: too little time left for another block (--max-time)"


def test_a_variant_that_was_not_warm_in_time_decides_nothing_and_needs_more_warm_up() -> None:
    rule = stopping_rule.sequential_rule(1, within=80.0)
    run = with_looks(recorded.run(blocks=1, command="vtlab try shop.jar --max-time 2m"), rule, 60.0)
    a = recorded.analysed(replace(run, blocks=[recorded.spoiled(run.blocks[0], "unsteady")]))
    verdict = verdict_lines(a).verdict
    assert verdict.startswith(
        "No decision: the only block was rejected (virtual: no steady state after 4 warm-up cycles"
    )
    assert verdict_lines(a).next == (
        "More warm-up cycles may help: windows.max_cycles in a file (vtlab init). Give it more time:"
        " vtlab try shop.jar --max-time 3m"
    )


def test_a_run_with_one_block_beside_one_that_still_warmed_up_names_both_cures() -> None:
    rule = stopping_rule.sequential_rule(1, precision=0.1, within=140.0)
    run = with_looks(recorded.run(blocks=1, rejected={1: "unsteady"}), rule, 60.0)
    a = recorded.analysed(run)
    assert (a.verdict.valid, a.verdict.n) == (True, 1)
    assert str(verdict_lines(a).next).startswith(
        "More warm-up cycles may help: windows.max_cycles in a file (vtlab init). Give"
    )


@pytest.mark.parametrize(("within", "ended"), [(119.0, "within"), (120.0, None)])
def test_a_rejected_attempt_is_repeated_where_another_fits(within: float, ended: str | None) -> None:
    run = with_looks(recorded.run(blocks=1), stopping_rule.sequential_rule(1, within=within), 60.0)
    a = recorded.analysed(replace(run, blocks=[recorded.spoiled(run.blocks[0], "steal")]))
    assert (decided(a).ended, decided(a).blocks, run_status.blocks_left(a.run)) == (ended, 0, 0 if ended else 2)
    assert not a.verdict.valid
    if ended:
        assert block_counts.after_look(decided(a)) == "no further blocks: 1 would take longer than --max-time allows"
        assert block_counts.why_invalid(a) == (
            "Not valid: 0 blocks count, too little time is left for another (--max-time), 1 rejected. Do not base a"
            " decision on this run."
        )
        text = verdict_lines(a).verdict
        assert text.startswith("No decision: the only block was rejected (")
        assert text.endswith("), and too little time was left for another")
        assert "the hypervisor gave 4.0 % of the cores' time to others" in text


def test_rejected_attempts_take_time_too() -> None:
    rule = stopping_rule.sequential_rule(1, within=139.0)
    run = with_looks(by_hand(*[(200.0, 200.0 * math.exp(x)) for x in OPEN]), rule, 20.0)
    assert decided(recorded.analysed(run)).ended is None
    rejected = recorded.spoiled(run.blocks[1], "steal")
    again = replace(run, blocks=[run.blocks[0], rejected, *run.blocks[1:]])
    assert decided(recorded.analysed(again)).ended == "within"


def test_a_settled_verdict_that_ends_with_a_wide_interval_says_why() -> None:
    rule = stopping_rule.sequential_rule(1, precision=0.01, within=40.0)
    a = of_logs(1.60, 1.62, rule=rule, seconds=20.0)
    assert (decided(a).ended, capacity(a).judgement) == ("within", "better")
    why = "too little time was left for another block (--max-time)"
    assert f"The interval of capacity is wider than the target of ±1 %: {why}." in notes(a)


# --- failing and overload ----------------------------------------------------


def test_a_variant_that_fails_in_three_blocks_of_three_ends_a_run() -> None:
    a = recorded.analysed(with_looks(recorded.run(blocks=3, failing=dict.fromkeys((1, 2, 3), "oom"))))
    assert (decided(a).ended, capacity(a).judgement) == ("failing", "fails")
    two = with_looks(recorded.run(blocks=2, failing=dict.fromkeys((1, 2), "oom")))
    assert run_status.blocks_left(two) == 1


def test_blocks_in_which_a_variant_failed_count_for_the_looks() -> None:
    # Without the failures the first look would settle it. With them nothing does, and the run has its six blocks.
    assert run_status.blocks_left(with_looks(recorded.run(blocks=2))) == 0
    failing = recorded.run(blocks=6, failing={2: "oom"})
    stands = [with_looks(replace(failing, blocks=failing.blocks[:n])) for n in range(2, 7)]
    assert [run_status.blocks_left(run) for run in stands] == [1, 1, 2, 1, 0]
    a = recorded.analysed(stands[-1])
    assert (decided(a).ended, a.verdict.n, capacity(a).judgement) == ("futile", 6, "undecided")


def test_an_overload_in_every_trial_settles_a_run_and_one_of_both_ends_it() -> None:
    run = recorded.under_open_load(recorded.run(blocks=4))
    one = recorded.analysed(with_looks(overloaded(run, {1, 2, 3, 4}, "platform")))
    assert (decided(one).ended, one.verdict.n, outcome_of(one, "median").judgement) == ("settled", 2, "better")
    both = overloaded(overloaded(run, {1, 2, 3, 4}, "platform"), {1, 2, 3, 4}, "virtual")
    neither = recorded.analysed(with_looks(both))
    assert (decided(neither).ended, neither.verdict.n) == ("futile", 4)
    assert str(verdict_lines(neither).next).startswith("Lower the rate")


def test_every_pair_of_a_run_is_settled_before_it_ends() -> None:
    a = recorded.analysed(with_looks(of_three(blocks=6), stopping_rule.sequential_rule(2)))
    assert [outcome_of(a, "capacity", of).judgement for of in ("virtual", "virtual-small")] == ["better", "better"]
    assert decided(a).ended == "settled"
    assert a.verdict.n < 6


# --- records -----------------------------------------------------------------


def test_a_manifest_without_a_rule_has_a_fixed_number_of_blocks() -> None:
    document: dict[str, Any] = json.loads(recorded.run(blocks=2).manifest.model_dump_json())
    del document["rule"]
    assert Manifest.model_validate(document).rule is None


def test_a_run_is_reported_by_the_levels_that_it_began_with() -> None:
    strict = RULE.model_copy(update={"levels": [level / 1000 for level in RULE.levels]})
    assert decided(of_logs(1.60, 1.62, 1.61, rule=strict)).ended is None


def test_a_run_with_looks_that_is_settled_is_no_quick_look() -> None:
    text = markdown.render([of_logs(1.60, 1.62, 1.61)])
    assert "quick look" not in text.lower().replace("fewer than 6 blocks are a quick look", "")

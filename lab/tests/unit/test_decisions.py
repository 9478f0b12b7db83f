"""The decision by its four rules."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support import felt, recorded
from tests.unit.test_outcomes import RUN, changed, probed, slowed
from vtlab.analysis.criteria.decisions import by_outcomes
from vtlab.analysis.criteria.judged import Pair
from vtlab.model.outcome import Decision, Key, Outcome
from vtlab.model.run import Run

CLAIMS = ("capacity", "median", "tail")
NAMES = (*CLAIMS, "median.full", "tail.full", "cpu", "memory")
#: Judgements from the worst to the best; an undecided one may be any.
RANKS = {"worse": 0, "same": 1, None: 1, "undecided": 1, "better": 2}
#: Advices likewise.
ADVICE_RANKS = {"leave it off": 0, "no difference": 1, "trade-off": 1, "no decision": 1, "turn it on": 2}


def outcome(name: str, judgement: Any, ratio: float = 2.0, blocks: int = 6, width: float = 1.05) -> Outcome:
    """Makes an outcome whose effect is that ratio, to the better or the worse."""
    criterion, _, load = name.partition(".")
    key = Key(
        criterion=criterion,
        load=None if criterion == "memory" else load or ("full" if name == "capacity" else "typical"),
    )  # type: ignore[arg-type]
    better: Any = "higher" if name == "capacity" else "lower"
    is_up = (judgement == "better") == (better == "higher")
    differs = judgement in ("better", "worse")
    true = (ratio if is_up else 1 / ratio) if differs else 1.0
    return Outcome(
        key=key,
        of="virtual",
        over="platform",
        judgement=judgement,
        ratio=true,
        low=true / width,
        high=true * width,
        margin=0.05 if name in ("capacity", "cpu") else 0.2,
        better=better,
        is_claim=name in CLAIMS,
        log_ratios=[math.log(true)] * blocks,
    )


def decided(**judgements: Any) -> Decision:
    """Decides by these judgements; all others are the same. ``median_full`` is ``median.full``."""
    by_name = dict.fromkeys(NAMES, "same") | {k.replace("_", "."): v for k, v in judgements.items()}
    return by_outcomes(Pair("virtual", "platform"), [outcome(name, j) for name, j in by_name.items()])


def names(keys: list[Key]) -> list[str]:
    return [str(key) for key in keys]


ANY = st.fixed_dictionaries({name: st.sampled_from(["better", "same", "worse", "undecided", None]) for name in NAMES})


# --- rules 2 to 4 ----------------------------------------------------------------


@pytest.mark.parametrize(
    ("judgements", "advice", "rule"),
    [
        ({"capacity": "better"}, "turn it on", 2),
        ({"tail": "better"}, "turn it on", 2),
        ({"capacity": "worse"}, "leave it off", 2),
        ({"median": "worse", "tail": "better"}, "trade-off", 2),
        ({"capacity": "better", "tail_full": "worse"}, "trade-off", 2),
        ({"capacity": "worse", "tail_full": "better"}, "trade-off", 2),
        ({"tail_full": "worse"}, "no difference", 3),
        ({"tail_full": "worse", "median": "undecided", "tail": "undecided"}, "no decision", 3),
        ({"tail_full": "worse", "median": "undecided", "tail": None}, "no decision", 3),
        ({"tail_full": "worse", "median": None, "tail": None}, "no difference", 3),
        ({"tail_full": "worse", "capacity": "undecided", "median": None, "tail": None}, "no decision", 3),
        ({"tail_full": "worse", **dict.fromkeys(CLAIMS)}, "no decision", 3),
        ({}, "no difference", 4),
        ({"cpu": "worse", "memory": "better"}, "no difference", 4),
        ({"capacity": None, "median": None}, "no difference", 4),
        ({"median_full": "undecided", "tail_full": "undecided"}, "no difference", 4),
        (dict.fromkeys(CLAIMS), "no decision", None),
        ({"median": "undecided"}, "no decision", None),
        ({"capacity": "fails"}, "no decision", None),
    ],
)
def test_the_first_rule_that_holds_decides(judgements: dict[str, Any], advice: str, rule: int | None) -> None:
    found = decided(**judgements)
    assert (found.advice, found.rule, found.is_probable) == (advice, rule, False)


def test_rule_three_says_what_to_do_at_full_load() -> None:
    for judgements, at_full in (
        ({"tail_full": "worse"}, "leave it off"),
        ({"median_full": "better"}, "turn it on"),
        ({"median_full": "better", "tail_full": "worse"}, "trade-off"),
    ):
        assert decided(**judgements).at_full == at_full


def test_without_a_claim_at_typical_load_rule_three_decides_about_full_load_alone() -> None:
    """Seen: "No decision at 79.1/s. At full load turn on …" beside the advice "no difference" in verdict.json."""
    found = decided(tail_full="better", median="undecided", tail="undecided")
    assert (found.advice, found.at_full, found.is_probable) == ("no decision", "turn it on", False)
    assert (names(found.because), names(found.undecided)) == (["tail.full"], ["median", "tail"])
    assert found.missing == "the intervals are too wide"


def test_an_undecided_claim_makes_a_decision_probable_and_is_named() -> None:
    found = decided(capacity="better", median="undecided")
    assert (found.advice, found.is_probable, names(found.undecided)) == ("turn it on", True, ["median"])
    beside_full = decided(tail_full="worse", capacity="undecided")
    assert (beside_full.rule, beside_full.is_probable) == (3, True)
    assert not decided(capacity="better", tail_full="undecided").is_probable, "it is no claim"


def test_no_difference_names_what_is_undecided_at_full_load() -> None:
    """Seen: "makes no difference at 24 users", where the median at 24 users was undecided (-33 to +14)."""
    assert names(decided(median_full="undecided").undecided) == ["median.full"]
    assert names(decided(tail_full="undecided", capacity="undecided").undecided) == ["capacity"], "no decision yet"


def test_what_decided_is_named_with_the_largest_effect_first() -> None:
    effects = {"capacity": 1.3, "median": 4.0, "tail": 2.0}
    found = by_outcomes(Pair("virtual", "platform"), [outcome(n, "better", r) for n, r in effects.items()])
    assert names(found.because) == ["median", "tail", "capacity"]
    both = decided(capacity="better", tail="worse")
    assert (names(both.because), names(both.against)) == (["capacity"], ["tail"])


def test_few_blocks_that_show_a_difference_near_its_margin_decide_probably() -> None:
    pair = Pair("virtual", "platform")
    near, later = (outcome("capacity", "better", 1.10, blocks, 1.02) for blocks in (2, 6))
    assert by_outcomes(pair, [near]).is_probable
    assert by_outcomes(pair, [near]).is_near_margin
    assert not by_outcomes(pair, [later]).is_probable
    clear = outcome("tail", "better", 3.0, 2)
    assert not by_outcomes(pair, [near, clear]).is_probable, "another difference is clear"


# --- properties ------------------------------------------------------------------


def by(judgements: dict[str, Any]) -> Decision:
    return by_outcomes(Pair("virtual", "platform"), [outcome(name, j) for name, j in judgements.items()])


@given(ANY)
def test_swapping_the_variants_mirrors_the_decision(judgements: dict[str, Any]) -> None:
    flipped = {"better": "worse", "worse": "better"}
    there = by(judgements)
    back = by_outcomes(
        Pair("platform", "virtual"),
        [
            o.model_copy(update={"of": "platform", "over": "virtual"})
            for o in (outcome(name, flipped.get(j, j)) for name, j in judgements.items())
        ],
    )
    mirrored = {"turn it on": "leave it off", "leave it off": "turn it on"}
    assert back.advice == mirrored.get(there.advice, there.advice)
    assert back.at_full == mirrored.get(str(there.at_full), there.at_full)
    assert (back.rule, back.is_probable) == (there.rule, there.is_probable)


@given(ANY, st.sampled_from(NAMES), st.sampled_from(["worse", "same"]))
def test_a_worse_outcome_never_makes_the_advice_better(judgements: dict[str, Any], name: str, worse: str) -> None:
    if RANKS[worse] > RANKS[judgements[name]] or judgements[name] in ("undecided", None):
        return
    assert ADVICE_RANKS[by({**judgements, name: worse}).advice] <= ADVICE_RANKS[by(judgements).advice]


@given(ANY, st.sampled_from(["better", "same", "worse", "undecided", None]))
def test_cpu_and_memory_never_change_the_advice(judgements: dict[str, Any], other: Any) -> None:
    changed_ones = {**judgements, "cpu": other, "memory": other}
    found, before = by(changed_ones), by(judgements)
    assert (found.advice, found.rule, found.at_full) == (before.advice, before.rule, before.at_full)


@given(ANY)
def test_undecided_claims_leave_the_decision_probable_or_open(judgements: dict[str, Any]) -> None:
    found = by(judgements)
    undecided = {name for name in CLAIMS if judgements[name] == "undecided"}
    at_full = {name for name in ("median.full", "tail.full") if judgements[name] == "undecided"}
    assert set(names(found.undecided)) == undecided | (at_full if found.rule == 4 else set())
    if undecided:
        assert found.is_probable or found.advice == "no decision"
    if found.advice == "no decision":
        assert found.missing
        assert not found.is_probable


# --- rule 1 ------------------------------------------------------------------------


def of(run: Run) -> Decision:
    (decision,) = recorded.analysed(run).verdict.decisions
    return decision


def test_a_variant_that_fails_decides_where_the_other_never_does() -> None:
    every = dict.fromkeys((1, 2, 3), "oom")
    found = of(recorded.with_failing(RUN, every))
    assert (found.advice, found.rule, found.loser, found.fault) == ("leave it off", 1, "virtual", "fails")
    found = of(recorded.with_failing(RUN, every, "platform"))
    assert (found.advice, found.rule, found.loser) == ("turn it on", 1, "platform")
    both = of(recorded.with_failing(recorded.with_failing(RUN, every), {1: "oom"}, "platform"))
    assert (both.advice, both.rule) == ("no decision", None)
    assert of(recorded.with_failing(RUN, {1: "oom"})).advice == "no decision", "once of three"


def test_an_overload_at_typical_load_and_a_restart_decide() -> None:
    overloaded = changed(RUN, lambda t: felt.behind(t) if t.variant == "virtual" else t)
    assert (of(overloaded).advice, of(overloaded).fault) == ("leave it off", "overloaded")
    restarted = of(probed(0.95, "platform"))
    assert (restarted.advice, restarted.fault, restarted.loser) == ("turn it on", "restarted", "platform")
    assert of(probed(0.95, "platform", healthy=False)).rule == 2, "without a liveness endpoint no restart is said"


def test_a_fault_of_the_other_variant_leaves_rule_one_out() -> None:
    run = changed(probed(0.95, "platform"), lambda t: felt.behind(t) if t.variant == "virtual" else t)
    assert of(run).rule != 1


def test_a_run_decides_by_its_outcomes() -> None:
    assert (of(RUN).advice, of(RUN).rule) == ("turn it on", 2)
    assert set(names(of(RUN).because)) == {"capacity", "median.full", "tail.full"}
    worse = of(changed(RUN, slowed(3.0)))
    assert (worse.advice, set(names(worse.against))) == ("trade-off", {"tail", "median"})
    one = replace(RUN, blocks=RUN.blocks[:1])
    assert of(one).missing == "one block gives a provisional interval only"

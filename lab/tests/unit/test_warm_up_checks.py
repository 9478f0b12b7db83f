"""What warm-up cycles, the JIT compiler and the trend from trial to trial say of a block."""

from __future__ import annotations

from typing import Any

import pytest

from tests.support import recorded
from tests.support.blocks import BLOCKING, OPEN, at_rate, cycles, failures_of, reasons_of, with_rates, with_trial
from vtlab.analysis.validity import checks, failing, steady_state, warm_up_checks
from vtlab.model.records import Block, Trial


@pytest.mark.parametrize(
    ("cores", "used", "passed"), [(0.05, 0.97, [True]), (0.06, 0.81, [False]), (0.31, 0.79, []), (None, 0.97, [])]
)
def test_a_compiler_that_takes_the_cpu_from_requests_is_shown_and_rejects_nothing(
    cores: float | None, used: float, passed: list[bool]
) -> None:
    block = with_trial(1, server={"jit_cpu": cores, "cpu_cores": used})
    trials = [t.model_copy(update={"server": t.server | {"jit_cpu": None}}) for t in block.trials]
    block = block.model_copy(update={"trials": [block.trials[1], *trials[:1], *trials[2:]]})
    assert [r.passed for r in checks.results([block], BLOCKING) if r.name == "JIT compiler"] == passed
    assert "JIT" not in reasons_of(block)


def with_four(rates: dict[str, list[float]], order: str) -> list[str]:
    """Why a block of four trials of each variant does not count; ``order``: p and v."""
    exp = recorded.experiment(windows={**BLOCKING.windows.model_dump(), "trials": 4})
    names = {"p": "platform", "v": "virtual"}
    left = {name: iter(values) for name, values in rates.items()}
    trials = []
    for position, letter in enumerate(order, 1):
        rate = next(left[names[letter]])
        trial = recorded.later(recorded.trial(names[letter], position=position), 100_000 * position)
        trials.append(at_rate(trial, rate))
    turns = [t.variant for t in trials]
    return checks.reasons(recorded.block().model_copy(update={"trials": trials, "order": turns}), exp)


def test_four_trials_of_each_variant_are_mirrored_twice_and_their_halves_are_compared() -> None:
    level = {"platform": [50.0] * 4, "virtual": [100.0] * 4}
    assert with_four(level, "pvvpvppv") == []
    assert with_four(level, "vppvpvvp") == []
    assert "is not mirrored with four trials of each variant" in with_four(level, "pvvppvvp")[0]
    # One trial may be off by much; the mean of two may not.
    assert with_four(level | {"virtual": [100.0, 100.0, 100.0, 112.0]}, "pvvpvppv") == []
    (rising,) = with_four(level | {"virtual": [100.0, 100.0, 112.0, 112.0]}, "pvvpvppv")
    assert rising.startswith("virtual: throughput rose by 12.0 % from its first 2 trials, and its best")


def test_a_variant_that_becomes_faster_from_trial_to_trial_is_not_warm() -> None:
    assert reasons_of(with_rates(200, 1000, 1080, 210)) == "", "as much as the trials of a CPU-bound service differ"
    rising = reasons_of(with_rates(200, 1000, 1130, 200))
    assert rising.startswith("virtual: throughput rose by 13.0 % from its first trial, and its best warm-up cycle, to")
    assert reasons_of(with_rates(200, 1130, 1000, 200)) == "", "a fall is no warming up"
    # 8 and 10 answers: a quarter more, of which counting allows 22 %.
    warm = [*cycles(*[(8 / 30, 0.1)] * 3), *cycles(*[(1000, 0.3)] * 3, variant="virtual")]
    few, more = (with_rates(8 / 30, 1000, 1000, n / 30).model_copy(update={"warmup": warm}) for n in (10, 12))
    assert not warm_up_checks.is_rising(few, BLOCKING)
    assert warm_up_checks.is_rising(more, BLOCKING)
    assert reasons_of(with_rates(100, 100, 150, 150, exp=OPEN), OPEN) == "", "that of the arrivals"


def test_a_rise_to_what_a_cycle_before_has_served_is_no_warming_up() -> None:
    """Figures of unchanged spring-petclinic, whose compilers rested: virtual threads served 778 requests a second in a
    cycle, and 657 and 768 in the trials."""

    def with_cycles(*rates: float) -> Block:
        block = with_rates(588, 657, 768, 551)
        warmup = cycles(*[(rate, 0.9) for rate in rates], variant="virtual")
        return block.model_copy(update={"warmup": [*warmup, *cycles((588, 0.9), (588, 0.9), (588, 0.9))]})

    assert not warm_up_checks.is_rising(with_cycles(775, 778, 694), BLOCKING)
    assert warm_up_checks.is_rising(with_cycles(640, 650, 655), BLOCKING)
    raised = with_cycles(640, 650, 655)
    fast = raised.warmup[0].model_copy(update={"raised_cpu": 1.5, "throughput": 900.0})
    assert warm_up_checks.is_rising(raised.model_copy(update={"warmup": [fast, *raised.warmup[1:]]}), BLOCKING)


def test_only_cycles_under_the_limit_judge_and_two_are_enough_after_those_with_more_cpu() -> None:
    exp = recorded.experiment(windows={"warmup_cycles": 1, "warmup_requests": 6000, "measure": "30s"})
    first, *last = cycles((900, 1.4), (200, 0.1), (201, 0.1))
    raised = first.model_copy(update={"raised_cpu": 1.5})
    assert steady_state.judging_cycles([raised, *last], exp) == last
    assert steady_state.judging_cycles([raised, raised, *last], exp) == last, "wherever they come"
    good = recorded.block()
    for cycle, least in ((raised, 2), (first, 3)):
        warm_up = good.model_copy(update={"warmup": [cycle, *last]})
        assert steady_state.warm_up_of(warm_up, exp, "platform").least == least

    virtual = cycles(*[(1000, 0.3)] * 4, variant="virtual")
    warmed = [virtual[0].model_copy(update={"raised_cpu": 1.5}), *virtual[1:3]]
    enough = good.model_copy(update={"warmup": [raised, *last, *warmed]})
    assert (checks.reasons(enough, exp), failing.failures(enough, exp)) == ([], [])
    few = checks.reasons(good.model_copy(update={"warmup": [first, *last, *virtual[:3]]}), exp)
    assert few[0] == "platform: 3 warm-up cycles, at least 4 needed"
    rising = good.model_copy(update={"warmup": [raised, *cycles((200, 0.1), (220, 0.1)), *warmed]})
    (reason,) = checks.reasons(rising, exp)
    assert "3 warm-up cycles: compared with the best before, the last changed throughput by +10.0 %" in reason
    assert failing.failures(rising, exp) == [], "it says nothing against the variant"


def test_the_checks_of_the_warm_up() -> None:
    good = recorded.block()
    virtual = [t for t in good.warmup if t.variant == "virtual"]

    def bad(platform: list[Trial], **update: Any) -> str:
        return reasons_of(good.model_copy(update={"warmup": platform + virtual, **update}))

    assert bad(cycles((200, 0.06), (201, 0.06), (200, 0.06))) == ""
    rising = good.model_copy(update={"warmup": cycles((200, 0.06), (220, 0.06), (230, 0.06)) + virtual})
    (reason,) = checks.reasons(rising, BLOCKING)
    assert reason.startswith("platform: no steady state after 3 warm-up cycles")
    assert "10.0 %" in reason
    assert "changed throughput by +10.0 % and CPU by -0.6 % of its limit, then throughput by +14.9 %" in reason
    assert "a gain of less than 3 % is allowed" in reason
    assert "platform: 2 warm-up cycles, at least 3 needed" in bad(cycles((200, 0.06), (200, 0.06)))
    assert "unequal numbers of warm-up cycles: platform 4, virtual 3" in bad(cycles(*[(200, 0.06)] * 4))
    blind = [t.model_copy(update={"server": {}}) for t in cycles(*[(200, 0.06)] * 3)]
    assert "no measurement" in bad(blind)
    assert "trials" not in bad(blind, trials=[]), "the reason is the warm-up, not the trials that are missing"
    hanging = {"ok": 0, "throughput": 0.0, "failed": {"timeout": 200}}
    silent = [t.model_copy(update=hanging) for t in cycles(*[(200, 0.06)] * 3)]
    failures = failures_of(good.model_copy(update={"warmup": [*silent, *virtual]}))
    assert ("platform", "no OK answer in some of 3 warm-up cycles", "the warm-up") in failures


def test_cycles_with_the_trials_own_load_judge_the_warm_up() -> None:
    windows = {"warmup_users": 200, "warmup_load": "6s", "warmup_cycles": 2, "measure": "30s"}
    exp = recorded.experiment(windows=windows)
    good = recorded.block()
    virtual = cycles(*[(1000, 0.3)] * 5, variant="virtual")

    def with_platform(*values: tuple[float, float]) -> Block:
        return good.model_copy(update={"warmup": [*cycles(*values), *virtual]})

    # The two cheaper cycles before had more answers, which says nothing of those with the trials' load.
    assert failures_of(with_platform(*[(400, 0.5)] * 2, *[(200, 0.5)] * 3), exp) == []
    (reason,) = checks.reasons(with_platform(*[(400, 0.5)] * 2, (150, 0.5), (170, 0.5), (190, 0.5)), exp)
    assert reason.startswith("platform: no steady state after 5 warm-up cycles")
    few = good.model_copy(update={"warmup": [*cycles(*[(200, 0.5)] * 4), *virtual[:4]]})
    assert "platform: 4 warm-up cycles, at least 5 needed" in reasons_of(few, exp)

"""What fails a variant in a block that counts, and what does not."""

from __future__ import annotations

from typing import Any

import pytest

from tests.support import recorded
from tests.support.blocks import BLOCKING, failures_of, reasons_of, with_trial
from vtlab.analysis.validity import checks, failing
from vtlab.model.records import Block, Counts


def test_errors_beyond_those_that_are_allowed_fail_the_variant() -> None:
    assert failures_of(with_trial(1, window=300, failed={"status-500": 5})) == []  # of 29,850
    ((variant, reason, moment),) = failures_of(with_trial(1, window=300, failed={"status-500": 300}))
    assert (variant, moment) == ("virtual", "trial 2")
    assert reason == "1.00 % of the answers were errors in the window (300 status-500), at most 0.10 % allowed"
    ((_, reason, _),) = failures_of(with_trial(1, failed_outside=100))
    assert "over the whole trial" in reason
    results = checks.results([recorded.block(), with_trial(1, failed={"status-500": 300})], BLOCKING)
    assert not all(result.passed for result in results), "the table shows it, too"


@pytest.mark.parametrize(
    ("counts", "words"), [("checks", "of the script's checks failed"), ("requests", "of the script's requests failed")]
)
def test_checks_and_requests_of_a_users_script_fail_its_variant(counts: str, words: str) -> None:
    few, many = Counts(passed=999, failed=1), Counts(passed=998, failed=2)
    assert failures_of(with_trial(1, **{counts: few})) == []
    (failure,) = failures_of(with_trial(1, **{counts: many}))
    assert failure == ("virtual", f"0.20 % {words}, at most 0.10 % allowed", "trial 2")
    assert failures_of(with_trial(1, **{counts: Counts(passed=0, failed=0)})) == []


def test_an_experiment_says_how_many_errors_are_allowed() -> None:
    one_in_a_hundred = with_trial(1, window=300, failed={"status-500": 300})
    assert failures_of(one_in_a_hundred, recorded.experiment(max_errors=0.02)) == []
    assert len(failures_of(one_in_a_hundred, recorded.experiment(max_errors=0.009))) == 1
    one = with_trial(1, failed={"status-500": 1})
    assert len(failures_of(one, recorded.experiment(max_errors=0))) == 1


def test_a_window_without_an_answer_fails_the_variant() -> None:
    hanging = {"ok": 0, "throughput": 0.0, "latency": recorded.latency(0, 1.0), "failed_outside": 1000}
    assert ("virtual", "no OK answer in the window", "trial 2") in failures_of(with_trial(1, **hanging))


def test_an_instance_that_did_not_last_fails_the_variant() -> None:
    good = recorded.block()
    a, b = good.instances

    def failed(*instances: Any) -> list[tuple[str, str, str]]:
        return failures_of(good.model_copy(update={"instances": instances}))

    ((variant, reason, moment),) = failed(a.model_copy(update={"alive": False}), b)
    assert (variant, moment) == ("platform", "by the end of the block")
    assert "did not last" in reason
    ended = a.model_copy(update={"alive": False, "ended": "out of heap memory (144m)"})
    assert failed(ended, b) == [("platform", "out of heap memory (144m)", "by the end of the block")]
    assert "(2 OOM kills, 0 allowed)" in failed(a.model_copy(update={"oom_kills": 2}), b)[0][1]
    assert "2 instances in one block" in failed(a, a, b)[0][1]


@pytest.mark.parametrize("how", ["start", "oom", "errors"])
def test_a_block_counts_with_what_a_broken_variant_lacks(how: str) -> None:
    broken = recorded.broken(recorded.block(), "virtual", how)
    failures = failures_of(broken)
    assert {variant for variant, _, _ in failures} == {"virtual"}
    assert failing.failed(broken, BLOCKING) == {"virtual"}
    # But not with what the other lacks.
    without = [t for t in broken.trials if t.variant != "platform"]
    assert "trials ran in the order" in reasons_of(broken.model_copy(update={"trials": without}))


def test_what_broke_a_variant_comes_before_what_followed_from_it() -> None:
    dead = recorded.broken(recorded.block(), "virtual", "oom")
    assert failures_of(dead) == [("virtual", "out of heap memory (256m)", "trial 2")]


def test_both_variants_may_fail() -> None:
    both = recorded.broken(recorded.broken(recorded.block(), "virtual", "oom"), "platform", "start")
    assert [variant for variant, _, _ in failures_of(both)] == ["virtual", "platform"]


def with_left(**update: Any) -> Block:
    """A block whose third trial finds requests in flight; ``update`` changes the second, virtual's."""
    block = with_trial(2, server={"in_flight_before": update.pop("in_flight", 3.0)})
    before = block.trials[1].model_copy(update=update)
    return block.model_copy(update={"trials": [block.trials[0], before, *block.trials[2:]]})


def test_requests_that_do_not_drain_fail_the_variant_that_left_them() -> None:
    exp = recorded.experiment(max_errors=0.02)
    ((variant, reason, moment),) = failures_of(with_left(), exp)
    assert (variant, moment) == ("virtual", "before trial 3")
    assert reason == "3 of its requests were still in flight when the next trial began, 0 allowed"
    # The fourth trial is platform's; virtual's third had time-outs.
    late = with_trial(3, server={"in_flight_before": 3.0})
    trials = [*late.trials]
    trials[2] = trials[2].model_copy(update={"failed": {"timeout": 7}})
    ((variant, _, moment),) = failures_of(late.model_copy(update={"trials": trials}), exp)
    assert (variant, moment) == ("virtual", "before trial 4")


def test_what_was_left_and_nobody_saw_is_not_judged_of_a_variant_that_failed() -> None:
    unseen = with_left(in_flight=None)
    assert "no measurement of the requests in flight" in reasons_of(unseen)
    assert [v for v, _, _ in failures_of(with_left(in_flight=None, failed={"timeout": 900}))] == ["virtual"]


def test_answers_that_fail_from_the_start_are_named_though_no_trial_ran() -> None:
    good = recorded.block()
    failing = [t.model_copy(update={"ok": 0, "throughput": 0.0, "failed": {"status-400": 900}}) for t in good.warmup]
    failures = failures_of(good.model_copy(update={"warmup": failing, "trials": []}))
    assert {variant for variant, _, _ in failures} == {"platform", "virtual"}
    assert any("900 status-400" in reason for _, reason, _ in failures)


def test_a_variant_that_left_is_judged_by_the_cycle_for_which_it_did() -> None:
    """It has no OK answer in one cycle of a call of k6, whose further cycles are as good as any."""
    good = recorded.block()
    first = next(t for t in good.warmup if t.variant == "virtual")
    silent = first.model_copy(update={"ok": 0, "throughput": 0.0, "failed": {"status-503": 900}})
    warmup = [silent if t is first else t for t in good.warmup]
    left = good.model_copy(update={"warmup": warmup, "trials": [t for t in good.trials if t.variant == "platform"]})
    reason = "100.00 % of the answers were errors in the window (900 status-503), at most 0.10 % allowed"
    assert ("virtual", reason, "a warm-up cycle without an OK answer") in failures_of(left)
    assert {variant for variant, _, _ in failures_of(left)} == {"virtual"}


def test_a_variant_that_left_without_an_ok_answer_failed_however_few_errors_it_had() -> None:
    """Answers of a full heap came after the window of the first cycle but for one, which timed out."""
    good = recorded.block()
    first = next(t for t in good.warmup if t.variant == "virtual")
    silent = first.model_copy(update={"ok": 0, "throughput": 0.0, "completed": 5000, "failed_outside": 1})
    others = [t for t in good.warmup if t.variant == "platform"]
    trials = [t for t in good.trials if t.variant == "platform"]
    left = good.model_copy(update={"warmup": [*others, silent], "trials": trials})
    moment = "a warm-up cycle without an OK answer"
    assert failures_of(left) == [("virtual", "no OK answer in the window", moment)]


def test_every_check_of_the_service_fails_a_variant() -> None:
    assert [check for check in checks.CHECKS if check.kind == "service"] == list(failing.SERVICE)

"""A load generator that is squeezed or late rejects the block, and fails no variant."""

from __future__ import annotations

import pytest

from tests.support import recorded
from tests.support.blocks import BLOCKING, OPEN, reasons_of, with_trial
from vtlab.analysis.validity import checks, failing, generator
from vtlab.model.records import Failure


def test_a_saturated_generator_is_no_failure_of_the_variant() -> None:
    block = with_trial(1, failed={"timeout": 300}, machine={"idle_cores": 0.01})
    assert "load generator was saturated" in reasons_of(block), "measured again"


def test_a_late_generator_spoils_open_load() -> None:
    # 1 % of the window of 30 s
    assert checks.reasons(with_trial(1, OPEN, late_max=0.3), OPEN) == []
    assert "stalled for 0.4 s, at most 0.3 s allowed" in reasons_of(with_trial(1, OPEN, late_max=0.4), OPEN)
    assert not any(r.name == "generator on time" for r in checks.results([recorded.block()], BLOCKING))


def test_many_short_stalls_spoil_open_load_as_one_long_one_does() -> None:
    few, many = (with_trial(1, OPEN, late_max=0.08, started=5000, completed=5000, late_arrivals=n) for n in (50, 60))
    assert checks.reasons(few, OPEN) == []
    assert "sent 1.2 % of the arrivals late, at most 1.0 % allowed" in reasons_of(many, OPEN)
    assert not any(r.name == "arrivals on time" for r in checks.results([recorded.block()], BLOCKING))


def test_lateness_that_changes_no_percentile_rejects_nothing() -> None:
    """Platform falls behind at typical load, answers after seconds, and takes the cores that k6 needs.

    Seen: spring-petclinic, p99 1.65 s and k6 late by 53 ms of a window of 5 s. The blocks in which platform did so were
    rejected, and those in which it did not counted.
    """
    seconds = recorded.latency(5000, 1.0)
    assert seconds.p99 is not None
    slow = {"late_max": 0.04 * seconds.p99, "started": 5000, "completed": 5000, "late_arrivals": 90}
    assert checks.reasons(with_trial(1, OPEN, latency=seconds, **slow), OPEN) == []
    later = {**slow, "late_max": 0.4}
    assert "sent 1.8 % of the arrivals late" in reasons_of(with_trial(1, OPEN, latency=seconds, **later), OPEN)


@pytest.mark.parametrize(("late", "touched"), [(90, ("p95", "p99")), (150, ("p90",)), (600, ("p50",))])
def test_late_arrivals_change_a_percentile_of_whose_tail_they_are_a_fifth(late: int, touched: tuple[str, ...]) -> None:
    seconds = recorded.latency(5000, 1.0)
    lateness = {"late_max": 0.04, "started": 5000, "completed": 5000, "late_arrivals": late}
    assert checks.reasons(with_trial(1, OPEN, latency=seconds, **lateness), OPEN) == []
    for name in touched:
        quick = seconds.model_copy(update={name: 0.2})
        assert "of the arrivals late" in reasons_of(with_trial(1, OPEN, latency=quick, **lateness), OPEN), name


@pytest.mark.parametrize(("late", "seconds", "blurred"), [(24, 0.1, False), (26, 0.1, True), (26, 1.0, False)])
def test_late_arrivals_blur_a_p99_of_whose_tail_they_are_more_than_half(
    late: int, seconds: float, blurred: bool
) -> None:
    lateness = {"late_max": 0.04, "started": 5000, "completed": 5000, "late_arrivals": late}
    trial = with_trial(1, OPEN, latency=recorded.latency(5000, seconds), **lateness).trials[1]
    assert generator.blurs_p99(trial) == blurred
    answers = recorded.answers(50_000).model_copy(update={"latency": recorded.latency(50_000, seconds)})
    script = recorded.changed_trial(trial, answers=answers)
    assert not generator.blurs_p99(script), "one of ten answers of an iteration is late"


def test_the_lateness_of_a_script_is_beside_its_answers() -> None:
    """An iteration with a pause takes seconds, whatever its requests take."""
    late = {"late_max": 0.1, "started": 5000, "completed": 5000, "late_arrivals": 90}
    iterations = recorded.latency(5000, 5.0)
    for seconds, rejects in ((5.0, False), (0.08, True)):
        answers = recorded.answers(5000).model_copy(update={"latency": recorded.latency(5000, seconds)})
        block = with_trial(1, OPEN, latency=iterations, answers=answers, **late)
        assert ("sent 1.8 % of the arrivals late" in reasons_of(block, OPEN)) == rejects


def test_the_cycles_of_a_variant_that_broke_reject_no_block() -> None:
    """A heap of 96 MB and 1,000 users: virtual threads run out of memory in the second cycle, and platform serves on.

    Seen: the cheap cycle before, with more CPU, was judged as "the last warm-up cycle", and no block counted.
    """
    good = recorded.block()
    cycles = [t.model_copy(update={"machine": {**t.machine, "idle_cores": 0.026}}) for t in good.warmup]
    failure = Failure(variant="virtual", reason="out of heap memory (96m)", moment="warm-up cycle 2")
    trials = [t for t in good.trials if t.variant == "platform"]
    broken = good.model_copy(update={"warmup": cycles, "trials": trials, "failures": [failure]})
    assert checks.reasons(broken, BLOCKING) == []


def test_cheap_cycles_with_more_cpu_say_nothing_of_the_load_generator() -> None:
    good = recorded.block()
    idle, raised = {"idle_cores": 0.026}, {"raised_cpu": 1.6}
    virtual = [t for t in good.warmup if t.variant == "virtual"]
    trials = [t for t in good.trials if t.variant == "platform"]
    others = [t for t in good.warmup if t.variant == "platform"]
    cheap = [recorded.changed_trial(t, machine=idle, **raised) for t in virtual]
    unsteady = good.model_copy(update={"warmup": [*others, *cheap], "trials": trials})
    assert "load generator" not in reasons_of(unsteady)
    # A cycle with the trials' load under their limit does.
    own = [recorded.changed_trial(t, machine=idle) for t in virtual]
    assert "load generator was saturated" in reasons_of(
        good.model_copy(update={"warmup": [*others, *own], "trials": trials})
    )


@pytest.mark.parametrize(
    ("failed", "rejected"),
    [
        ({"status-503": 900}, False),
        # Fewer than half, or not sent by the service: these may be for want of a core.
        ({"status-503": 300}, True),
        ({"timeout": 900}, True),
        ({"connection": 900}, True),
    ],
)
def test_users_of_a_service_that_answers_errors_may_saturate_the_load_generator(
    failed: dict[str, int], rejected: bool
) -> None:
    """A JVM whose request threads are out of memory lives on and answers 500 or 503 at once: another attempt would end
    alike."""
    busy = {"idle_cores": 0.01, "steal": 0.02, "generator_wait": 0.002}
    block = with_trial(1, failed=failed, machine=busy, server={"core_wait": 0.05})
    assert ("load generator was saturated" in reasons_of(block)) == rejected
    assert bool(reasons_of(block)) == rejected
    assert failing.failed(block, BLOCKING) == {"virtual"}
    assert reasons_of(block, recorded.experiment(max_errors=0.9)), "it did not fail"


def test_the_cycles_of_a_variant_that_left_for_errors_reject_no_block() -> None:
    good = recorded.block()
    errors = {"ok": 0, "throughput": 0.0, "failed": {"status-500": 900}}
    cycles = [
        recorded.changed_trial(t, machine={"idle_cores": 0.026}, **errors) if t.variant == "virtual" else t
        for t in good.warmup
    ]
    trials = [t for t in good.trials if t.variant == "platform"]
    assert checks.reasons(good.model_copy(update={"warmup": cycles, "trials": trials}), BLOCKING) == []


def test_the_cycles_of_a_variant_whose_instance_did_not_last_reject_no_block() -> None:
    """It ended just as k6 did: it left for a cycle without an OK answer, and is not among those that broke."""
    good = recorded.block()
    late = {"ok": 0, "throughput": 0.0, "failed_outside": 900}
    cycles = [
        recorded.changed_trial(t, machine={"idle_cores": 0.026}, **late) if t.variant == "virtual" else t
        for t in good.warmup
    ]
    trials = [t for t in good.trials if t.variant == "platform"]
    instances = [i.model_copy(update={"alive": i.variant != "virtual"}) for i in good.instances]
    left = good.model_copy(update={"warmup": cycles, "trials": trials})
    assert "load generator was saturated" in reasons_of(left)
    assert reasons_of(left.model_copy(update={"instances": instances})) == ""

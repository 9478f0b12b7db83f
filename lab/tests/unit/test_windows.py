"""Windows that are too short for what is read off them."""

from __future__ import annotations

from typing import Any

from tests.support import recorded
from tests.support.blocks import BLOCKING, OPEN, reasons_of, with_trial
from vtlab.analysis.validity import checks, failing
from vtlab.planning.longer_windows import for_late_answers


def test_a_window_that_is_shorter_than_an_answer_is_no_failure() -> None:
    """Open load of 30/s whose answers take 5 s, in windows of 2 s: what came later came all the same."""
    late = {"ok": 0, "throughput": 0.0, "latency": recorded.latency(0, 5.0), "window": 2}
    good = recorded.block_under_open_load()
    cycles = [t.model_copy(update={"ok": 0, "throughput": 0.0}) for t in good.warmup]
    cold = good.model_copy(update={"warmup": cycles, "trials": []})
    too_short = "the warm-up: every answer came after the window of 2 s: raise windows.warmup_load"
    assert checks.reasons(cold, OPEN) == [f"{variant}, {too_short}" for variant in OPEN.variants]
    assert failing.failures(cold, OPEN) == []
    assert len(checks.certain_reasons(cold, OPEN)) == 2, "another attempt would be no other"
    slow_start = good.model_copy(update={"warmup": [*cycles[:2], *good.warmup[2:]]})
    assert checks.reasons(slow_start, OPEN) != []
    assert checks.certain_reasons(slow_start, OPEN) == []
    trial = with_trial(1, **{**late, "window": 30})
    assert reasons_of(trial) == "virtual, trial 2: every answer came after the window of 30 s: raise windows.measure"
    assert failing.failures(trial, BLOCKING) == []
    erring = with_trial(1, **late, failed={"status-500": 60})
    assert {f.variant for f in failing.failures(erring, BLOCKING)} == {"virtual"}


def test_windows_without_an_answer_of_a_variant_that_failed_are_not_too_short() -> None:
    """Collections of a full heap delay every answer of a cycle; then the JVM is out of memory."""
    good = recorded.block()
    late = [t.model_copy(update={"ok": 0, "throughput": 0.0}) if t.variant == "virtual" else t for t in good.warmup]
    slow = good.model_copy(update={"warmup": late})
    assert "every answer came after the window" in reasons_of(slow)
    dead = recorded.broken(slow, "virtual", "oom")
    assert reasons_of(dead) == ""
    assert checks.certain_reasons(dead, BLOCKING) == []
    assert for_late_answers(BLOCKING, slow) is not None
    assert for_late_answers(BLOCKING, dead) is None


def test_a_window_of_open_load_shows_a_median() -> None:
    few, enough = (with_trial(1, OPEN, ok=n, latency=recorded.latency(n, 1.0)) for n in (19, 20))
    reason = "virtual, trial 2: 19 OK answers are too few for a median, 20 needed"
    assert reason in reasons_of(few, OPEN)
    assert "median" not in reasons_of(enough, OPEN), "without a tail it is judged by the median"
    assert "median" not in reasons_of(with_trial(1, ok=19), BLOCKING), "full load has a capacity"


def test_a_window_holds_two_rounds() -> None:
    def rejected(window: float, mean: float, alone: float, **load: Any) -> list[str]:
        exp = recorded.experiment(load={"full": {"users": 1000, **load}}, expected=None)
        made = recorded.block()
        for trial in made.single:
            trial.latency = recorded.latency(5, alone)
        for trial in made.trials:
            ok = round(1000 / (mean + (5 if load else 0)) * window)
            trial.latency, trial.ok, trial.end = recorded.latency(ok, mean), ok, trial.start + round(1000 * window)
        return [reason for reason in checks.reasons(made, exp) if "rounds" in reason]

    first, *_ = rejected(10, 7.1, 7.0)
    assert first == (
        "platform, trial 1: a window of 10 s holds 1.4 rounds of a user (7.1 s each), 2 needed: raise"
        " windows.measure to at least 15s"
    )
    assert rejected(15, 7.1, 7.0) == []
    assert rejected(10, 7.1, 1.0) == [], "it waits for others: the service is busy throughout"
    assert rejected(11, 1.0, 1.0, think_time="5s")
    assert rejected(10, 7.1, 7.0, round={"virtual": "7s"}) == [], "planned"
    assert [
        r.name for r in checks.results([recorded.block_under_open_load()], OPEN) if r.name == "rounds in a window"
    ] == []

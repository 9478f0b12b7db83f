"""Windows that are too short for what is read off them."""

from __future__ import annotations

from typing import Any

from tests.support import recorded
from tests.support.blocks import BLOCKING, OPEN, reasons_of, with_trial
from vtlab.analysis.validity import checks, failing


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


def test_a_p99_needs_a_thousand_answers() -> None:
    short = with_trial(1, OPEN, ok=800, latency=recorded.latency(800, 1.0))
    assert "800 OK answers are too few for a p99, 1,000 needed" in reasons_of(short, OPEN)


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

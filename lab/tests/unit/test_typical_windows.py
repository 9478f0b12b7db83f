"""Windows of typical load in a block: what disturbs them rejects it, and what a variant does in them fails nothing."""

from __future__ import annotations

from typing import Any

import pytest

from tests.support import recorded
from tests.support.blocks import BLOCKING, OPEN, failures_of, reasons_of
from vtlab.analysis.laws.phases import measured_variant
from vtlab.analysis.validity import checks, littles_law, load_bound, overload
from vtlab.model.records import Block, InFlight, Trial

RATE = 30.0


def typical(variant: str, after: int, **changes: Any) -> Trial:
    """Returns a window of typical load of 15 s, which begins so many milliseconds after the trials."""
    last = recorded.block().trials[-1]
    begin = last.drained + after
    about = {
        "phase": "typical",
        "position": 1,
        "rate": RATE,
        "users": 60,
        "begin": begin,
        "start": begin + 1000,
        "end": begin + 16_000,
        "drained": begin + 16_500,
        "started": 450,
        "completed": 450,
        "ok": 450,
        "throughput": RATE,
        "latency": recorded.latency(450, 0.2),
        "in_flight": InFlight(start=6, end=6),
    }
    return recorded.changed_trial(recorded.trial(variant), **about | changes)


def with_typical(at_once: bool = False, **changes: Any) -> Block:
    """Returns a block that is good, but for what ``changes`` says of virtual's window of typical load."""
    windows = [typical("platform", 0), typical("virtual", 0 if at_once else 20_000, **changes)]
    return recorded.block().model_copy(update={"typical": windows})


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"machine": {"idle_cores": 0.02}}, "2.0 % of the cores were idle"),
        ({"machine": {"generator_wait": 0.0007}}, "waited 0.70 ms for a core each time"),
        ({"machine": {"generator_throttled": 0.4}}, "was throttled in 40.0 % of its periods"),
        ({"machine": {"steal": 0.02}}, "the hypervisor gave 2.0 % of the cores' time to others"),
        ({"server": {"core_wait": 0.07}}, "was ready without a core for 7.0 % of the window"),
        ({"server": {"cpu_cores": None}}, "no measurement of the server"),
        ({"completed": 449}, "450 requests started, 449 completed"),
        ({"late_max": 0.2}, "stalled for 0.2 s, at most 0.15 s allowed"),
        ({"late_arrivals": 9, "late_max": 0.1}, "sent 2.0 % of the arrivals late"),
    ],
)
def test_what_disturbs_typical_load_rejects_the_block(changes: dict[str, Any], words: str) -> None:
    (reason,) = checks.reasons(with_typical(**changes), BLOCKING)
    assert reason.startswith("virtual, typical load: ")
    assert words in reason


@pytest.mark.parametrize(
    "changes",
    [
        {"ok": 449, "failed": {"status-503": 1}},
        {"dropped": 90},
        {"dropped": 90, "ok": 0, "failed": {"timeout": 450}, "latency": recorded.latency(0, 0.0)},
        {"server": {"jit_cpu": 0.5, "in_flight_before": None}},
    ],
    ids=["an error", "overload", "time-outs of an overload", "jit"],
)
def test_an_overload_or_an_error_of_few_answers_at_typical_load_fails_nothing(changes: dict[str, Any]) -> None:
    assert failures_of(with_typical(**changes)) == []


@pytest.mark.parametrize(
    "changes",
    [
        {"ok": 300, "failed": {"status-503": 150}},
        {"ok": 0, "failed": {"timeout": 450}, "latency": recorded.latency(0, 0.0)},
    ],
    ids=["errors", "no answer"],
)
def test_errors_that_are_clearly_too_many_at_typical_load_fail_a_variant(changes: dict[str, Any]) -> None:
    ((variant, _, moment),) = failures_of(with_typical(**changes))
    assert (variant, moment) == ("virtual", "typical load")


def test_of_a_variant_that_ended_no_figure_is_asked_for() -> None:
    block = with_typical(server={"cpu_cores": None})
    ended = [i.model_copy(update={"alive": i.variant != "virtual"}) for i in block.instances]
    ((variant, reason, _),) = failures_of(block.model_copy(update={"instances": ended}))
    assert variant == "virtual"
    assert "did not last" in reason


def test_variants_that_run_at_the_same_time_wait_for_each_others_cores() -> None:
    assert reasons_of(with_typical(at_once=True, server={"core_wait": 0.07})) == ""
    assert "steal" not in reasons_of(with_typical(at_once=True))
    assert "the hypervisor gave 2.0 %" in reasons_of(with_typical(at_once=True, machine={"steal": 0.02}))


def test_the_table_of_checks_names_typical_load() -> None:
    rows = {row.name: row for row in checks.results([with_typical(late_max=0.2)], BLOCKING)}
    assert rows["generator on time"].worst == "0.2 s (block 1, virtual, typical load)"
    assert not rows["generator on time"].passed
    assert rows["arrivals on time"].passed


def test_a_window_of_typical_load_is_open_beside_closed_trials() -> None:
    keeps_up = typical("virtual", 0)
    assert not overload.overloaded(keeps_up, BLOCKING)
    falls_behind = typical("virtual", 0, in_flight=InFlight(start=6, end=60))
    assert overload.growth_of_trial(falls_behind, BLOCKING) == pytest.approx(54 / 15)
    assert overload.overloaded(typical("virtual", 0, dropped=45), BLOCKING)
    # Its users are not all busy, and no bound of theirs is known.
    assert littles_law.missing_users(keeps_up, BLOCKING) is None
    assert load_bound.most_throughput(keeps_up, BLOCKING) is None


def test_phases_of_a_variant_have_its_windows_of_typical_load() -> None:
    block = with_typical()
    assert measured_variant([block], BLOCKING, "virtual").typical == [block.typical[1]]
    only = recorded.block_under_open_load()
    of_virtual = measured_variant([only], OPEN, "virtual")
    assert of_virtual.typical == of_virtual.trials != [], "the only load"

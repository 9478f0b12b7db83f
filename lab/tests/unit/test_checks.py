"""The validity checks of a block: a good one passes, and each trial is judged."""

from __future__ import annotations

from typing import Any

import pytest

from tests.support import recorded
from tests.support.blocks import BLOCKING, reasons_of, with_trial
from vtlab.analysis.validity import checks
from vtlab.model.run import CheckResult, Run


@pytest.mark.parametrize(
    "run",
    [recorded.run(), recorded.run("pool"), recorded.under_open_load(recorded.run())],
    ids=["threads", "pool", "open"],
)
def test_a_good_block_passes(run: Run) -> None:
    assert [reason for block in run.blocks for reason in checks.reasons(block, run.experiment)] == []
    assert {block.order[0] for block in run.blocks} == {"platform", "virtual"}


@pytest.mark.parametrize(
    ("passing", "failing", "words"),
    [
        (
            {},
            {"completed": 29_000, "started": 29_007},
            ["virtual, trial 2: 29,007 requests started, 29,000 completed"],
        ),
        (
            {"machine": {"idle_cores": 0.05}},
            {"machine": {"idle_cores": 0.02}},
            ["virtual, trial 2: 2.0 % of the cores were idle, at least 5 %", "load generator was saturated"],
        ),
        (
            {"machine": {"generator_wait": 0.0005}},
            {"machine": {"generator_wait": 0.0007}},
            ["waited 0.70 ms for a core each time, at most 0.5 ms allowed", "load generator was saturated"],
        ),
        (
            {"machine": {"generator_throttled": 0.05}},
            {"machine": {"generator_throttled": 0.4}},
            ["was throttled in 40.0 % of its periods, at most 5 %"],
        ),
        (
            # No quota on k6.
            {"machine": {"generator_throttled": None}},
            {"machine": {"idle_cores": None}},
            ["no measurement of the load generator"],
        ),
        (
            # A kernel without schedstat.
            {"machine": {"generator_wait": None, "generator_throttled": 0.0}},
            {"machine": {"generator_wait": None, "generator_throttled": None}},
            ["no measurement of the load generator"],
        ),
        (
            {"machine": {"steal": 0.01}},
            {"machine": {"steal": 0.02}},
            ["virtual, trial 2: the hypervisor gave 2.0 % of the cores' time to others, at most 1 % allowed"],
        ),
        (
            {"server": {"core_wait": 0.01}},
            {"server": {"core_wait": 0.07}},
            ["was ready without a core for 7.0 % of the window, at most 1 % allowed"],
        ),
        ({}, {"server": {"in_flight_before": None}}, ["no measurement of the requests in flight before it"]),
        ({}, {"server": {"cpu_cores": None}}, ["Prometheus has no samples of this window"]),
        ({"late_max": 5.0}, {"variant": "platform"}, ["trials ran in the order"]),
    ],
)
def test_checks_of_a_trial(passing: dict[str, Any], failing: dict[str, Any], words: list[str]) -> None:
    assert checks.reasons(with_trial(1, **passing), BLOCKING) == []
    bad = with_trial(1, **failing)
    for word in words:
        assert word in reasons_of(bad)
    results = checks.results([recorded.block(), bad], BLOCKING)
    assert not all(result.passed for result in results), "the table shows it, too"


def test_a_missing_key_never_passes() -> None:
    server = {k: v for k, v in recorded.trial().server.items() if k not in ("in_flight_before", "cpu_cores")}
    good = recorded.block()
    bad = good.model_copy(update={"trials": [t.model_copy(update={"server": server}) for t in good.trials]})
    assert reasons_of(bad).count("no measurement") == 8


def test_what_was_not_measured_in_a_cluster_or_in_older_results_is_not_judged() -> None:
    good = recorded.block()
    for trial in good.trials:
        for figure in ("steal", "core_wait", "jit_cpu"):
            trial.machine.pop(figure, None)  # type: ignore[call-overload]
            trial.server.pop(figure, None)  # type: ignore[call-overload]
    names = {result.name for result in checks.results([good], BLOCKING)}
    assert not names & {"steal", "server's wait for a core", "JIT compiler"}
    none = with_trial(1, server={"core_wait": None, "jit_cpu": None}, machine={"steal": None})
    assert checks.reasons(none, BLOCKING) == []


def test_the_results_name_limit_worst_and_place() -> None:
    blocks = [recorded.block(1), with_trial(1, machine={"idle_cores": 0.07})]
    results = {r.name: r for r in checks.results(blocks, BLOCKING)}
    assert results["idle cores"] == CheckResult("idle cores", ">= 5 %", "7.0 % (block 1, virtual, trial 2)", True)
    assert all(r.passed for r in results.values())
    assert checks.results([], BLOCKING) == []

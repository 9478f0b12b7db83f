"""The ratio after the rule that ends a warm-up, by simulation."""

from __future__ import annotations

import math

import numpy as np
import pytest

from tests.support import recorded
from vtlab.analysis.statistics import simulated_warm_ups
from vtlab.analysis.statistics.simulated_warm_ups import KINDS, LEAST, MOST, Disturbance, is_steady, simulate
from vtlab.analysis.validity.steady_state import steady_state
from vtlab.model.records import Trial

BLOCKS = 10_000


@pytest.mark.parametrize("had_cpu", [True, False])
@pytest.mark.parametrize("name", KINDS)
def test_the_rule_biases_the_ratio_by_two_in_a_thousand_at_most(name: str, had_cpu: bool) -> None:
    result = simulate(had_cpu, KINDS[name], BLOCKS)
    assert abs(result.bias) <= 0.002 + 2 * result.error
    assert result.error < 0.0006
    assert LEAST < result.cycles < MOST
    assert result.rejected < 0.005


@pytest.mark.parametrize("had_cpu", [True, False])
def test_the_rule_that_is_simulated_is_that_of_the_warm_up(had_cpu: bool) -> None:
    kind = Disturbance(scatter=0.015, white=0.01, bursts=0.2)
    phases = simulated_warm_ups._phases(np.random.default_rng(1), kind, 150)
    verdicts = []
    for cycles in range(LEAST, MOST + 1):
        for block, expected in enumerate(is_steady(phases, cycles, had_cpu)):
            made = [cycle(*of) for of in zip(phases.logs[block, :cycles], phases.works[block, :cycles], strict=True)]
            verdicts.append((bool(expected), steady_state(made, 1.0, None, had_cpu).reached))
    assert {expected for expected, _ in verdicts} == {True, False}
    assert all(expected == reached for expected, reached in verdicts)


TRIAL = recorded.trial()


def cycle(log: float, works: bool) -> Trial:
    """Returns a cycle of a variant that uses all of one core, with so many answers that one more is nothing."""
    throughput = 1e9 * math.exp(log)
    used = {"cpu_cores": 1.0, "jit_cpu": 0.3 if works else 0.0}
    return TRIAL.model_copy(
        update={"throughput": throughput, "ok": round(throughput * TRIAL.window), "server": used, "phase": "warmup"}
    )


def test_a_compiler_that_had_cpu_saves_cycles() -> None:
    with_cpu, without = (simulate(had_cpu, KINDS["none"], BLOCKS) for had_cpu in (True, False))
    assert with_cpu.cycles + 1 < without.cycles


def test_scatter_that_lasts_for_several_phases_biases_nothing() -> None:
    result = simulate(True, Disturbance(scatter=0.05, correlation=0.9), BLOCKS)
    assert abs(result.bias) <= 4 * result.error


def test_a_drift_is_no_bias_of_the_rule() -> None:
    """The trials come before those that it is compared with: what drifts meanwhile is in both."""
    up, down = (simulate(True, Disturbance(scatter=0.001, white=0.001, drift=of), BLOCKS) for of in (0.005, -0.005))
    assert (up.bias, down.bias) == pytest.approx((0, 0), abs=0.0002)


def test_the_table_is_the_same_each_time_and_has_a_row_for_each_disturbance() -> None:
    first, again = (list(simulated_warm_ups.tables(500)) for _ in range(2))
    assert first == again
    assert len(first) == 4 + len(KINDS)

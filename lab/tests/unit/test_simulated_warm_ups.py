"""The ratio after the rule that ends a warm-up, by simulation."""

from __future__ import annotations

import pytest

from vtlab.analysis.statistics import simulated_warm_ups
from vtlab.analysis.statistics.simulated_warm_ups import KINDS, LEAST, MOST, Disturbance, simulate

BLOCKS = 40_000


@pytest.mark.parametrize("name", KINDS)
def test_the_rule_by_the_compilers_biases_the_ratio_by_two_in_a_thousand_at_most(name: str) -> None:
    result = simulate(True, KINDS[name], BLOCKS)
    assert abs(result.bias) <= 0.002 + 2 * result.error
    assert result.error < 0.0005
    assert LEAST < result.cycles < MOST


def test_all_disturbances_together_bias_it_less_than_the_rule_by_throughput_does() -> None:
    by_throughput, by_rest = (simulate(is_by_rest, KINDS["all three"], BLOCKS) for is_by_rest in (False, True))
    assert by_rest.bias <= by_throughput.bias
    assert by_rest.cycles < by_throughput.cycles


def test_scatter_that_lasts_for_several_phases_biases_nothing() -> None:
    result = simulate(True, Disturbance(scatter=0.05, correlation=0.9), BLOCKS)
    assert abs(result.bias) <= 4 * result.error


def test_the_table_is_the_same_each_time_and_has_a_row_for_each_disturbance() -> None:
    first, again = (list(simulated_warm_ups.tables(500)) for _ in range(2))
    assert first == again
    assert len(first) == 4 + len(KINDS)

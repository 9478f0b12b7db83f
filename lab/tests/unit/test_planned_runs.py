"""What a call will do."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vtlab.errors import BadInput
from vtlab.model import blocks, units
from vtlab.model.experiment_files import load, names, of_document
from vtlab.model.load import ClosedLoad
from vtlab.planning import planned_runs, trial_order
from vtlab.planning.shipped_experiments import EXPERIMENTS


def test_the_order_is_mirrored_and_the_seed_decides() -> None:
    orders = [trial_order.order(["platform", "virtual"], seed=7, block=b) for b in range(1, 41)]
    assert all(o == o[::-1] and o[0] != o[1] for o in orders)
    assert {o[0] for o in orders} == {"platform", "virtual"}, "both ABBA and BAAB occur"
    assert orders == [trial_order.order(["platform", "virtual"], seed=7, block=b) for b in range(1, 41)]


def test_more_than_two_variants_are_mirrored_too_and_each_comes_first() -> None:
    orders = [trial_order.order(["a", "b", "c"], seed=7, block=b) for b in range(1, 41)]
    assert all(o == o[::-1] and sorted(o) == ["a", "a", "b", "b", "c", "c"] for o in orders)
    assert {o[0] for o in orders} == {"a", "b", "c"}
    assert all(odd[:3] == even[2::-1] for odd, even in zip(orders[::2], orders[1::2], strict=True))


def test_four_trials_cancel_a_drift_that_bends() -> None:
    one, two, four = (blocks.mirrored(["a", "b"], trials) for trials in (1, 2, 4))
    assert ["".join(order) for order in (one, two, four)] == ["ab", "abba", "abbabaab"]
    for power in (1, 2):
        drift = {name: sum(i**power for i, turn in enumerate(four) if turn == name) for name in "ab"}
        assert drift["a"] == drift["b"], f"a drift by the power {power} of time"
    assert trial_order.order(["platform", "virtual"], seed=7, block=1, trials=4)[:4] == trial_order.order(
        ["platform", "virtual"], 7, 1
    )


def test_each_cpu_limit_makes_a_run_of_its_own() -> None:
    blocking = load("blocking", EXPERIMENTS)
    planned = planned_runs.runs([blocking], [0.5, 1])
    assert [(r.name, r.experiment.limits.cpu) for r in planned] == [("blocking@0.5cpu", 0.5), ("blocking@1cpu", 1)]
    with pytest.raises(BadInput, match="twice"):
        planned_runs.runs([blocking], [1, 1.0])


def test_an_aa_run_has_the_same_variant_twice() -> None:
    planned = load("blocking", EXPERIMENTS)
    same = planned_runs.identical(planned, "platform")
    assert same.variants == ["platform-a", "platform-b"]
    assert same.expected == {"platform-a": 200, "platform-b": 200}
    assert isinstance(same.load, ClosedLoad)
    assert same.load.round == {"platform-a": "5s", "platform-b": "5s"}
    assert same.load.service_time == {"platform-a": "1s", "platform-b": "1s"}
    assert {same.window_of(name) for name in same.variants} == {planned.window_of("platform")}
    with pytest.raises(BadInput, match="unknown variant 'green'"):
        planned_runs.identical(same, "green")


@pytest.mark.parametrize("name", names(EXPERIMENTS))
def test_an_aa_run_is_stored_as_a_valid_experiment(name: str) -> None:
    same = planned_runs.identical(load(name, EXPERIMENTS), "platform")
    assert of_document(same.document(), EXPERIMENTS / "file.json").variants == ["platform-a", "platform-b"]


def test_an_aa_run_keeps_the_window_of_its_variant() -> None:
    blocking = load("blocking", EXPERIMENTS)
    windows = blocking.windows.model_copy(update={"measure_by_variant": {"platform": "20s"}})
    same = planned_runs.identical(blocking.model_copy(update={"windows": windows}), "platform")
    assert {same.window_of(name) for name in same.variants} == {"20s"}


@given(st.floats(min_value=0.001, max_value=9999, allow_nan=False))
def test_durations_are_read_as_they_are_written(value: float) -> None:
    text = f"{value:.3f}"
    assert units.seconds(f"{text}s") == pytest.approx(float(text))
    assert units.seconds(f"{text}ms") == pytest.approx(float(text) / 1000)
    assert units.seconds(f"2m{text}s") == pytest.approx(120 + float(text))


@pytest.mark.parametrize("text", ["", "5", "s", "-5s", "5 s", "5d", "1e3s", "5S", "7m30", "1m 30s"])
def test_anything_else_is_no_duration(text: str) -> None:
    with pytest.raises(ValueError, match="is not a duration"):
        units.seconds(text)


def test_memory_sizes() -> None:
    assert units.size("512Mi") == 512 * 1024**2
    assert units.size("384m") == 384 * 1024**2
    with pytest.raises(ValueError, match="is not a memory size"):
        units.size("1T")


def test_shares_are_written_in_percent() -> None:
    assert [units.share(text) for text in ("25%", "25 %", "2.5%")] == [0.25, 0.25, 0.025]
    for text in ("25", "-1%", "a quarter", "%"):
        with pytest.raises(ValueError, match="is not a share"):
            units.share(text)


@pytest.mark.parametrize("text", ["0", "-1", "nan", "inf", "one", "0m", ""])
def test_cores_must_be_above_zero(text: str) -> None:
    with pytest.raises(ValueError, match=r"cores|above 0"):
        units.cores(text)


def test_cores_as_kubernetes_writes_them() -> None:
    assert units.cores("500m") == 0.5
    assert units.cores("1") == 1


def test_one_trial_each_is_mirrored_over_two_blocks() -> None:
    orders = [trial_order.order(["platform", "virtual"], seed=7, block=b, trials=1) for b in range(1, 21)]
    assert all(sorted(o) == ["platform", "virtual"] for o in orders)
    assert all(odd == even[::-1] for odd, even in zip(orders[::2], orders[1::2], strict=True))

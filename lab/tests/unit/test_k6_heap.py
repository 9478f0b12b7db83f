"""The heap of k6, by its users and the memory of the machine."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.experiments import tiny
from vtlab.host import machine
from vtlab.host.cgroup_hierarchies import Host
from vtlab.k6 import call as k6
from vtlab.k6 import heap
from vtlab.planning.load_call import CallPacing, LoadCall, TypicalCall

GIB = 1024**3


def test_with_memory_enough_the_collector_rests_until_a_size_by_the_users() -> None:
    assert heap.environment(1000, 16 * GIB) == {"GOGC": "off", "GOMEMLIMIT": "5512MiB"}
    assert heap.environment(4, 16 * GIB) == {"GOGC": "off", "GOMEMLIMIT": "532MiB"}


@pytest.mark.parametrize("available", [0, 8 * GIB])
def test_with_too_little_memory_k6_collects_as_it_would_alone(available: int) -> None:
    assert heap.environment(1000, available) == {}


@given(users=st.integers(1, 100_000), available=st.integers(0, 1024 * GIB))
def test_the_heap_never_takes_more_than_half_of_what_is_available(users: int, available: int) -> None:
    variables = heap.environment(users, available)
    assert int(variables.get("GOMEMLIMIT", "0MiB").removesuffix("MiB")) * 1024**2 <= available / 2


@pytest.mark.parametrize(
    ("call", "users"),
    [
        (LoadCall(trial_order=["platform"]), 20),
        (LoadCall(typical=TypicalCall(["platform"], 342, 1000, 1000, 9000)), 1000),
        (LoadCall(pacing=CallPacing(users=[8, 400, 32])), 400),
    ],
    ids=["the experiment's", "typical load's", "the search's most"],
)
def test_a_call_has_the_most_users_of_its_phases(call: LoadCall, users: int) -> None:
    assert heap.most_users(tiny(), k6.phase_variables(call)) == users


def test_a_fixed_rate_has_the_users_of_its_arrivals() -> None:
    experiment = tiny(load={"full": "none", "typical": {"rate": 50, "users": 377}})
    assert heap.most_users(experiment, {}) == 377


def test_the_available_memory_is_what_the_kernel_says(tmp_path: Path) -> None:
    (tmp_path / "proc").mkdir()
    assert machine.available_memory(Host(root=tmp_path)) == 0
    (tmp_path / "proc/meminfo").write_text("MemTotal: 16000 kB\nMemAvailable:    8192 kB\n", encoding="utf-8")
    assert machine.available_memory(Host(root=tmp_path)) == 8 * 1024 * 1024

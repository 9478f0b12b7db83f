"""Variants: what makes them, and that they run on the threads that they are to run on."""

from __future__ import annotations

import pytest

from vtlab.errors import BadInput
from vtlab.model import variant
from vtlab.model.variant import Threads


@pytest.mark.parametrize(
    ("threads", "pool"), [("platform", 200), ("platform", 10), ("virtual", -1), ("reactive", None)]
)
def test_a_variant_on_its_kind_of_threads_passes(threads: Threads, pool: float | None) -> None:
    variant.refuse_other_threads("any", threads, pool)


@pytest.mark.parametrize(
    ("threads", "pool", "runs"),
    [
        ("platform", -1, "virtual"),
        ("virtual", 200, "platform"),
        ("virtual", None, "unknown"),
        ("reactive", 200, "platform"),
    ],
)
def test_a_variant_on_other_threads_is_refused(threads: Threads, pool: float | None, runs: str) -> None:
    with pytest.raises(BadInput, match=f"virtual-jdk21: it runs on {runs} threads"):
        variant.refuse_other_threads("virtual-jdk21", threads, pool)

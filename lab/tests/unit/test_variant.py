"""Variants: what makes them, and that they run on the threads that they are to run on."""

from __future__ import annotations

import pytest

from vtlab.errors import BadInput
from vtlab.model import variant
from vtlab.model.variant import Threads


@pytest.mark.parametrize("threads", ["platform", "virtual", "reactive"])
def test_a_variant_on_its_kind_of_threads_passes(threads: Threads) -> None:
    variant.refuse_other_threads("any", threads, threads)


@pytest.mark.parametrize(
    ("threads", "runs", "words"),
    [
        ("platform", "virtual", "virtual threads, in spite of SPRING_THREADS_VIRTUAL_ENABLED=false"),
        ("virtual", "platform", "platform threads, in spite of SPRING_THREADS_VIRTUAL_ENABLED=true"),
        ("virtual", None, "unknown threads, in spite of SPRING_THREADS_VIRTUAL_ENABLED=true"),
        ("reactive", "platform", "platform threads, in spite of SPRING_MAIN_WEB_APPLICATION_TYPE=reactive"),
    ],
)
def test_a_variant_on_other_threads_is_refused(threads: Threads, runs: Threads | None, words: str) -> None:
    with pytest.raises(BadInput, match=f"^virtual-jdk21: it runs on {words}$") as refused:
        variant.refuse_other_threads("virtual-jdk21", threads, runs)
    assert "in the service's code the property itself" in refused.value.fix

"""A block in which something broke, or of which something is missing, does not count."""

from __future__ import annotations

from typing import Any

import pytest

from tests.support import recorded
from tests.support.blocks import reasons_of, with_trial


def test_checks_of_a_block() -> None:
    good = recorded.block()
    a, b = good.instances

    def bad(**update: Any) -> str:
        return reasons_of(good.model_copy(update=update))

    assert "users disagreed" in bad(agreed=False)
    assert "exit code 137" in bad(faults=["k6 ended with exit code 137"])
    assert bad(faults=["Prometheus ended"], trials=[], warmup=[], instances=[]) == "Prometheus ended"
    assert "virtual: no measurement of its instance" in bad(instances=[a])
    assert "not platform, virtual, virtual, platform" in bad(trials=good.trials[:3])
    assert "the trials ran in the order none" in bad(trials=[])
    turned = [
        t.model_copy(update={"variant": v})
        for t, v in zip(good.trials, ("platform", "virtual", "platform", "virtual"), strict=True)
    ]
    assert "is not mirrored" in bad(trials=turned, order=[t.variant for t in turned])
    assert b.alive


@pytest.mark.parametrize(("cores", "counts"), [(0.97, True), (0.3, False), (None, False)])
def test_a_variant_that_used_up_its_cpu_need_not_have_answered_prometheus(cores: float | None, counts: bool) -> None:
    """It would not in the next attempt either. Where it had CPU left something else was in the way."""
    unscraped = with_trial(1, is_scraped=False, server={"cpu_cores": cores})
    assert (reasons_of(unscraped) == "") == counts
    assert counts or "Prometheus has no samples of this window" in reasons_of(unscraped)


def test_the_cpu_of_typical_load_is_what_the_kernel_counts() -> None:
    good = recorded.block()
    typical = [t.model_copy(update={"phase": "typical", "rate": 30.0, "is_scraped": False}) for t in good.trials[:2]]
    assert "no samples" not in reasons_of(good.model_copy(update={"typical": typical}))

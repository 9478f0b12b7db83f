"""A block in which something broke, or of which something is missing, does not count."""

from __future__ import annotations

from typing import Any

from tests.support import recorded
from tests.support.blocks import reasons_of


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

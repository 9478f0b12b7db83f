"""What makes a variant, and what shows that it is one."""

from __future__ import annotations

import pytest

from vtlab import variant
from vtlab.errors import BadInput


@pytest.mark.parametrize(("name", "pool"), [("platform", 200), ("platform-a", 10), ("virtual", -1), ("virtual-b", -1)])
def test_a_variant_on_its_kind_of_threads_passes(name: str, pool: float) -> None:
    variant.refuse_other_threads(name, pool)


@pytest.mark.parametrize(
    ("name", "pool", "runs"),
    [("platform", -1, "virtual"), ("virtual-a", 200, "platform"), ("virtual", None, "unknown")],
)
def test_a_variant_on_other_threads_is_refused(name: str, pool: float | None, runs: str) -> None:
    with pytest.raises(BadInput, match=f"{name}: it runs on {runs} threads"):
        variant.refuse_other_threads(name, pool)

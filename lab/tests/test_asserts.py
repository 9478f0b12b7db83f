"""``--assert``."""

from __future__ import annotations

import pytest

from vtlab import asserts
from vtlab.errors import BadInput
from vtlab.records import Comparison


def comparison(low: float | None, high: float | None) -> Comparison:
    return Comparison(metric="throughput", of="virtual", over="platform", ratio=1.3, low=low, high=high, better="higher")


@pytest.mark.parametrize(
    ("text", "low", "high", "holds"),
    [
        ("throughput(virtual/platform) >= 1.2", 1.21, 1.4, True),
        ("throughput(virtual/platform) >= 1.2", 1.19, 1.4, False),
        ("throughput(virtual/platform)>1.2", 1.2, 1.4, False),
        ("throughput(virtual/platform) <= 1.4", 1.2, 1.4, True),
        ("throughput(virtual/platform) < 1.4", 1.2, 1.4, False),
        ("throughput(virtual/platform) >= 1.2", None, None, False),
    ],
)
def test_the_whole_interval_must_lie_on_the_demanded_side(text: str, low: float | None, high: float | None, holds: bool) -> None:
    assert asserts.parse(text).holds(comparison(low, high)) is holds


@pytest.mark.parametrize("text", ["", "throughput >= 1", "throughput(virtual) > 1", "throughput(a/b) = 1", "throughput(a/b) > x"])
def test_another_form_is_bad_input(text: str) -> None:
    with pytest.raises(BadInput, match="is no assertion"):
        asserts.parse(text)

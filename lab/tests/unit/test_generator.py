"""A load generator that is squeezed or late rejects the block, and fails no variant."""

from __future__ import annotations

from tests.support import recorded
from tests.support.blocks import BLOCKING, OPEN, reasons_of, with_trial
from vtlab.analysis.validity import checks


def test_a_saturated_generator_is_no_failure_of_the_variant() -> None:
    block = with_trial(1, failed={"timeout": 300}, machine={"idle_cores": 0.01})
    assert "load generator was saturated" in reasons_of(block), "measured again"


def test_a_late_generator_spoils_open_load() -> None:
    # 1 % of the window of 30 s
    assert checks.reasons(with_trial(1, OPEN, late_max=0.3), OPEN) == []
    assert "stalled for 0.4 s, at most 0.3 s allowed" in reasons_of(with_trial(1, OPEN, late_max=0.4), OPEN)
    assert not any(r.name == "generator on time" for r in checks.results([recorded.block()], BLOCKING))


def test_many_short_stalls_spoil_open_load_as_one_long_one_does() -> None:
    few, many = (with_trial(1, OPEN, late_max=0.08, started=5000, completed=5000, late_arrivals=n) for n in (50, 60))
    assert checks.reasons(few, OPEN) == []
    assert "sent 1.2 % of the arrivals late, at most 1.0 % allowed" in reasons_of(many, OPEN)
    assert not any(r.name == "arrivals on time" for r in checks.results([recorded.block()], BLOCKING))

"""Windows that become as long as an answer takes."""

from __future__ import annotations

from tests.support import recorded
from tests.support.blocks import OPEN
from vtlab.model.records import Block
from vtlab.planning.longer_windows import LONGEST, for_late_answers


def late(seconds: float) -> Block:
    """A block that ended with its first cycles, which were drained so many seconds after they began."""
    good = recorded.block_under_open_load()
    cycles = [
        t.model_copy(update={"ok": 0, "throughput": 0.0, "drained": t.begin + round(1000 * seconds)})
        for t in good.warmup
    ]
    return good.model_copy(update={"warmup": cycles, "trials": []})


def test_windows_become_as_long_as_a_phase_took_until_its_last_answer() -> None:
    longer = for_late_answers(OPEN, late(9.3))
    assert longer is not None
    assert longer.windows.warmup_load == "10s"
    assert longer.windows.measure == OPEN.windows.measure, "it is longer"
    by_variant = OPEN.windows.model_copy(update={"measure_by_variant": {"platform": "4s", "virtual": "40s"}})
    declared = for_late_answers(OPEN.model_copy(update={"windows": by_variant}), late(9.3))
    assert declared is not None
    assert declared.windows.measure_by_variant == {"platform": "10s", "virtual": "40s"}


def test_no_window_becomes_longer_without_need_or_for_ever() -> None:
    assert for_late_answers(OPEN, recorded.block_under_open_load()) is None
    assert for_late_answers(OPEN, late(LONGEST + 0.5)) is None
    longer = for_late_answers(OPEN, late(9.3))
    assert longer is not None
    assert for_late_answers(longer, late(9.3)) is None, "it is as long"

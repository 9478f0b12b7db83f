"""``python -m benchmarks.identical``: what a variant beside itself is judged."""

from __future__ import annotations

import pytest

from benchmarks import identical
from tests.support import recorded


def test_only_outcomes_that_say_a_difference_are_false() -> None:
    found = identical.outcomes([recorded.analysed(recorded.run(blocks=3))])
    assert [str(outcome.key) for _, outcome in identical.false(found)] == ["capacity", "median.full"]


@pytest.mark.parametrize(("recording", "false"), [("threads", 2), ("pool", 0)])
def test_results_that_are_there_are_read(recording: str, false: int, capsys: pytest.CaptureFixture[str]) -> None:
    assert identical.main(["--read", str(recorded.FOLDERS[recording])]) == int(bool(false))
    printed = capsys.readouterr().out
    assert " | capacity | " in printed
    assert f"\n{false} of " in printed

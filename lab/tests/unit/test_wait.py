"""Waiting with a limit on the time."""

from __future__ import annotations

import pytest

from vtlab.errors import BlockFault
from vtlab.host.wait import wait_until


def test_the_first_value_counts_even_where_it_is_zero() -> None:
    values = iter([None, False, 0, 1])
    assert wait_until("never", lambda: next(values), within=60, every=0) == 0


def test_too_long_is_a_fault_that_says_what_was_waited_for() -> None:
    with pytest.raises(BlockFault, match=r"^the database does not answer after 0 s$"):
        wait_until("the database does not answer", lambda: None, within=0, every=0)

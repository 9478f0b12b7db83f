"""The log of a process that prints megabytes: its beginning and its end stay, and it says how much does not."""

from __future__ import annotations

import re
from pathlib import Path
from typing import BinaryIO

import pytest

from vtlab.host import logs
from vtlab.host.process_ledger import Command, Ledger
from vtlab.host.wait import wait_until

LINE = 100


def write(log: BinaryIO, first: int, count: int) -> int:
    """Numbered lines, as a process writes them that goes on appending. The number of the next."""
    log.write(b"".join(b"%0*d\n" % (LINE - 1, number) for number in range(first, first + count)))
    log.flush()
    return first + count


def test_a_log_of_some_megabytes_stays_as_it_is(tmp_path: Path) -> None:
    path = tmp_path / "service.log"
    path.write_bytes(b"x" * logs.MOST)
    assert not logs.bound(path)
    assert path.read_bytes() == b"x" * logs.MOST


def test_of_a_larger_one_the_middle_goes_and_the_process_goes_on_after_what_stays(tmp_path: Path) -> None:
    path = tmp_path / "service.log"
    with path.open("ab") as log:
        following = write(log, 0, 1 + logs.MOST // LINE)
        assert logs.bound(path)
        for _ in range(3):
            following = write(log, following, 1 + logs.MOST // LINE)
            assert not logs.bound(path), "it was said"
        write(log, following, 1)
    content = path.read_text("ascii")
    lines = content.splitlines()
    mark = re.fullmatch(r"\[vtlab left out (\d+) bytes here\]", lines[logs.KEPT // LINE + 1])
    assert mark is not None
    numbers = [int(line) for line in lines if line != mark[0]]
    head = 1 + logs.KEPT // LINE
    assert numbers[:head] == list(range(head))
    assert numbers[head:] == list(range(numbers[head], following + 1))
    assert int(mark[1]) == LINE * (following + 1 - len(numbers))
    assert len(content) <= 2 * (logs.KEPT + LINE) + len(mark[0])


@pytest.mark.parametrize("more", [0, 1])
def test_a_line_without_an_end_is_cut(more: int, tmp_path: Path) -> None:
    path = tmp_path / "service.log"
    path.write_bytes(b"a" * logs.MOST + b"z" * (1 + more))
    assert logs.bound(path)
    content = path.read_bytes()
    assert content.startswith(b"a" * logs.KEPT + b"[vtlab left out ")
    assert content.endswith(b"a" + b"z" * (1 + more))
    assert len(content) < 2 * logs.KEPT + 100


def test_the_logs_of_all_that_runs_are_bounded_and_each_is_named_once(tmp_path: Path) -> None:
    with Ledger(tmp_path) as ledger:
        talkative = ledger.start(
            Command(["/bin/sh", "-c", f"head -c {2 * logs.MOST} /dev/zero; sleep 60"], role="a", log=tmp_path / "a.log")
        )
        ledger.start(Command(["sleep", "60"], role="b", log=tmp_path / "b.log"))
        wait_until("it prints", lambda: talkative.log.stat().st_size >= 2 * logs.MOST, 120)
        assert ledger.bound_logs() == [tmp_path / "a.log"]
        assert ledger.bound_logs() == []
        assert talkative.log.stat().st_size < logs.MOST
        # One that prints and ends at once.
        quick = ledger.start(Command(["head", "-c", f"{2 * logs.MOST}", "/dev/zero"], role="c", log=tmp_path / "c.log"))
        wait_until("it ends", lambda: quick.returncode() is not None, 120)
        assert ledger.bound_logs() == [tmp_path / "c.log"]
        # What is gone is nobody's fault.
        (tmp_path / "b.log").unlink()
        assert ledger.bound_logs() == []

"""Loopback ports."""

from __future__ import annotations

import os
import socket

import pytest

from vtlab.errors import PrerequisiteMissing
from vtlab.host import ports


def test_free_ports_differ_and_can_be_bound() -> None:
    free = ports.free(20)
    assert len(set(free)) == 20
    for port in free:
        ports.require_free(port, "the test")


def test_a_taken_port_is_named_with_its_holder() -> None:
    with socket.socket() as held:
        held.bind((ports.HOST, 0))
        held.listen()
        port = held.getsockname()[1]
        assert ports.listening_pid(port) == os.getpid()
        with pytest.raises(PrerequisiteMissing, match=f"port {port} for the test is already in use by the process"):
            ports.require_free(port, "the test")
    assert ports.listening_pid(port) is None


@pytest.mark.parametrize(
    "line",
    [
        "Web server failed to start. Port 8080 was already in use.",
        'msg="Error starting web server" err="listen tcp 127.0.0.1:9090: bind: address already in use"',
    ],
)
def test_a_lost_race_for_a_port_is_known_by_the_log(line: str) -> None:
    assert ports.taken(line)
    assert not ports.taken("in use")

"""Servers: processes that start on free ports, and start again where another process has taken these meanwhile."""

from __future__ import annotations

import http.client
import ssl
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from http import HTTPStatus
from urllib.parse import quote

from vtlab.errors import BlockFault
from vtlab.host import ports
from vtlab.host.processes import Process

#: Bytes of an answer that are read.
_LONGEST_BODY = 16 * 1024**2
#: Seconds for an answer.
_TIMEOUT = 5.0
#: Characters that a path with its query keeps unquoted.
_KEPT = "%/?&=+,:;@!$'()*~#[]"


@dataclass
class Server:
    """One server. ``begin`` starts its process, ``await_ready`` waits for several at once."""

    #: The beginning of every message about it: ``the database``, ``platform: the JVM``.
    name: str
    #: Starts the process on these ports.
    spawn: Callable[[Sequence[int]], Process]
    #: Tells whether the server on these ports is ready. It asks the last port.
    answers: Callable[[Sequence[int]], bool]
    #: Seconds until it must be ready.
    within: float
    #: Number of ports that it needs.
    count: int = 1
    #: Ports to try first; then ``fixed`` says that there are no others.
    ports: Sequence[int] = ()
    fixed: bool = False
    #: Returns why it ended, where more than the exit code is known.
    reason: Callable[[Process], str | None] = lambda process: None
    attempts: int = 0
    process: Process = field(init=False)
    #: Seconds from its start until it was ready.
    ready_after: float = field(init=False, default=0.0)
    _begun: float = field(init=False, default=0.0)

    @property
    def port(self) -> int:
        """The first of its ports."""
        return self.ports[0]

    def begin(self) -> None:
        """Starts the process, without waiting for it."""
        if not self.ports or (self.attempts > 0 and not self.fixed):
            self.ports = ports.free(self.count)
        self.attempts += 1
        self._begun = time.monotonic()
        self.process = self.spawn(self.ports)

    def exit_description(self) -> str | None:
        """Describes how it ended; None while it runs."""
        exit_reason = self.process.exit_description()
        if exit_reason is None:
            return None
        reason = self.reason(self.process)
        return f"{self.name} ended with {exit_reason}" + (f": {reason}" if reason else "")

    def ready(self) -> bool:
        """Tells whether the server is ready. BlockFault, with the end of its log, when it ended or takes too long."""
        exit_reason = self.exit_description()
        if exit_reason is not None:
            if ports.taken(self.process.last_lines(40)) and not self.fixed and self.attempts < ports.ATTEMPTS:
                self.begin()
                return False
            raise BlockFault(f"{exit_reason} while it started: {self.process.last_lines() or 'its log is empty'}")
        took = time.monotonic() - self._begun
        # Another process that won the race for the port may answer, too.
        if self.answers(self.ports) and ports.listening_pid(self.ports[-1]) == self.process.pid:
            self.ready_after = took
            return True
        if took > self.within:
            log = self.process.last_lines() or "its log is empty"
            raise BlockFault(f"{self.name} was not ready after {self.within:.0f} s: {log}")
        return False


def await_ready(servers: Sequence[Server]) -> None:
    """Waits until all servers are ready. BlockFault as in ``Server.ready``."""
    waiting = list(servers)
    while waiting:
        waiting = [server for server in waiting if not server.ready()]
        if waiting:
            time.sleep(0.05)


def start(server: Server) -> Server:
    """Starts a server and waits until it is ready. BlockFault as in ``Server.ready``; its process is stopped then."""
    server.begin()
    try:
        await_ready([server])
    except BlockFault:
        server.process.stop(1)
        raise
    return server


def answers_ok(port: int, path: str) -> bool:
    """Tells whether a server of this machine answers a request with 200."""
    return status(port, path) == HTTPStatus.OK


def status(port: int, path: str, is_tls: bool = False, timeout: float = _TIMEOUT) -> int | None:
    """Returns the status of a server's answer to a GET on this machine; None without an answer in ``timeout`` seconds.
    The body, which may be endless, is not read."""
    answer = _get(port, path, is_tls, 0, timeout)
    return answer[0] if answer else None


def text(port: int, path: str, is_tls: bool = False) -> str | None:
    """Returns the body of a server's answer to a GET on this machine; None without an answer with status 200."""
    answer = _get(port, path, is_tls, _LONGEST_BODY)
    return answer[1].decode(errors="replace") if answer and answer[0] == HTTPStatus.OK else None


def _get(port: int, path: str, is_tls: bool, longest: int, timeout: float = _TIMEOUT) -> tuple[int, bytes] | None:
    """Returns the status, and at most ``longest`` bytes of the body."""
    connection = (
        http.client.HTTPSConnection(ports.HOST, port, timeout=timeout, context=any_certificate())
        if is_tls
        else http.client.HTTPConnection(ports.HOST, port, timeout=timeout)
    )
    try:
        connection.request("GET", quote(path, safe=_KEPT), headers={"Accept": "application/json, */*"})
        answer = connection.getresponse()
        return answer.status, answer.read(longest) if longest else b""
    except (OSError, http.client.HTTPException):
        return None
    finally:
        connection.close()


def any_certificate() -> ssl.SSLContext:
    """Returns a context that accepts every certificate: a service's own names no address of this machine."""
    # Not the default one: it reads every authority's certificate, which takes tens of ms, 20 times a second at a start.
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    return context

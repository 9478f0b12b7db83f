"""A way to the API server that can be cut, for an API server that is away."""

from __future__ import annotations

import contextlib
import selectors
import socket
import threading


class Proxy:
    """Passes connections on from a port of the loopback interface. A context manager."""

    def __init__(self, host: str, port: int) -> None:
        self._target = (host, port)
        self._open: list[socket.socket] = []
        self._lock = threading.Lock()
        self._listener: socket.socket | None = None
        self.port = 0
        self.restore()

    def restore(self) -> None:
        """Accepts connections (again), on the same port."""
        listener = socket.socket()
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind(("127.0.0.1", self.port))
        listener.listen()
        self.port = listener.getsockname()[1]
        self._listener = listener
        threading.Thread(target=self._accept, args=(listener,), daemon=True).start()

    def cut(self) -> None:
        """Refuses connections, and breaks those that are open."""
        if self._listener:
            with contextlib.suppress(OSError):
                self._listener.shutdown(socket.SHUT_RDWR)
            self._listener.close()
            self._listener = None
        with self._lock:
            for connection in self._open:
                with contextlib.suppress(OSError):
                    connection.shutdown(socket.SHUT_RDWR)

    def __enter__(self) -> Proxy:
        return self

    def __exit__(self, *_: object) -> None:
        self.cut()

    def _accept(self, listener: socket.socket) -> None:
        while True:
            try:
                near, _ = listener.accept()
            except OSError:
                return
            threading.Thread(target=self._pass_on, args=(near,), daemon=True).start()

    def _pass_on(self, near: socket.socket) -> None:
        with (
            near,
            contextlib.suppress(OSError),
            socket.create_connection(self._target) as far,
        ):
            ends = {near: far, far: near}
            with self._lock:
                self._open += ends
            with selectors.DefaultSelector() as ready:
                for connection in ends:
                    ready.register(connection, selectors.EVENT_READ)
                while True:
                    for key, _ in ready.select():
                        end = key.fileobj
                        assert isinstance(end, socket.socket)
                        data = end.recv(65536)
                        if not data:
                            return
                        ends[end].sendall(data)

"""HTTP servers of tests, in threads of this process."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import HTTPServer

#: Seconds after which a server notices at the latest that it is to end. By default it is half a second for each test.
POLL = 0.01


@contextmanager
def serving(server: HTTPServer) -> Iterator[int]:
    """Answers requests until the block ends; yields the port."""
    with server:
        thread = threading.Thread(target=server.serve_forever, args=(POLL,))
        thread.start()
        try:
            yield server.server_port
        finally:
            server.shutdown()
            thread.join()

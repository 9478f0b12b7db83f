"""A small service in this process, which keeps a log of every request."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from http.cookies import SimpleCookie
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import urlsplit

from tests.support.serving import serving

#: The path of a request whose connection is closed in place of an answer.
UNANSWERED = "/unanswered"


class WebShop:
    """A variant of the service."""

    def __init__(self, name: str, failing: frozenset[str]) -> None:
        self.name = name
        #: Method, path with query, cookies of each request, in their order.
        self.log: list[tuple[str, str, dict[str, str]]] = []
        #: Paths that answer 500.
        self.failing = failing
        shop = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def answer(self) -> None:
                length = int(self.headers.get("Content-Length") or 0)
                self.rfile.read(length)
                cookies = {key: morsel.value for key, morsel in SimpleCookie(self.headers.get("Cookie", "")).items()}
                shop.log.append((self.command, self.path, cookies))
                if self.path == UNANSWERED:
                    self.close_connection = True
                    return
                status, headers, body = shop.respond(self.path)
                self.send_response(status)
                for key, value in headers:
                    self.send_header(key, value)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            do_GET = do_POST = do_PUT = do_DELETE = answer

            def log_message(self, *_: object) -> None:
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self.server.server_port}"

    def respond(self, target: str) -> tuple[int, list[tuple[str, str]], bytes]:
        """Returns status, headers and body of an answer."""
        path = urlsplit(target).path
        if path in self.failing:
            return 500, [], b"no"
        if path == "/redirect":
            return 302, [("Location", "/landed")], b""
        return 200, [("Content-Type", "application/json")], json.dumps({"variant": self.name}).encode()


@contextmanager
def shops(failing: dict[str, list[str]] | None = None) -> Iterator[dict[str, WebShop]]:
    """Runs both variants. ``failing``: paths that answer 500, by variant."""
    both = {name: WebShop(name, frozenset((failing or {}).get(name, ()))) for name in ("platform", "virtual")}
    with ExitStack() as servers:
        for shop in both.values():
            servers.enter_context(serving(shop.server))
        yield both

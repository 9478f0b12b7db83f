"""Requests in flight of the other server when a window begins."""

from __future__ import annotations

import math

from tests.support import recorded
from vtlab.model.k6_documents import K6Document
from vtlab.prometheus.in_flight import fill_in_flight_before


def test_what_the_other_server_still_works_on_counts() -> None:
    class Server:
        """Platform is idle; virtual works on, if anybody looked."""

        seen: float | None = 5.0
        scraped = math.inf

        def in_flight(self, variant: str, after_ms: int, until_ms: int) -> float | None:
            if variant == "platform" or not after_ms:
                return 0.0
            return self.seen if self.scraped > after_ms else None

    trials = [trial.model_copy(update={"server": {}}) for trial in recorded.block().trials[:2]]
    first, second = (
        trials[0].model_copy(update={"variant": "virtual"}),
        trials[1].model_copy(update={"variant": "platform"}),
    )
    document = K6Document(
        version=2,
        experiment="e",
        run_id="r",
        block=1,
        order=[],
        agreed=True,
        warmup=[],
        single=[],
        trials=[first, second],
    )
    server = Server()
    fill_in_flight_before(document, server, {})  # type: ignore[arg-type]
    assert first.server["in_flight_before"] == 0
    assert second.server["in_flight_before"] == 5
    server.seen = None
    fill_in_flight_before(document, server, {})  # type: ignore[arg-type]
    assert second.server["in_flight_before"] == 0, "no scrape saw it, but every answer had come"
    first.failed["timeout"] = 1
    fill_in_flight_before(document, server, {})  # type: ignore[arg-type]
    assert second.server["in_flight_before"] is None, "the server may still work on a timed-out request"
    first.failed["timeout"] = 0
    first.failed["status-500"] = 1
    fill_in_flight_before(document, server, {})  # type: ignore[arg-type]
    assert second.server["in_flight_before"] == 0, "an error status is an answer"
    first.failed_outside = 1
    fill_in_flight_before(document, server, {})  # type: ignore[arg-type]
    assert second.server["in_flight_before"] is None, "of what failed outside the window nobody knows the reason"
    fill_in_flight_before(document, server, {}, longest_ms=first.drained - first.begin + 1)  # type: ignore[arg-type]
    assert second.server["in_flight_before"] == 0, "in a phase so short nothing has timed out"
    first.failed_outside = 0
    first.given_up = 1
    fill_in_flight_before(document, server, {})  # type: ignore[arg-type]
    assert second.server["in_flight_before"] is None, "and so may one that was given up"
    first.given_up = 0
    alone = document.model_copy(update={"trials": [second]})
    server.seen = 5.0
    fill_in_flight_before(alone, server, {"virtual": first})  # type: ignore[arg-type]
    assert second.server["in_flight_before"] == 5, "of an earlier call of k6, too"
    server.seen = 1.0
    server.scraped = first.drained + 100
    fill_in_flight_before(document, server, {})  # type: ignore[arg-type]
    assert second.server["in_flight_before"] == 0, "a server ends a request a little after its answer"

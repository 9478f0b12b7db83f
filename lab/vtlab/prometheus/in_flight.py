"""Requests in flight in a server when a phase begins."""

from __future__ import annotations

from vtlab.model.k6_documents import K6Document
from vtlab.model.records import Trial
from vtlab.prometheus.queries import Prometheus

#: Milliseconds until a server has ended a request that the client sees answered: two periods of a CPU quota.
_ENDS_WITHIN = 200


def fill_in_flight_before(
    document: K6Document, client: Prometheus, before: dict[str, Trial], longest_ms: float = 0
) -> None:
    """Fills in the requests that each phase found in flight in its server: at the last scrape after the variant's
    previous phase.

    Phases follow each other within about a second, so there may be no such scrape. Then the client knows: if it had
    every answer, the server has nothing left to do. After failures without an answer (the request of a timeout still
    runs in the server) it does not know, and the value is None. The requests in another variant's server count, too,
    when the window begins: they take the machine's time.

    ``before``: the last phase of each running variant, also from earlier calls of k6 in the block; it is updated. It
    excludes variants that another k6 loads at the same time. ``longest_ms``: the time after which a request times out.
    """
    variants = {*before, *(trial.variant for trial in document.phases)}
    for trial in document.phases:
        last = before.get(trial.variant)
        in_flight = client.in_flight(trial.variant, _ended(last), trial.begin)
        if (
            in_flight is None
            and last is not None
            and last.started == last.completed
            and not _unanswered(last, longest_ms)
        ):
            in_flight = 0.0
        for other in variants - {trial.variant}:
            earlier = before.get(other)
            remaining = client.in_flight(other, _ended(earlier), trial.start)
            if remaining is None and earlier and _unanswered(earlier, longest_ms):
                in_flight = None
            elif remaining is not None and in_flight is not None:
                in_flight = max(in_flight, remaining)
        trial.server["in_flight_before"] = in_flight
        before[trial.variant] = trial


def _unanswered(phase: Trial, longest_ms: float) -> bool:
    """Tells whether the server may still work on requests of a phase that has ended for its client.

    An error status is an answer. Failures outside the window have no recorded reason: in a phase shorter than the
    timeout of a request they are answers, too.
    """
    cut = sum(count for why, count in phase.failed.items() if not why.startswith("status-"))
    is_long = phase.drained - phase.begin >= longest_ms
    return cut > 0 or phase.given_up > 0 or (phase.failed_outside > 0 and is_long)


def _ended(phase: Trial | None) -> int:
    """Returns the time from which a scrape shows only requests that outlive the phase; 0 without a phase."""
    return phase.drained + _ENDS_WITHIN if phase else 0

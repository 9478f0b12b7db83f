"""What each phase found in flight in its server."""

from __future__ import annotations

from vtlab.model.k6_documents import K6Document
from vtlab.model.records import Trial
from vtlab.prometheus.queries import Prometheus

#: Milliseconds that a server may take to end a request once the client has its answer: two periods of a CPU quota.
_ENDS_WITHIN = 200


def fill_in_flight_before(
    document: K6Document, client: Prometheus, before: dict[str, Trial], longest_ms: float = 0
) -> None:
    """What each phase found in flight in its server: at the last scrape after the variant's phase before it.

    Phases follow each other within a second or so, so there may be no such scrape. Then the client knows: it had
    every answer, so that the server has nothing left of it. After failures that are no answer (a timeout's request
    still runs in the server) it does not, and the value is None. What the other variant's server still works on when
    the window begins counts, too: it takes the machine's time. ``before`` holds the last phase of each variant that
    still runs, of the block's earlier calls of k6 as well, and is kept up to date: without the variants that another k6
    loads at the same time. ``longest_ms`` is the time after which a request times out.
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
            left = client.in_flight(other, _ended(earlier), trial.start)
            if left is None and earlier and _unanswered(earlier, longest_ms):
                in_flight = None
            elif left is not None and in_flight is not None:
                in_flight = max(in_flight, left)
        trial.server["in_flight_before"] = in_flight
        before[trial.variant] = trial


def _unanswered(phase: Trial, longest_ms: float) -> bool:
    """Whether the server may still work on requests of a phase that is over for its client. An error status is an
    answer. Failures outside the window have no recorded reason: in a phase that is shorter than the time after which a
    request times out they are answers, too."""
    cut = sum(count for why, count in phase.failed.items() if not why.startswith("status-"))
    is_long = phase.drained - phase.begin >= longest_ms
    return cut > 0 or phase.given_up > 0 or (phase.failed_outside > 0 and is_long)


def _ended(phase: Trial | None) -> int:
    """The time from which a scrape shows only what still runs in the server after the phase; 0 without a phase."""
    return phase.drained + _ENDS_WITHIN if phase else 0

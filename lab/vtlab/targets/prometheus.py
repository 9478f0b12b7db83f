"""Reads the server side from Prometheus: the named expressions over a trial's window, and samples to chart.

Used by every target. Times are epoch milliseconds.
"""

from __future__ import annotations

import math
from types import TracebackType
from typing import Any

import httpx

from vtlab.catalogue.expressions import CHARTED, EXPRESSIONS, fill
from vtlab.errors import BlockFault, PrerequisiteMissing
from vtlab.host.wait import wait_until
from vtlab.model.records import K6Document, Trial

#: The series exists from the first request on; a service that was scraped without it has none in flight.
IN_FLIGHT = "max(http_server_requests_active_seconds_count{$server}) or 0 * max(up{$server} == 1)"
#: Pinnings in a window by place, the places that have most.
PINNED = "topk(5, sum by (class, line) (increase(jvm_threads_virtual_pinned_at_total{$server}[$window])) > 0)"
#: Seconds to wait for the scrape after a window: several of its 1 s intervals.
SCRAPED_WITHIN = 15.0
#: Milliseconds: Prometheus moves a scrape's time by up to 2 to keep its rhythm; the rest is for its clock and k6's.
_ROUNDED = 10
#: Milliseconds that a server may take to end a request once the client has its answer: two periods of a CPU quota.
_ENDS_WITHIN = 200
#: From 3.0 on a range leaves its left end out.
_LEAST_MAJOR = 3
#: Prometheus answers with at most 11,000 points.
_POINTS = 10_000
#: The label that tells the named expressions of one query apart.
_NAME = "vtlab_expression"


class Prometheus:
    """A client of one Prometheus. Every method raises BlockFault when it does not answer."""

    def __init__(self, url: str, transport: httpx.BaseTransport | None = None) -> None:
        self.url = url.rstrip("/")
        #: More labels that tell a variant's series from others' in a Prometheus that is shared.
        self.selectors: dict[str, dict[str, str]] = {}
        #: Labels that tell this run's samples of k6 from others'.
        self.run: dict[str, str] = {}
        self._client = httpx.Client(base_url=self.url, timeout=15, trust_env=False, transport=transport)

    def refuse_old(self) -> None:
        """PrerequisiteMissing before Prometheus 3: there a window of n seconds holds one sample more."""
        version = str(self._get("/api/v1/status/buildinfo", {}).get("version", ""))
        if not version.partition(".")[0].isdigit() or int(version.partition(".")[0]) < _LEAST_MAJOR:
            raise PrerequisiteMissing(
                f"Prometheus at {self.url} is {version or 'unknown'}; version {_LEAST_MAJOR}.0 or newer is needed",
                "upgrade it, or install the lab's own (README)",
            )

    def evaluate(self, expr: str, at_ms: int | None) -> float | None:
        """The one value of an expression at that time, or now by Prometheus's clock; None where there is none, or no
        finite one."""
        data = self._get("/api/v1/query", {"query": expr, **({} if at_ms is None else {"time": _time(at_ms)})})
        if data["resultType"] == "scalar":
            return _finite(data["result"][1])
        if len(data["result"]) > 1:
            raise ValueError(f"the expression has {len(data['result'])} results, not one: {expr}")
        return _finite(data["result"][0]["value"][1]) if data["result"] else None

    def series(self, expr: str, begin_ms: int, end_ms: int, step: float = 1.0) -> list[list[float]]:
        """[[epoch ms, value], …] every ``step`` seconds from begin to end, without gaps' points."""
        found: list[list[float]] = []
        stride = round(step * 1000)
        while begin_ms <= end_ms:
            last = min(end_ms, begin_ms + stride * (_POINTS - 1))
            query = {"query": expr, "start": _time(begin_ms), "end": _time(last), "step": f"{stride}ms"}
            result = self._get("/api/v1/query_range", query)["result"]
            if len(result) > 1:
                raise ValueError(f"the expression has {len(result)} results, not one: {expr}")
            for at, text in result[0]["values"] if result else ():
                value = _finite(text)
                if value is not None:
                    found.append([round(float(at) * 1000), value])
            begin_ms = last + stride
        return found

    def window(self, variant: str, start_ms: int, end_ms: int) -> dict[str, float | None]:
        """Every named expression over exactly the window. Waits for the first scrape after the window's end."""
        found: dict[str, float | None] = dict.fromkeys(EXPRESSIONS)
        if end_ms <= start_ms:
            return found
        self.await_scrape(variant, end_ms)
        # One query for all of them; which value is whose, says a label.
        parts = (
            f'label_replace({self._of(each.promql, variant, end_ms - start_ms)}, "{_NAME}", "{name}", "", "")'
            for name, each in EXPRESSIONS.items()
        )
        query = {"query": " or ".join(parts), "time": _time(end_ms)}
        seen: set[str] = set()
        for series in self._get("/api/v1/query", query)["result"]:
            name = series["metric"][_NAME]
            if name in seen:
                raise ValueError(f"the expression {name} has more than one result for {variant}")
            seen.add(name)
            found[name] = _finite(series["value"][1])
        return found

    def pinned(self, variant: str, start_ms: int, end_ms: int) -> dict[str, float]:
        """Pinnings of virtual threads in the window by place, ``class:line``; most first. After ``window``, which waits
        for the scrape."""
        if end_ms <= start_ms:
            return {}
        query = {"query": self._of(PINNED, variant, end_ms - start_ms), "time": _time(end_ms)}
        result = self._get("/api/v1/query", query)["result"]
        found = {f"{each['metric']['class']}:{each['metric']['line']}": float(each["value"][1]) for each in result}
        return dict(sorted(found.items(), key=lambda item: (-item[1], item[0])))

    def in_flight(self, variant: str, after_ms: int, until_ms: int) -> float | None:
        """Requests in flight in the server at the last scrape that began after one time and was over by another; None
        without one."""
        scraped = self._scraped(variant, until_ms)
        took = 1000 * (self.measured(variant, "max(scrape_duration_seconds{$server})", until_ms) or 0.0)
        # A scrape bears the time of its beginning: what it saw may be younger.
        if scraped is not None and scraped + took + _ROUNDED > until_ms:
            until_ms = math.ceil(scraped) - 1
            scraped = self._scraped(variant, until_ms)
        if scraped is None or scraped <= after_ms:
            return None
        return self.measured(variant, IN_FLIGHT, until_ms)

    def _scraped(self, variant: str, until_ms: int) -> float | None:
        return self.measured(variant, "max(timestamp(up{$server})) * 1000", until_ms)

    def charted(self, variant: str, begin_ms: int, end_ms: int) -> dict[str, list[list[float]]]:
        """The series of the report's charts, every second."""
        return {name: self.series(self._of(template, variant), begin_ms, end_ms) for name, template in CHARTED.items()}

    def now(self) -> int:
        """The time by Prometheus's own clock."""
        return round(1000 * (self.evaluate("time()", None) or 0.0))

    def measured(self, variant: str, expr: str, at_ms: int) -> float | None:
        """As ``evaluate``; ``$server`` in the expression stands for the variant's labels."""
        return self.evaluate(expr.replace("$server", self._selector(variant)), at_ms)

    def labels(self, variant: str, expr: str, at_ms: int) -> dict[str, str]:
        """The labels of the first series of an expression with ``$server``; empty where there is none."""
        query = {"query": expr.replace("$server", self._selector(variant)), "time": _time(at_ms)}
        result = self._get("/api/v1/query", query)["result"]
        return dict(result[0]["metric"]) if result else {}

    def await_scrape(self, variant: str, after_ms: int, within: float = SCRAPED_WITHIN) -> int:
        """Waits until a successful scrape of the variant later than ``after_ms`` is in; returns its time. BlockFault
        after ``within`` seconds."""
        up = f"up{{{self._selector(variant)}}}"
        # Only of a plain selector does timestamp() tell the sample's time.
        newest = f"max(timestamp({up}) and {up} == 1) * 1000"

        def scraped() -> int | None:
            at = self.evaluate(newest, None)
            return round(at) if at is not None and at > after_ms else None

        return wait_until(f"{variant}: Prometheus has not scraped it", scraped, within, every=0.1)

    def await_gone(self, variant: str, within: float) -> None:
        """Waits until a scrape of the variant has failed: then nothing that it said counts as present any more.
        BlockFault after ``within`` seconds."""
        wait_until(
            f"{variant}: Prometheus still scrapes it",
            lambda: not self.measured(variant, "max(up{$server})", self.now()),
            within,
            every=0.1,
        )

    def scrape_interval(self, variant: str) -> str | None:
        """How often the variant is scraped, as Prometheus writes it (``1s``, ``1m30s``); None where it does not say."""
        wanted = {"variant": variant, **self.selectors.get(variant, {})}
        for target in self._get("/api/v1/targets", {"state": "active"}).get("activeTargets") or ():
            if wanted.items() <= target.get("labels", {}).items():
                return target.get("scrapeInterval") or None
        return None

    def _selector(self, variant: str) -> str:
        labels = {"variant": variant, **self.selectors.get(variant, {})}
        return ",".join(f'{name}="{value}"' for name, value in labels.items())

    def _of(self, template: str, variant: str, window_ms: int = 1000) -> str:
        """The named expression for the variant's own series, and k6's of it."""
        client = ",".join(f'{name}="{value}"' for name, value in {"variant": variant, **self.run}.items())
        return fill(template, server=self._selector(variant), client=client, window=f"{window_ms}ms")

    def close(self) -> None:
        """Gives up its connections."""
        self._client.close()

    def __enter__(self) -> Prometheus:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.close()

    def _get(self, path: str, query: dict[str, str]) -> dict[str, Any]:
        try:
            # All expressions in one are more than some proxies take as an address.
            answer = self._client.post(path, data=query) if "query" in query else self._client.get(path, params=query)
        except httpx.HTTPError as error:
            raise BlockFault(f"Prometheus at {self.url} does not answer: {error or type(error).__name__}") from error
        try:
            body = answer.json()
        except ValueError:
            raise BlockFault(f"Prometheus at {self.url} answers with status {answer.status_code} and no JSON") from None
        if body.get("status") != "success":
            said = f"{body.get('error', 'no reason given')}: {query.get('query', path)}"
            if answer.status_code == 400:
                raise ValueError(f"Prometheus refuses the expression: {said}")
            raise BlockFault(f"Prometheus at {self.url}: {said}")
        data: dict[str, Any] = body["data"]
        return data


def fill_in_flight_before(document: K6Document, client: Prometheus, before: dict[str, Trial]) -> None:
    """What each phase found in flight in its server: at the last scrape after the variant's phase before it.

    Phases follow each other within a second or so, so there may be no such scrape. Then the client knows: it had
    every answer, none of them a failure, so that the server has nothing left of it. After failures (a timeout's
    request goes on in the server) it does not, and the value is None. What the other variant's server still works on
    counts, too: it takes the machine's time. ``before`` holds the last phase of each variant that still runs, of the
    block's earlier calls of k6 as well, and is kept up to date.
    """
    variants = {*before, *(trial.variant for trial in (*document.warmup, *document.single, *document.trials))}
    for trial in (*document.warmup, *document.single, *document.trials):
        last = before.get(trial.variant)
        found = client.in_flight(trial.variant, _ended(last), trial.begin)
        if found is None and last is not None and last.started == last.completed and not _unanswered(last):
            found = 0.0
        for other in variants - {trial.variant}:
            earlier = before.get(other)
            left = client.in_flight(other, _ended(earlier), trial.begin)
            if left is None and earlier and _unanswered(earlier):
                found = None
            elif left is not None and found is not None:
                found = max(found, left)
        trial.server["in_flight_before"] = found
        before[trial.variant] = trial


def _unanswered(phase: Trial) -> bool:
    """Whether the server may go on with requests of a phase that is over for its client."""
    return any(phase.failed.values()) or phase.failed_outside > 0 or phase.given_up > 0


def _ended(phase: Trial | None) -> int:
    """From when on a scrape shows nothing of a phase but what goes on in the server; 0 without one."""
    return phase.drained + _ENDS_WITHIN if phase else 0


def _time(ms: int) -> str:
    return f"{ms / 1000:.3f}"


def _finite(text: str) -> float | None:
    value = float(text)
    return value if math.isfinite(value) else None

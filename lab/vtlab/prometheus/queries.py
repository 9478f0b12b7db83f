"""Queries for the server side: the catalogue's metrics over a trial's window, and samples to chart.

Used by every target. Times are epoch milliseconds.
"""

from __future__ import annotations

import math
from typing import Any

import httpx

from vtlab.catalogue import metrics
from vtlab.catalogue.metrics import REPORT_SERIES, WINDOW_METRICS
from vtlab.errors import BlockFault
from vtlab.host.wait import TimedOut, wait_until
from vtlab.model.records import ServerFigure
from vtlab.prometheus.api import PrometheusApi

#: Seconds to wait for the scrape after a window: several of its 1 s intervals.
SCRAPED_WITHIN = 15.0
#: Milliseconds: Prometheus shifts a scrape's time by up to 2 to keep its rhythm; the rest is for its clock and k6's.
_ROUNDED = 10
#: The label that distinguishes the metrics of one query.
_NAME = "vtlab_metric"


class NotScraped(BlockFault):
    """Prometheus runs, but the variant did not answer its scrapes."""


class Prometheus(PrometheusApi):
    """The variants' metrics in one Prometheus. Every method raises BlockFault when Prometheus does not answer."""

    def __init__(self, url: str, transport: httpx.BaseTransport | None = None) -> None:
        super().__init__(url, transport)
        #: Further labels that select a variant's series in a shared Prometheus.
        self.selectors: dict[str, dict[str, str]] = {}
        #: Labels that select this run's samples of k6.
        self.run: dict[str, str] = {}

    def window(self, variant: str, start_ms: int, end_ms: int) -> dict[ServerFigure, float | None]:
        """Returns every metric over exactly the window.

        Waits for the first scrape after the window's end. Without one, as for a variant that no longer answers, all are
        None.
        """
        figures: dict[ServerFigure, float | None] = dict.fromkeys(WINDOW_METRICS)
        if end_ms <= start_ms:
            return figures
        try:
            self.await_scrape(variant, end_ms)
        except NotScraped:
            return figures
        # One query for all metrics; a label tells which value belongs to which.
        parts = (
            f'label_replace({self._rendered(f"${{{name}}}", variant, end_ms - start_ms)}, "{_NAME}", "{name}", "", "")'
            for name in WINDOW_METRICS
        )
        values: dict[str, float] = {}
        for labels, value in self.query(" or ".join(parts), end_ms):
            if labels[_NAME] in values:
                raise ValueError(f"the metric {labels[_NAME]} has more than one result for {variant}")
            values[labels[_NAME]] = value
        return {name: _finite(values.get(name)) for name in WINDOW_METRICS}

    def pinned(self, variant: str, start_ms: int, end_ms: int) -> dict[str, float]:
        """Counts pinnings of virtual threads in the window by place, ``class:line``; most first.

        To be called after ``window``, which waits for the scrape.
        """
        if end_ms <= start_ms:
            return {}
        series = self.query(self._rendered("$pinned_by_place", variant, end_ms - start_ms), end_ms)
        pinnings = {f"{labels['class']}:{labels['line']}": value for labels, value in series}
        return dict(sorted(pinnings.items(), key=lambda item: (-item[1], item[0])))

    def last_phase(self, variant: str, since_ms: int) -> str | None:
        """Returns k6's tag of the phase in which it last loaded the variant since then (``w2``, ``s1``, ``3``); None
        without one."""
        labels = ",".join(f'{name}="{value}"' for name, value in {"variant": variant, **self.run}.items())
        series = self.query(f"topk(1, timestamp(k6_trial_started_total{{{labels}}}))", self.now())
        return next((labels["trial"] for labels, at in series if 1000 * at > since_ms), None)

    def in_flight(self, variant: str, after_ms: int, until_ms: int) -> float | None:
        """Returns the requests in flight in the server at the last scrape that began after one time and ended before
        another; None without such a scrape."""
        scraped = self._scraped(variant, until_ms)
        took = 1000 * (self.measured(variant, "max(scrape_duration_seconds{$server})", until_ms) or 0.0)
        # A scrape has the time of its beginning: its values may be younger.
        if scraped is not None and scraped + took + _ROUNDED > until_ms:
            until_ms = math.ceil(scraped) - 1
            scraped = self._scraped(variant, until_ms)
        if scraped is None or scraped <= after_ms:
            return None
        return self.measured(variant, "$in_flight_now", until_ms)

    def _scraped(self, variant: str, until_ms: int) -> float | None:
        return self.measured(variant, "max(timestamp(up{$server})) * 1000", until_ms)

    def charted(self, variant: str, begin_ms: int, end_ms: int) -> dict[str, list[list[float]]]:
        """Returns the series of the report's charts, every second."""
        return {
            name: self.series(metrics.metric(name, "chart", server=self._selector(variant)), begin_ms, end_ms)
            for name in REPORT_SERIES
        }

    def measured(self, variant: str, query: str, at_ms: int) -> float | None:
        """Evaluates a query of the catalogue; ``$server`` in it stands for the variant's labels."""
        return self.evaluate(metrics.render(query, server=self._selector(variant)), at_ms)

    def labels(self, variant: str, query: str, at_ms: int) -> dict[str, str]:
        """Returns the labels of the first series of a query with ``$server``; empty without a series."""
        series = self.all(variant, query, at_ms)
        return series[0][0] if series else {}

    def all(self, variant: str, query: str, at_ms: int) -> list[tuple[dict[str, str], float]]:
        """Returns labels and value of each series of a query with ``$server``."""
        return self.query(metrics.render(query, server=self._selector(variant)), at_ms)

    def await_scrape(self, variant: str, after_ms: int, within: float = SCRAPED_WITHIN) -> int:
        """Waits for a successful scrape of the variant later than ``after_ms``; returns its time. NotScraped after
        ``within`` seconds."""
        up = f"up{{{self._selector(variant)}}}"
        # timestamp() returns the sample's time only for a plain selector.
        newest = f"max(timestamp({up}) and {up} == 1) * 1000"

        def scraped() -> int | None:
            at = self.evaluate(newest, None)
            return round(at) if at is not None and at > after_ms else None

        try:
            return wait_until(f"{variant}: Prometheus has not scraped it", scraped, within, every=0.1)
        except TimedOut as fault:
            raise NotScraped(str(fault)) from None

    def await_gone(self, variant: str, within: float) -> None:
        """Waits until a scrape of the variant has failed: from then on its last values no longer count as current.
        BlockFault after ``within`` seconds."""
        wait_until(
            f"{variant}: Prometheus still scrapes it",
            lambda: not self.measured(variant, "max(up{$server})", self.now()),
            within,
            every=0.1,
        )

    def scrape_interval(self, variant: str) -> str | None:
        """Returns the variant's scrape interval, as Prometheus writes it (``1s``, ``1m30s``); None if unknown."""
        return self._target(variant).get("scrapeInterval") or None

    def scrape_error(self, variant: str) -> str:
        """Returns why the last scrape of the variant failed; empty where it did not, and where nothing is known."""
        return str(self._target(variant).get("lastError") or "")

    def _target(self, variant: str) -> dict[str, Any]:
        """Returns the variant as Prometheus describes it; empty where it does not know it."""
        labels = {"variant": variant, **self.selectors.get(variant, {})}
        known = (target for target in self.targets() if labels.items() <= target.get("labels", {}).items())
        return next(known, {})

    def _selector(self, variant: str) -> str:
        labels = {"variant": variant, **self.selectors.get(variant, {})}
        return ",".join(f'{name}="{value}"' for name, value in labels.items())

    def _rendered(self, query: str, variant: str, window_ms: int) -> str:
        """Renders a query of the catalogue for the variant's series, its own and k6's."""
        client = ",".join(f'{name}="{value}"' for name, value in {"variant": variant, **self.run}.items())
        return metrics.render(query, server=self._selector(variant), client=client, window=f"{window_ms}ms")


def _finite(value: float | None) -> float | None:
    return value if value is not None and math.isfinite(value) else None

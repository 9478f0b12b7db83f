"""Prometheus's HTTP API. Times are epoch milliseconds."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from types import TracebackType
from typing import Any, Self

import httpx

from vtlab.errors import BlockFault, PrerequisiteMissing

#: From the first on a range excludes its left end; from the second on native histograms need no flag.
_LEAST, _WITH_HISTOGRAMS = (3, 0), (3, 8)
_HISTOGRAMS = "native-histograms"
#: Prometheus answers with at most 11,000 points.
_POINTS = 10_000
_OTLP = "/api/v1/otlp/v1/metrics"


class PrometheusApi:
    """A client of one Prometheus. Every method raises BlockFault when Prometheus does not answer."""

    def __init__(self, url: str, transport: httpx.BaseTransport | None = None) -> None:
        self.url = url.rstrip("/")
        self._client = httpx.Client(base_url=self.url, timeout=15, trust_env=False, transport=transport)

    def refuse_old(self) -> None:
        """Raises PrerequisiteMissing before Prometheus 3.0: there a window of n seconds contains one sample more; and
        before 3.8 without native histograms, which k6 sends."""
        version = str(self._get("/api/v1/status/buildinfo", {}).get("version", ""))
        numbers = re.match(r"(\d+)\.(\d+)", version)
        release = (int(numbers[1]), int(numbers[2])) if numbers else (0, 0)
        if release < _LEAST:
            raise PrerequisiteMissing(
                f"Prometheus at {self.url} is {version or 'unknown'}; version 3.8 or newer is needed",
                "upgrade it, or install the lab's own (docs/how-to/kubernetes.md)",
            )
        if release < _WITH_HISTOGRAMS and not self._has_histograms():
            raise PrerequisiteMissing(
                f"Prometheus at {self.url} is {version} without native histograms, so it refuses k6's samples",
                f"upgrade it to 3.8, or set enableFeatures: [{_HISTOGRAMS}] (--enable-feature={_HISTOGRAMS})",
            )

    def _has_histograms(self) -> bool:
        features = str(self._get("/api/v1/status/flags", {}).get("enable-feature", ""))
        return _HISTOGRAMS in features.split(",")

    def evaluate(self, expr: str, at_ms: int | None) -> float | None:
        """Returns the single value of an expression at that time, or now by Prometheus's clock; None without a finite
        value."""
        data = self._get("/api/v1/query", _query(expr, at_ms))
        if data["resultType"] == "scalar":
            return _finite(data["result"][1])
        if len(data["result"]) > 1:
            raise ValueError(f"the expression has {len(data['result'])} results, not one: {expr}")
        return _finite(data["result"][0]["value"][1]) if data["result"] else None

    def query(self, expr: str, at_ms: int) -> list[tuple[dict[str, str], float]]:
        """Returns the series of an expression at that time, as labels and value."""
        result = self._get("/api/v1/query", _query(expr, at_ms))["result"]
        return [(series["metric"], float(series["value"][1])) for series in result]

    def series(self, expr: str, begin_ms: int, end_ms: int, step: float = 1.0) -> list[list[float]]:
        """Returns [[epoch ms, value], …] every ``step`` seconds from begin to end, without points in gaps."""
        points: list[list[float]] = []
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
                    points.append([round(float(at) * 1000), value])
            begin_ms = last + stride
        return points

    def targets(self) -> list[dict[str, Any]]:
        """Returns the targets that Prometheus scrapes, as it describes them."""
        return self._get("/api/v1/targets", {"state": "active"}).get("activeTargets") or []

    def write(self, document: Mapping[str, Any]) -> None:
        """Writes samples: an ExportMetricsServiceRequest of the OpenTelemetry protocol. BlockFault where Prometheus
        refuses them."""
        try:
            # In JSON: protobuf would be one more dependency.
            answer = self._client.post(_OTLP, json=document)
        except httpx.HTTPError as error:
            raise BlockFault(f"Prometheus at {self.url} does not answer: {error or type(error).__name__}") from error
        if answer.status_code == 404:
            raise BlockFault(
                f"Prometheus at {self.url} has no OTLP receiver: start it with --web.enable-otlp-receiver"
                " (kube-prometheus-stack: prometheus.prometheusSpec.enableOTLPReceiver: true)"
            )
        if not answer.is_success:
            reason = " ".join(answer.text.split())
            raise BlockFault(f"Prometheus at {self.url} refuses it with status {answer.status_code}: {reason}")

    def now(self) -> int:
        """Returns the time by Prometheus's own clock."""
        return round(1000 * (self.evaluate("time()", None) or 0.0))

    def close(self) -> None:
        """Closes its connections."""
        self._client.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.close()

    def _get(self, path: str, query: dict[str, str]) -> dict[str, Any]:
        try:
            # A query of all expressions is longer than the URLs that some proxies accept.
            answer = self._client.post(path, data=query) if "query" in query else self._client.get(path, params=query)
        except httpx.HTTPError as error:
            raise BlockFault(f"Prometheus at {self.url} does not answer: {error or type(error).__name__}") from error
        try:
            body = answer.json()
        except ValueError:
            raise BlockFault(
                f"Prometheus at {self.url} answers with status {answer.status_code} and not JSON"
            ) from None
        if body.get("status") != "success":
            reason = f"{body.get('error', 'no reason given')}: {query.get('query', path)}"
            if answer.status_code == 400:
                raise ValueError(f"Prometheus refuses the expression: {reason}")
            raise BlockFault(f"Prometheus at {self.url}: {reason}")
        data: dict[str, Any] = body["data"]
        return data


def _query(expr: str, at_ms: int | None) -> dict[str, str]:
    return {"query": expr} if at_ms is None else {"query": expr, "time": _time(at_ms)}


def _time(ms: int) -> str:
    return f"{ms / 1000:.3f}"


def _finite(text: str) -> float | None:
    value = float(text)
    return value if math.isfinite(value) else None

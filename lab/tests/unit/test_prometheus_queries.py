"""The client of Prometheus, against answers made up for it."""

from __future__ import annotations

import socket
from pathlib import Path

import httpx
import pytest

from vtlab.errors import BlockFault, PrerequisiteMissing
from vtlab.host import ports
from vtlab.host.tools import Tool
from vtlab.prometheus.queries import NotScraped, Prometheus
from vtlab.targets.local.prometheus_server import PrometheusFiles, PrometheusServer


def test_long_ranges_are_asked_for_in_parts() -> None:
    asked = []

    def answer(request: httpx.Request) -> httpx.Response:
        query = httpx.QueryParams(request.content.decode())
        asked.append((float(query["start"]), float(query["end"])))
        values = [[float(query["start"]), "1"], [float(query["end"]), "NaN"]]
        data = {"resultType": "matrix", "result": [{"metric": {}, "values": values}]}
        return httpx.Response(200, json={"status": "success", "data": data})

    with Prometheus("http://test", httpx.MockTransport(answer)) as client:
        assert client.series("x", 0, 10_000_500) == [[0, 1.0], [10_000_000, 1.0]]
    assert asked == [(0, 9999), (10_000, 10_000.5)]


@pytest.mark.parametrize(
    ("version", "features", "problem"),
    [
        ("3.15.0", "", ""),
        ("3.8.0", "", ""),
        ("3.7.3", "exemplar-storage,native-histograms", ""),
        ("3.0.1", "native-histograms", ""),
        ("3.7.3", "exemplar-storage", r"3\.7\.3 without native histograms, so it refuses k6's samples"),
        ("3.5.0", "", r"3\.5\.0 without native histograms"),
        # There a window of n seconds contains one sample more.
        ("2.55.1", "native-histograms", r"2\.55\.1; version 3\.8 or newer is needed"),
        ("", "", r"unknown; version 3\.8 or newer is needed"),
    ],
)
def test_a_prometheus_that_is_too_old_is_refused(version: str, features: str, problem: str) -> None:
    def answer(request: httpx.Request) -> httpx.Response:
        data = {"version": version} if request.url.path.endswith("buildinfo") else {"enable-feature": features}
        return httpx.Response(200, json={"status": "success", "data": data})

    with Prometheus("http://test", httpx.MockTransport(answer)) as client:
        if problem:
            with pytest.raises(PrerequisiteMissing, match=problem) as caught:
                client.refuse_old()
            if "histograms" in problem:
                assert "enableFeatures: [native-histograms]" in caught.value.fix
        else:
            client.refuse_old()


def test_the_scrape_interval_is_that_of_the_variants_own_target() -> None:
    def target(interval: str | None, **labels: str) -> dict[str, object]:
        return {"labels": {"job": "lab", **labels}, **({"scrapeInterval": interval} if interval is not None else {})}

    targets = [
        {},
        target("30s", variant="virtual", namespace="other", pod="lab-virtual-1"),
        target("30s", namespace="lab", pod="lab-virtual-1"),
        target("5s", variant="virtual", namespace="lab", pod="lab-virtual-1"),
        target(None, variant="platform", namespace="lab", pod="lab-platform-1"),
    ]

    def answer(request: httpx.Request) -> httpx.Response:
        assert (request.url.path, request.url.params["state"]) == ("/api/v1/targets", "active")
        return httpx.Response(200, json={"status": "success", "data": {"activeTargets": targets}})

    with Prometheus("http://test", httpx.MockTransport(answer)) as client:
        client.selectors = {name: {"namespace": "lab", "pod": f"lab-{name}-1"} for name in ("platform", "virtual")}
        assert client.scrape_interval("virtual") == "5s"
        assert client.scrape_interval("platform") is None, "not said"
        assert client.scrape_interval("reactive") is None, "no target"


def test_what_is_no_answer_is_a_fault() -> None:
    with (
        Prometheus("http://test", httpx.MockTransport(lambda _: httpx.Response(502, text="bad gateway"))) as client,
        pytest.raises(BlockFault, match="status 502 and not JSON"),
    ):
        client.evaluate("1", 0)


def test_a_fixed_port_that_is_taken_is_refused(tmp_path: Path) -> None:
    with socket.create_server((ports.HOST, 0)) as holder:
        port = holder.getsockname()[1]
        with pytest.raises(PrerequisiteMissing, match=f"port {port} for the local Prometheus"):
            PrometheusServer(Tool(tmp_path, "3"), PrometheusFiles(tmp_path, tmp_path / "log"), None, port)  # type: ignore[arg-type]


def test_a_variant_that_answers_no_scrape_any_more_has_no_figures(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Prometheus.await_scrape, "__defaults__", (0.0,))
    none = {"status": "success", "data": {"resultType": "vector", "result": []}}
    with Prometheus("http://test", httpx.MockTransport(lambda _: httpx.Response(200, json=none))) as client:
        assert set(client.window("virtual", 1000, 6000).values()) == {None}
        with pytest.raises(NotScraped, match="virtual: Prometheus has not scraped it"):
            client.await_scrape("virtual", 6000)
    with (
        Prometheus("http://test", httpx.MockTransport(lambda _: httpx.Response(500))) as client,
        pytest.raises(BlockFault) as fault,
    ):
        client.window("virtual", 1000, 6000)
    assert not isinstance(fault.value, NotScraped), "Prometheus itself is gone"


def test_the_phase_that_loaded_a_variant_last_is_told_by_k6(monkeypatch: pytest.MonkeyPatch) -> None:
    series = {"metric": {"variant": "virtual", "trial": "w3"}, "value": [120, "100"]}
    data = {"resultType": "vector", "result": [series]}
    asked = []

    def answer(request: httpx.Request) -> httpx.Response:
        asked.append(httpx.QueryParams(request.content.decode())["query"])
        return httpx.Response(200, json={"status": "success", "data": data})

    with Prometheus("http://test", httpx.MockTransport(answer)) as client:
        monkeypatch.setattr(client, "now", lambda: 120_000)
        client.run = {"testid": "r1"}
        assert client.last_phase("virtual", since_ms=90_000) == "w3"
        assert client.last_phase("virtual", since_ms=100_000) is None, "of an earlier call of k6"
        data["result"] = []
        assert client.last_phase("virtual", since_ms=0) is None
    assert 'variant="virtual",testid="r1"' in asked[0]

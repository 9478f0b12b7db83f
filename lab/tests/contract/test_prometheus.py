"""The client and the local server, against the real Prometheus and a stub that it scrapes."""

from __future__ import annotations

import io
import os
import re
import signal
import threading
import time
from collections.abc import Iterator
from functools import partial
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import httpx
import pytest
from rich.console import Console

from tests.support import recorded
from tests.support.lab_call import Running, vtlab
from tests.support.serving import serving
from vtlab.catalogue import metrics
from vtlab.catalogue.metrics import REPORT_SERIES, WINDOW_METRICS
from vtlab.catalogue.published import PUBLISHED
from vtlab.dashboards import link
from vtlab.errors import BlockFault
from vtlab.host import ports, tools
from vtlab.host.process_ledger import Ledger
from vtlab.host.processes import Identity
from vtlab.prometheus import publish
from vtlab.prometheus.api import PrometheusApi
from vtlab.prometheus.queries import Prometheus
from vtlab.runs.publish import publish_verdicts, words_of
from vtlab.targets.local.prometheus_server import PrometheusFiles, PrometheusServer

#: The path that is scraped; every path is answered.
METRICS = "/metrics"


class Exposition(BaseHTTPRequestHandler):
    """A service at half a CPU, 10 requests a second of 0.2 s each, since ``begun``. It stamps its samples itself: a
    scrape's own stamp may be long before its values."""

    #: Epoch milliseconds.
    begun = 0
    in_flight = 4
    stamped = True
    lock = threading.Lock()
    #: Set while no scrape need wait; ``scraped`` is set by each that began.
    free = threading.Event()
    scraped = threading.Event()

    def do_GET(self) -> None:
        self.scraped.set()
        self.free.wait(10)
        with self.lock:
            at, in_flight = now(), self.in_flight
        seconds = (at - self.begun) / 1000
        lines = {
            "process_cpu_time_ns_total": 0.5e9 * seconds,
            "cgroup_cpu_limit_cores": 1.5,
            "cgroup_cpu_periods_total": 10 * seconds,
            "cgroup_cpu_throttled_periods_total": 2.5 * seconds,
            'http_server_requests_seconds_count{uri="/thread"}': 10 * seconds,
            'http_server_requests_seconds_sum{uri="/thread"}': 2 * seconds,
            'http_server_requests_seconds_count{uri="/actuator/prometheus"}': 100 * seconds,
            "http_server_requests_active_seconds_count": in_flight,
        }
        body = "".join(f"{name} {value} {at}\n" for name, value in lines.items()).encode()
        if not self.stamped:
            body = f"http_server_requests_active_seconds_count {in_flight}\n".encode()
        self.send_response(200)
        self.send_header("Content-Type", "text/plain; version=0.0.4")
        self.end_headers()
        self.wfile.write(body)

    @classmethod
    def change(cls, in_flight: int) -> int:
        """The time of the last samples that may be without the change: all of later ones have it."""
        with cls.lock:
            at, cls.in_flight = now(), in_flight
            time.sleep(0.002)
        return at

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def exposition() -> Iterator[str]:
    Exposition.begun, Exposition.in_flight, Exposition.stamped = now(), 4, True
    Exposition.free.set()
    with serving(ThreadingHTTPServer((ports.HOST, 0), Exposition)) as port:
        yield f"{ports.HOST}:{port}"


@pytest.fixture
def ledger(tmp_path: Path) -> Iterator[Ledger]:
    with Ledger(tmp_path) as opened:
        yield opened


def make(tmp_path: Path, ledger: Ledger, port: int | None = None) -> PrometheusServer:
    tool = tools.find_prometheus()
    return PrometheusServer(tool, PrometheusFiles(tmp_path / "prometheus", tmp_path / "prometheus.log"), ledger, port)


def now() -> int:
    return round(time.time() * 1000)


def await_scrape(client: Prometheus, variant: str = "platform", after: int | None = None) -> None:
    """Waits for a scrape later than then, or than now, for as long as a machine may stall."""
    client.await_scrape(variant, now() if after is None else after, within=60)


def test_what_a_run_has_kept_is_served_until_ctrl_c(tmp_path: Path, exposition: str) -> None:
    """vtlab prometheus offers what a run kept until Ctrl-C, and refuses a run that measures and a taken port."""
    run = tmp_path / "results" / "run"
    with Ledger(tmp_path / "results") as ledger:
        files = PrometheusFiles(run / "prometheus", tmp_path / "prometheus.log")
        server = PrometheusServer(tools.find_prometheus(), files, ledger)
        server.scrape({"platform": exposition}, METRICS)
        with Prometheus(server.url) as client:
            await_scrape(client)
        refused = vtlab("prometheus", run, "--port", str(ports.free(1)[0]))
        assert (refused.returncode, "measuring" in refused.stderr) == (3, True), refused.stderr
    at = now()
    port = ports.free(1)[0]
    with Running(tmp_path, "prometheus", run, "--port", str(port)) as serving:
        serving.until(f"http://{ports.HOST}:{port} serves the data of run")
        with Prometheus(f"http://{ports.HOST}:{port}") as client:
            assert client.evaluate('cgroup_cpu_limit_cores{variant="platform"}', at) == 1.5
        assert vtlab("prometheus", run, "--port", str(port)).returncode == 3, "taken"
        assert serving.end(signal.SIGINT) == 130
    assert ports.listening_pid(port) is None
    assert list((run / "prometheus" / ".processes").glob("*.jsonl")) == []


def test_a_verdict_is_dated_at_its_runs_end_and_served_afterwards(tmp_path: Path) -> None:
    """The verdict of a run is written to the Prometheus data that it kept, each series once, dated at the run's end."""
    run = recorded.run(prometheus_port=19_090)
    analysis = recorded.analysed(run)
    # Prometheus fills it.
    (tmp_path / "prometheus" / "data").mkdir(parents=True)
    output = io.StringIO()
    for _ in range(2):
        # A run that is resumed when nothing is left to measure writes the same again.
        publish_verdicts([tmp_path], [analysis], Console(file=output))
    ended = run.blocks[-1].trials[-1].drained
    assert output.getvalue() == 2 * f"{link.line(run, ended, os.environ.get(link.GRAFANA))}\n"
    with Running(tmp_path, "prometheus", tmp_path, "--port", str(port := ports.free(1)[0])) as serving:
        serving.until("serves the data of")
        with PrometheusApi(f"http://{ports.HOST}:{port}") as client:
            series = client.query('{__name__=~".+"}', ended)
            assert {labels["__name__"] for labels, _ in series} == PUBLISHED.keys()
            samples = list(publish.samples(analysis, words_of(analysis)))
            assert len(series) == len(samples)
            written = next(s for s in samples if s.name == "vtlab_outcome_info")
            ((labels, place),) = client.query('vtlab_outcome_info{criterion="capacity"}', ended)
            assert place == written.value
            assert labels == {"__name__": written.name, **written.labels}, "no label of Prometheus's own"
            assert client.evaluate("1000 * timestamp(vtlab_verdict_blocks)", ended) == ended
            assert client.query("vtlab_verdict_blocks", ended - 1) == []
        assert serving.end(signal.SIGINT) == 130


def window_without_a_gap(client: Prometheus) -> tuple[int, int, int]:
    """A time at which 4 were in flight, then the ends of a window in which 7 are, and no scrape failed or came late."""
    while True:
        Exposition.change(in_flight=4)
        await_scrape(client)
        # Only then it is sure that the scrape was over before.
        time.sleep(0.1)
        before = Exposition.change(in_flight=7)
        await_scrape(client, after=before)
        first = newest_sample(client)
        time.sleep(5)
        await_scrape(client)
        last = newest_sample(client)
        # A sample close to either end: Prometheus takes the rate between the samples for that of the whole window.
        start, end = max(before, first - 100), last + 100
        window = f"{{$server}}[{end - start}ms]"
        ended = client.measured("platform", "timestamp(up{$server}) + scrape_duration_seconds{$server}", before)
        up = client.measured("platform", f"min_over_time(up{window})", end)
        samples = client.measured("platform", f"count_over_time(cgroup_cpu_limit_cores{window})", end)
        # Not so where a stall had one of the scrapes time out, or wait. vtlab takes a scrape for over 10 ms later.
        if ended and 1000 * ended + 10 < before and up == 1 and samples == 1 + round((last - first) / 1000):
            return before, start, end


def newest_sample(client: Prometheus) -> int:
    at = client.measured("platform", "timestamp(cgroup_cpu_limit_cores{$server}) * 1000", client.now())
    assert at is not None
    return round(at)


def test_values_of_exactly_the_window(tmp_path: Path, ledger: Ledger, exposition: str) -> None:
    """Every expression is evaluated over exactly the window, charts have a sample a second, absent data no value."""
    exactly = partial(pytest.approx, rel=1e-6)
    server = make(tmp_path, ledger)
    server.scrape({"platform": exposition}, METRICS)
    with Prometheus(server.url) as client:
        client.refuse_old()
        begin = now()
        await_scrape(client, after=begin)
        assert client.scrape_interval("platform") == "1s"
        before, start, end = window_without_a_gap(client)
        figures = client.window("platform", start, end)

        assert set(figures) == set(WINDOW_METRICS)
        assert figures["cpu_cores"] == exactly(0.5)
        assert figures["cpu_limit"] == 1.5
        assert figures["throttled_periods"] == exactly(0.25)
        assert figures["server_throughput"] == exactly(10), "without the actuator's own requests"
        assert figures["service_time"] == exactly(0.2)
        assert figures["in_flight"] == 7
        assert client.in_flight("platform", 0, before) == 4, "at the last scrape before it"
        assert client.in_flight("platform", before, end) == 7
        scraped = client.measured("platform", "timestamp(up{$server}) * 1000", before)
        assert scraped is not None
        assert client.in_flight("platform", round(scraped) - 1, before) == 4
        assert client.in_flight("platform", round(scraped), before) is None, "no scrape in between"
        assert figures["carriers"] is None, "no target exposes it"
        assert set(client.window("platform", end, end).values()) == {None}
        assert (
            client.evaluate(metrics.metric("in_flight", "chart", server='variant="platform"'), begin - 60_000) is None
        )
        assert client.evaluate("1 + 1", end) == 2
        assert client.evaluate("0 / 0", end) is None

        series = client.charted("platform", start, end)
        assert set(series) == set(REPORT_SERIES)
        times = [at for at, _ in series["in_flight"]]
        assert times == [start + 1000 * i for i in range(len(times))]
        assert len(times) == (end - start) // 1000 + 1
        assert {value for _, value in series["in_flight"][1:]} == {7}
        used = 'rate(process_cpu_time_ns_total{variant="platform"}[3s]) / 1e9'
        expected = client.series(used, start, end)
        assert expected
        assert series["cpu_cores"] == [[at, exactly(value)] for at, value in expected]
        assert series["threads"] == []

        with pytest.raises(ValueError, match="has 3 results"):
            client.evaluate('{__name__=~"http_server_requests_seconds_count|cgroup_cpu_limit_cores"}', end)
        with pytest.raises(ValueError, match="refuses the expression"):
            client.evaluate("sum(", end)
        with pytest.raises(BlockFault, match="has not scraped it after 1 s"):
            client.await_scrape("platform", now() + 60_000, within=1)


def during_a_scrape(client: Prometheus) -> int:
    """A time at which a scrape had begun that then saw 7 in flight, after one that saw 4."""
    while True:
        Exposition.in_flight = 4
        Exposition.free.set()
        await_scrape(client)
        Exposition.free.clear()
        Exposition.scraped.clear()
        assert Exposition.scraped.wait(30)
        # Prometheus rounds a scrape's time by some milliseconds.
        time.sleep(0.1)
        began = now()
        # And the scrape takes longer than its time may be wrong.
        time.sleep(0.1)
        Exposition.in_flight = 7
        Exposition.free.set()
        await_scrape(client, after=began - 500)
        # Not so where a stall had one of the scrapes time out.
        good = client.measured("platform", "min(min_over_time(up{$server}[2500ms]))", began) == 1
        if good and client.measured("platform", "$in_flight_now", began) == 7:
            return began


def test_what_a_slow_scrape_sees_is_younger_than_it_says(tmp_path: Path, ledger: Ledger, exposition: str) -> None:
    """Requests in flight before a trial are read from a scrape that ended before it."""
    Exposition.stamped = False
    server = make(tmp_path, ledger)
    server.scrape({"platform": exposition}, METRICS)
    with Prometheus(server.url) as client:
        await_scrape(client)
        began = during_a_scrape(client)
        assert client.in_flight("platform", 0, began) == 4, "at the scrape before"
        assert client.in_flight("platform", began - 500, began) is None
        assert client.in_flight("platform", 0, client.now()) == 7


def test_targets_change_without_a_restart_and_a_dead_one_comes_back(
    tmp_path: Path, ledger: Ledger, exposition: str
) -> None:
    """Prometheus changes its targets without a restart, takes samples of k6, and keeps its data when killed."""
    server = make(tmp_path, ledger)
    server.scrape({"platform": exposition}, METRICS)
    pid = server.process.pid
    with Prometheus(server.url) as client:
        await_scrape(client)
        with pytest.raises(BlockFault, match="platform: Prometheus still scrapes it after 0 s"):
            client.await_gone("platform", within=0)
        server.scrape({"virtual": exposition}, METRICS)
        client.await_gone("platform", within=60)
        assert server.process.pid == pid
        await_scrape(client, "virtual")
        answer = httpx.post(server.remote_write, content=b"nonsense", trust_env=False, timeout=60)
        assert answer.status_code == 400, "the receiver is there (404 if not) and refuses nonsense"
        # The receiver takes native histograms, which need no feature flag; k6's real ones: test_target.
        before = client.evaluate('count_over_time(cgroup_cpu_limit_cores{variant="virtual"}[10m])', now())
        assert before

        os.kill(pid, signal.SIGKILL)
        while server.exit_description() is None:
            time.sleep(0.02)
        assert server.exit_description() == "Prometheus ended with exit code 137 (killed)"
        with pytest.raises(BlockFault, match="does not answer"):
            client.evaluate("1", now())
    server.scrape({"virtual": exposition}, METRICS)
    assert server.process.pid != pid
    with Prometheus(server.url) as client:
        await_scrape(client, "virtual")
        after = client.evaluate('count_over_time(cgroup_cpu_limit_cores{variant="virtual"}[10m])', now())
        assert after is not None
        assert after > before, "the samples from before are still there"
    last = server.process.identity
    server.remove()
    assert Identity.of(last.pid) is None
    assert not (tmp_path / "prometheus").exists()


def test_a_lost_port_race_is_run_again(
    tmp_path: Path, ledger: Ledger, exposition: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A Prometheus that finds its port taken starts on another."""
    taken = int(re.findall(r"\d+$", exposition)[0])
    answers = iter([[taken], [taken], ports.free(1)])
    monkeypatch.setattr(ports, "free", lambda count: next(answers))
    server = make(tmp_path, ledger)
    server.scrape({"platform": exposition}, METRICS)
    assert server.exit_description() is None
    assert str(taken) not in server.url


def test_a_prometheus_that_does_not_start_is_a_fault_with_its_words(tmp_path: Path, ledger: Ledger) -> None:
    """A Prometheus that does not start is a fault with the last lines of its log."""
    server = make(tmp_path, ledger)
    (tmp_path / "prometheus" / "data").parent.mkdir()
    (tmp_path / "prometheus" / "data").write_text("no directory", encoding="utf-8")
    with pytest.raises(BlockFault, match=r"Prometheus ended with exit code .*/data"):
        server.scrape({"platform": "127.0.0.1:1"}, METRICS)

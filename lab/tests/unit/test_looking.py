"""``python -m benchmarks.looking``: what it asks of Prometheus, when, and its arithmetic."""

from __future__ import annotations

import math
import re
import threading
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from benchmarks import looking
from benchmarks.looking import ALONE, LOOKED_AT, Reader, Refresh, Sample
from tests.support import recorded
from tests.support.dashboards import VALUES, panels
from tests.support.serving import serving
from vtlab.model.records import Block, Failure

NOW = 1_764_000_000.0


@pytest.mark.parametrize("name", sorted(looking.DOCUMENTS))
def test_a_refresh_asks_what_grafana_would(name: str) -> None:
    asked = looking.requests(looking.DOCUMENTS[name], VALUES, NOW)
    texts = [text for request in asked for text in request.parameters.values()]
    # "$1" is of label_replace.
    assert [text for text in texts if re.search(r"\$[{_a-z]", text)] == []
    of_path = {path: [r.parameters for r in asked if r.path == path] for path in dict.fromkeys(r.path for r in asked)}
    assert {p["time"] for p in of_path["/api/v1/query"]} == {"1764000000.000"}
    times = {(p["start"], p["end"], p["step"]) for p in of_path["/api/v1/query_range"]}
    assert times == {("1763998200.000", "1764000000.000", "1")}, "half an hour, a point a second"
    labels = [r.path for r in asked if "match[]" in r.parameters]
    assert labels == [f"/api/v1/label/{label}/values" for label in ("namespace", "experiment", "testid", "variant")]
    documents = looking.DOCUMENTS[name]["panels"]
    closed = [inner for row in documents if row.get("collapsed") for inner in row["panels"]]
    shown = [panel for panel in panels(name) if panel not in closed]
    # A repeated panel is there for each of the two variants.
    targets = sum(len(panel["targets"]) * (2 if panel.get("repeat") else 1) for panel in shown)
    annotations = len(looking.DOCUMENTS[name]["annotations"]["list"])
    assert len(of_path["/api/v1/query"]) + len(of_path["/api/v1/query_range"]) == targets + annotations
    assert closed, "and those are not asked for"


class Answering(BaseHTTPRequestHandler):
    """A Prometheus that answers with one status."""

    status = 200
    asked = 0
    lock = threading.Lock()

    def do_GET(self) -> None:
        with self.lock:
            Answering.asked += 1
        self.rfile.read(int(self.headers.get("Content-Length", "0")))
        self.send_response(self.status)
        self.send_header("Content-Length", "0")
        self.end_headers()

    do_POST = do_GET

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def reader() -> Iterator[Reader]:
    Answering.status, Answering.asked = 200, 0
    with serving(ThreadingHTTPServer(("127.0.0.1", 0), Answering)) as port:
        yield Reader(f"http://127.0.0.1:{port}", VALUES, refresh=0.2)


def test_a_reader_refreshes_both_dashboards_at_its_interval(reader: Reader) -> None:
    begun = time.time()
    with looking.looked_at(reader) as refreshes:
        deadline = time.monotonic() + 60
        while len(refreshes) < 2:
            assert time.monotonic() < deadline
            time.sleep(0.01)
    first, second, *_ = refreshes
    # The wait is by another clock, whose seconds may differ a little.
    assert first.begin >= 1000 * (begun + reader.refresh / 2) - 10
    # At once where the machine is slower than the interval.
    assert second.begin >= first.end
    each = sum(len(looking.requests(document, VALUES, NOW)) for document in looking.DOCUMENTS.values())
    assert Answering.asked == each * len(refreshes)


def test_answers_that_are_errors_end_the_call(reader: Reader) -> None:
    Answering.status = 422

    def look() -> None:
        with looking.looked_at(reader):
            deadline = time.monotonic() + 60
            while not Answering.asked:
                assert time.monotonic() < deadline
                time.sleep(0.01)

    with pytest.raises(SystemExit, match="Prometheus does not answer the dashboards"):
        look()


def block(*ratios: float) -> list[Sample]:
    """A block whose trials that were looked at have these throughputs, and twice the p95, of the others'."""
    looked = [Sample("virtual", LOOKED_AT, 100 * ratio, 0.2, 0.5, 1) for ratio in ratios]
    return [*looked, *(Sample("virtual", ALONE, 100.0, 0.1, 0.1) for _ in ratios)]


def test_ratios_are_of_the_means_of_a_block_and_their_interval_is_over_blocks() -> None:
    throughput, p95 = looking.rows([block(0.7, 0.9), block(0.8, 1.0)])
    logs = math.log(0.8), math.log(0.9)
    sd = (logs[1] - logs[0]) / math.sqrt(2)
    half = 12.7062 * sd / math.sqrt(2)
    mean = sum(logs) / 2
    assert (throughput.looked_at, throughput.alone) == (pytest.approx(85), 100)
    assert throughput.ratio == pytest.approx(math.exp(mean))
    assert throughput.low == pytest.approx(math.exp(mean - half), rel=1e-4)
    assert throughput.high == pytest.approx(math.exp(mean + half), rel=1e-4)
    assert throughput.sd == pytest.approx(sd)
    assert str(throughput).startswith("| virtual | throughput | 85.0/s | 100.0/s | 0.849 | ")
    assert str(p95) == "| virtual | p95 | 200.0 ms | 100.0 ms | 2.000 | 2.000 to 2.000 | 0.00% |"


def test_only_an_interval_beyond_the_margin_is_a_disturbance() -> None:
    (wide, clear), (single, _) = looking.rows([block(0.7), block(1.0)]), looking.rows([block(0.7)])
    assert (wide.is_beyond_margin, clear.is_beyond_margin) == (False, True)
    assert (single.low, single.is_beyond_margin) == (None, False)


@pytest.mark.parametrize(("ratio", "code"), [(1.0, 0), (0.5, 1)])
def test_the_table_shows_what_prometheus_used(ratio: float, code: int, capsys: pytest.CaptureFixture[str]) -> None:
    same = [
        Sample("virtual", condition, rate, 0.1, cores, refreshes)
        for condition, rate, cores, refreshes in ((LOOKED_AT, 100 * ratio, 0.5, 1), (ALONE, 100.0, 0.1, 0))
    ]
    assert looking.show([same, same]) == code
    printed = capsys.readouterr().out
    assert "looked at: 1.0 refreshes in a window, Prometheus used 0.500 cores\n" in printed
    assert "alone: 0.0 refreshes in a window, Prometheus used 0.100 cores\n" in printed


def test_a_trial_counts_the_refreshes_in_its_window() -> None:
    trial = recorded.trial("virtual", latency=recorded.latency(1000, 0.1))
    times = (trial.start - 50, trial.start - 49, trial.end - 1, trial.end)
    refreshes = [Refresh(at, at + 50) for at in times]
    assert looking.sample(trial, LOOKED_AT, 0.5, refreshes).refreshes == 2
    assert looking.sample(trial, ALONE, 0.5, []).refreshes == 0
    for wrong, message in (
        ({"failed": {"timeout": 1}}, "virtual failed requests"),
        ({"latency": recorded.latency(20, 0.1)}, "virtual has no p95 of 20 answers"),
    ):
        with pytest.raises(SystemExit, match=message):
            looking.sample(recorded.copied(trial, wrong), LOOKED_AT, 0.5, refreshes)
    with pytest.raises(SystemExit, match="virtual: no refresh was under way"):
        looking.sample(trial, LOOKED_AT, 0.5, refreshes[:1])


def test_a_variant_that_fails_ends_the_call_with_its_reason() -> None:
    failure = Failure(variant="virtual", reason="it ended with exit code 1", moment="while it started")
    broken = Block(block=2, attempt=1, order=["platform", "virtual"], failures=[failure])
    reasons = "block 2: platform left in the warm-up; virtual failed, while it started: it ended with exit code 1"
    with pytest.raises(SystemExit, match=reasons):
        looking.refuse_missing(broken, [])
    looking.refuse_missing(Block(block=2, attempt=1, order=["platform", "virtual"]), ["platform", "virtual"])


def test_the_interval_is_that_of_the_dashboards_and_open_load_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    assert looking.options([]).refresh == looking.DOCUMENTS["verdict"]["refresh"]
    with pytest.raises(SystemExit) as ended:
        looking.main(["--help"])
    assert ended.value.code == 0
    assert "--refresh TIME" in capsys.readouterr().out
    with pytest.raises(SystemExit, match="blocking-open: an experiment with full load"):
        looking.main(["blocking-open"])

"""The outcomes and the decision that are written to Prometheus, and a run whose verdict cannot be written."""

from __future__ import annotations

import errno
import json
import math
import os
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import httpx
import pytest
from rich.console import Console

from tests.support import felt, outcomes, recorded
from vtlab.analysis import verdict
from vtlab.catalogue.published import PUBLISHED
from vtlab.dashboards import link
from vtlab.errors import BlockFault, Interrupted, PrerequisiteMissing
from vtlab.model.run import Analysis
from vtlab.model.verdict import Bottleneck, Inside
from vtlab.prometheus import publish
from vtlab.prometheus.api import PrometheusApi
from vtlab.report.words import outcome_rows
from vtlab.report.words.verdict_lines import verdict_lines
from vtlab.runs import store
from vtlab.runs.publish import publish_verdicts, words_of
from vtlab.targets.kubernetes import cluster_prometheus
from vtlab.targets.local.target import KEPT

CLUSTER = {"namespace": "lab", "release": "lab", "context": "kind"}


class Posted:
    """A Prometheus that keeps what is posted, and whose clock stands."""

    def __init__(self, status: int = 200, text: str = "", now: float = 0.0) -> None:
        self.documents: list[dict[str, Any]] = []
        self._status, self._text, self._now = status, text, now

    def client(self) -> PrometheusApi:
        return PrometheusApi("http://p:9090", transport=httpx.MockTransport(self._answer))

    def _answer(self, request: httpx.Request) -> httpx.Response:
        if request.url.path == "/api/v1/query":
            return httpx.Response(
                200, json={"status": "success", "data": {"resultType": "scalar", "result": [0, str(self._now)]}}
            )
        assert (request.method, request.url.path) == ("POST", "/api/v1/otlp/v1/metrics")
        assert request.headers["content-type"] == "application/json"
        self.documents.append(json.loads(request.content))
        return httpx.Response(self._status, text=self._text)


def times(document: dict[str, Any]) -> set[int]:
    """Epoch milliseconds of all samples."""
    (resource,) = document["resourceMetrics"]
    (scope,) = resource["scopeMetrics"]
    points = [point for metric in scope["metrics"] for point in metric["gauge"]["dataPoints"]]
    return {int(point["timeUnixNano"]) // 1_000_000 for point in points}


def with_capacity(analysis: Analysis, **changes: Any) -> Analysis:
    """The analysis with another outcome of capacity."""
    outcomes = [
        outcome.model_copy(update=changes) if outcome.key.criterion == "capacity" else outcome
        for outcome in analysis.verdict.outcomes
    ]
    return replace(analysis, verdict=analysis.verdict.model_copy(update={"outcomes": outcomes}))


def samples(analysis: Analysis) -> list[publish.Sample]:
    return list(publish.samples(analysis, words_of(analysis)))


def sample(analysis: Analysis, name: str, **labels: str) -> publish.Sample:
    """The one sample of that name with those labels among others."""
    (only,) = (s for s in samples(analysis) if s.name == name and labels.items() <= s.labels.items())
    return only


def test_the_document_that_is_posted() -> None:
    """No resource, scope or unit: Prometheus would make labels, a series and suffixes of names of them."""
    labels = {"testid": "r", "variant": "virtual"}
    written = [
        publish.Sample("vtlab_failed_blocks", labels, 0),
        publish.Sample("vtlab_verdict_blocks", {"testid": "r"}, 6),
        publish.Sample("vtlab_failed_blocks", {**labels, "variant": "platform"}, math.nan),
    ]

    def point(value: object, **labels: str) -> dict[str, Any]:
        attributes = [{"key": key, "value": {"stringValue": label}} for key, label in labels.items()]
        return {"timeUnixNano": "1793000658568000000", "asDouble": value, "attributes": attributes}

    assert publish.document(written, 1793000658568) == {
        "resourceMetrics": [
            {
                "scopeMetrics": [
                    {
                        "metrics": [
                            {
                                "name": "vtlab_verdict_blocks",
                                "description": "Blocks that count",
                                "gauge": {"dataPoints": [point(6, testid="r")]},
                            },
                            {
                                "name": "vtlab_failed_blocks",
                                "description": "Blocks in which a variant failed (by variant)",
                                "gauge": {
                                    "dataPoints": [
                                        point(0, testid="r", variant="virtual"),
                                        # As protobuf writes it in JSON.
                                        point("NaN", testid="r", variant="platform"),
                                    ]
                                },
                            },
                        ]
                    }
                ]
            }
        ]
    }


def test_it_says_what_the_verdict_says() -> None:
    analysis = recorded.analysed(recorded.run())
    (capacity,) = [o for o in analysis.verdict.outcomes if o.key.criterion == "capacity"]
    ratio = sample(analysis, "vtlab_outcome_ratio", criterion="capacity")
    assert ratio.value == capacity.ratio
    assert ratio.labels == {
        "experiment": "threads",
        "testid": analysis.run.manifest.run_id,
        "variant": "virtual",
        "over": "platform",
        "criterion": "capacity",
        "load": "full",
        "judgement": "better",
        "sign": "≥",
    }
    numbers = ("low", "high", "margin", "base_value", "value")
    for name in numbers:
        assert sample(analysis, f"vtlab_outcome_{name}", criterion="capacity").value == getattr(capacity, name)
    decision = sample(analysis, "vtlab_decision_info")
    assert (decision.value, decision.labels["advice"]) == (1, "turn it on")
    assert decision.labels["headline"] == verdict_lines(analysis).verdict
    assert sample(analysis, "vtlab_verdict_blocks").value == 6
    for name, variant in analysis.verdict.variants.items():
        limit = sample(analysis, "vtlab_bottleneck_ratio", variant=name)
        assert (limit.labels["resource"], limit.value) == (variant.bottleneck.resource, variant.bottleneck.utilisation)
        for bound in variant.bounds:
            seconds = sample(analysis, "vtlab_demand_seconds", variant=name, resource=bound.resource)
            assert seconds.value == bound.service_demand
    assert {s.name for s in samples(analysis)} == PUBLISHED.keys()
    for other in samples(analysis):
        assert other.labels["testid"] == analysis.run.manifest.run_id
        assert "namespace" not in other.labels


def test_each_outcome_is_a_row_with_the_words_of_the_report() -> None:
    analysis = recorded.analysed(felt.felt())
    rows = [s for s in samples(analysis) if s.name == "vtlab_outcome_info"]
    assert [s.value for s in rows] == list(range(1, 9))
    assert [f"{s.labels['criterion']}@{s.labels.get('load', '')}" for s in rows] == [
        *("capacity@full", "median@typical", "tail@typical", "median@full", "tail@full"),
        *("cpu@typical", "memory@", "probe@"),
    ]
    for shown, written in zip(rows, outcome_rows.rows(analysis), strict=True):
        assert shown.labels["title"] == written.criterion
        assert shown.labels["measured"] == written.value
        assert shown.labels.get("change", "") == written.change
        assert shown.labels["outcome"] == f"{written.symbol} {written.judgement}"
    # Without an outcome there is no judgement.
    assert "judgement" not in rows[6].labels
    assert rows[6].labels["outcome"] == "· no outcome"


def test_the_advice_is_no_decision_where_the_sentence_begins_with_it() -> None:
    """Seen: the advice "no difference" beside "No decision at 79.1/s. At full load …"."""
    wide = {"judgement": "undecided", "low": 0.8, "high": 1.5}
    at_typical = [outcomes.outcome(name, 1.1, **wide) for name in ("median", "tail")]
    analysis = outcomes.concluded(outcomes.outcome("tail.full", 2.3), *at_typical)
    labels = sample(analysis, "vtlab_decision_info").labels
    assert labels["advice"] == "no decision"
    assert labels["headline"].startswith("No decision at 29.3/s. At full load p95 is ")


def test_each_pair_of_variants_has_its_decision_and_outcomes() -> None:
    analysis = recorded.analysed(recorded.with_variant(recorded.run(), "other"))
    decisions = {
        s.labels["variant"]: s.labels["headline"] for s in samples(analysis) if s.name == "vtlab_decision_info"
    }
    assert decisions.keys() == {"virtual", "other"}
    rows = [s for s in samples(analysis) if s.name == "vtlab_outcome_info"]
    assert [s.value for s in rows] == list(range(1, len(rows) + 1))
    assert len({(s.labels["variant"], s.labels["title"], s.labels.get("at")) for s in rows}) == len(rows)


@pytest.mark.parametrize(
    ("changes", "sign"),
    [
        ({"is_lower_bound": True, "ratio": 5.0}, "≥"),
        ({"is_lower_bound": True, "ratio": 0.2}, "≤"),
        ({"is_lower_bound": True, "ratio": 0.999, "judgement": "same"}, "="),
        ({"is_lower_bound": False, "judgement": "same"}, "="),
        ({"is_lower_bound": False}, None),
    ],
)
def test_a_ratio_that_is_a_bound_or_the_same_has_a_sign(changes: dict[str, Any], sign: str | None) -> None:
    analysis = with_capacity(recorded.analysed(recorded.run()), **changes)
    assert sample(analysis, "vtlab_outcome_ratio", criterion="capacity").labels.get("sign") == sign


def test_the_figures_of_a_variant_are_those_of_the_report() -> None:
    analysis = recorded.analysed(recorded.under_open_load(recorded.run()))
    platform = analysis.verdict.variants["platform"]
    written = {s.name: s.value for s in samples(analysis) if s.labels.get("variant") == "platform"}
    assert written["vtlab_throughput_rate"] == platform.throughput
    assert written["vtlab_latency_p99_seconds"] == platform.latency["p99"]
    assert written["vtlab_memory_bytes"] == platform.memory
    assert written["vtlab_error_ratio"] == platform.error_ratio
    shares = [t.server["throttled_periods"] for b in analysis.accepted for t in b.trials if t.variant == "platform"]
    assert written["vtlab_throttled_ratio"] == pytest.approx(sum(shares) / len(shares))
    closed = recorded.analysed(recorded.run())
    threads = sample(closed, "vtlab_used_count", variant="platform", resource="tomcat-threads")
    assert threads.value == pytest.approx(10, rel=0.01)
    assert threads.value <= 10


def test_an_overloaded_variant_has_no_latency() -> None:
    analysis = recorded.analysed(recorded.under_open_load(recorded.run(), "platform"))
    assert math.isnan(sample(analysis, "vtlab_latency_p99_seconds", variant="platform").value)
    assert sample(analysis, "vtlab_latency_p99_seconds", variant="virtual").value > 0


def test_a_bound_that_is_refuted_is_not_in_use() -> None:
    analysis = recorded.analysed(recorded.run())
    for bound in analysis.verdict.variants["platform"].bounds:
        bound.utilisation = 1.2
    assert math.isnan(sample(analysis, "vtlab_used_count", variant="platform", resource="tomcat-threads").value)


def test_an_outcome_without_a_ratio_is_a_label_without_a_number() -> None:
    analysis = recorded.analysed(recorded.run(failing=dict.fromkeys((1, 2, 3, 4, 5, 6), "oom")))
    failing = sample(analysis, "vtlab_outcome_ratio", criterion="capacity")
    assert math.isnan(failing.value)
    assert failing.labels["judgement"] == "fails"
    assert not [s for s in samples(analysis) if s.name == "vtlab_outcome_low"]


def test_bottlenecks_in_words() -> None:
    alone = Bottleneck(resource="load", utilisation=0.99, bound=100.0)
    assert publish.bottleneck(alone) == "Load (it keeps up)"
    together = Bottleneck(resource="cpu", utilisation=0.97, bound=100.0, together=["load"])
    assert publish.bottleneck(together) == "CPU and load"
    inside = Inside(pool="db-pool", alone=0.035, loaded=0.48)
    assert publish.bottleneck(Bottleneck(resource="database", utilisation=None, bound=None, inside=inside)) == (
        "Database, inside database connections"
    )
    # A place in the code keeps its name, and so does what is not known.
    for name in ("shop.Orders.find:42", "unknown"):
        assert publish.bottleneck(Bottleneck(resource=name, utilisation=None, bound=None)) == name


def test_it_is_dated_at_the_end_of_the_run() -> None:
    run = recorded.run()
    last = run.blocks[-1].trials[-1].drained
    posted, analysis = Posted(now=last / 1000 + 86_400), recorded.analysed(run)
    with posted.client() as client:
        publish.publish(client, analysis, words_of(analysis))
    assert times(posted.documents[0]) == {last}


@pytest.mark.parametrize(
    ("later", "dated"), [(10, 0), (3600, 600), (-2, -2)], ids=["soon", "too long ago for Prometheus", "in its future"]
)
def test_in_a_cluster_it_is_dated_where_prometheus_takes_it(later: int, dated: int) -> None:
    run = recorded.run(target="kubernetes", cluster=CLUSTER)
    last = run.blocks[-1].trials[-1].drained
    posted, analysis = Posted(now=last / 1000 + later), recorded.analysed(run)
    with posted.client() as client:
        publish.publish(client, analysis, words_of(analysis))
    assert times(posted.documents[0]) == {last + 1000 * dated}
    assert '{"key": "namespace", "value": {"stringValue": "lab"}}' in json.dumps(posted.documents[0])


def test_a_run_that_lacks_blocks_has_no_verdict_to_write_unless_a_variant_fails() -> None:
    short = recorded.analysed(recorded.run(blocks=2, planned=3))
    assert not publish.has_verdict(short.verdict)
    assert publish.has_verdict(with_capacity(short, judgement="fails", fails=["virtual"]).verdict)
    assert publish.has_verdict(recorded.analysed(recorded.run()).verdict)


@pytest.mark.parametrize(
    ("status", "text", "words"),
    [
        (404, "", "has no OTLP receiver: start it with --web.enable-otlp-receiver"),
        (400, "out of bounds\n", "refuses it with status 400: out of bounds"),
    ],
)
def test_what_prometheus_does_not_take_is_a_fault_that_says_why(status: int, text: str, words: str) -> None:
    analysis = recorded.analysed(recorded.run())
    with Posted(status, text).client() as client, pytest.raises(BlockFault, match=words):
        publish.publish(client, analysis, words_of(analysis))


# --- where the dashboards show it ---


@pytest.mark.parametrize("late", [0, 600_000], ids=["dated at the run's end", "dated later"])
def test_a_time_range_has_the_trials_and_the_verdict(late: int) -> None:
    run = recorded.run()
    ended = publish.ended(run)
    assert ended is not None
    begin, end = link.time_range(run, ended + late)
    trials = [trial for block in run.blocks for trial in block.trials]
    assert begin == min(trial.begin for trial in trials)
    assert max(trial.drained for trial in trials) < end
    assert begin < ended + late < end
    warm_up = run.blocks[0].warmup[0]
    assert warm_up.drained <= begin, "the first warm-up is not in it"


def test_a_run_ends_with_its_typical_load() -> None:
    run = felt.felt()
    last = max(phase.drained for block in run.blocks for phase in block.typical)
    assert publish.ended(run) == last > max(trial.drained for block in run.blocks for trial in block.trials)


def test_the_time_range_of_a_run_whose_variants_failed_at_once() -> None:
    run = recorded.run(blocks=1)
    run.blocks[0].trials.clear()
    assert link.time_range(run, 10**13)[0] == min(phase.begin for phase in run.blocks[0].warmup)
    assert link.time_range(recorded.run(blocks=0, planned=1), 5000) == (5000, 15_000)


def test_with_a_grafana_there_is_a_link_and_without_one_a_time_range() -> None:
    run = recorded.run(target="kubernetes", cluster=CLUSTER)
    dated = publish.ended(run)
    assert dated is not None
    begin, end = link.time_range(run, dated)
    assert link.line(run, dated, "http://grafana:3000/") == (
        f"dashboards: http://grafana:3000/d/vtlab-verdict?from={begin}&to={end}&var-experiment=threads"
        f"&var-run={run.manifest.run_id}&var-namespace=lab"
    )
    assert re.fullmatch(
        rf"dashboards: run {run.manifest.run_id}, time range 2026-11-23 04:\d\d:\d\d to 2026-11-23 \d\d:\d\d:\d\d"
        r" \(UTC\); VTLAB_GRAFANA=http://… makes it a link",
        link.line(run, dated, None),
    )


# --- at the end of a call ----------------------------------------------------


@pytest.fixture
def folder(tmp_path: Path, invented_tools: None) -> Path:
    """A run in a cluster, all of it measured."""
    run = recorded.run(target="kubernetes", cluster=CLUSTER)
    folder = store.create(tmp_path / "run", run.manifest)
    for block in run.blocks:
        store.append_block(folder, block)
    return folder


def reported(folder: Path, capsys: pytest.CaptureFixture[str]) -> str:
    (analysis,) = verdict.analyse_all([store.read(folder)])
    publish_verdicts([folder], [analysis], Console())
    return capsys.readouterr().out


def test_a_verdict_that_cannot_be_written_is_one_line_and_no_failed_run(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def refused(_: object) -> PrometheusApi:
        raise PrerequisiteMissing("the cluster does not let you get pods/portforward", "bind the chart's Role")

    def full(_: object) -> PrometheusApi:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(cluster_prometheus, "connect", refused)
    assert reported(folder, capsys) == (
        "note: the dashboards do not show the verdict of threads: the cluster does not let you get pods/portforward;"
        " bind the chart's Role\n"
    )
    off = Posted(404)
    monkeypatch.setattr(cluster_prometheus, "connect", lambda _: off.client())
    line = reported(folder, capsys)
    assert line.count("\n") == 1
    assert "no OTLP receiver" in line
    monkeypatch.setattr(cluster_prometheus, "connect", full)
    assert "No space left on device" in reported(folder, capsys)
    on = Posted(now=2e9)
    monkeypatch.setattr(cluster_prometheus, "connect", lambda _: on.client())
    assert reported(folder, capsys).startswith("dashboards: run ")
    assert len(on.documents) == 1


def test_ctrl_c_is_no_note(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(_: object) -> PrometheusApi:
        raise Interrupted("interrupted")

    monkeypatch.setattr(cluster_prometheus, "connect", interrupted)
    with pytest.raises(Interrupted):
        publish_verdicts([folder], [recorded.analysed(store.read(folder))], Console(quiet=True))


def test_a_local_run_that_kept_no_data_has_nowhere_to_write(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / KEPT).mkdir()
    publish_verdicts([tmp_path], [recorded.analysed(recorded.run())], Console())
    assert capsys.readouterr().out == ""

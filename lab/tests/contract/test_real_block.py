"""One block of the sample application in 10 s windows: every reader gets all of it."""

from __future__ import annotations

import contextlib
import json
import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from playwright.sync_api import Browser

from tests.support import real_block
from tests.support.browser import new_page
from tests.support.panels import WITHOUT_DATA
from tests.support.privileges import needs_root
from tests.support.real_block import VARIANTS, Measured
from vtlab import shipped
from vtlab.analysis import verdict
from vtlab.catalogue import rules
from vtlab.catalogue.metrics import REPORT_SERIES, WINDOW_METRICS
from vtlab.dashboards import substitute
from vtlab.host import cgroup_hierarchies
from vtlab.host.cgroup_hierarchies import Limit
from vtlab.model import units
from vtlab.planning import planned_runs
from vtlab.runs import store
from vtlab.runs.create import create_runs
from vtlab.runs.options import Options
from vtlab.runs.report import write_files
from vtlab.targets.local import warm_up_cpu

pytestmark = [pytest.mark.timeout(1200), needs_root]

#: What a careless user may have around the call.
OUTER = {
    "JAVA_TOOL_OPTIONS": "-XX:ActiveProcessorCount=7",
    "SPRING_APPLICATION_JSON": '{"server.tomcat.threads.max": 3}',
    "SERVER_PORT": "1",
    "http_proxy": "http://127.0.0.1:1",
    "K6_VUS": "1",
}


def of_resources(*names: str) -> set[str]:
    return {f"{family}_{name}" for family in ("utilization", "capacity", "demand") for name in names}


DASHBOARDS = sorted(path.stem for path in (shipped.ROOT / "grafana-dashboards").glob("*.json"))
#: Queries of panels without data here: (title, letter).
KUBERNETES_ONLY = {("CPU of the load generator", "A"), ("Throttling of the load generator", "A")}
KUBERNETES_ONLY |= {("CPU periods throttled, by cAdvisor", "A")}
#: Samples that Prometheus may read for a query: it answers a dashboard of such queries at once.
MOST_SAMPLES = 1_000_000
#: Named expressions without a value here: there is no pool of connections and no Jetty, and Tomcat has no threads
#: of its own under virtual threads.
_DATABASE = {"db_pool_active", "db_pool_pending", "hold_db_pool", "hold_db_pool_error", "hold_client_pool"}
_POOLS = {"tomcat_threads_busy", "tomcat_threads_max"}
_JETTY = {"jetty_threads_busy", "jetty_threads_max"} | of_resources("jetty-threads")
_NOWHERE = _DATABASE | of_resources("db-pool") | _JETTY
ABSENT = {"platform": _NOWHERE, "virtual": _NOWHERE | _POOLS | of_resources("tomcat-threads")}


@pytest.fixture(scope="module")
def measured(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Measured]:
    with contextlib.ExitStack() as end:
        with pytest.MonkeyPatch.context() as patch:
            for name, value in OUTER.items():
                patch.setenv(name, value)
            block = end.enter_context(real_block.measured(tmp_path_factory.mktemp("real"), "10s"))
        yield block


@pytest.mark.parametrize("variant", VARIANTS)
def test_limits_are_read_back(measured: Measured, variant: str) -> None:
    """A JVM is under its CPU and memory limit, counts processors by it, ignores the caller's environment, and uses its
    ahead-of-time cache."""
    (instance,) = (instance for instance in measured.block.instances if instance.variant == variant)
    pid = measured.run.pids[f"jvm {variant}"]
    assert (instance.processors, instance.cpu_limit, instance.gc, instance.alive) == (1, 1.0, "Serial", True)
    # Of the pools together: one that is always empty is not among them.
    heap = units.size(measured.planned.limits.heap or "")
    assert instance.heap == pytest.approx(heap, rel=0.1)
    assert instance.identity.startswith(f"{pid}:")
    major = int(instance.java.split(".")[0])
    # Its own cache, if the JDK makes one, which the JVM did not give up.
    assert instance.class_archives == ({"app.aot": True} if major >= 25 else {})
    assert instance.java.startswith(measured.target.java.version)
    assert cgroup_hierarchies.limit_of(pid) == Limit(1.0, 768 * 1024**2)
    assert cgroup_hierarchies.limit_of(os.getpid()).cpu is None
    assert cgroup_hierarchies.limit_of(measured.run.pids["prometheus"]).cpu is None
    pool = measured.trial(variant).server["tomcat_threads_max"]
    assert pool == {"platform": 10, "virtual": None}[variant]


def test_the_first_part_of_the_warm_up_has_more_cpu(measured: Measured) -> None:
    """Where the machine has it, a JVM reads more CPU in the first part of its warm-up, and its limit afterwards. It
    counts as many processors as by its limit all along, and each variant is sent as many requests."""
    cpu = warm_up_cpu.cores(1.0, warm_up_cpu.available())
    warmup = measured.block.warmup
    assert [t.raised_cpu for t in warmup] == [cpu] * 4 + [None] * 2
    assert [t.server["cpu_limit"] for t in warmup] == [pytest.approx(cpu or 1.0)] * 4 + [1.0] * 2
    assert {t.server["processors"] for t in (*warmup, *measured.block.trials)} == {1.0}
    # A machine that stalls may need longer than k6 waits for that many.
    longest = 3 * units.milliseconds(measured.planned.windows.warmup_load)
    in_time = [t for t in warmup if t.end - t.begin < longest]
    assert all(t.started == 200 and t.end == t.drained for t in in_time), "each ends with its last answer"


def test_jit_compilers_go_first_until_the_warm_up_ends(measured: Measured) -> None:
    """In a warm-up that begins with more CPU the JIT compilers have priority over all other threads."""
    first = 0 if warm_up_cpu.cores(1.0, warm_up_cpu.available()) is None else -20
    assert measured.nice == ({first}, {first}, {0})


@pytest.mark.parametrize("variant", VARIANTS)
def test_figures_are_those_of_what_was_scraped(measured: Measured, variant: str) -> None:
    """The figures of a trial are those of the service's own meters in its window."""
    trial, client = measured.trial(variant), measured.client
    window = f"[{trial.end - trial.start}ms]"

    def rate(counter: str) -> float:
        series = f'http_server_requests_seconds_{counter}{{$server,uri="/thread"}}'
        value = client.measured(variant, f"sum(rate({series}{window}))", trial.end)
        assert value
        return value

    assert set(trial.server) == {*WINDOW_METRICS, "in_flight_before", "core_wait"}
    assert trial.server["cpu_limit"] == 1
    assert (trial.server["cpu_cores"] or 0) > 0
    assert trial.server["server_throughput"] == pytest.approx(rate("count"))
    assert trial.server["service_time"] == pytest.approx(rate("sum") / rate("count"))
    assert set(measured.series[variant]) == set(REPORT_SERIES)
    assert max(value for _, value in measured.series[variant]["in_flight"]) > 9


@pytest.mark.parametrize("variant", VARIANTS)
def test_a_real_block_has_both_loads_with_answers_and_probes(measured: Measured, variant: str) -> None:
    """Trials and typical load of a real block have a histogram of their answers, and probes that found the service
    alive; typical load has CPU figures, and the block the largest resident set."""
    (typical,) = (phase for phase in measured.block.typical if phase.variant == variant)
    for phase in (measured.trial(variant), typical):
        assert phase.answers
        assert phase.probe
        assert sum(phase.answers.histogram.counts) == sum(phase.answers.parts.ok) == phase.ok
        assert phase.probe.sent + phase.probe.skipped == 5 * round(phase.window)
        assert phase.probe.healthy + phase.probe.unanswered == phase.probe.sent
        assert phase.probe.healthy > 0
    assert typical.rate == real_block.TYPICAL.rate
    assert (typical.server["cpu_cores"] or 0) > 0
    (instance,) = (instance for instance in measured.block.instances if instance.variant == variant)
    assert (instance.resident_peak or 0) >= (typical.server["resident"] or 0) > 0


@pytest.mark.parametrize("variant", VARIANTS)
def test_what_is_recorded_is_what_a_trials_window_says(measured: Measured, variant: str) -> None:
    """A recording rule and vtlab's own figure agree within 1 % over the same 15 s."""
    trial = measured.trial(variant)
    samples = measured.query(f'vtlab:cpu_cores:cores{{variant="{variant}"}}[10s]', trial.end)
    (series,) = samples
    at = max(round(1000 * float(when)) for when, _ in series["values"])
    span = 1000 * int(rules.WINDOW.removesuffix("s"))
    afterwards = measured.client.window(variant, at - span, at)

    absent = set()
    for name, metric in WINDOW_METRICS.items():
        labels = "".join(f',{key}="{value}"' for key, value in metric.labels.items())
        recorded = measured.client.evaluate(f'{metric.recorded_as("window")}{{variant="{variant}"{labels}}}', at)
        if recorded is None and afterwards[name] is None:
            absent.add(name)
            continue
        assert recorded == pytest.approx(afterwards[name], rel=0.01, abs=1e-9), name
    # A JVM that has not collected yet has no such meter.
    assert absent - {"gc_share"} == ABSENT[variant]


def rules_of(measured: Measured) -> list[dict[str, Any]]:
    groups = httpx.get(f"{measured.client.url}/api/v1/rules", timeout=60).json()["data"]["groups"]
    assert [group["name"] for group in groups] == ["vtlab", "vtlab-runs", "vtlab-windows"]
    return [rule for group in groups for rule in group["rules"]]


def test_every_rule_is_healthy(measured: Measured) -> None:
    """Prometheus evaluates every rule of the lab."""
    assert [rule for rule in rules_of(measured) if rule["health"] != "ok"] == []


def test_no_alert_fires(measured: Measured) -> None:
    """No alert fires in a run that nothing disturbs."""
    if measured.disturbances:
        pytest.skip(f"every attempt was disturbed, which alerts are for: {measured.disturbances}")
    assert [rule for rule in rules_of(measured) if rule.get("alerts")] == []


@pytest.mark.parametrize("name", DASHBOARDS)
def test_every_query_of_every_panel_has_data_of_both_variants(measured: Measured, name: str) -> None:
    """Every query of every dashboard has data of both variants, and reads few samples."""
    folder = shipped.ROOT / "grafana-dashboards"
    document = json.loads((folder / f"{name}.json").read_text(encoding="utf-8"))
    begin, end = min(t.begin for t in measured.block.warmup), measured.loaded_until
    # As a dashboard opens.
    seconds = max(1800, (end - begin) // 1000 + 10)
    values = {
        "datasource": "prometheus",
        "namespace": substitute.ALL,
        "experiment": "tiny",
        "run": measured.run_id,
        "variants": list(VARIANTS),
    }
    empty, expensive, variants = set(), {}, dict[str, set[str]]()
    with httpx.Client(base_url=measured.client.url, trust_env=False, timeout=60) as client:
        for query in substitute.expanded(document, values, seconds):
            where = (query.panel, query.ref)
            times = {"time": f"{end / 1000 + 5:.3f}"}
            if not query.instant:
                times = {"start": f"{end / 1000 + 5 - seconds:.3f}", "end": times["time"], "step": "1s"}
            path = "/api/v1/query" if query.instant else "/api/v1/query_range"
            answer = client.post(path, data={"query": query.promql, "stats": "all", **times}).json()
            assert answer["status"] == "success", (where, answer)
            samples = answer["data"]["stats"]["samples"]["totalQueryableSamples"]
            if samples > MOST_SAMPLES:
                expensive[where] = samples
            series_of_query = answer["data"]["result"]
            if not series_of_query:
                empty.add(where)
            # A repeated panel's title ends with its variant.
            panel = re.sub(f"({'|'.join(VARIANTS)})$", "", query.panel)
            of = variants.setdefault(panel, set())
            of.update(series["metric"]["variant"] for series in series_of_query if "variant" in series["metric"])
    assert empty <= KUBERNETES_ONLY | WITHOUT_DATA.get(name, set())
    assert {panel: of for panel, of in variants.items() if of and of != set(VARIANTS)} == {}
    assert expensive == {}


def test_the_report_opens_in_a_browser(measured: Measured, browser: Browser, tmp_path: Path) -> None:
    """The report of a real block opens in a browser and names both variants."""
    planned = measured.planned
    (plan_run,) = planned_runs.runs([planned], [])
    options = Options(blocks=1, seed=1, root=tmp_path, no_cpu_limit=False)
    folder = create_runs([plan_run], options, "real")
    store.append_block(folder, measured.block)
    store.append_series(folder, measured.block, measured.series)
    write_files(folder, verdict.analyse_all([store.read(folder)]))
    page = new_page(browser)
    errors: list[str] = []
    page.on("pageerror", lambda error: errors.append(str(error)))
    page.goto((folder / "report.html").as_uri())
    # The block is too short for a verdict: the report says why, with what the variants are.
    text = page.inner_text("body")
    assert [variant for variant in VARIANTS if variant not in text] == []
    assert errors == []
    page.close()

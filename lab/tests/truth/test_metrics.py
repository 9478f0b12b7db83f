"""The catalogue's metrics, the rules made of them and the dashboards, on the data of a short real run."""

from __future__ import annotations

import contextlib
import json
import os
import re
import statistics
import time
from collections.abc import Iterator
from dataclasses import dataclass

import httpx
import pytest

from tests.support.lab_call import TINY
from tests.support.stalls import Stalls
from vtlab import results, session
from vtlab.analysis import checks, laws
from vtlab.catalogue import rules
from vtlab.catalogue.dashboards import substitute
from vtlab.catalogue.metrics import WINDOW_METRICS
from vtlab.model import experiment
from vtlab.model.experiment import Experiment
from vtlab.model.records import Block, Trial
from vtlab.targets.local.target import LocalTarget, local_target
from vtlab.targets.prometheus import Prometheus

pytestmark = [
    pytest.mark.real,
    pytest.mark.timeout(900),
    pytest.mark.skipif(os.geteuid() != 0, reason="sets CPU limits: root only"),
]

VARIANTS = ("platform", "virtual")


def of_resources(*names: str) -> set[str]:
    return {f"{family}_{name}" for family in ("utilization", "capacity", "demand") for name in names}


DASHBOARDS = sorted(path.stem for path in (session.REPOSITORY / "grafana-dashboards").glob("*.json"))
#: Queries of panels without data here: (title, letter).
KUBERNETES_ONLY = {("CPU of the load generator", "A"), ("Throttling of the load generator", "A")}
KUBERNETES_ONLY |= {("CPU periods throttled", "B")}
OPEN_LOAD_ONLY = {("Requests sent and arrivals asked for", "B")}
DATABASE_ONLY = {("Queues inside the server", "C")}
#: Seconds that a query may take; the median of three, as the machine has other things to do.
LONGEST = 0.1
#: Named expressions without a value here: there is no database, and Tomcat has no pool under virtual threads.
_DATABASE = {"db_pool_active", "db_pool_pending"}
_POOLS = {"tomcat_threads_busy", "tomcat_threads_max"}
ABSENT = {
    "platform": _DATABASE | of_resources("db-pool"),
    "virtual": _DATABASE | _POOLS | of_resources("db-pool", "tomcat-threads"),
}
#: A block here has little warm-up, and one trial for each variant.
NOT_HERE = {"trials complete", "warm-up cycles", "steady state"}


@dataclass(frozen=True)
class Measured:
    """A real run: 20 users that wait 200 ms; platform has 10 threads, so they serve 50/s, and virtual 100/s."""

    planned: Experiment
    block: Block
    client: Prometheus

    def query(self, expr: str, at_ms: int) -> list[dict[str, object]]:
        answer = httpx.post(f"{self.client.url}/api/v1/query", data={"query": expr, "time": f"{at_ms / 1000:.3f}"})
        found: list[dict[str, object]] = answer.json()["data"]["result"]
        return found


@pytest.fixture(scope="module")
def measured(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Measured]:
    root = tmp_path_factory.mktemp("metrics")
    document = json.loads(TINY.read_text(encoding="utf-8"))
    document["windows"]["measure"] = "22s"
    document["settings"] = {"SERVER_TOMCAT_THREADS_MAX": "10"}
    planned = experiment.parse(json.dumps(document), str(TINY))
    folder = root / "run"
    folder.mkdir()
    results.write_experiment(folder, planned)
    with local_target(folder, root, session.REPOSITORY) as target, contextlib.closing(Stalls()) as stalls:
        for attempt in range(1, 5):
            block = one_block(target, planned, attempt)
            # What the validity checks reject is measured again, as in a run. Two trials are enough here.
            judged = checks.results([block], planned)
            failed = [check for check in judged if not check.passed and check.name not in NOT_HERE]
            if not failed and not stalls.disturbed([*block.single, *block.trials]):
                break
        assert not failed
        with Prometheus(target.prometheus.url) as client:
            found = Measured(planned, block, client)
            await_rules(found, max(trial.drained for trial in block.trials) + 2000)
            yield found


def await_rules(measured: Measured, at_ms: int) -> None:
    """Waits until the rules of the run have been evaluated at that time: what they see lies some seconds back."""
    rule = f'vtlab:run_throughput:rate{{testid="{run_id(measured.block.attempt)}"}}'
    deadline = time.monotonic() + 60
    while (seen := measured.query(f"min(timestamp({rule}))", round(1000 * time.time()))) == [] or (
        1000 * float(seen[0]["value"][1]) < at_ms  # type: ignore[index]
    ):
        assert time.monotonic() < deadline, seen
        time.sleep(0.5)


def run_id(attempt: int) -> str:
    return f"run-{attempt}"


def one_block(target: LocalTarget, planned: Experiment, attempt: int) -> Block:
    # A run each: what a rejected attempt measured is not this one's.
    target.run_id = run_id(attempt)
    started = target.start(planned, 1, attempt)
    found = started.load(order=VARIANTS, warmup_cycles=3, single="4s")
    return Block(
        block=1,
        attempt=attempt,
        order=list(VARIANTS),
        agreed=found.agreed,
        warmup=found.warmup,
        single=found.single,
        trials=found.trials,
        instances=started.instances,
    )


def trial_of(measured: Measured, variant: str) -> Trial:
    return next(trial for trial in measured.block.trials if trial.variant == variant)


@pytest.mark.parametrize("variant", VARIANTS)
def test_what_is_recorded_is_what_a_trials_window_says(measured: Measured, variant: str) -> None:
    """The same expression over the same 15 s, once by the rules as the run went on and once by vtlab afterwards."""
    trial = trial_of(measured, variant)
    samples = measured.query(f'vtlab:cpu_cores:cores{{variant="{variant}"}}[10s]', trial.end)
    (series,) = samples
    at = max(round(1000 * float(when)) for when, _ in series["values"])  # type: ignore[attr-defined]
    span = 1000 * int(rules.WINDOW.removesuffix("s"))
    assert trial.start <= at - span, "the rule's window lies in the trial's"
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


@pytest.mark.parametrize(("variant", "served_at_once"), [("platform", 10), ("virtual", 20)])
def test_the_expressions_agree_with_what_k6_counted(measured: Measured, variant: str, served_at_once: int) -> None:
    """Little's law holds between what was measured on either side, however fast the machine is."""
    trial = trial_of(measured, variant)
    server = trial.server
    assert server["throughput"] == pytest.approx(trial.throughput, rel=0.01)
    assert server["latency_mean"] == pytest.approx(trial.latency.mean, rel=0.01)
    # A native histogram's bucket is 9 % wide.
    assert server["latency_p50"] == pytest.approx(trial.latency.p50, rel=0.09)
    assert server["error_ratio"] == 0
    service, latency = server["service_time"], trial.latency.mean
    assert service is not None
    assert latency is not None
    assert service >= 0.2, "no wait is shorter than it was asked to be"
    assert trial.throughput * latency == pytest.approx(20, rel=0.03), "users in flight at the client"
    assert trial.throughput * service == pytest.approx(served_at_once, rel=0.05), "requests that the server worked on"
    assert server["queue_time"] == pytest.approx(latency - service, rel=0.01, abs=0.003)
    at = round(1000 * time.time())
    run = f'vtlab:run_throughput:rate{{variant="{variant}",testid="{run_id(measured.block.attempt)}"}}'
    assert measured.client.evaluate(run, at) == pytest.approx(trial.throughput, rel=0.005)


def test_the_ratio_is_that_of_the_windows(measured: Measured) -> None:
    platform, virtual = (trial_of(measured, variant) for variant in VARIANTS)
    at, own = round(1000 * time.time()), f'{{testid="{run_id(measured.block.attempt)}"}}'
    ratio = measured.client.evaluate(f"vtlab:throughput:virtual_over_platform{own}", at)
    assert ratio == pytest.approx(virtual.throughput / platform.throughput, rel=0.005)
    slower = measured.client.evaluate(f"vtlab:latency_p99:virtual_over_platform{own}", at)
    # Of two percentiles from buckets that are 9 % wide.
    assert platform.latency.p99 is not None
    assert virtual.latency.p99 is not None
    assert slower == pytest.approx(virtual.latency.p99 / platform.latency.p99, rel=0.2)


@pytest.mark.parametrize(("variant", "resource"), [("platform", "tomcat-threads"), ("virtual", "load")])
def test_dashboards_and_verdict_name_the_same_constraint(measured: Measured, variant: str, resource: str) -> None:
    explained = laws.explain(laws.measured([measured.block], measured.planned, variant))
    assert explained.bottleneck.resource == resource
    trial = trial_of(measured, variant)
    (seen,) = measured.query(f'vtlab:constraint:ratio{{variant="{variant}"}}', trial.end - 1000)
    every = measured.query(f'vtlab:utilization:ratio{{variant="{variant}"}}', trial.end - 1000)
    assert seen["metric"]["resource"] == resource, (every, measured.block.single)  # type: ignore[index]
    # Of the CPU a cold JVM takes less and less: the last 15 s are not the whole window. Nor are they of what is sampled
    # once a second; over the same seconds rules and vtlab are compared above.
    held = {"tomcat-threads", "connections", "load"}
    bounds = [each for each in explained.bounds if each.resource in held]
    assert {each.resource for each in bounds} == held - ({"tomcat-threads"} if variant == "virtual" else set())
    for bound in bounds:
        recorded = measured.client.evaluate(
            f'vtlab:utilization:ratio{{variant="{variant}",resource="{bound.resource}"}}', trial.end
        )
        assert recorded == pytest.approx(bound.utilisation, rel=0.05), bound


def test_every_rule_is_healthy_and_no_alert_fires(measured: Measured) -> None:
    groups = httpx.get(f"{measured.client.url}/api/v1/rules").json()["data"]["groups"]
    assert [group["name"] for group in groups] == ["vtlab", "vtlab-runs", "vtlab-windows"]
    for rule in (rule for group in groups for rule in group["rules"]):
        assert rule["health"] == "ok", rule
        assert not rule.get("alerts"), rule


@pytest.mark.parametrize("name", DASHBOARDS)
def test_every_query_of_every_panel_has_data_of_both_variants_at_once(measured: Measured, name: str) -> None:
    folder = session.REPOSITORY / "grafana-dashboards"
    document = json.loads((folder / f"{name}.json").read_text(encoding="utf-8"))
    begin, end = min(t.begin for t in measured.block.warmup), max(t.drained for t in measured.block.trials)
    # As a dashboard opens.
    seconds = max(1800, (end - begin) // 1000 + 10)
    values = {
        "datasource": "prometheus",
        "namespace": substitute.ALL,
        "experiment": "tiny",
        "run": run_id(measured.block.attempt),
        "variants": list(VARIANTS),
    }
    empty, slow, variants = set(), {}, dict[str, set[str]]()
    with httpx.Client(base_url=measured.client.url, trust_env=False, timeout=30) as client:
        for query in substitute.expanded(document, values, seconds):
            where = (query.panel, query.ref)
            times = {"time": f"{end / 1000 + 5:.3f}"}
            if not query.instant:
                times = {"start": f"{end / 1000 + 5 - seconds:.3f}", "end": times["time"], "step": "1s"}
            path = "/api/v1/query" if query.instant else "/api/v1/query_range"
            took = []
            for _ in range(3):
                began = time.perf_counter()
                answer = client.post(path, data={"query": query.promql, **times}).json()
                took.append(time.perf_counter() - began)
            assert answer["status"] == "success", (where, answer)
            if statistics.median(took) > LONGEST:
                slow[where] = statistics.median(took)
            found = answer["data"]["result"]
            if not found:
                empty.add(where)
            # The bands of the windows are behind every line. A repeated panel's title ends with its variant.
            if query.ref != "W":
                panel = re.sub(f"({'|'.join(VARIANTS)})$", "", query.panel)
                of = variants.setdefault(panel, set())
                of.update(series["metric"]["variant"] for series in found if "variant" in series["metric"])
    assert empty <= KUBERNETES_ONLY | OPEN_LOAD_ONLY | DATABASE_ONLY
    assert {panel: of for panel, of in variants.items() if of and of != set(VARIANTS)} == {}
    assert slow == {}

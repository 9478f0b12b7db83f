"""The life of a release, from helm install to helm uninstall. The tests go in their order; `make e2e` leaves out those
marked ``cluster_all``."""

from __future__ import annotations

import json
import math
import os
import re
import time
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest
import yaml

from e2e.on_cluster import dashboards, lab, reach, runs
from tests.support import lab_call
from vtlab.dashboards import substitute
from vtlab.targets.kubernetes.api.rights import RIGHTS

VARIANTS = ("platform", "virtual")
every = pytest.mark.cluster_all


class Clock:
    installed = 0.0


@pytest.fixture(scope="module")
def limited(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """The environment of a user who has no rights but what is bound to the service account `runner`."""
    return runs.limited(tmp_path_factory.mktemp("rights"))


def test_the_chart_installs_where_restricted_is_enforced() -> None:
    """The chart with its defaults installs in a namespace that enforces Pod Security `restricted`, and every variant
    becomes ready."""
    lab.fresh_namespace()
    Clock.installed = time.monotonic()
    lab.install()
    for variant in VARIANTS:
        assert lab.get(f"deployment/lab-{variant}")["status"]["readyReplicas"] == 1, variant


def test_helm_test_finds_each_variant_on_its_kind_of_thread() -> None:
    """`helm test` finds each variant on its kind of thread."""
    assert "Succeeded" in lab.helm_test()


@pytest.mark.skipif(not lab.enforces_policies(), reason="only kind is known to enforce NetworkPolicies")
def test_policies_hold_both_ways() -> None:
    """Where NetworkPolicies are enforced, a pod reaches what its policy names and nothing else. Only the release's k6
    and tests reach a variant: tried from pods with and without k6's labels, in two namespaces, and from a variant."""
    reach.hold()


BLOCK = "blocking-1"


def commands_of_page(job: str) -> str:
    """The commands by which the page makes a block by hand, with that name of its Job."""
    page = (lab.REPOSITORY / "docs/how-to/kubernetes.md").read_text(encoding="utf-8")
    (block,) = (block for block in re.findall(r"```sh\n(.*?)```", page, re.S) if "create job" in block)
    name, *lines = block.splitlines()
    assert name.startswith("job=")
    # No Grafana is in a cluster from source.
    return "\n".join([f"job={job}", *(line for line in lines if "monitoring" not in line)])


def block_of_page(job: str) -> str:
    """The log of a block by hand, made as the page says."""
    lab.run("bash", "-ec", commands_of_page(job), timeout=900)
    return lab.job_log(job, timeout=900)


def changed_block(experiment: str, job: str, *settings: str) -> str:
    """The log of a block by hand of an experiment, with some settings changed on the way to its Job."""
    made = lab.kubectl("create", "job", f"--from=cronjob/lab-{experiment}", job, "--dry-run=client", "-o", "yaml")
    changed = lab.run("kubectl", "set", "env", "--local", "-f", "-", *settings, "-o", "yaml", given=made)
    lab.kubectl("create", "-f", "-", given=changed)
    return lab.job_log(job, timeout=900)


def means(log: str) -> dict[str, float]:
    """Variant -> requests per second in the table at the end of the log of a block by hand."""
    table = log[log.index("one block, warm JVMs, no verdict") :]
    assert log.rstrip().splitlines()[-1] in table, "the table is the end of the log"
    return {line.split()[1]: float(line.split()[3]) for line in table.splitlines() if line.strip().startswith("mean ")}


def are_loaded_alike(rates: dict[str, float], users: int) -> bool:
    """Tells whether the rates are near what the law says: 200 threads serve platform's users, and all users are served
    on virtual threads. No speed of a machine, unless that has too little for so many users."""
    return rates["virtual"] > 0.6 * users / 200 * rates["platform"] > 0


def test_a_block_by_hand_ends_with_its_table() -> None:
    """A Job made by hand from the chart's CronJob runs one block of `blocking`, and its log ends with the table."""
    users = 1000
    rates = means(block_of_page(BLOCK))
    lab.show([f"from helm install to the end of one block of blocking: {time.monotonic() - Clock.installed:.0f} s"])
    for number in (2, 3, 4):
        if are_loaded_alike(rates, users):
            break
        lab.MEASURED_AGAIN.append(f"a block by hand with {users} users: {rates}")
        # They need half of the CPU.
        users = 500
        rates = means(changed_block("blocking", f"blocking-{number}", f"USERS={users}"))
    assert set(rates) == set(VARIANTS)
    assert are_loaded_alike(rates, users), (users, rates)


@every
@pytest.mark.parametrize("variant", VARIANTS)
def test_the_app_is_measured_under_its_variant(variant: str) -> None:
    """Prometheus scrapes each variant every second under its name, and reads the CPU limit and one processor there."""
    selector = f'namespace="lab",variant="{variant}"'
    # The operator's configuration reaches Prometheus through a Secret, which the kubelet renews within two minutes.
    scrapes = f"sum(count_over_time(up{{{selector}}}[20s]))"
    lab.until(f"{variant} is scraped every second", lambda: (lab.value(scrapes) or 0) >= 15, within=600)
    # Over a while, as a single scrape may come too late on a busy machine; it never read anything else.
    for name in ("cgroup_cpu_limit_cores", "system_cpu_count"):
        for extreme in ("min", "max"):
            assert lab.value(f"{extreme}({extreme}_over_time({name}{{{selector}}}[20s]))") == 1, name
    requests = f'http_server_requests_seconds_count{{{selector},uri="/thread",status="200"}}'
    assert (lab.value(f"sum(last_over_time({requests}[20s]))") or 0) > 100
    (series,) = lab.query(f"last_over_time(jvm_info{{{selector}}}[20s])")
    assert series["metric"]["pod"].startswith(f"lab-{variant}-")


@every
def test_k6_is_measured_with_its_labels() -> None:
    """The series of k6's Job have experiment, variant, run, block, trial and phase, and native histograms. Typical load
    and the probe are among them."""
    by = "experiment, variant, testid, block, trial, phase"
    labels = [series["metric"] for series in lab.query(f"sum by ({by}) (last_over_time(k6_http_reqs_total[1h]))")]

    def trials(variant: str, phase: str) -> set[str]:
        wanted = {"experiment": "blocking", "variant": variant, "testid": BLOCK, "block": "1", "phase": phase}
        return {series.get("trial", "") for series in labels if wanted.items() <= series.items()}

    assert trials("platform", "measure") == {"1"}
    assert trials("virtual", "measure") == {"2"}
    assert (trials("platform", "typical"), trials("virtual", "typical")) == ({"t1"}, {"t2"})
    # The variants take turns in the warm-up.
    for variant, rest in (("platform", 1), ("virtual", 0)):
        cycles = trials(variant, "warmup")
        assert cycles
        assert all(trial.startswith("w") and int(trial[1:]) % 2 == rest for trial in cycles), cycles
    samples = f'k6_http_req_duration_seconds{{testid="{BLOCK}",variant="virtual",phase="measure"}}'
    count = lab.value(f"sum(histogram_count(last_over_time({samples}[1h])))")
    assert count is not None
    assert count > 400, "native histograms"
    # The NetworkPolicies let k6 reach the management port, whose liveness endpoint is real.
    for variant in VARIANTS:
        labels_of_run = f'testid="{BLOCK}",variant="{variant}"'
        probes = f'k6_trial_probe_seconds{{{labels_of_run},port="other"}}'
        assert (lab.value(f"sum(histogram_count(last_over_time({probes}[1h])))") or 0) > 0
        assert (lab.value(f"sum(last_over_time(k6_trial_probe_healthy_total{{{labels_of_run}}}[1h]))") or 0) > 0


@every
def test_the_operator_has_loaded_the_rules() -> None:
    """The operator loads the chart's rules, all of them, and Prometheus evaluates each without an error."""
    written = json.loads((lab.CHART / "files/rules.json").read_text(encoding="utf-8"))["groups"]
    names = {group["name"] for group in written}

    def loaded() -> list[dict[str, Any]]:
        return [group for group in lab.prometheus("rules")["groups"] if group["name"] in names]

    lab.until("the rules are loaded and evaluated", lambda: evaluated(loaded()) == names, within=600)
    for group, source in zip(sorted(loaded(), key=by_name), sorted(written, key=by_name), strict=True):
        assert [rule["name"] for rule in group["rules"]] == [
            rule.get("record", rule.get("alert")) for rule in source["rules"]
        ]
        for rule in group["rules"]:
            assert (rule["health"], rule.get("lastError", "")) == ("ok", ""), rule


def by_name(group: dict[str, Any]) -> str:
    return str(group["name"])


def evaluated(groups: list[dict[str, Any]]) -> set[str]:
    return {group["name"] for group in groups if all(rule["health"] != "unknown" for rule in group["rules"])}


#: What a user chooses at the top of a dashboard.
CHOSEN: substitute.Values = {
    "namespace": lab.NAMESPACE,
    "experiment": "blocking",
    "run": BLOCK,
    "variants": VARIANTS,
}
#: `make e2e` asks the queries of one.
DASHBOARDS = [pytest.param(name, marks=[] if name == "verdict" else every) for name in dashboards.FILES]


@pytest.fixture(scope="module")
def block_by_hand() -> tuple[int, int]:
    """Time when it began, and ten seconds after it ended."""
    status = lab.get("job", BLOCK)["status"]
    begun, ended = (datetime.fromisoformat(status[edge]).timestamp() for edge in ("startTime", "completionTime"))
    return round(begun), round(ended) + 10


@pytest.mark.parametrize("name", DASHBOARDS)
def test_the_block_by_hand_can_be_chosen_in_every_dashboard(name: str, block_by_hand: tuple[int, int]) -> None:
    """Every variable of a dashboard offers what a block by hand in the cluster was."""
    begin, end = block_by_hand
    offered = {
        variable: set(lab.prometheus(f"label/{label}/values", start=begin, end=end, **{"match[]": selector}))
        for variable, query, label in dashboards.choices(name)
        for selector in [substitute.filled(query, CHOSEN)]
    }
    assert offered.pop("variants") == set(VARIANTS)
    assert offered.keys() == CHOSEN.keys() - {"variants"}
    for variable, options in offered.items():
        assert CHOSEN[variable] in options, variable


@pytest.mark.parametrize("name", DASHBOARDS)
def test_every_query_of_a_dashboard_has_data_of_the_block_by_hand(name: str, block_by_hand: tuple[int, int]) -> None:
    """Every query of a dashboard has data of a block by hand in the cluster, of both variants where it tells them
    apart."""
    begin, end = block_by_hand
    empty = set()
    variants: dict[str, set[str]] = {}
    for query in substitute.expanded(dashboards.read(name), CHOSEN, end - begin):
        results = lab.query_range(query.promql, end if query.instant else begin, end, step=1)
        series = [
            entry["metric"] for entry in results if any(math.isfinite(float(value)) for _, value in entry["values"])
        ]
        if not series:
            empty.add((query.panel, query.ref))
        # Of a repeated panel the title ends with its variant.
        panel = re.sub(f"({'|'.join(VARIANTS)})$", "", query.panel)
        variants.setdefault(panel, set()).update(labels["variant"] for labels in series if "variant" in labels)
    assert empty == dashboards.WITHOUT_DATA.get(name, set())
    assert {panel: names for panel, names in variants.items() if names and names != set(VARIANTS)} == {}


@every
def test_nothing_alarmed_in_the_block_by_hand(block_by_hand: tuple[int, int]) -> None:
    """No alert about pods fires in a block that went well."""
    assert alarms(*block_by_hand) == set()


def alarms(begin: float, end: float, names: str = "VtlabVariantRestarted|VtlabTargetDown") -> set[str]:
    """Alerts that are about pods and not about load: where nothing happened to a pod, none may fire."""
    alerts = f'ALERTS{{namespace="lab",alertstate="firing",alertname=~"{names}"}}'
    return {series["metric"]["alertname"] for series in lab.query_range(alerts, begin, end, step=2)}


@every
def test_the_quota_is_enforced_under_cpu_load_and_settings_of_a_block_can_be_changed() -> None:
    """The kubelet enforces the chart's CPU limit under CPU load, and a Job by hand takes its settings by environment
    variables."""
    begun = time.monotonic()
    log = changed_block("cpu", "cpu-1", "WARMUP_CYCLES=1", "OWN_CYCLES=0", "MEASURE=4s", "SINGLE=")
    assert sum(line.split()[0] == "w1" for line in log.splitlines() if line.strip()) == 1
    for variant in VARIANTS:
        selector = f'namespace="lab",variant="{variant}"'
        # This job's own time: the block before it may have been throttled, too.
        window = f"{int(time.monotonic() - begun)}s"
        throttled = lab.value(f"sum(increase(cgroup_cpu_throttled_periods_total{{{selector}}}[{window}]))")
        assert throttled is not None
        assert throttled > 0
        # The law of the quota: in no period more than its 100 ms, whenever Prometheus came to read that.
        spent = lab.value(f"sum(increase(process_cpu_time_ns_total{{{selector}}}[{window}])) / 1e9")
        periods = lab.value(f"sum(increase(cgroup_cpu_periods_total{{{selector}}}[{window}]))")
        assert spent is not None
        assert periods is not None
        assert 0 < spent <= 1.05 * 0.1 * periods, f"{variant} used {spent} s in {periods} periods of 100 ms"


@every
def test_doctor_names_every_right_that_is_missing(limited: dict[str, str]) -> None:
    """`vtlab doctor --target kubernetes` names every right that a user lacks."""
    done = runs.vtlab("doctor", "--target", "kubernetes", env=limited)
    assert done.returncode == 3, done.stdout + done.stderr
    (missing,) = re.findall(r"missing in namespace lab: (.*)", done.stdout)
    assert missing.strip().split(", ") == [str(right) for right in RIGHTS]
    assert "unknown without the right to list batch/cronjobs" in done.stdout


def test_vtlab_measures_with_the_rights_of_the_charts_roles(limited: dict[str, str], tmp_path: Path) -> None:
    """vtlab needs no rights but those of the chart's Roles. Its block is on fresh pods under the chart's limits, which
    have more CPU in the first part of the warm-up alone. It names the bottlenecks, has a report, raises no alert and
    leaves nothing in the cluster. Prometheus has its verdict."""
    subject = {"kind": "ServiceAccount", "name": "runner"}
    lab.upgrade("--set-json", f"rbac.subjects={json.dumps([subject])}")
    doctor = runs.vtlab("doctor", "--target", "kubernetes", env=limited)
    assert doctor.returncode == 0, doctor.stdout + doctor.stderr

    # Publication 000 in a short form: 1000 users of 5 s take half a minute to come and another to go. The window has
    # two rounds of platform and four of virtual.
    load = {"users": 400, "round": {"platform": "4s", "virtual": "2s"}}
    query = {"duration": "2s"}
    # The first part of the warm-up ends after so many requests, so that it may have more CPU. It leaves the JIT
    # compilers of a slow machine, too, little to do in the trials.
    short = shortened("blocking-5s", tmp_path, load, query=query, measure="8s", warmup_requests=3000)
    root = tmp_path / "results"
    before = {pod["metadata"]["uid"] for pod in lab.get("pods")["items"]}
    begun, begun_at = time.monotonic(), time.time()
    done = runs.vtlab(*runs.measure(short, root), env=limited)
    assert done.returncode == 0, done.stdout + done.stderr
    results = lab_call.only(root)
    document = runs.verdict(results)
    assert (document["valid"], document["n"]) == (True, 1)
    blocks = lab_call.blocks(results)
    check_bottlenecks(document, blocks)
    check_limits(document)
    check_pods(blocks, before)
    assert document["environment"]["raised_cpu"] == 2
    assert (results / "report.html").is_file()
    assert "the dashboards do not show" not in done.stdout
    check_prometheus(document)
    assert runs.left_by_vtlab() == []
    assert alarms(begun_at, time.time(), "VtlabVariantRestarted") == set(), "fresh pods are no restart"
    # Before the trials a slow machine's cold JVM is scraped late.
    assert alarms(blocks[-1]["trials"][0]["begin"] / 1000, time.time()) == set()
    rates = ", ".join(f"{name} {variant['throughput']:.1f}/s" for name, variant in document["variants"].items())
    took = f"{time.monotonic() - begun:.0f} s"
    lab.show([f"blocking-5s with 400 users of 2 s, --target kubernetes --blocks 1: {took}, {rates}"])


def check_bottlenecks(document: dict[str, Any], blocks: list[dict[str, Any]]) -> None:
    """Asserts that the names of the bottlenecks are those of threads and users; or the CPU, where a slow machine's JIT
    compiler uses that up in the short trials."""
    servers = [(t["variant"], t["server"]) for block in blocks for t in block["trials"]]
    used_up = {name for name, server in servers if server["cpu_cores"] >= 0.7 and server["jit_cpu"] >= 0.1}
    for variant, resource in {"platform": "tomcat-threads", "virtual": "load"}.items():
        right = {resource, "cpu"} if variant in used_up else {resource}
        assert runs.bottlenecks(document)[variant] in right, document["variants"][variant]


def check_limits(document: dict[str, Any]) -> None:
    """Asserts that the instances of a verdict had the chart's CPU limit and its archive of classes."""
    assert document["environment"]["target"] == "kubernetes"
    instances = document["environment"]["instances"]
    assert {name: instance["cpu_limit"] for name, instance in instances.items()} == dict.fromkeys(VARIANTS, 1)
    assert [instance["class_archives"] for instance in instances.values()] == 2 * [{"app.aot": True}]


def check_pods(blocks: list[dict[str, Any]], before: set[str]) -> None:
    """Asserts that each block had pods of its own, with more CPU in the first part of the warm-up alone. ``before``:
    the uids of the pods before the run."""
    # In place, and back: the pods that were raised are those that were measured.
    phases = [trial for block in blocks for trial in (*block["warmup"], *block["trials"])]
    raised = {trial["variant"]: trial["server"]["cpu_limit"] for trial in phases if trial["raised_cpu"] == 2}
    assert raised == dict.fromkeys(VARIANTS, 2), "read inside the pods, by the Role of the chart"
    assert {trial["server"]["cpu_limit"] for trial in phases if trial["raised_cpu"] is None} == {1}
    identities = {instance["identity"] for block in blocks for instance in block["instances"]}
    assert len(identities - before) == 2 * len(blocks), "fresh pods in every block"


def check_prometheus(document: dict[str, Any]) -> None:
    """Asserts that Prometheus has the bottlenecks and the number of blocks of a verdict."""
    of_run = f'{{namespace="lab",testid="{document["environment"]["run_id"]}"}}[1h]'
    shown = [series["metric"] for series in lab.query(f"last_over_time(vtlab_bottleneck_ratio{of_run})")]
    assert {labels["variant"]: labels["resource"] for labels in shown} == runs.bottlenecks(document)
    assert lab.value(f"last_over_time(vtlab_verdict_blocks{of_run})") == 1


@every
def test_an_upgrade_adds_a_database_which_is_restricted() -> None:
    """An upgrade adds a database that every variant reads from, whose pools have data in the dashboard, and that runs
    without rights: no token, no capabilities, a read-only root, an account with one database."""
    lab.upgrade("--set", "database.enabled=true")
    for variant in VARIANTS:
        assert lab.answer(variant, "/stress/sleep?duration=100ms").keys() == {"id", "name", "account"}
    queries = substitute.expanded(dashboards.read("why"), CHOSEN, 60)
    (pool,) = (query for query in queries if (query.panel, query.ref) == dashboards.POOL)
    lab.until(
        "the pools of connections are measured",
        lambda: {series["metric"]["variant"] for series in lab.query(pool.promql)} == set(VARIANTS),
    )
    pod = lab.get("pod", "lab-database-0")
    (status,) = pod["status"]["containerStatuses"]
    values = yaml.safe_load((lab.CHART / "values.yaml").read_text(encoding="utf-8"))
    image = values["database"]["image"]
    assert status["image"] == f"{image['repository']}:{image['tag']}"
    assert "kube-api-access" not in json.dumps(pod["spec"]), "no token"

    def inside(command: str) -> str:
        return lab.kubectl("exec", "lab-database-0", "--", "sh", "-c", command)

    assert inside("id -u; id -g").split() == ["999", "999"]
    # Capabilities that it may ever have, privileges that it may gain, and a filter of its system calls.
    kernel = dict(re.findall(r"(\w+):\t(.*)", inside("cat /proc/1/status")))
    assert int(kernel["CapBnd"], 16) == int(kernel["CapEff"], 16) == 0
    assert (kernel["NoNewPrivs"], kernel["Seccomp"]) == ("1", "2")
    mounts = {line.split()[1]: line.split()[3].split(",")[0] for line in inside("cat /proc/mounts").splitlines()}
    assert mounts["/"] == "ro"
    assert {mounts[path] for path in ("/tmp", "/run/mysqld", "/var/lib/mysql")} == {"rw"}
    # As the account of the variants: room for every pool, and nothing of any other database.
    account = 'MYSQL_PWD=$MARIADB_PASSWORD mariadb -h 127.0.0.1 -u "$MARIADB_USER" -N -e '
    assert inside(f"{account} 'SELECT @@max_connections'").strip() == "1000"
    assert inside(f"{account} 'SHOW DATABASES'").split() == ["information_schema", "lab"]
    if lab.enforces_policies():
        reach.hold_of_database()


@every
def test_an_upgrade_changes_the_limit_vtlab_refuses_it_and_a_rollback_restores_it(tmp_path: Path) -> None:
    """vtlab refuses a release whose CPU limit is not the experiment's and says how to change it; `helm rollback`
    restores the limit."""
    before = int(json.loads(lab.helm("history", "lab", "-o", "json"))[-1]["revision"])
    lab.upgrade("--set", "limits.cpu=500m")
    assert limit("virtual") == "500m"
    refused = runs.vtlab(*runs.measure("blocking", tmp_path / "results"))
    assert refused.returncode == 2, refused.stdout + refused.stderr
    assert "its CPU limit is 500m, not 1" in refused.stderr
    assert "--set-string limits.cpu=1" in refused.stderr
    assert not (tmp_path / "results").exists()
    lab.rollback(str(before))
    assert limit("virtual") == "1"


@every
def test_the_password_of_the_database_stays() -> None:
    """The database keeps its first password through upgrades and a rollback, each of which renders the chart again."""
    secrets = []
    for revision in json.loads(lab.helm("history", "lab", "-o", "json")):
        manifest = lab.helm("get", "manifest", "lab", "--revision", str(revision["revision"]))
        objects = [document for document in yaml.safe_load_all(manifest) if document]
        secrets += [document["data"] for document in objects if document["kind"] == "Secret"]
    assert len(secrets) >= 3
    assert secrets[0]["password"]
    assert all(secret == secrets[0] for secret in secrets)
    assert lab.get("secret", "lab-database")["data"] == secrets[0]
    for variant in VARIANTS:
        assert lab.answer(variant, "/stress/nosleep")["id"] == 1


@every
def test_publication_002_comes_out_and_is_explained(tmp_path: Path) -> None:
    """Publication 002 comes out in a cluster, too: with an old driver on JDK 21 a slow query is slower on virtual
    threads, as the carriers limit them and the pool of connections the others."""
    values = yaml.safe_load((lab.CHART / "ci/reproductions-values.yaml").read_text(encoding="utf-8"))
    del values["downstream"], values["variants"]["reactive"]
    for variant in values["variants"].values():
        if "image" in variant:
            variant["image"]["tag"] = f"{os.environ['LAB_IMAGE'].rpartition(':')[2]}-jdk21"
    file = tmp_path / "values.json"
    file.write_text(json.dumps(values), encoding="utf-8")
    lab.upgrade("-f", str(file))

    two = ["platform-jdk21", "virtual-jdk21"]
    load = {"users": 20, "round": {"platform-jdk21": "2s"}}
    short = shortened("db-slow-query", tmp_path, load, variants=two, measure="30s")
    begun = time.monotonic()
    done = runs.vtlab(*runs.measure(short, tmp_path / "results"))
    assert done.returncode == 0, done.stdout + done.stderr
    document = runs.verdict(lab_call.only(tmp_path / "results"))
    assert runs.ratio(document, "capacity") < 1
    assert runs.bottlenecks(document) == {"platform-jdk21": "db-pool", "virtual-jdk21": "carriers"}
    assert all(instance["java"].startswith("21.") for instance in document["environment"]["instances"].values())
    (place, *_) = document["variants"]["virtual-jdk21"]["pinned"]
    assert place.startswith("com.mysql.cj."), "the driver's line that keeps the carrier"
    rates = ", ".join(f"{name} {variant['throughput']:.2f}/s" for name, variant in document["variants"].items())
    lab.show([f"db-slow-query, --target kubernetes --blocks 1: {time.monotonic() - begun:.0f} s, {rates}"])


def shortened(
    name: str,
    folder: Path,
    load: dict[str, Any],
    variants: list[str] | None = None,
    query: dict[str, str] | None = None,
    **windows: Any,
) -> Path:
    """The file of an experiment with fewer users, other windows and maybe fewer variants or shorter requests. ``load``
    replaces keys of its full load."""
    experiment = json.loads((lab.REPOSITORY / f"k6/experiments/{name}.json").read_text(encoding="utf-8"))
    del experiment["$schema"]
    full = experiment["load"]["full"]
    full |= load
    experiment["windows"] |= {"measure_by_variant": {}, **windows}
    experiment["requests"][0]["query"] |= query or {}
    if duration := (query or {}).get("duration"):
        full["service_time"] = dict.fromkeys(full.get("service_time", {}), duration)
    experiment["variants"] = variants or experiment.get("variants", ["platform", "virtual"])
    properties = experiment.get("properties", {})
    experiment |= {"expected": {}, "properties": {k: v for k, v in properties.items() if k in experiment["variants"]}}
    file = folder / f"{name}.json"
    file.write_text(json.dumps(experiment), encoding="utf-8")
    return file


def limit(variant: str) -> str:
    """The CPU limit in a variant's Deployment."""
    containers = lab.get("deployment", f"lab-{variant}")["spec"]["template"]["spec"]["containers"]
    return str(containers[0]["resources"]["limits"]["cpu"])


def test_uninstall_leaves_nothing() -> None:
    """`helm uninstall` leaves nothing of the release in its namespace or in that of the monitoring."""
    lab.uninstall()
    kinds = lab.run("kubectl", "api-resources", "--verbs=list", "--namespaced", "-o", "name").split()
    # Events are no objects of the release; the pods' EndpointSlices go with their Services.
    kinds = [kind for kind in kinds if not kind.startswith("events")]

    def left() -> list[str]:
        names = lab.kubectl("get", ",".join(kinds), "-l", "app.kubernetes.io/instance=lab", "-o", "name").split()
        return names + lab.kubectl("get", "jobs,pods", "-o", "name").split()

    lab.until("nothing is left of the release", lambda: not left(), within=300)
    label = "app.kubernetes.io/instance=lab"
    monitoring = lab.run("kubectl", "-n", "monitoring", "get", "roles,rolebindings", "-l", label, "-o", "name")
    assert monitoring.split() == []

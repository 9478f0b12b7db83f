"""The life of a release on a real cluster, from helm install to helm uninstall. The tests go in their order."""

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

from e2e import lab
from e2e.kubernetes import dashboards
from tests.support.lab_call import blocks, only
from tests.support.versions import VERSIONS
from vtlab.catalogue.dashboards import substitute
from vtlab.targets.kubernetes.cluster import RIGHTS

VARIANTS = ("platform", "virtual")


class Clock:
    installed = 0.0


@pytest.fixture(scope="module")
def limited(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """The environment of somebody who has no rights but what is bound to the service account `runner`."""
    lab.kubectl("create", "serviceaccount", "runner")
    kubeconfig = tmp_path_factory.mktemp("rights") / "kubeconfig"
    admin: Any = json.loads(lab.run("kubectl", "config", "view", "--raw", "--minify", "--flatten", "-o", "json"))
    token = lab.kubectl("create", "token", "runner", "--duration", "2h").strip()
    user = admin["contexts"][0]["context"]["user"]
    admin["users"] = [{"name": user, "user": {"token": token}}]
    kubeconfig.write_text(json.dumps(admin), encoding="utf-8")
    kubeconfig.chmod(0o600)
    return {"KUBECONFIG": str(kubeconfig)}


def test_the_chart_installs_where_restricted_is_enforced() -> None:
    lab.fresh_namespace()
    Clock.installed = time.monotonic()
    # With a database for all that follows: an upgrade that adds it would replace every pod.
    lab.install("--set", "database.enabled=true")
    for name in (*(f"deployment/lab-{variant}" for variant in VARIANTS), "statefulset/lab-database"):
        assert lab.get(name)["status"]["readyReplicas"] == 1, name


@pytest.mark.parametrize("variant", VARIANTS)
def test_a_variant_answers_from_the_database(variant: str) -> None:
    assert lab.answer(variant, "/stress/sleep?duration=100ms").keys() == {"id", "name", "account"}


def test_the_database_is_restricted() -> None:
    pod = lab.get("pod", "lab-database-0")
    (status,) = pod["status"]["containerStatuses"]
    assert status["image"].endswith(f"library/mariadb:{VERSIONS['MARIADB_IMAGE_VERSION']}")
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
    assert {mounts[place] for place in ("/tmp", "/run/mysqld", "/var/lib/mysql")} == {"rw"}
    # As the account of the variants: room for every pool, and nothing of any other database.
    account = 'MYSQL_PWD=$MARIADB_PASSWORD mariadb -h 127.0.0.1 -u "$MARIADB_USER" -N -e '
    assert inside(f"{account} 'SELECT @@max_connections'").strip() == "1000"
    assert inside(f"{account} 'SHOW DATABASES'").split() == ["information_schema", "lab"]


def test_the_dashboards_are_where_the_sidecar_of_grafana_looks() -> None:
    values = yaml.safe_load((lab.CHART / "kube-prometheus-stack.values.yaml").read_text(encoding="utf-8"))
    sidecar = values["grafana"]["sidecar"]["dashboards"]
    found = lab.get("configmaps", "-l", f"{sidecar['label']}={sidecar['labelValue']}")["items"]
    assert {each["metadata"]["name"] for each in found} == {f"lab-dashboard-{name}" for name in dashboards.FILES}
    for each in found:
        assert each["metadata"]["annotations"][sidecar["folderAnnotation"]] == "Virtual Threads Lab"
        (text,) = each["data"].values()
        assert json.loads(text) == dashboards.read(each["metadata"]["name"].removeprefix("lab-dashboard-"))


def test_a_block_by_hand_ends_with_its_table() -> None:
    lab.kubectl("create", "job", "--from=cronjob/lab-blocking", "blocking-1")
    log = lab.job_log("blocking-1", timeout=900)
    lab.show([f"from helm install to the end of one block of blocking: {time.monotonic() - Clock.installed:.0f} s"])
    table = log[log.index("one block, warm JVMs, no verdict") :]
    means = {line.split()[1]: float(line.split()[3]) for line in table.splitlines() if line.strip().startswith("mean ")}
    assert set(means) == set(VARIANTS)
    # Not a timing: the law says 5, and anything near it says that both were loaded alike.
    assert means["virtual"] > 3 * means["platform"] > 0
    assert log.rstrip().splitlines()[-1] in table, "the table is the end of the log"


def test_helm_test_finds_each_variant_on_its_kind_of_thread() -> None:
    assert "Succeeded" in lab.helm("test", "lab", "--timeout", "2m")


@pytest.mark.parametrize("variant", VARIANTS)
def test_the_app_is_measured_under_its_variant(variant: str) -> None:
    own = f'namespace="lab",variant="{variant}"'
    # The operator's configuration reaches Prometheus through a Secret, which the kubelet renews within two minutes.
    scrapes = f"sum(count_over_time(up{{{own}}}[20s]))"
    lab.until(f"{variant} is scraped every second", lambda: (lab.value(scrapes) or 0) >= 15, within=600)
    # Over a while, as a single scrape may come too late on a busy machine; it never said anything else.
    for name in ("cgroup_cpu_limit_cores", "system_cpu_count"):
        for extreme in ("min", "max"):
            assert lab.value(f"{extreme}({extreme}_over_time({name}{{{own}}}[20s]))") == 1, name
    requests = f'http_server_requests_seconds_count{{{own},uri="/thread",status="200"}}'
    assert (lab.value(f"sum(last_over_time({requests}[20s]))") or 0) > 100
    (series,) = lab.query(f"last_over_time(jvm_info{{{own}}}[20s])")
    assert series["metric"]["pod"].startswith(f"lab-{variant}-")


def test_k6_is_measured_with_its_labels() -> None:
    by = "experiment, variant, testid, block, trial, phase"
    labels = [series["metric"] for series in lab.query(f"sum by ({by}) (last_over_time(k6_http_reqs_total[10m]))")]

    def trials(variant: str, phase: str) -> set[str]:
        wanted = {"experiment": "blocking", "variant": variant, "testid": "blocking-1", "block": "1", "phase": phase}
        return {each.get("trial", "") for each in labels if wanted.items() <= each.items()}

    assert trials("platform", "measure") == {"1", "4"}
    assert trials("virtual", "measure") == {"2", "3"}
    # The variants take turns in the warm-up.
    for variant, rest in (("platform", 1), ("virtual", 0)):
        cycles = trials(variant, "warmup")
        assert cycles
        assert all(trial.startswith("w") and int(trial[1:]) % 2 == rest for trial in cycles), cycles
    samples = 'k6_http_req_duration_seconds{testid="blocking-1",variant="virtual",phase="measure"}'
    count = lab.value(f"sum(histogram_count(last_over_time({samples}[10m])))")
    assert count is not None
    assert count > 1000, "native histograms"


def test_the_operator_has_loaded_the_rules() -> None:
    written = json.loads((lab.CHART / "files/rules.json").read_text(encoding="utf-8"))["groups"]
    names = {group["name"] for group in written}

    def loaded() -> list[dict[str, Any]]:
        return [group for group in lab.prometheus("rules")["groups"] if group["name"] in names]

    lab.until("the rules are loaded and evaluated", lambda: evaluated(loaded()) == names, within=600)
    # A quarter of the interval at most, or Prometheus is busy with us. What else the machine does only adds to it.
    quick: set[str] = set()

    def took_a_quarter() -> bool:
        quick.update(each["name"] for each in loaded() if each["evaluationTime"] < each["interval"] / 4)
        return quick == names

    lab.until("every group is evaluated in a quarter of its interval", took_a_quarter)
    for group, own in zip(sorted(loaded(), key=by_name), sorted(written, key=by_name), strict=True):
        assert [rule["name"] for rule in group["rules"]] == [
            rule.get("record", rule.get("alert")) for rule in own["rules"]
        ]
        for rule in group["rules"]:
            assert (rule["health"], rule.get("lastError", "")) == ("ok", ""), rule


def by_name(group: dict[str, Any]) -> str:
    return str(group["name"])


def evaluated(groups: list[dict[str, Any]]) -> set[str]:
    return {group["name"] for group in groups if all(rule["health"] != "unknown" for rule in group["rules"])}


#: What somebody chooses at the top of a dashboard.
CHOSEN: substitute.Values = {
    "namespace": lab.NAMESPACE,
    "experiment": "blocking",
    "run": "blocking-1",
    "variants": VARIANTS,
}


@pytest.fixture(scope="module")
def block_by_hand() -> tuple[int, int]:
    """When it began, and ten seconds after it ended."""
    status = lab.get("job", "blocking-1")["status"]
    begun, ended = (datetime.fromisoformat(status[edge]).timestamp() for edge in ("startTime", "completionTime"))
    return round(begun), round(ended) + 10


@pytest.mark.parametrize("name", dashboards.FILES)
def test_the_block_by_hand_can_be_chosen_in_every_dashboard(name: str, block_by_hand: tuple[int, int]) -> None:
    begin, end = block_by_hand
    found = {
        variable: set(lab.prometheus(f"label/{label}/values", start=begin, end=end, **{"match[]": selector}))
        for variable, query, label in dashboards.choices(name)
        for selector in [substitute.filled(query, CHOSEN)]
    }
    assert found.pop("variants") == set(VARIANTS)
    assert found.keys() == CHOSEN.keys() - {"variants"}
    for variable, options in found.items():
        assert CHOSEN[variable] in options, variable


@pytest.mark.parametrize("name", dashboards.FILES)
def test_every_query_of_a_dashboard_has_data_of_the_block_by_hand(name: str, block_by_hand: tuple[int, int]) -> None:
    begin, end = block_by_hand
    empty = set()
    variants: dict[str, set[str]] = {}
    for query in substitute.expanded(dashboards.read(name), CHOSEN, end - begin):
        series = lab.query_range(query.promql, end if query.instant else begin, end, step=1)
        found = [each["metric"] for each in series if any(math.isfinite(float(value)) for _, value in each["values"])]
        if not found:
            empty.add((query.panel, query.ref))
        if query.ref != dashboards.BANDS:
            # Of a repeated panel the title ends with its variant.
            panel = re.sub(f"({'|'.join(VARIANTS)})$", "", query.panel)
            variants.setdefault(panel, set()).update(each["variant"] for each in found if "variant" in each)
    assert empty == dashboards.EMPTY.get(name, set())
    assert {panel: of for panel, of in variants.items() if of and of != set(VARIANTS)} == {}


def test_nothing_alarmed_in_the_block_by_hand(block_by_hand: tuple[int, int]) -> None:
    assert alarms(*block_by_hand) == set()


def alarms(begin: float, end: float) -> set[str]:
    """Alerts that are about pods and not about load: where nothing happened to a pod, none may fire."""
    alerts = 'ALERTS{namespace="lab",alertstate="firing",alertname=~"VtlabVariantRestarted|VtlabTargetDown"}'
    return {each["metric"]["alertname"] for each in lab.query_range(alerts, begin, end, step=2)}


def test_the_quota_is_enforced_under_cpu_load_and_one_setting_can_be_changed() -> None:
    job = lab.kubectl(
        "create",
        "job",
        "--from=cronjob/lab-cpu",
        "cpu-1",
        "--dry-run=client",
        "-o",
        "yaml",
    )
    changed = lab.run(
        "kubectl",
        "set",
        "env",
        "--local",
        "-f",
        "-",
        "WARMUP_CYCLES=1",
        "MEASURE=4s",
        "SINGLE=",
        "-o",
        "yaml",
        given=job,
    )
    begun = time.monotonic()
    lab.kubectl("create", "-f", "-", given=changed)
    log = lab.job_log("cpu-1", timeout=900)
    assert sum(line.split()[0] == "w1" for line in log.splitlines() if line.strip()) == 1
    for variant in VARIANTS:
        own = f'namespace="lab",variant="{variant}"'
        # This job's own time: the block before it may have been throttled, too.
        window = f"{int(time.monotonic() - begun)}s"
        throttled = lab.value(f"sum(increase(cgroup_cpu_throttled_periods_total{{{own}}}[{window}]))")
        assert throttled is not None
        assert throttled > 0
        used = lab.value(f"max(max_over_time(rate(process_cpu_time_ns_total{{{own}}}[4s])[{window}:1s])) / 1e9")
        assert used is not None
        assert used > 0.5, f"{variant} used {used} cores of 1"
        # The law of the quota: in no period more than its 100 ms, whenever Prometheus came to read that.
        spent = lab.value(f"sum(increase(process_cpu_time_ns_total{{{own}}}[{window}])) / 1e9")
        periods = lab.value(f"sum(increase(cgroup_cpu_periods_total{{{own}}}[{window}]))")
        assert spent is not None
        assert periods is not None
        assert spent <= 1.05 * 0.1 * periods, f"{variant} used {spent} s in {periods} periods of 100 ms"


def test_doctor_names_every_right_that_is_missing(limited: dict[str, str]) -> None:
    done = lab.vtlab("doctor", "--target", "kubernetes", env=limited)
    assert done.returncode == 3, done.stdout + done.stderr
    (missing,) = re.findall(r"missing in namespace lab: (.*)", done.stdout)
    assert missing.strip().split(", ") == [str(right) for right in RIGHTS]
    assert "cannot be told without the right to list batch/cronjobs" in done.stdout


def test_vtlab_finds_the_same_with_the_rights_of_the_charts_roles(limited: dict[str, str], tmp_path: Path) -> None:
    subject = {"kind": "ServiceAccount", "name": "runner"}
    lab.upgrade("--set-json", f"rbac.subjects={json.dumps([subject])}")
    doctor = lab.vtlab("doctor", "--target", "kubernetes", env=limited)
    assert doctor.returncode == 0, doctor.stdout + doctor.stderr

    # Publication 000 in a short form: 1000 users of 5 s take half a minute to come and another to go.
    rounds = {"platform": "2s", "virtual": "1s"}
    short = shortened("blocking-5s", tmp_path, users=400, rounds=rounds, measure="6s", query={"duration": "1s"})
    root = tmp_path / "results"
    demand = ("--assert", "throughput(virtual/platform) >= 1.05")
    begun, begun_at = time.monotonic(), time.time()
    done = lab.vtlab(*lab.measure(short, root, blocks=3), *demand, env=limited, timeout=1800)
    assert done.returncode == 0, done.stdout + done.stderr
    results = only(root)
    found = lab.verdict(results)
    primary = found["comparisons"][0]
    assert (primary["verdict"], found["valid"], found["n"]) == ("faster", True, 3)
    assert found["variants"]["platform"]["bottleneck"]["resource"] == "tomcat-threads"
    assert found["variants"]["virtual"]["bottleneck"]["resource"] == "load"
    assert found["environment"]["target"] == "kubernetes"
    assert {name: each["cpu_limit"] for name, each in found["environment"]["instances"].items()} == dict.fromkeys(
        VARIANTS, 1
    )
    identities = {instance["identity"] for block in blocks(results) for instance in block["instances"]}
    assert len(identities) == 2 * len(blocks(results)), "fresh pods in every block"
    assert (results / "report.html").is_file()
    assert lab.left_by_vtlab() == []
    assert alarms(begun_at, time.time()) == set(), "fresh pods between blocks are no restart"
    rates = ", ".join(f"{name} {each['throughput']:.1f}/s" for name, each in found["variants"].items())
    lab.show(
        [
            f"blocking-5s with 400 users of 1 s, --target kubernetes --blocks 3: {time.monotonic() - begun:.0f} s, "
            f"ratio {primary['ratio']:.3f} ({primary['low']:.3f} to {primary['high']:.3f}), {rates}"
        ]
    )


def test_an_upgrade_changes_the_limit_vtlab_refuses_it_and_a_rollback_restores_it(
    tmp_path: Path,
) -> None:
    before = int(json.loads(lab.helm("history", "lab", "-o", "json"))[-1]["revision"])
    lab.upgrade("--set", "limits.cpu=500m")
    assert limit("virtual") == "500m"
    refused = lab.vtlab(*lab.measure("blocking", tmp_path / "results"))
    assert refused.returncode == 2, refused.stdout + refused.stderr
    assert "its CPU limit is 500m, not 1" in refused.stderr
    assert "--set-string limits.cpu=1" in refused.stderr
    assert not (tmp_path / "results").exists()
    lab.rollback(str(before))
    assert limit("virtual") == "1"


def test_the_password_of_the_database_is_that_of_the_first_install() -> None:
    """After the upgrades and the rollback above, each of which rendered the chart anew."""
    revisions = json.loads(lab.helm("history", "lab", "-o", "json"))
    assert len(revisions) > 2
    first = yaml.safe_load_all(lab.helm("get", "manifest", "lab", "--revision", str(revisions[0]["revision"])))
    (made,) = (each for each in first if each and each["kind"] == "Secret")
    assert made["data"]["password"]
    assert lab.get("secret", "lab-database")["data"] == made["data"]
    for variant in VARIANTS:
        assert lab.answer(variant, "/stress/nosleep")["id"] == 1


def test_publication_002_comes_out_and_is_explained(tmp_path: Path) -> None:
    """A slow query, with an old driver on JDK 21: a pool of connections holds platform back, carriers virtual."""
    values = yaml.safe_load((lab.CHART / "ci/reproductions-values.yaml").read_text(encoding="utf-8"))
    del values["downstream"], values["variants"]["reactive"]
    for variant in values["variants"].values():
        if "image" in variant:
            variant["image"]["tag"] = f"{os.environ['LAB_IMAGE'].rpartition(':')[2]}-jdk21"
    file = tmp_path / "values.json"
    file.write_text(json.dumps(values), encoding="utf-8")
    lab.upgrade("-f", str(file))

    two = ["platform-jdk21", "virtual-jdk21"]
    short = shortened("db-slow-query", tmp_path, users=20, rounds={"platform-jdk21": "2s"}, measure="30s", variants=two)
    begun = time.monotonic()
    done = lab.vtlab(*lab.measure(short, tmp_path / "results"), timeout=1800)
    assert done.returncode == 0, done.stdout + done.stderr
    found = lab.verdict(only(tmp_path / "results"))
    assert found["comparisons"][0]["ratio"] < 1
    held = {name: each["bottleneck"]["resource"] for name, each in found["variants"].items()}
    assert held == {"platform-jdk21": "db-pool", "virtual-jdk21": "carriers"}
    assert all(each["java"].startswith("21.") for each in found["environment"]["instances"].values())
    (place, *_) = found["variants"]["virtual-jdk21"]["pinned"]
    assert place.startswith("com.mysql.cj."), "the driver's line that keeps the carrier"
    rates = ", ".join(f"{name} {each['throughput']:.2f}/s" for name, each in found["variants"].items())
    lab.show([f"db-slow-query, --target kubernetes --blocks 1: {time.monotonic() - begun:.0f} s, {rates}"])


def shortened(
    name: str,
    folder: Path,
    *,
    users: int,
    rounds: dict[str, str],
    measure: str,
    variants: list[str] | None = None,
    query: dict[str, str] | None = None,
) -> Path:
    """The file of an experiment with fewer users, another window and maybe fewer variants or shorter requests."""
    experiment = json.loads((lab.REPOSITORY / f"k6/experiments/{name}.json").read_text(encoding="utf-8"))
    del experiment["$schema"]
    experiment.pop("publication", None)
    experiment["load"] |= {"users": users, "round": rounds}
    experiment["windows"] |= {"measure": measure, "measure_by_variant": {}}
    experiment["request"]["query"] |= query or {}
    experiment["variants"] = variants or experiment["variants"]
    properties = experiment.get("properties", {})
    experiment |= {"expected": {}, "properties": {k: v for k, v in properties.items() if k in experiment["variants"]}}
    file = folder / f"{name}.json"
    file.write_text(json.dumps(experiment), encoding="utf-8")
    return file


def limit(variant: str) -> str:
    containers = lab.get("deployment", f"lab-{variant}")["spec"]["template"]["spec"]["containers"]
    return str(containers[0]["resources"]["limits"]["cpu"])


def test_an_unknown_value_is_refused_by_name() -> None:
    done = lab.attempt(
        "helm",
        "-n",
        lab.NAMESPACE,
        "upgrade",
        "lab",
        str(lab.CHART),
        "--reuse-values",
        "--set",
        "limit.cpu=1",
    )
    assert done.returncode != 0
    assert "'limit' not allowed" in done.stderr


def test_uninstall_leaves_nothing() -> None:
    lab.helm("uninstall", "lab", "--wait", "--timeout", "3m")
    kinds = lab.run("kubectl", "api-resources", "--verbs=list", "--namespaced", "-o", "name").split()
    # Events are no objects of the release; the pods' EndpointSlices go with their Services.
    kinds = [kind for kind in kinds if not kind.startswith("events")]

    def left() -> list[str]:
        names = lab.kubectl("get", ",".join(kinds), "-l", "app.kubernetes.io/instance=lab", "-o", "name").split()
        return names + lab.kubectl("get", "jobs,pods", "-o", "name").split()

    lab.until("nothing is left of the release", lambda: not left(), within=300)
    monitoring = lab.run(
        "kubectl",
        "-n",
        "monitoring",
        "get",
        "roles,rolebindings",
        "-l",
        "app.kubernetes.io/instance=lab",
        "-o",
        "name",
    )
    assert monitoring.split() == []

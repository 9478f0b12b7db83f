"""The life of a release on a real cluster, from helm install to helm uninstall. The tests go in their order."""

from __future__ import annotations

import json
import re
import time
from pathlib import Path
from typing import Any

import pytest

from e2e import lab
from tests.lab_call import blocks, only
from vtlab.kubernetes.cluster import RIGHTS

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
    lab.install()
    for variant in VARIANTS:
        deployment = lab.get("deployment", f"lab-{variant}")
        assert deployment["status"]["readyReplicas"] == 1


def test_a_block_by_hand_ends_with_its_table() -> None:
    lab.kubectl("create", "job", "--from=cronjob/lab-blocking", "blocking-1")
    log = lab.job_log("blocking-1", timeout=300)
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
    lab.until(f"{variant} is scraped every second", lambda: (lab.value(scrapes) or 0) >= 15, within=180)
    assert lab.value(f"max(up{{{own}}})") == 1
    assert lab.value(f"max(cgroup_cpu_limit_cores{{{own}}})") == 1
    assert lab.value(f"max(system_cpu_count{{{own}}})") == 1
    requests = f'sum(http_server_requests_seconds_count{{{own},uri="/thread",status="200"}})'
    assert (lab.value(requests) or 0) > 100
    (series,) = lab.query(f"jvm_info{{{own}}}")
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
        "-o",
        "yaml",
        given=job,
    )
    begun = time.monotonic()
    lab.kubectl("create", "-f", "-", given=changed)
    log = lab.job_log("cpu-1", timeout=200)
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
        # A period of quota may be used at either edge of 4 s.
        assert 0.5 < used < 1.1, f"{variant} used {used} cores of 1"


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

    root = tmp_path / "results"
    demand = ("--assert", "throughput(virtual/platform) >= 1.05")
    begun = time.monotonic()
    done = lab.vtlab(*lab.measure("blocking", root, blocks=2), *demand, env=limited, timeout=1200)
    assert done.returncode == 0, done.stdout + done.stderr
    results = only(root)
    found = lab.verdict(results)
    primary = found["comparisons"][0]
    assert (primary["verdict"], found["valid"], found["n"]) == ("faster", True, 2)
    assert found["variants"]["platform"]["constraint"]["resource"] == "tomcat-threads"
    assert found["variants"]["virtual"]["constraint"]["resource"] == "users"
    assert found["environment"]["target"] == "kubernetes"
    assert {name: each["cpu_limit"] for name, each in found["environment"]["instances"].items()} == dict.fromkeys(
        VARIANTS, 1
    )
    identities = {instance["identity"] for block in blocks(results) for instance in block["instances"]}
    assert len(identities) == 2 * len(blocks(results)), "fresh pods in every block"
    assert (results / "report.html").is_file()
    assert lab.left_by_vtlab() == []
    rates = ", ".join(f"{name} {each['throughput']:.1f}/s" for name, each in found["variants"].items())
    lab.show(
        [
            f"vtlab run blocking --target kubernetes --blocks 2: {time.monotonic() - begun:.0f} s, ratio "
            f"{primary['ratio']:.3f} ({primary['low']:.3f} to {primary['high']:.3f}), {rates}"
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

    lab.until("nothing is left of the release", lambda: not left(), within=120)
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

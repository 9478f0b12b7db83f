"""What the chart renders."""

from __future__ import annotations

import json
import tarfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

from e2e.chart.rendering import (
    CHART,
    CI_VALUES,
    KUBERNETES,
    REPOSITORY,
    Json,
    Rendered,
    containers,
    env,
    helm,
)

Render = Callable[..., Rendered]

EXPERIMENTS = {
    path.stem: json.loads(path.read_text())
    for path in (REPOSITORY / "k6/experiments").glob("*.json")
    if path.name != "experiment.schema.json"
}
MEBIBYTE = 1024 * 1024


@pytest.fixture(params=CI_VALUES, ids=lambda path: path.stem)
def any_values(request: pytest.FixtureRequest) -> Path:
    return Path(request.param)


def millicores(quantity: str | float) -> float:
    text = str(quantity)
    return float(text[:-1]) if text.endswith("m") else float(text) * 1000


# Every values file


def test_lint_is_silent(any_values: Path) -> None:
    done = helm("lint", "--strict", "--kube-version", KUBERNETES, CHART, "-f", any_values)

    assert done.returncode == 0, done.stdout + done.stderr
    assert "1 chart(s) linted, 0 chart(s) failed" in done.stdout
    assert "[WARNING]" not in done.stdout


def test_every_object_belongs_to_the_release(render: Render, any_values: Path) -> None:
    for each in render("-f", any_values).objects:
        labels = each["metadata"]["labels"]
        assert each["metadata"]["name"].startswith("lab-")
        assert each["metadata"]["namespace"] in ("lab", "monitoring")
        assert labels["app.kubernetes.io/name"] == "virtual-threads-lab"
        assert labels["app.kubernetes.io/instance"] == "lab"
        assert labels["app.kubernetes.io/managed-by"] == "Helm"
        assert labels["app.kubernetes.io/version"] == "0.1.0"
        assert labels["helm.sh/chart"] == "virtual-threads-lab-0.1.0"


def test_every_pod_keeps_to_pod_security_restricted(render: Render, any_values: Path) -> None:
    pods = render("-f", any_values).pods()

    assert len(pods) >= 4
    for template in pods.values():
        spec = template["spec"]
        assert spec["automountServiceAccountToken"] is False
        assert spec["enableServiceLinks"] is False
        assert spec["securityContext"]["runAsNonRoot"] is True
        assert spec["securityContext"]["runAsUser"] > 0
        assert spec["securityContext"]["seccompProfile"] == {"type": "RuntimeDefault"}
        assert not {"hostNetwork", "hostPID", "hostIPC"} & spec.keys()
        assert all({"configMap", "emptyDir"} & volume.keys() for volume in spec["volumes"])
        for container in containers(template):
            assert container["securityContext"] == {
                "allowPrivilegeEscalation": False,
                "readOnlyRootFilesystem": True,
                "capabilities": {"drop": ["ALL"]},
            }


def test_every_container_has_requests_and_limits(render: Render, any_values: Path) -> None:
    for template in render("-f", any_values).pods().values():
        for container in containers(template):
            assert millicores(container["resources"]["requests"]["cpu"]) > 0
            assert container["resources"]["limits"].keys() == {"cpu", "memory"}


def test_selectors_find_their_pods_and_no_others(render: Render, any_values: Path) -> None:
    rendered = render("-f", any_values)
    labels = {name: template["metadata"]["labels"] for name, template in rendered.pods().items()}

    def found(selector: Json) -> list[str]:
        return [name for name, has in labels.items() if selector.items() <= has.items()]

    for deployment in rendered.of("Deployment"):
        assert found(deployment["spec"]["selector"]["matchLabels"]) == [deployment["metadata"]["name"]]
    for service in rendered.of("Service"):
        assert found(service["spec"]["selector"]) == [service["metadata"]["name"]]
        assert service["metadata"]["labels"]["variant"] == service["spec"]["selector"]["variant"]


# Variants


def test_variants_differ_in_one_variable(default: Rendered) -> None:
    platform, virtual = (default.one("Deployment", f"lab-{variant}") for variant in ("platform", "virtual"))
    (left,), (right,) = (containers(each["spec"]["template"]) for each in (platform, virtual))

    assert env(left).items() ^ env(right).items() == {
        ("SPRING_THREADS_VIRTUAL_ENABLED", "false"),
        ("SPRING_THREADS_VIRTUAL_ENABLED", "true"),
    }
    assert {**left, "env": None} == {**right, "env": None}
    # And nothing but the name beside it.
    assert json.dumps(platform).replace("platform", "virtual").replace('"false"', '"true"') == json.dumps(virtual)


def test_a_variant_by_default(default: Rendered) -> None:
    spec = default.one("Deployment", "lab-virtual")["spec"]
    pod = spec["template"]["spec"]
    (app,) = pod["containers"]

    assert spec["strategy"] == {"type": "Recreate"}
    assert pod["terminationGracePeriodSeconds"] == 70
    assert app["name"] == "app"
    assert app["image"] == "virtual-threads-lab:0.1.0"
    assert env(app) == {
        "SPRING_THREADS_VIRTUAL_ENABLED": "true",
        "JAVA_TOOL_OPTIONS": "-XX:+UseSerialGC -XX:+ExitOnOutOfMemoryError -Xms384m -Xmx384m",
    }
    assert {port["name"]: port["containerPort"] for port in app["ports"]} == {
        "http": 8080,
        "management": 8081,
    }
    assert app["resources"] == {
        "requests": {"cpu": "100m"},
        "limits": {"cpu": "1", "memory": "768Mi"},
    }
    assert {app[f"{kind}Probe"]["httpGet"]["port"] for kind in ("startup", "liveness", "readiness")} == {"management"}
    assert app["readinessProbe"]["httpGet"]["path"] == "/actuator/health/readiness"
    assert app["volumeMounts"] == [{"name": "tmp", "mountPath": "/tmp"}]
    assert pod["securityContext"]["runAsUser"] == 10001


def test_a_third_variant_is_an_entry_in_the_values(render: Render) -> None:
    rendered = render("-f", CHART / "ci/three-variants-values.yaml")
    names = ["lab-platform", "lab-virtual", "lab-virtual-jdk21"]

    assert rendered.names("Deployment") == rendered.names("Service") == names
    (app,) = containers(rendered.one("Deployment", "lab-virtual-jdk21")["spec"]["template"])
    assert app["image"] == "virtual-threads-lab:21"
    assert env(app)["JAVA_TOOL_OPTIONS"].endswith(" -Xmx384m -Djdk.tracePinnedThreads=short")
    for name in names:
        (app,) = containers(rendered.one("Deployment", name)["spec"]["template"])
        assert env(app)["SERVER_TOMCAT_THREADS_MAX"] == "400"
    test = containers(rendered.one("Pod", "lab-test"))[0]
    assert json.loads(env(test)["EXPECTED"]) == {
        "http://lab-platform:8080": False,
        "http://lab-virtual:8080": True,
        "http://lab-virtual-jdk21:8080": True,
    }


def test_environment_is_text_and_the_variant_has_the_last_word(render: Render, tmp_path: Path) -> None:
    values = tmp_path / "values.yaml"
    values.write_text(
        "settings: {BIG: 1000000, HALF: 0.5, LEFT: true, TURNED: true, EMPTY: filled}\n"
        "variants: {virtual: {env: {TURNED: false, EMPTY: ''}}}\n"
    )

    (app,) = containers(render("-f", values).one("Deployment", "lab-virtual")["spec"]["template"])

    expected = {
        "BIG": "1000000",
        "HALF": "0.5",
        "LEFT": "true",
        "TURNED": "false",
        "EMPTY": "",
    }
    assert expected.items() <= env(app).items()


def test_a_dropped_variant_takes_its_experiments_along(render: Render) -> None:
    rendered = render("--set", "variants.platform=null")

    assert rendered.names("Deployment") == ["lab-virtual"]
    assert rendered.names("CronJob") == []


def test_reserved_cpu_fits_two_cpus(default: Rendered) -> None:
    pods = default.pods()
    jobs = [name for name in pods if name.startswith("cronjob")]
    running = [name for name in pods if name not in jobs] + jobs[:1]

    total = sum(millicores(c["resources"]["requests"]["cpu"]) for name in running for c in containers(pods[name]))

    assert len(running) == 4  # two variants, helm test, one Job
    assert total <= 1000


def test_reservation_can_be_the_limit(render: Render) -> None:
    (app,) = containers(render("--set-string", "requests.cpu=1").one("Deployment", "lab-virtual")["spec"]["template"])

    assert app["resources"]["requests"]["cpu"] == app["resources"]["limits"]["cpu"] == "1"


# Experiments


def test_one_suspended_cronjob_for_each_experiment(default: Rendered) -> None:
    runnable = [name for name, experiment in EXPERIMENTS.items() if not experiment["needs"]]

    assert default.names("CronJob") == sorted(f"lab-{name}" for name in runnable)
    for name in runnable:
        cronjob = default.one("CronJob", f"lab-{name}")["spec"]
        job = cronjob["jobTemplate"]["spec"]
        pod = job["template"]["spec"]
        (k6,) = pod["containers"]
        assert cronjob["suspend"] is True
        assert cronjob["successfulJobsHistoryLimit"] == cronjob["failedJobsHistoryLimit"] == 100
        assert job["backoffLimit"] == 0
        assert not {"activeDeadlineSeconds", "ttlSecondsAfterFinished"} & job.keys()
        assert pod["activeDeadlineSeconds"] == 3600
        assert pod["restartPolicy"] == "Never"
        assert pod["securityContext"]["runAsUser"] == 12345
        assert k6["name"] == "k6"
        assert k6["image"] == "docker.io/grafana/k6:1.8.1"
        assert k6["command"] == [
            *("k6", "run", "--address=", "--no-color", "--quiet"),
            *("-o", "experimental-prometheus-rw", "/k6/block.ts"),
        ]
        assert {**env(k6), "TARGETS": json.loads(env(k6)["TARGETS"])} == {
            "EXPERIMENT": name,
            "TARGETS": {variant: f"http://lab-{variant}:8080" for variant in EXPERIMENTS[name]["variants"]},
            "BLOCK": "1",
            "RUN_ID": {"fieldRef": {"fieldPath": "metadata.labels['batch.kubernetes.io/job-name']"}},
            "K6_PROMETHEUS_RW_SERVER_URL": "http://prometheus-operated.monitoring:9090/api/v1/write",
            "K6_PROMETHEUS_RW_TREND_AS_NATIVE_HISTOGRAM": "true",
            "K6_NO_USAGE_REPORT": "true",
            "K6_WEB_DASHBOARD": "false",
            "HOME": "/tmp",
        }


def test_targets_are_in_the_order_of_the_experiment(render: Render, chart_copy: Path) -> None:
    """The block's first and second variant."""
    experiment = {
        **EXPERIMENTS["blocking"],
        "name": "turned",
        "variants": ["virtual", "platform"],
    }
    (chart_copy / "k6/experiments/turned.json").write_text(json.dumps(experiment))

    turned = render(chart=chart_copy).one("CronJob", "lab-turned")
    (k6,) = containers(turned["spec"]["jobTemplate"]["spec"]["template"])
    assert list(json.loads(env(k6)["TARGETS"])) == ["virtual", "platform"]


def test_scripts_are_mounted_as_they_are_in_the_repository(default: Rendered) -> None:
    data = default.one("ConfigMap", "lab-k6")["data"]
    job = default.one("CronJob", "lab-blocking")["spec"]["jobTemplate"]["spec"]["template"]["spec"]
    (volume,) = job["volumes"]

    mounted = {item["path"]: data[item["key"]] for item in volume["configMap"]["items"]}

    k6 = REPOSITORY / "k6"
    paths = [
        k6 / "block.ts",
        *(k6 / "lib").rglob("*"),
        *(k6 / "experiments" / f"{name}.json" for name in EXPERIMENTS),
    ]
    expected = {str(path.relative_to(k6)): path.read_text().strip() for path in paths if path.is_file()}
    assert {path: text.strip() for path, text in mounted.items()} == expected
    assert job["containers"][0]["volumeMounts"][0]["mountPath"] == "/k6"
    assert volume["configMap"]["name"] == "lab-k6"
    assert len(json.dumps(data).encode()) < MEBIBYTE


def test_named_experiments_only(render: Render) -> None:
    assert render("--set", "experiments={cpu,blocking}").names("CronJob") == [
        "lab-blocking",
        "lab-cpu",
    ]


@pytest.mark.parametrize("need", ["database", "downstream", "jdk21"])
def test_an_experiment_waits_for_what_it_needs(render: Render, refusal: Any, chart_copy: Path, need: str) -> None:
    experiment = {**EXPERIMENTS["blocking"], "name": "needy", "needs": [need]}
    (chart_copy / "k6/experiments/needy.json").write_text(json.dumps(experiment))

    assert "lab-needy" not in render(chart=chart_copy).names("CronJob")
    assert "lab-needy" in render("--set", f"{need}.enabled=true", chart=chart_copy).names("CronJob")
    assert f"experiments: needy needs {need}, which is off: set {need}.enabled" in refusal(
        "--set", "experiments={needy}", chart=chart_copy
    )


def test_an_experiment_waits_for_its_variants(render: Render, refusal: Any, chart_copy: Path) -> None:
    experiment = {
        **EXPERIMENTS["blocking"],
        "name": "other",
        "variants": ["virtual", "reactive"],
    }
    (chart_copy / "k6/experiments/other.json").write_text(json.dumps(experiment))

    assert "lab-other" not in render(chart=chart_copy).names("CronJob")
    there = render(
        "--set",
        "variants.reactive.env.SPRING_MAIN_WEB_APPLICATION_TYPE=reactive",
        chart=chart_copy,
    )
    assert "lab-other" in there.names("CronJob")
    assert "other compares the variant reactive, which is not there: add variants.reactive" in refusal(
        "--set", "experiments={other}", chart=chart_copy
    )


# Monitoring


def test_servicemonitor(default: Rendered) -> None:
    (monitor,) = default.of("ServiceMonitor")
    (endpoint,) = monitor["spec"]["endpoints"]

    assert endpoint["path"] == "/actuator/prometheus"
    assert endpoint["interval"] == endpoint["scrapeTimeout"] == "1s"
    assert endpoint["relabelings"] == [
        {
            "sourceLabels": ["__meta_kubernetes_pod_label_variant"],
            "targetLabel": "variant",
        }
    ]
    selector = monitor["spec"]["selector"]["matchLabels"]
    for service in default.of("Service"):
        assert selector.items() <= service["metadata"]["labels"].items()
        assert endpoint["port"] in [port["name"] for port in service["spec"]["ports"]]
    for template in default.of("Deployment"):
        assert template["spec"]["template"]["metadata"]["labels"]["variant"] in template["metadata"]["name"]


def test_without_monitoring_nothing_of_the_operator(render: Render) -> None:
    rendered = render("-f", CHART / "ci/no-monitoring-values.yaml")

    assert not [each for each in rendered.objects if "monitoring.coreos.com" in each["apiVersion"]]
    assert {each["metadata"]["namespace"] for each in rendered.objects} == {"lab"}
    (k6,) = containers(rendered.one("CronJob", "lab-blocking")["spec"]["jobTemplate"]["spec"]["template"])
    assert "-o" not in k6["command"]
    assert not [name for name in env(k6) if "PROMETHEUS" in name]


def test_another_prometheus(render: Render) -> None:
    rendered = render(
        "--set",
        "monitoring.namespace=obs,monitoring.prometheusUrl=https://prom.obs/,monitoring.interval=5s",
    )

    (k6,) = containers(rendered.one("CronJob", "lab-blocking")["spec"]["jobTemplate"]["spec"]["template"])
    assert env(k6)["K6_PROMETHEUS_RW_SERVER_URL"] == "https://prom.obs/api/v1/write"
    assert rendered.one("Role", "lab-runner-lab", "obs")
    assert rendered.of("ServiceMonitor")[0]["spec"]["endpoints"][0]["interval"] == "5s"


# helm test


def test_the_test_pod_knows_the_kind_of_each_thread(render: Render) -> None:
    (test,) = containers(render("--set", "settings.SPRING_THREADS_VIRTUAL_ENABLED=true").one("Pod", "lab-test"))
    assert json.loads(env(test)["EXPECTED"]) == {
        "http://lab-platform:8080": False,
        "http://lab-virtual:8080": True,
    }

    values = ("--set", "variants.plain.jvmFlags={-Xss1m}")
    (test,) = containers(render(*values).one("Pod", "lab-test"))
    assert json.loads(env(test)["EXPECTED"])["http://lab-plain:8080"] is False


def test_a_successful_test_leaves_nothing_behind(default: Rendered) -> None:
    annotations = default.one("Pod", "lab-test")["metadata"]["annotations"]

    assert annotations["helm.sh/hook"] == "test"
    assert "hook-succeeded" in annotations["helm.sh/hook-delete-policy"]


# Notes


def test_notes_name_this_release(any_values: Path, chart_copy: Path) -> None:
    # `helm template` leaves the notes out, and all other commands that show them want a cluster.
    (chart_copy / "templates/NOTES.txt").rename(chart_copy / "notes")
    (chart_copy / "templates/notes.yaml").write_text('notes: {{ tpl (.Files.Get "notes") . | toJson }}')
    where = ("--namespace", "elsewhere", "--kube-version", KUBERNETES)
    done = helm(
        "template",
        "mine",
        chart_copy,
        "-f",
        any_values,
        *where,
        "--show-only",
        "templates/notes.yaml",
    )

    assert done.returncode == 0, done.stderr
    notes = yaml.safe_load(done.stdout)["notes"]
    assert "kubectl -n elsewhere create job --from=cronjob/mine-blocking blocking-1" in notes
    assert "kubectl -n elsewhere logs -f job/blocking-1" in notes
    assert "helm test mine -n elsewhere" in notes
    if "no-monitoring" in any_values.name:
        assert "Monitoring is off" in notes
    else:
        assert "vtlab run blocking --target kubernetes --namespace elsewhere --release mine" in notes
        assert "kubectl -n monitoring port-forward svc/monitoring-grafana 3000:80" in notes
        assert "get secret grafana-admin" in notes


# Package


def test_the_package_holds_what_a_job_needs_as_files(tmp_path: Path, default: Rendered, render: Render) -> None:
    done = helm("package", CHART, "--destination", tmp_path)
    assert done.returncode == 0, done.stderr
    (package,) = tmp_path.glob("*.tgz")

    with tarfile.open(package) as archive:
        members = {member.name.partition("/")[2]: member for member in archive}
    assert all(member.isreg() for member in members.values())
    scripts = {name for name in members if name.startswith("k6/")}
    assert {"k6/block.ts", "k6/lib/plan.ts", "k6/experiments/blocking.json"} <= scripts
    assert all(name == "k6/block.ts" or name.startswith(("k6/lib/", "k6/experiments/")) for name in scripts)
    assert not [name for name in members if "kube-prometheus-stack" in name or "node_modules" in name]
    assert render(chart=package).objects == default.objects


def test_chart_and_app_have_one_version() -> None:
    chart = yaml.safe_load((CHART / "Chart.yaml").read_text())

    assert f"<version>{chart['appVersion']}</version>" in (REPOSITORY / "app/pom.xml").read_text()


def test_the_service_monitor_takes_the_labels_that_a_prometheus_selects(render: Render) -> None:
    monitor = render("--set", "monitoring.labels.release=stack").one("ServiceMonitor", "lab-variants")

    assert monitor["metadata"]["labels"]["release"] == "stack"

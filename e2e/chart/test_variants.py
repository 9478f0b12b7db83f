"""A variant: its Deployment, its Service, and the test that it answers on its kind of thread."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from e2e.chart.rendering import (
    CHART,
    Rendered,
    containers,
    env,
)
from tests.support.versions import VERSIONS
from vtlab.model.variant import ENVIRONMENT

Render = Callable[..., Rendered]


def test_variants_differ_in_one_variable(default: Rendered) -> None:
    platform, virtual = (default.one("Deployment", f"lab-{variant}") for variant in ("platform", "virtual"))
    (left,), (right,) = (containers(deployment["spec"]["template"]) for deployment in (platform, virtual))

    assert env(left).items() ^ env(right).items() == {
        ("SPRING_THREADS_VIRTUAL_ENABLED", "false"),
        ("SPRING_THREADS_VIRTUAL_ENABLED", "true"),
    }
    for variant, container in (("platform", left), ("virtual", right)):
        assert ENVIRONMENT[variant].items() <= env(container).items(), "vtlab's"
    assert {**left, "env": None} == {**right, "env": None}
    # And nothing but the name beside it.
    alike = json.dumps(platform).replace("platform", "virtual").replace('"value": "false"', '"value": "true"')
    assert alike == json.dumps(virtual)


def test_a_variant_by_default(default: Rendered) -> None:
    spec = default.one("Deployment", "lab-virtual")["spec"]
    pod = spec["template"]["spec"]
    (app,) = pod["containers"]

    assert spec["strategy"] == {"type": "Recreate"}
    assert pod["terminationGracePeriodSeconds"] == 70
    assert app["name"] == "app"
    assert app["image"] == f"virtual-threads-lab:{VERSIONS['LAB_VERSION']}"
    flags = "-XX:+UseSerialGC -XX:+ExitOnOutOfMemoryError -Xms384m -Xmx384m -XX:ActiveProcessorCount=1"
    assert env(app) == {"SPRING_THREADS_VIRTUAL_ENABLED": "true", "JAVA_TOOL_OPTIONS": flags}
    assert {port["name"]: port["containerPort"] for port in app["ports"]} == {
        "http": 8080,
        "management": 8081,
    }
    assert app["resources"] == {
        "requests": {"cpu": "100m"},
        "limits": {"cpu": "1", "memory": "768Mi"},
    }
    assert app["resizePolicy"] == [{"resourceName": "cpu", "restartPolicy": "NotRequired"}]
    assert {app[f"{kind}Probe"]["httpGet"]["port"] for kind in ("startup", "liveness", "readiness")} == {"management"}
    assert app["readinessProbe"]["httpGet"]["path"] == "/actuator/health/readiness"
    assert app["volumeMounts"] == [{"name": "tmp", "mountPath": "/tmp"}]
    assert pod["securityContext"]["runAsUser"] == 10001


@pytest.mark.parametrize(("cpu", "processors"), [("500m", 1), ("1", 1), ("1.5", 2), ("2500m", 3), ("4", 4)])
def test_a_jvm_counts_its_processors_by_the_limit_alone(render: Render, cpu: str, processors: int) -> None:
    """Also while vtlab has raised that."""
    rendered = render("--set-string", f"limits.cpu={cpu}")
    (app,) = containers(rendered.one("Deployment", "lab-virtual")["spec"]["template"])
    assert f"-XX:ActiveProcessorCount={processors}" in env(app)["JAVA_TOOL_OPTIONS"].split()


def test_a_third_variant_is_an_entry_in_the_values(render: Render) -> None:
    rendered = render("-f", CHART / "ci/three-variants-values.yaml")
    names = ["lab-platform", "lab-virtual", "lab-virtual-jdk21"]

    assert rendered.names("Deployment") == rendered.names("Service") == names
    (app,) = containers(rendered.one("Deployment", "lab-virtual-jdk21")["spec"]["template"])
    assert app["image"] == "virtual-threads-lab:21"
    assert env(app)["JAVA_TOOL_OPTIONS"].endswith(" -XX:ActiveProcessorCount=1 -Djdk.tracePinnedThreads=short")
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


def test_a_variant_can_be_dropped(render: Render) -> None:
    assert render("--set", "variants.platform=null").names("Deployment") == ["lab-virtual"]


def test_the_test_pod_knows_the_kind_of_each_thread(render: Render) -> None:
    (test,) = containers(render("--set", "settings.SPRING_THREADS_VIRTUAL_ENABLED=true").one("Pod", "lab-test"))
    assert json.loads(env(test)["EXPECTED"]) == {
        "http://lab-platform:8080": False,
        "http://lab-virtual:8080": True,
    }

    values = ("--set", "variants.plain.jvmFlags={-Xss1m}")
    (test,) = containers(render(*values).one("Pod", "lab-test"))
    assert json.loads(env(test)["EXPECTED"])["http://lab-plain:8080"] is False


def test_the_test_pod_asks_the_variants_alone(render: Render) -> None:
    (test,) = containers(render("-f", CHART / "ci/reproductions-values.yaml").one("Pod", "lab-test"))
    assert json.loads(env(test)["EXPECTED"]) == {
        "http://lab-platform:8080": False,
        "http://lab-platform-jdk21:8080": False,
        "http://lab-reactive:8080": False,
        "http://lab-virtual:8080": True,
        "http://lab-virtual-driver9:8080": True,
        "http://lab-virtual-jdk21:8080": True,
        "http://lab-virtual-jdk25:8080": True,
    }


def test_the_test_may_pull_its_image(default: Rendered) -> None:
    assert default.one("Pod", "lab-test")["spec"]["activeDeadlineSeconds"] == 300


def test_a_successful_test_leaves_nothing_behind(default: Rendered) -> None:
    annotations = default.one("Pod", "lab-test")["metadata"]["annotations"]

    assert annotations["helm.sh/hook"] == "test"
    assert "hook-succeeded" in annotations["helm.sh/hook-delete-policy"]

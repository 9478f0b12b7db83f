"""The Job that runs vtlab itself: its command is one that vtlab takes, and it ends when there is a result."""

from __future__ import annotations

import shlex
from collections.abc import Callable
from pathlib import Path

import pytest
import typer

from e2e.chart.rendering import CHART, REPOSITORY, Json, Rendered, containers, env
from tests.support.versions import VERSIONS
from vtlab import cli

Render = Callable[..., Rendered]
VALUES = ("-f", CHART / "ci/runner-values.yaml")


def job(rendered: Rendered) -> Json:
    return rendered.one("Job", "lab-runner-1")


def words(rendered: Rendered) -> list[str]:
    (vtlab,) = containers(job(rendered)["spec"]["template"])
    arguments: list[str] = vtlab["args"]
    return arguments


def test_vtlab_takes_its_command(render: Render) -> None:
    command = typer.main.get_command(cli.app)
    values = ("--set-json", 'runner.experiments=["blocking","cpu"]', "--set-json", 'runner.options=["--within=8m"]')
    name, *arguments = words(render(*VALUES, *values))
    run = command.commands[name]  # type: ignore[attr-defined]
    given = run.make_context(name, list(arguments)).params
    assert given["experiments"] == ["blocking", "cpu"]
    assert (given["target"], given["namespace"], given["release"]) == ("kubernetes", "lab", "lab")
    assert (given["config_map"], given["within"]) == ("lab-verdict", "8m")
    assert given["root"] == Path("/results")


def test_it_is_tried_again_only_for_what_may_come(render: Render) -> None:
    """As Prometheus after an installation: exit code 3. A rejected assertion is a result."""
    spec = job(render(*VALUES))["spec"]
    (rule,) = spec["podFailurePolicy"]["rules"]
    assert spec["backoffLimit"] > 0
    assert rule["action"] == "FailJob"
    assert rule["onExitCodes"] == {"containerName": "vtlab", "operator": "NotIn", "values": [3]}


def test_it_writes_to_volumes_alone(render: Render) -> None:
    template = job(render(*VALUES))["spec"]["template"]
    (vtlab,) = containers(template)
    mounts = {mount["mountPath"]: mount["name"] for mount in vtlab["volumeMounts"] if not mount.get("readOnly")}
    volumes = {volume["name"]: volume for volume in template["spec"]["volumes"]}
    assert mounts == {"/results": "results", "/tmp": "tmp"}
    assert env(vtlab) == {"HOME": "/tmp"}
    assert volumes["results"]["emptyDir"] == volumes["tmp"]["emptyDir"] == {}
    kept = job(render(*VALUES, "--set", "runner.resultsClaim=runs"))["spec"]["template"]["spec"]
    assert {"name": "results", "persistentVolumeClaim": {"claimName": "runs"}} in kept["volumes"]
    assert kept["securityContext"]["fsGroup"] == kept["securityContext"]["runAsUser"]


def test_it_is_an_image_of_this_version(render: Render) -> None:
    (vtlab,) = containers(job(render(*VALUES))["spec"]["template"])
    assert vtlab["image"] == f"vtlab:{VERSIONS['LAB_VERSION']}"
    user = job(render(*VALUES))["spec"]["template"]["spec"]["securityContext"]["runAsUser"]
    dockerfile = (REPOSITORY / "lab/Dockerfile").read_text(encoding="utf-8")
    assert f"USER {user}:{user}" in dockerfile
    entry = shlex.split(dockerfile.rpartition("ENTRYPOINT ")[2].translate(str.maketrans("[],", "   ")))
    assert entry == ["vtlab"]


def test_it_needs_monitoring(refusal: Callable[..., str]) -> None:
    assert "runner.enabled needs monitoring.enabled" in refusal(*VALUES, "--set", "monitoring.enabled=false")


@pytest.mark.parametrize(
    "values", ["runner.experiments={}", "runner.options={blocks}", "runner.experiments={--cpu}", "runner.image.tga=1"]
)
def test_other_values_are_refused(refusal: Callable[..., str], values: str) -> None:
    assert "/runner" in refusal(*VALUES, "--set", values)


def test_by_default_there_is_none(default: Rendered) -> None:
    assert default.of("Job") == []
    assert "lab-verdict" not in default.names("ConfigMap")

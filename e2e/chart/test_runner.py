"""The Job that runs vtlab itself: its command is one that vtlab takes, and it ends when there is a result."""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable
from pathlib import Path

import pytest
import typer

from e2e.chart.rendering import CHART, REPOSITORY, Json, Rendered, containers, env
from tests.support.versions import VERSIONS
from vtlab.commands import app as cli
from vtlab.model import experiment
from vtlab.services.resolve import resolve_service
from vtlab.targets.kubernetes.copies import variants as copies

Render = Callable[..., Rendered]
VALUES = ("-f", CHART / "ci/runner-values.yaml")
OWN_SERVICE = ("-f", CHART / "ci/runner-own-service-values.yaml")


def job(rendered: Rendered) -> Json:
    return rendered.runner()


def words(rendered: Rendered) -> list[str]:
    (vtlab,) = containers(job(rendered)["spec"]["template"])
    arguments: list[str] = vtlab["args"]
    return arguments


def test_vtlab_takes_its_command(render: Render) -> None:
    command = typer.main.get_command(cli.app)
    values = ("--set-json", 'runner.experiments=["blocking","cpu"]', "--set-json", 'runner.options=["--max-time=8m"]')
    name, *arguments = words(render(*VALUES, *values))
    run = command.commands[name]  # type: ignore[attr-defined]
    given = run.make_context(name, list(arguments)).params
    assert given["experiments"] == ["blocking", "cpu"]
    assert (given["target"], given["namespace"], given["release"]) == ("kubernetes", "lab", "lab")
    assert (given["config_map"], given["max_time"]) == ("lab-verdict", "8m")
    assert given["root"] == Path("/results")


def test_of_an_own_service_it_measures_copies(render: Render) -> None:
    """It has the release's images and its Prometheus, and an experiment that vtlab takes."""
    rendered = render(*OWN_SERVICE)
    name, *arguments = words(rendered)
    run = typer.main.get_command(cli.app).commands[name]  # type: ignore[attr-defined]
    given = run.make_context(name, list(arguments)).params
    (path,) = given["experiments"]
    (vtlab,) = containers(job(rendered)["spec"]["template"])
    mounts = {mount["mountPath"]: mount for mount in vtlab["volumeMounts"]}
    assert mounts[str(Path(path).parent)] == {"name": "experiment", "mountPath": "/experiment", "readOnly": True}
    volumes = {volume["name"]: volume for volume in job(rendered)["spec"]["template"]["spec"]["volumes"]}
    (text,) = rendered.one("ConfigMap", volumes["experiment"]["configMap"]["name"])["data"].values()
    planned = experiment.Experiment.model_validate_json(text)
    assert (planned.name, resolve_service(planned).deployment, planned.load.users) == ("shop", "shop", 200)
    assert given["prometheus_url"] == "http://prometheus-operated.monitoring:9090"
    assert given["agent_image"] == f"virtual-threads-lab:{VERSIONS['LAB_VERSION']}"
    assert given["k6_image"] == f"docker.io/grafana/k6:{VERSIONS['K6_VERSION']}"
    assert given["monitor_labels"] == "release=stack"
    assert given["k6_node_selector"] == ""
    assert given["no_fixed_user_ids"] is False
    assert "--no-fixed-user-ids" in words(render(*OWN_SERVICE, "--set", "fixedUserIds=false"))
    chosen = render(*OWN_SERVICE, "--set-json", 'k6.nodeSelector={"pool":"load","zone":"a"}')
    assert "--k6-node-selector=pool=load,zone=a" in words(chosen)
    from_pod = {name: value["fieldRef"]["fieldPath"] for name, value in env(vtlab).items() if name != "HOME"}
    assert from_pod == {copies._POD_NAME: "metadata.name", copies._POD_UID: "metadata.uid"}
    assert rendered.variants() == rendered.experiments() == []
    assert rendered.of("Pod") == [], "without variants there is nothing to test"


def test_the_values_of_the_docs_measure_an_own_service(render: Render, tmp_path: Path) -> None:
    page = (REPOSITORY / "docs/how-to/own-service-on-kubernetes.md").read_text(encoding="utf-8")
    (values,) = [block for block in re.findall(r"```yaml\n(.*?)```", page, re.S) if "runner:" in block]
    file = tmp_path / "shop.yaml"
    file.write_text(values, encoding="utf-8")
    assert words(render("-f", file))[1] == "/experiment/experiment.json"


@pytest.mark.parametrize("key", ["login", "data", "k6", "service.env", "service.env_file"])
def test_a_workload_with_files_or_secrets_is_refused(refusal: Callable[..., str], key: str) -> None:
    """They would lie in a ConfigMap in the clear, or are not in the Job's pod."""
    message = refusal(*OWN_SERVICE, "--set", f"runner.experiment.{key}=secret")
    assert f"runner.experiment.{key}: the runner has neither files nor secrets" in message
    assert "vtlab run --target kubernetes" in message


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
    assert env(vtlab)["HOME"] == "/tmp"
    assert volumes["results"]["emptyDir"] == volumes["tmp"]["emptyDir"] == {}
    kept = job(render(*VALUES, "--set", "runner.resultsClaim=runs"))["spec"]["template"]["spec"]
    assert {"name": "results", "persistentVolumeClaim": {"claimName": "runs"}} in kept["volumes"]
    assert kept["securityContext"]["fsGroup"] == kept["securityContext"]["runAsUser"]


def test_it_is_an_image_of_this_version(render: Render) -> None:
    (vtlab,) = containers(job(render(*VALUES))["spec"]["template"])
    assert vtlab["image"] == f"vtlab:{VERSIONS['LAB_VERSION']}"
    security = job(render(*VALUES))["spec"]["template"]["spec"]["securityContext"]
    # The image leaves it to who starts it.
    assert security["runAsUser"] == 10001
    dockerfile = (REPOSITORY / "lab/Dockerfile").read_text(encoding="utf-8")
    entry = shlex.split(dockerfile.rpartition("ENTRYPOINT ")[2].translate(str.maketrans("[],", "   ")))
    assert entry == ["vtlab"]


WITHOUT_MONITORING = ("--set", "monitoring.enabled=false")


def test_to_measure_the_release_it_needs_monitoring(refusal: Callable[..., str]) -> None:
    assert "runner.enabled needs monitoring.enabled" in refusal(*VALUES, *WITHOUT_MONITORING)


def test_without_monitoring_copies_have_a_prometheus_of_the_run(render: Render) -> None:
    """No word names another, and no right is for an operator's objects."""
    rendered = render(*OWN_SERVICE, *WITHOUT_MONITORING)
    name, *arguments = words(rendered)
    run = typer.main.get_command(cli.app).commands[name]  # type: ignore[attr-defined]
    given = run.make_context(name, list(arguments)).params
    assert (given["prometheus_url"], given["monitor_labels"]) == ("", "")
    assert given["agent_image"] == f"virtual-threads-lab:{VERSIONS['LAB_VERSION']}"
    assert [item for item in rendered.objects if item["apiVersion"].startswith("monitoring.coreos.com")] == []


@pytest.mark.parametrize(
    "values",
    [
        *("runner.experiments={}", "runner.options={blocks}", "runner.experiments={--cpu}", "runner.image.tga=1"),
        *("runner.experiment.name=shop", "runner.experiment.name=shop,runner.experiment.service=shop"),
        "runner.experiment.service.name=shop,runner.experiment.service.jar=shop.jar",
    ],
)
def test_other_values_are_refused(refusal: Callable[..., str], values: str) -> None:
    assert "/runner" in refusal(*VALUES, "--set", values)


def test_its_name_says_what_it_is_made_of(render: Render) -> None:
    """Argo CD renders each time as an installation, and nobody can change a Job: other values are another Job."""
    name = job(render(*VALUES))["metadata"]["name"]
    assert re.fullmatch(r"lab-runner-1-[0-9a-f]{6}", name)
    assert job(render(*VALUES, "--set-string", "limits.cpu=1"))["metadata"]["name"] == name
    for changed in ("limits.cpu=500m", "runner.options={--blocks=7}", "variants.virtual.jvmFlags={-Xss1m}"):
        assert job(render(*VALUES, "--set", changed))["metadata"]["name"] != name, changed


def test_by_default_there_is_none(default: Rendered) -> None:
    assert default.of("Job") == []
    assert "lab-verdict" not in default.names("ConfigMap")

"""Demands of clusters on pods: nodes, pull secrets, digests, user ids, labels and annotations."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from e2e.chart.rendering import CHART, Json, Rendered, containers, env

Render = Callable[..., Rendered]

#: Everything that makes pods.
ALL = ("-f", CHART / "ci/runner-values.yaml", "--set", "database.enabled=true,downstream.enabled=true")
DIGEST = "sha256:" + 64 * "a"
TAINT = {"key": "lab", "operator": "Exists", "effect": "NoSchedule"}
NODES: Json = {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": []}}}
#: The component of a pod -> the values that say where it runs.
VALUES_OF = {"variant": "", "database": "", "downstream": "", "k6": "k6.", "test": "k6.", "runner": "runner."}


def by_component(rendered: Rendered) -> dict[str, Json]:
    """A pod of each component."""
    return {pod["metadata"]["labels"]["app.kubernetes.io/component"]: pod for pod in rendered.pods().values()}


def test_all_components_are_tested_here(render: Render) -> None:
    assert by_component(render(*ALL)).keys() == VALUES_OF.keys()


def test_variants_prefer_the_node_of_another_and_the_load_a_node_without(render: Render) -> None:
    pods = by_component(render(*ALL))
    kinds = {"variant": "podAffinity", "k6": "podAntiAffinity", "runner": "podAntiAffinity"}
    for component, pod in pods.items():
        if component not in kinds:
            assert "affinity" not in pod["spec"], component
            continue
        (term,) = pod["spec"]["affinity"][kinds[component]]["preferredDuringSchedulingIgnoredDuringExecution"]
        assert term["podAffinityTerm"]["topologyKey"] == "kubernetes.io/hostname"
        selector = term["podAffinityTerm"]["labelSelector"]["matchLabels"]
        selected = {name for name, other in pods.items() if selector.items() <= other["metadata"]["labels"].items()}
        assert selected == {"variant"}


@pytest.mark.parametrize("component", VALUES_OF)
def test_nodes_by_values(render: Render, component: str) -> None:
    prefix = VALUES_OF[component]
    values = (
        *("--set-json", f'{prefix}nodeSelector={{"pool":"load"}}'),
        *("--set-json", f"{prefix}tolerations={json.dumps([TAINT])}"),
        *("--set-json", f"{prefix}affinity={json.dumps(NODES)}"),
    )
    for name, pod in by_component(render(*ALL, *values)).items():
        spec = pod["spec"]
        if VALUES_OF[name] == prefix:
            assert (spec["nodeSelector"], spec["tolerations"]) == ({"pool": "load"}, [TAINT]), name
            # In place of the default.
            assert spec["affinity"] == NODES
        else:
            assert not {"nodeSelector", "tolerations"} & spec.keys(), name


def test_every_pod_has_the_pull_secrets(render: Render) -> None:
    for pod in render(*ALL, "--set", "imagePullSecrets[0].name=registry").pods().values():
        assert pod["spec"]["imagePullSecrets"] == [{"name": "registry"}]
    assert not [pod for pod in render(*ALL).pods().values() if "imagePullSecrets" in pod["spec"]]


def test_a_digest_goes_before_the_tag(render: Render) -> None:
    places = ("image", "k6.image", "runner.image", "database.image")
    digests = ("--set", ",".join(f"{place}.digest={DIGEST}" for place in places))
    for name, pod in render(*ALL, *digests).pods().items():
        for container in containers(pod):
            assert container["image"].endswith(f"@{DIGEST}"), name
    runner = by_component(render(*("-f", CHART / "ci/runner-own-service-values.yaml"), *digests))["runner"]
    (vtlab,) = containers(runner)
    assert f"--agent-image=virtual-threads-lab@{DIGEST}" in vtlab["args"]
    assert f"--k6-image=docker.io/grafana/k6@{DIGEST}" in vtlab["args"]


def test_a_digest_is_that_of_its_image_alone(render: Render) -> None:
    """A variant with another image does not get the digest of all."""
    values = ("--set", f"image.digest={DIGEST},variants.other.image.tag=new,variants.third.image.digest={DIGEST[:-1]}b")
    rendered = render(*values)
    images = {name: containers(pod)[0]["image"] for name, pod in rendered.pods().items() if name.startswith("lab-")}
    assert images["lab-platform"] == f"virtual-threads-lab@{DIGEST}"
    assert images["lab-other"] == "virtual-threads-lab:new"
    assert images["lab-third"] == f"virtual-threads-lab@{DIGEST[:-1]}b"


def test_the_cluster_may_choose_the_user_ids(render: Render) -> None:
    """As restricted-v2 of OpenShift does: it refuses ids that are not of the namespace's range."""
    for pod in render(*ALL, "--set", "fixedUserIds=false").pods().values():
        context = {"runAsNonRoot": True, "seccompProfile": {"type": "RuntimeDefault"}}
        assert pod["spec"]["securityContext"] == context


def test_no_autoscaler_moves_a_pod_and_no_mesh_adds_a_proxy(render: Render, any_values: Path) -> None:
    for pod in render("-f", any_values).pods().values():
        # With sidecars, and without (ambient).
        assert pod["metadata"]["labels"].items() >= {
            ("sidecar.istio.io/inject", "false"),
            ("istio.io/dataplane-mode", "none"),
        }
        assert pod["metadata"]["annotations"].items() >= {
            ("cluster-autoscaler.kubernetes.io/safe-to-evict", "false"),
            ("karpenter.sh/do-not-disrupt", "true"),
            ("linkerd.io/inject", "disabled"),
        }


def test_labels_and_annotations_by_values(render: Render) -> None:
    """Labels that select the pods stay."""
    labels, annotations = "podLabels.team=a,podLabels.variant=mine", "podAnnotations.note=b"
    values = ("--set", f"{labels},{annotations},podAnnotations.linkerd\\.io/inject=null")
    plain, rendered = render(*ALL).pods(), render(*ALL, *values).pods()
    for name in plain.keys() & rendered.keys():
        before, after = plain[name]["metadata"], rendered[name]["metadata"]
        assert {"variant": "mine", **before["labels"], "team": "a"} == {"variant": "mine", **after["labels"]}
        assert after["annotations"]["note"] == "b"
        assert "linkerd.io/inject" not in after["annotations"]


def test_more_environment_of_k6(render: Render, refusal: Callable[..., str]) -> None:
    rendered = render("--set", "k6.env.HTTPS_PROXY=http://proxy:3128,k6.env.GOMAXPROCS=2")
    (k6,) = containers(rendered.one("CronJob", "lab-cpu")["spec"]["jobTemplate"]["spec"]["template"])
    assert env(k6).items() >= {("HTTPS_PROXY", "http://proxy:3128"), ("GOMAXPROCS", "2")}
    assert "k6.env: TARGETS is made by the chart: leave it out" in refusal("--set", "k6.env.TARGETS=none")
    assert "k6.env: K6_WEB_DASHBOARD is made" in refusal("--set", "k6.env.K6_WEB_DASHBOARD=true")

"""What holds for every object, pod and container that the chart renders, with any values."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from e2e.chart.rendering import (
    CHART,
    KUBERNETES,
    Json,
    Rendered,
    containers,
    helm,
)
from tests.support.versions import VERSIONS

Render = Callable[..., Rendered]


def millicores(quantity: str | float) -> float:
    text = str(quantity)
    return float(text[:-1]) if text.endswith("m") else float(text) * 1000


def test_lint_is_silent(any_values: Path) -> None:
    done = helm("lint", "--strict", "--kube-version", KUBERNETES, CHART, "-f", any_values)

    assert done.returncode == 0, done.stdout + done.stderr
    assert "1 chart(s) linted, 0 chart(s) failed" in done.stdout
    assert "[WARNING]" not in done.stdout


def test_every_object_belongs_to_the_release(render: Render, any_values: Path) -> None:
    for item in render("-f", any_values).objects:
        labels = item["metadata"]["labels"]
        assert item["metadata"]["name"].startswith("lab-")
        assert item["metadata"]["namespace"] in ("lab", "monitoring")
        assert labels["app.kubernetes.io/name"] == "virtual-threads-lab"
        assert labels["app.kubernetes.io/instance"] == "lab"
        assert labels["app.kubernetes.io/managed-by"] == "Helm"
        assert labels["app.kubernetes.io/version"] == VERSIONS["LAB_VERSION"]
        assert labels["helm.sh/chart"] == f"virtual-threads-lab-{VERSIONS['LAB_VERSION']}"


def test_names_and_labels_are_made_by_helpers_alone() -> None:
    """Each component's folder has its own; the shared ones stand at the top."""
    for path in (CHART / "templates").rglob("*.yaml"):
        text = path.read_text()
        assert "app.kubernetes.io/" not in text, path
        assert 'include "lab.name"' not in text, path


def test_every_pod_keeps_to_pod_security_restricted(render: Render, any_values: Path) -> None:
    rendered = render("-f", any_values)
    pods = rendered.pods()

    assert len(pods) >= (4 if rendered.variants() else 1)
    for template in pods.values():
        spec = template["spec"]
        assert spec["automountServiceAccountToken"] is False
        assert spec["enableServiceLinks"] is False
        assert spec["securityContext"]["runAsNonRoot"] is True
        assert spec["securityContext"]["runAsUser"] > 0
        assert spec["securityContext"]["seccompProfile"] == {"type": "RuntimeDefault"}
        assert not {"hostNetwork", "hostPID", "hostIPC"} & spec.keys()
        of_every_pod, tokens = {"name", "configMap", "emptyDir"}, {"projected"}
        kinds = {kind for volume in spec["volumes"] for kind in volume}
        is_runner = template["metadata"]["labels"]["app.kubernetes.io/component"] == "runner"
        assert kinds <= of_every_pod | (tokens if is_runner else set())
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

    def selected(selector: Json) -> list[str]:
        return [name for name, has in labels.items() if selector.items() <= has.items()]

    for maker in (*rendered.of("Deployment"), *rendered.of("StatefulSet")):
        assert selected(maker["spec"]["selector"]["matchLabels"]) == [maker["metadata"]["name"]]
    for service in rendered.of("Service"):
        assert selected(service["spec"]["selector"]) == [service["metadata"]["name"]]
        for label in ("variant", "app.kubernetes.io/component"):
            assert service["metadata"]["labels"].get(label) == service["spec"]["selector"].get(label)


#: Lists whose entries the API server tells apart by these keys: it refuses two with the same where Helm 4 applies.
KEYS = {
    "containers": ("name",),
    "initContainers": ("name",),
    "env": ("name",),
    "imagePullSecrets": ("name",),
    "volumes": ("name",),
    "volumeMounts": ("mountPath",),
    "ports": ("port", "containerPort", "protocol"),
}


def doubled(value: object, place: str = "") -> Iterator[str]:
    """Places of entries with the key of another one."""
    if isinstance(value, dict):
        for name, inner in value.items():
            yield from doubled(inner, f"{place}.{name}")
    elif isinstance(value, list):
        keys = KEYS.get(place.rpartition(".")[2], ())
        found = [tuple(entry.get(key) for key in keys) for entry in value if keys]
        yield from (f"{place}: {key}" for key, times in Counter(found).items() if times > 1)
        for inner in value:
            yield from doubled(inner, place)


def test_no_list_has_two_entries_of_one_key(render: Render, any_values: Path) -> None:
    values = ("--set", "settings.SPRING_THREADS_VIRTUAL_ENABLED=true,k6.env.B=1,imagePullSecrets[0].name=a")
    for item in render("-f", any_values, *values).objects:
        assert list(doubled(item.get("spec", {}), item["kind"])) == []


def test_entries_of_one_key_are_found() -> None:
    pod = {"containers": [{"name": "a", "env": [{"name": "A", "value": "1"}, {"name": "A", "value": "2"}]}]}
    assert list(doubled(pod, "Pod")) == ["Pod.containers.env: ('A',)"]


@pytest.mark.parametrize(
    ("values", "pods", "most"),
    [
        ("default", {"lab-platform", "lab-virtual"}, 1000),
        (
            "reproductions",
            {
                *("lab-platform", "lab-virtual", "lab-platform-jdk21", "lab-virtual-jdk21", "lab-virtual-driver9"),
                *("lab-virtual-jdk25", "lab-reactive", "lab-database", "lab-downstream"),
            },
            1500,
        ),
    ],
)
def test_reserved_cpu_fits_two_cpus(render: Render, values: str, pods: set[str], most: int) -> None:
    templates = render("-f", CHART / f"ci/{values}-values.yaml").pods()
    jobs = [name for name in templates if name.startswith("cronjob")]
    running = [name for name in templates if name not in jobs] + jobs[:1]

    total = sum(millicores(c["resources"]["requests"]["cpu"]) for name in running for c in containers(templates[name]))

    assert {*running} == pods | {"pod lab-test", jobs[0]}
    assert total <= most


def test_reservation_can_be_the_limit(render: Render) -> None:
    (app,) = containers(render("--set-string", "requests.cpu=1").one("Deployment", "lab-virtual")["spec"]["template"])

    assert app["resources"]["requests"]["cpu"] == app["resources"]["limits"]["cpu"] == "1"

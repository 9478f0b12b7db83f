"""More CPU for the warm-up of pods, before an API server and a Prometheus that the tests play."""

from __future__ import annotations

from typing import Any

import pytest
from kubernetes import client as kubernetes
from kubernetes.client.exceptions import ApiException

from tests.unit.test_kubernetes_cluster import real  # noqa: F401 (a fixture)
from tests.unit.test_kubernetes_target import RELEASE, deployment
from vtlab.errors import BlockFault, PrerequisiteMissing
from vtlab.targets.kubernetes import warm_up_cpu
from vtlab.targets.kubernetes.api.cluster import Cluster
from vtlab.targets.kubernetes.api.connection import NotFound
from vtlab.targets.kubernetes.api.rights import Right

#: Of an API server before 1.33, and of one with a quota on the namespace's limits.
ABSENT = ApiException(status=404, reason="Not Found")
OVER_QUOTA = ApiException(status=403, reason="Forbidden")


class Pods:
    """A cluster whose pods take other limits, and the Prometheus that scrapes these from inside. ``follow``: whether a
    pod's control group follows what was asked for; ``refuse``: what the API server answers for a variant."""

    release = RELEASE

    def __init__(self, *, may: bool = True, follow: Any = lambda _, cpu: cpu, refuse: Any = lambda *_: None) -> None:
        self.may, self.follow, self.refuse = may, follow, refuse
        self.asked: list[tuple[str, float]] = []
        self.enforced = {"platform": 1.0, "virtual": 1.0}

    def allowed(self, right: Right, namespace: str) -> bool:
        assert (str(right), namespace) == ("patch pods/resize", "ns")
        return self.may

    def resize(self, pod: str, container: str, cpu: float) -> None:
        variant = pod.removeprefix("lab-")
        assert container == "app"
        self.asked.append((variant, cpu))
        if error := self.refuse(variant, cpu):
            raise error
        self.enforced[variant] = self.follow(variant, cpu) or self.enforced[variant]

    def now(self) -> int:
        return 1000

    def measured(self, variant: str, query: str, at_ms: int) -> float | None:
        assert (query, at_ms) == ("max(cgroup_cpu_limit_cores{$server})", 1000)
        return self.enforced[variant]


@pytest.fixture(autouse=True)
def at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(warm_up_cpu, "_WITHIN", 0.0)


def loaded(shape: str = " -XX:ActiveProcessorCount=1") -> dict[str, Any]:
    pods = {}
    for name, virtual in (("platform", "false"), ("virtual", "true")):
        spec = deployment(virtual)["spec"]["template"]["spec"]
        spec["containers"][0]["env"][1]["value"] += shape
        pods[name] = {"metadata": {"name": f"lab-{name}"}, "spec": spec}
    return pods


def raised(played: Any, pods: dict[str, Any] | None = None) -> float | None:
    return warm_up_cpu.raised(played, played, loaded() if pods is None else pods, 1.0)


def test_every_pod_is_raised_and_read_back_from_inside() -> None:
    played = Pods()
    assert raised(played) == 2.0
    assert played.asked == [("platform", 2.0), ("virtual", 2.0)]
    warm_up_cpu.allow(played, played, loaded(), 1.0)  # type: ignore[arg-type]
    assert played.enforced == {"platform": 1.0, "virtual": 1.0}


def test_without_the_right_or_a_fixed_shape_nothing_is_asked_for() -> None:
    forbidden, changing = Pods(may=False), Pods()
    assert raised(forbidden) is None
    assert raised(changing, loaded(shape="")) is None, "the JVM would count other processors"
    assert raised(changing, {}) is None
    assert forbidden.asked + changing.asked == []


@pytest.mark.parametrize("error", [NotFound("no such object"), PrerequisiteMissing("exceeded quota")])
def test_a_cluster_that_refuses_leaves_every_pod_at_its_limit(error: Exception) -> None:
    played = Pods(refuse=lambda variant, cpu: error if (variant, cpu) == ("virtual", 2.0) else None)
    assert raised(played) is None
    assert played.enforced == {"platform": 1.0, "virtual": 1.0}
    assert played.asked[-2:] == [("platform", 1.0), ("virtual", 1.0)]


def test_a_cluster_without_the_subresource_is_as_before() -> None:
    played = Pods(refuse=lambda *_: NotFound("no such object"))
    assert raised(played) is None
    assert played.enforced == {"platform": 1.0, "virtual": 1.0}


def test_a_pod_that_the_kubelet_defers_keeps_its_limit() -> None:
    played = Pods(follow=lambda variant, cpu: None if variant == "virtual" and cpu > 1 else cpu)
    assert raised(played) is None
    assert played.enforced == {"platform": 1.0, "virtual": 1.0}


def test_a_limit_that_does_not_come_back_is_a_fault() -> None:
    played = Pods(follow=lambda _, cpu: max(cpu, 2.0))
    assert raised(played) == 2.0
    with pytest.raises(BlockFault, match="platform: its control group does not allow 1 cores"):
        warm_up_cpu.allow(played, played, loaded(), 1.0)  # type: ignore[arg-type]


def test_the_limit_alone_is_patched(real: Any, monkeypatch: pytest.MonkeyPatch) -> None:  # noqa: F811
    sent: list[Any] = []

    def patch(_: Any, name: str, namespace: str, body: Any, **__: Any) -> Any:
        sent.append((name, namespace, body))
        return kubernetes.V1Pod()

    monkeypatch.setattr(kubernetes.CoreV1Api, "patch_namespaced_pod_resize", patch)
    real().resize("lab-virtual-abc", "app", 1.4)
    container = {"name": "app", "resources": {"limits": {"cpu": "1.4"}}}
    assert sent == [("lab-virtual-abc", "ns", {"spec": {"containers": [container]}})]


@pytest.mark.parametrize(("answer", "kind"), [(ABSENT, NotFound), (OVER_QUOTA, PrerequisiteMissing)])
def test_answers_of_an_api_server_that_does_not_do_it(
    real: Any,  # noqa: F811
    monkeypatch: pytest.MonkeyPatch,
    answer: ApiException,
    kind: type[Exception],
) -> None:
    def refuse(*_: Any, **__: Any) -> Any:
        raise answer

    monkeypatch.setattr(kubernetes.CoreV1Api, "patch_namespaced_pod_resize", refuse)
    cluster: Cluster = real()
    with pytest.raises(kind):
        cluster.resize("lab-virtual-abc", "app", 2)

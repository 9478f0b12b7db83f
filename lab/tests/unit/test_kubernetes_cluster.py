"""The calls of the Kubernetes API, before an API server that the tests play."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from kubernetes import client
from kubernetes.client.exceptions import ApiException
from urllib3.exceptions import MaxRetryError

from vtlab.errors import BadInput, LabError, PrerequisiteMissing
from vtlab.targets.kubernetes import cluster as api
from vtlab.targets.kubernetes.cluster import Cluster, Where

WHERE = Where(None, "ns", "lab")

KUBECONFIG = """
apiVersion: v1
kind: Config
current-context: here
contexts: [{name: here, context: {cluster: here, user: me}}]
clusters: [{name: here, cluster: {server: "http://127.0.0.1:9"}}]
users: [{name: me, user: {token: abc}}]
"""


@pytest.fixture
def real(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[], Cluster]:
    """Cluster's own code, before an API server that the test plays."""
    path = tmp_path / "kubeconfig"
    path.write_text(KUBECONFIG, encoding="utf-8")
    monkeypatch.setenv("KUBECONFIG", str(path))
    monkeypatch.setattr("kubernetes.config.kube_config.KUBE_CONFIG_DEFAULT_LOCATION", str(path))
    return lambda: Cluster(WHERE)


def played(answers: list[Any]) -> Callable[..., Any]:
    """Gives one after another, raising those that are exceptions."""

    def answer(*_: Any, **__: Any) -> Any:
        found = answers.pop(0)
        if isinstance(found, Exception):
            raise found
        return found

    return answer


def test_an_absent_api_server_is_waited_for(real: Callable[[], Cluster], monkeypatch: pytest.MonkeyPatch) -> None:
    answers: list[Any] = [MaxRetryError(None, "/", None), ApiException(status=503), client.V1PodList(items=[])]  # type: ignore[arg-type]
    monkeypatch.setattr(client.CoreV1Api, "list_namespaced_pod", played(answers))
    monkeypatch.setattr("time.sleep", lambda _: None)
    assert real().pods("a=b") == []
    assert answers == []


def test_an_api_server_that_stays_away_is_said(real: Callable[[], Cluster], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(api, "PATIENCE", 0.1)
    with pytest.raises(PrerequisiteMissing, match=r"API server at http://127\.0\.0\.1:9 does not answer"):
        real().pods("a=b")


def test_a_conflict_is_tried_again(real: Callable[[], Cluster], monkeypatch: pytest.MonkeyPatch) -> None:
    answers: list[Any] = [ApiException(status=409), client.V1PodList(items=[])]
    monkeypatch.setattr(client.AppsV1Api, "patch_namespaced_deployment", played(answers))
    monkeypatch.setattr("time.sleep", lambda _: None)
    real().annotate_pods("lab-virtual", "a", "b")
    assert answers == []


@pytest.mark.parametrize(
    ("status", "kind", "said"),
    [
        (403, PrerequisiteMissing, "does not let you list pods in namespace ns"),
        (422, PrerequisiteMissing, "refused to"),
    ],
)
def test_a_refusal_names_the_right(
    real: Callable[[], Cluster], monkeypatch: pytest.MonkeyPatch, status: int, kind: type[LabError], said: str
) -> None:
    def refuse(*_: Any, **__: Any) -> Any:
        raise ApiException(status=status)

    monkeypatch.setattr(client.CoreV1Api, "list_namespaced_pod", refuse)
    with pytest.raises(kind, match=said):
        real().pods("a=b")


def test_the_current_context_is_recorded_by_its_name(real: Callable[[], Cluster]) -> None:
    assert WHERE.named() == Where("here", "ns", "lab")
    assert Where("there", "ns", "lab").named().context == "there"
    assert Where.of(WHERE.named().document()) == WHERE.named()
    assert WHERE.named().helm_upgrade("--set a=b") == (
        "helm upgrade lab helm --kube-context here -n ns --reset-then-reuse-values --set a=b"
    )


def test_an_unknown_context_is_bad_input(real: Callable[[], Cluster]) -> None:
    with pytest.raises(BadInput, match="context 'nowhere'"):
        Cluster(Where("nowhere", "ns", "lab"))


def test_no_kubeconfig_at_all_is_said(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr("kubernetes.config.kube_config.KUBE_CONFIG_DEFAULT_LOCATION", str(tmp_path / "none"))
    with pytest.raises(PrerequisiteMissing, match="no cluster is configured"):
        Cluster(WHERE)

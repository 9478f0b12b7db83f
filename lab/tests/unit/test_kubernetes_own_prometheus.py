"""The Prometheus of a run of copies that names no other: what it is, who reaches it, and when another is used."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from tests.support import cli_call, recorded
from tests.unit.test_kubernetes_copies import (
    COPYING,
    MESSAGES,
    SHOPS,
    Namespace,
    Unscraped,
    measuring,
    opened_namespace,
    start,
    stop_at_pods,
)
from tests.unit.test_kubernetes_manifests import EXPERIMENT, SHOP
from tests.unit.test_kubernetes_network_policies import named, policies
from tests.unit.test_publish import Posted
from vtlab.analysis import verdict
from vtlab.commands import options
from vtlab.doctor import cluster as doctor
from vtlab.errors import BadInput, BlockFault, Interrupted, PrerequisiteMissing
from vtlab.prometheus import run_server
from vtlab.prometheus.api import PrometheusApi
from vtlab.prometheus.queries import NotScraped, Prometheus
from vtlab.runs import store
from vtlab.runs.publish import publish_verdicts
from vtlab.targets.kubernetes import cluster_prometheus, job
from vtlab.targets.kubernetes.api import watch
from vtlab.targets.kubernetes.api.release_ref import Copying, ReleaseRef
from vtlab.targets.kubernetes.api.rights import COPY_RIGHTS, FORWARD_RIGHTS, MONITOR_RIGHTS, POLICY_RIGHTS, Right
from vtlab.targets.kubernetes.block import ClusterStart, KubernetesBlock
from vtlab.targets.kubernetes.copies import facts, own_prometheus, reference
from vtlab.targets.kubernetes.copies.own_prometheus import PrometheusParts

Json = dict[str, Any]

OWN = Copying(prometheus="", agent_image="agent:1", k6_image="k6:1", prometheus_image="prometheus:3")
SHOPS_OF_OWN = replace(SHOPS, copying=OWN)


@pytest.fixture
def namespace(monkeypatch: pytest.MonkeyPatch) -> Namespace:
    return opened_namespace(monkeypatch)


@pytest.fixture
def started(monkeypatch: pytest.MonkeyPatch) -> None:
    stop_at_pods(monkeypatch)


def objects(original: Json | None = None, copying: Copying = OWN) -> tuple[Json, Json]:
    """Its Service and its Deployment."""
    of_vtlab = {
        "app.kubernetes.io/managed-by": "vtlab",
        "app.kubernetes.io/instance": "vtlab-shop-a1b2",
        "app.kubernetes.io/component": "prometheus",
    }
    metadata = {"name": "prometheus-vtlab-shop-a1b2", "labels": of_vtlab, "ownerReferences": [{"uid": "42"}]}
    ref = ReleaseRef(None, "shops", "vtlab-shop-a1b2", copying)
    service, deployment = own_prometheus.objects(PrometheusParts(ref, metadata, "c", original or {}))
    return service, deployment


def pod_of(deployment: Json) -> tuple[Json, Json]:
    """The spec of its pod, and the only container."""
    spec: Json = deployment["spec"]["template"]["spec"]
    (container,) = spec["containers"]
    return spec, container


# --- what it is --------------------------------------------------------------


def test_its_pod_keeps_to_pod_security_restricted_and_its_limits() -> None:
    spec, container = pod_of(objects()[1])
    assert spec["securityContext"]["runAsNonRoot"] is True
    assert spec["securityContext"]["runAsUser"] != 0
    assert spec["securityContext"]["seccompProfile"] == {"type": "RuntimeDefault"}
    assert spec["automountServiceAccountToken"] is False, "it asks the API server nothing"
    assert container["securityContext"] == {
        "allowPrivilegeEscalation": False,
        "readOnlyRootFilesystem": True,
        "capabilities": {"drop": ["ALL"]},
    }
    for amounts in ("requests", "limits"):
        assert container["resources"][amounts].keys() == {"cpu", "memory"}
    assert container["image"] == "prometheus:3"
    assert {"readinessProbe", "livenessProbe"} <= container.keys()


def test_the_cluster_may_choose_its_user_id() -> None:
    spec, _ = pod_of(objects(copying=replace(OWN, fixed_user_ids=False))[1])
    assert spec["securityContext"] == {"runAsNonRoot": True, "seccompProfile": {"type": "RuntimeDefault"}}


def test_it_writes_into_an_empty_folder_alone_and_reads_the_config_map_of_the_run() -> None:
    spec, container = pod_of(objects()[1])
    volumes = {volume["name"]: volume for volume in spec["volumes"]}
    assert "sizeLimit" in volumes["storage"]["emptyDir"]
    config_map = volumes["configuration"]["configMap"]
    made = own_prometheus.files(SHOPS_OF_OWN, EXPERIMENT.variants, 9404)
    assert config_map["name"] == "c"
    assert {item["key"] for item in config_map["items"]} == made.keys()
    mounts = {mount["name"]: mount for mount in container["volumeMounts"]}
    assert mounts["configuration"]["readOnly"] is True
    folder, storage = mounts["configuration"]["mountPath"], mounts["storage"]["mountPath"]
    assert {f"--config.file={folder}/prometheus.yml", f"--storage.tsdb.path={storage}"} <= set(container["args"])
    (rules,) = json.loads(made["prometheus.yml"])["rule_files"]
    assert rules == f"{folder}/rules.json"
    assert json.loads(made["rules.json"])["groups"], "the recording rules of the lab"


def test_it_scrapes_the_agent_of_each_copy_each_second_as_a_local_run_does() -> None:
    made = json.loads(own_prometheus.files(SHOPS_OF_OWN, ["platform", "virtual"], 19404)["prometheus.yml"])
    assert made["global"] == {"scrape_interval": "1s", "scrape_timeout": "1s"}
    targets = {"platform": "shop-platform:19404", "virtual": "shop-virtual:19404"}
    assert made == json.loads(run_server.configuration(targets, "/metrics", made["rule_files"]))
    assert made["scrape_configs"][1]["static_configs"] == [
        {"targets": ["shop-virtual:19404"], "labels": {"variant": "virtual", "instance": "virtual"}}
    ]
    _, container = pod_of(objects()[1])
    assert set(run_server.OPTIONS) <= set(container["args"])
    assert "--web.enable-remote-write-receiver" in container["args"]


def test_its_service_leads_to_its_one_pod() -> None:
    service, deployment = objects()
    assert service["metadata"] == deployment["metadata"]
    assert (deployment["spec"]["replicas"], deployment["spec"]["strategy"]) == (1, {"type": "Recreate"})
    of_pod = deployment["spec"]["template"]["metadata"]["labels"]
    for selector in (service["spec"]["selector"], deployment["spec"]["selector"]["matchLabels"]):
        assert selector.items() <= of_pod.items()
        assert selector["app.kubernetes.io/component"] == "prometheus", "no pod of a variant"
    (port,) = service["spec"]["ports"]
    assert port["targetPort"] in [port["containerPort"] for port in pod_of(deployment)[1]["ports"]]
    assert of_pod["sidecar.istio.io/inject"] == "false"


def test_it_may_use_the_registry_and_the_nodes_of_k6() -> None:
    original = {"imagePullSecrets": [{"name": "registry"}], "tolerations": [{"key": "web"}], "nodeSelector": {"a": "b"}}
    spec, _ = pod_of(objects(original, replace(OWN, k6_node_selector="pool=load"))[1])
    assert spec["imagePullSecrets"] == [{"name": "registry"}]
    assert spec["tolerations"] == [{"key": "web"}]
    assert spec["nodeSelector"] == {"pool": "load"}
    (term,) = spec["affinity"]["podAntiAffinity"]["preferredDuringSchedulingIgnoredDuringExecution"]
    selector = term["podAffinityTerm"]["labelSelector"]["matchLabels"]
    assert selector["app.kubernetes.io/component"] == "variant", "rather a node without copies"


def test_no_variant_has_the_name_of_its_objects() -> None:
    """A variant may be called prometheus."""
    ref = reference.with_unique_name(SHOPS_OF_OWN)
    assert ref.own_prometheus != ref.deployment("prometheus")
    assert not ref.own_prometheus.startswith(ref.name)
    assert len(ref.own_prometheus) <= 63


# --- in a run ----------------------------------------------------------------


@pytest.mark.usefixtures("started")
def test_it_is_made_with_the_copies_and_goes_with_the_run(namespace: Namespace, tmp_path: Path) -> None:
    with measuring(tmp_path, SHOPS_OF_OWN) as running:
        start(running)
        start(running, 2)
        ref = running.site.cluster.release
        assert running.site.copies is not None
        template = running.site.copies.template()
        assert running.site.client.url == f"http://prometheus-{ref.name}.shops:9090"
    own = f"prometheus-{ref.name}"
    variants = [f"{ref.name}-platform", f"{ref.name}-virtual"]
    assert namespace.names("Deployment") == namespace.names("Service") == [own, *variants], "once, before the copies"
    assert namespace.names("ServiceMonitor") == []
    (config_map,) = namespace.listed_config_maps
    assert {"prometheus.yml", "rules.json"} <= config_map["data"].keys()
    for body in namespace.made:
        assert [owner["uid"] for owner in body["metadata"]["ownerReferences"]] == ["42"]
    assert namespace.deleted == [f"configmap {ref.name}"], "all else belongs to it"
    container = job.k6(template)
    assert job.environment_of(container)["K6_PROMETHEUS_RW_SERVER_URL"] == f"http://{own}.shops:9090/api/v1/write"
    (scripts,) = template["spec"]["jobTemplate"]["spec"]["template"]["spec"]["volumes"]
    assert not {"prometheus.yml", "rules.json"} & {item["key"] for item in scripts["configMap"]["items"]}


@pytest.mark.usefixtures("started")
def test_a_named_prometheus_scrapes_the_copies_by_a_service_monitor(namespace: Namespace, tmp_path: Path) -> None:
    with measuring(tmp_path) as running:
        start(running)
        name = running.site.cluster.release.name
    assert namespace.names("ServiceMonitor") == [name]
    assert namespace.names("Deployment") == [f"{name}-platform", f"{name}-virtual"]
    (config_map,) = namespace.listed_config_maps
    assert "prometheus.yml" not in config_map["data"]


@pytest.mark.usefixtures("started")
def test_policies_let_it_in_and_out_where_policies_restrict(namespace: Namespace, tmp_path: Path) -> None:
    namespace.of_kind["NetworkPolicy"] = policies()
    with measuring(tmp_path, SHOPS_OF_OWN) as running:
        start(running)
        name = running.site.cluster.release.name
    by_name = {
        body["metadata"]["name"].removeprefix(f"{name}-"): body["spec"]
        for body in namespace.made
        if body["kind"] == "NetworkPolicy"
    }
    assert list(by_name) == ["of-shop", "to-database", "prometheus", "variants", "k6"]
    (peer,) = by_name["variants"]["ingress"][1]["from"]
    assert peer == {"podSelector": by_name["prometheus"]["podSelector"]}, "no namespace of the monitoring"
    assert by_name["k6"]["egress"][-1] == {"to": [peer], "ports": [{"port": 9090, "protocol": "TCP"}]}
    (to_agents, _) = by_name["prometheus"]["egress"]
    assert to_agents["to"] == [{"podSelector": by_name["variants"]["podSelector"]}]
    # The Deployment has the port for its management.
    assert to_agents["ports"] == by_name["variants"]["ingress"][1]["ports"] == [{"port": 19404, "protocol": "TCP"}]
    assert "NetworkPolicies for the copies: of-shop, to-database, prometheus, variants, k6" in "\n".join(MESSAGES)


@pytest.mark.usefixtures("started")
def test_it_is_closed_to_all_but_k6_where_no_policy_restricts(namespace: Namespace, tmp_path: Path) -> None:
    """Else all pods of the cluster could read it, and write to it."""
    with measuring(tmp_path, SHOPS_OF_OWN) as running:
        start(running)
        name = running.site.cluster.release.name
    (policy,) = (body for body in namespace.made if body["kind"] == "NetworkPolicy")
    assert policy["metadata"]["name"] == f"{name}-prometheus"
    assert [owner["uid"] for owner in policy["metadata"]["ownerReferences"]] == ["42"], "it goes with the run"
    assert namespace.made[0] == policy, "before the pods"
    own = next(body["spec"] for body in namespace.made if body["kind"] == "Deployment")
    assert policy["spec"]["podSelector"] == own["selector"]
    (admitted,) = policy["spec"]["ingress"]
    k6 = {**own["selector"]["matchLabels"], "app.kubernetes.io/component": "k6"}
    assert admitted["from"] == [{"podSelector": {"matchLabels": k6}}]
    assert "NetworkPolicies for the copies: prometheus" in "\n".join(MESSAGES)


@pytest.mark.usefixtures("started")
@pytest.mark.parametrize("right", POLICY_RIGHTS)
def test_that_it_is_open_without_the_rights_for_policies_is_said(
    namespace: Namespace, tmp_path: Path, right: Right
) -> None:
    namespace.refused = {right}
    with measuring(tmp_path, SHOPS_OF_OWN) as running:
        start(running)
    assert namespace.names("NetworkPolicy") == []
    assert "every pod of the cluster reaches the run's own Prometheus" in "\n".join(MESSAGES)


@pytest.mark.usefixtures("started")
def test_a_policy_that_selects_it_alone_restricts_too(namespace: Namespace, tmp_path: Path) -> None:
    component = {"matchLabels": {"app.kubernetes.io/component": "prometheus"}}
    namespace.of_kind["NetworkPolicy"] = [named("theirs", podSelector=component, policyTypes=["Ingress"])]
    for ref, made in ((SHOPS, []), (SHOPS_OF_OWN, ["prometheus", "variants", "k6"])):
        with measuring(tmp_path, ref) as running:
            start(running)
            name = running.site.cluster.release.name
        of_run = [policy for policy in namespace.names("NetworkPolicy") if policy.startswith(name)]
        assert of_run == [f"{name}-{policy}" for policy in made]


@pytest.mark.usefixtures("started")
def test_a_service_that_selects_it_is_refused(namespace: Namespace, tmp_path: Path) -> None:
    namespace.of_kind["Service"] = [named("theirs", selector={"app.kubernetes.io/component": "prometheus"})]
    with measuring(tmp_path, SHOPS_OF_OWN) as running, pytest.raises(BadInput, match="Service theirs would also"):
        running.start(EXPERIMENT, 1, 1)
    assert namespace.made == []


def test_the_facts_of_a_run_name_its_image(namespace: Namespace) -> None:
    assert facts.collect(SHOPS_OF_OWN, SHOP, EXPERIMENT).versions["prometheus"] == "prometheus:3"
    assert "prometheus" not in facts.collect(SHOPS, SHOP, EXPERIMENT).versions


def test_a_manifest_brings_the_choice_back() -> None:
    for ref in (SHOPS, SHOPS_OF_OWN, replace(SHOPS, copying=replace(OWN, fixed_user_ids=False))):
        assert ReleaseRef.from_manifest(ref.document()) == ref
    assert not ReleaseRef(None, "lab", "lab").has_own_prometheus
    # Of a run before there was the choice.
    since = ("prometheus_image", "fixed_user_ids")
    before = ReleaseRef.from_manifest({key: text for key, text in SHOPS.document().items() if key not in since})
    assert not before.has_own_prometheus
    assert before.copying is not None
    assert before.copying.fixed_user_ids


class Started(Prometheus):
    """A Prometheus that answers, and has not scraped the copies."""

    def __init__(self, error: str = "") -> None:
        super().__init__("http://test")
        self.error = error
        self.waited: list[float] = []

    def refuse_old(self) -> None:
        pass

    def now(self) -> int:
        return 1

    def targets(self) -> list[Json]:
        labels = {"variant": "platform", "job": "platform"}
        return [{"labels": labels, "scrapeInterval": "1s", "lastError": self.error}]

    def await_scrape(self, variant: str, after_ms: int, within: float = 0) -> int:
        self.waited.append(within)
        raise NotScraped(f"{variant}: not scraped")


def ready_pod(name: str, restarts: int = 0) -> Json:
    status = {
        "conditions": [{"type": "Ready", "status": "True"}],
        "containerStatuses": [{"name": "c", "restartCount": restarts, "state": {"running": {}}}],
        "phase": "Running",
    }
    return {"metadata": {"name": name, "uid": name}, "status": status}


def test_copies_that_it_cannot_scrape_are_a_fault_with_its_reason(
    namespace: Namespace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    order: list[str] = []

    def pods_ready(*_: Any) -> tuple[dict[str, Json], dict[str, str]]:
        order.append("copies")
        return {"platform": ready_pod("p")}, {}

    def prometheus_ready(_: Any) -> Json:
        order.append("Prometheus")
        return ready_pod("prometheus")

    monkeypatch.setattr(watch, "wait_for_pods", pods_ready)
    monkeypatch.setattr(watch, "wait_for_prometheus", prometheus_ready)
    with measuring(tmp_path, SHOPS_OF_OWN) as running:
        client = Started("dial tcp: i/o timeout")
        running.site = replace(running.site, client=client)
        with pytest.raises(NotScraped, match="platform: not scraped: dial tcp: i/o timeout"):
            running.start(EXPERIMENT, 1, 1)
        assert client.waited[0] < 120, "no operator has to hear of them first"
        assert client.selectors == {}, "nobody else's series are there"
    assert order == ["copies", "Prometheus"]


def test_its_version_is_asked_for_once_it_runs(
    namespace: Namespace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[str] = []

    def refuse_old(_: PrometheusApi) -> None:
        asked.append("version")
        raise PrerequisiteMissing("too old")

    monkeypatch.setattr(PrometheusApi, "refuse_old", refuse_old)
    monkeypatch.setattr(watch, "wait_for_pods", lambda *_: ({}, {}))
    monkeypatch.setattr(watch, "wait_for_prometheus", lambda _: asked.append("ready"))
    with measuring(tmp_path, SHOPS_OF_OWN) as running, pytest.raises(PrerequisiteMissing, match="too old"):
        running.start(EXPERIMENT, 1, 1)
    assert asked == ["ready", "version"]


def test_a_named_prometheus_is_not_waited_for(tmp_path: Path, namespace: Namespace) -> None:
    with measuring(tmp_path) as running:
        running.site = replace(running.site, client=Unscraped("1s"))
        assert running._own_prometheus() is None


@pytest.mark.parametrize(
    ("now", "message"),
    [
        ([ready_pod("p", restarts=1)], None),
        ([ready_pod("p", restarts=2)], "Prometheus: its pod p was restarted, and lacks samples of this block"),
        ([ready_pod("q")], "Prometheus: its pod p is gone, and lacks samples of this block"),
        ([], "Prometheus: its pod p is gone"),
    ],
)
def test_another_process_than_at_the_start_costs_the_block(
    namespace: Namespace, tmp_path: Path, now: list[Json], message: str | None
) -> None:
    """A restart before the block costs nothing."""
    with measuring(tmp_path, SHOPS_OF_OWN) as running:
        started = ClusterStart(SHOP, EXPERIMENT, 1, 1, {}, [], prometheus=ready_pod("p", restarts=1))
        block = KubernetesBlock(replace(running.site, client=Started()), started)
        namespace.listed_pods = now
        if message is None:
            assert block.check_instances() == []
        else:
            with pytest.raises(BlockFault, match=message):
                block.check_instances()


# --- waiting for it ----------------------------------------------------------


@pytest.fixture
def waiting(monkeypatch: pytest.MonkeyPatch) -> Namespace:
    """A namespace in which time passes only in sleep."""

    class Clock:
        now = 0.0

        def monotonic(self) -> float:
            return self.now

        def sleep(self, seconds: float) -> None:
            self.now += seconds

    fake = opened_namespace(monkeypatch)
    fake.release = replace(SHOPS_OF_OWN, name="vtlab-shop-a1b2")
    fake.deployments = {"prometheus-vtlab-shop-a1b2": {}}
    monkeypatch.setattr(watch, "time", Clock())
    return fake


def of_state(state: Json, **status: Any) -> Json:
    containers = [{"name": "prometheus", "image": "prometheus:3", "state": state, "restartCount": 0}]
    return {"metadata": {"name": "p", "uid": "p"}, "status": {"containerStatuses": containers, **status}}


def test_it_is_ready_before_anything_is_measured(waiting: Namespace) -> None:
    ending = ready_pod("ending")
    ending["metadata"]["deletionTimestamp"] = "2026-11-20T00:00:00Z"
    looks = [[ending], [ending, of_state({"running": {}})], [ending, ready_pod("p")]]
    waiting.pods = lambda *_: looks.pop(0)  # type: ignore[method-assign]
    assert watch.wait_for_prometheus(waiting)["metadata"]["name"] == "p"  # type: ignore[arg-type]


def test_an_image_that_is_not_there_is_said_with_the_option_for_another(waiting: Namespace) -> None:
    waiting.listed_pods = [of_state({"waiting": {"reason": "ImagePullBackOff", "message": "Back-off"}})]
    with pytest.raises(PrerequisiteMissing, match=r"Prometheus: its pod p .*image prometheus:3") as caught:
        watch.wait_for_prometheus(waiting)  # type: ignore[arg-type]
    assert "--prometheus-image" in caught.value.fix


def test_a_pod_that_the_cluster_refuses_or_that_is_never_ready_is_said(waiting: Namespace) -> None:
    with pytest.raises(BlockFault, match="Prometheus: not ready after 180 s: no pod"):
        watch.wait_for_prometheus(waiting)  # type: ignore[arg-type]
    refused = {"type": "ReplicaFailure", "status": "True", "message": "exceeded quota"}
    waiting.deployments = {"prometheus-vtlab-shop-a1b2": {"status": {"conditions": [refused]}}}
    with pytest.raises(PrerequisiteMissing, match="Prometheus: the cluster refuses its pod: exceeded quota"):
        watch.wait_for_prometheus(waiting)  # type: ignore[arg-type]


def test_it_is_no_pod_of_an_earlier_call(waiting: Namespace) -> None:

    def of_call(name: str) -> Json:
        labels = {"app.kubernetes.io/instance": name, "app.kubernetes.io/component": "prometheus"}
        return ready_pod(name) | {"metadata": {"name": name, "uid": name, "labels": labels}}

    waiting.listed_pods = [of_call("vtlab-shop-a1b2")]
    watch.wait_until_idle(waiting)  # type: ignore[arg-type]
    waiting.listed_pods.append(of_call("vtlab-shop-c3d4"))
    with pytest.raises(BlockFault, match=r"pods of an earlier vtlab still run: vtlab-shop-c3d4$"):
        watch.wait_until_idle(waiting)  # type: ignore[arg-type]


# --- rights and options ------------------------------------------------------


def test_doctor_asks_no_right_in_another_namespace_and_no_operator(namespace: Namespace) -> None:
    asked: set[str] = set()
    allowed = namespace.allowed

    def counted(right: Any, place: str) -> bool:
        asked.add(place)
        return allowed(right, place)

    namespace.allowed = counted  # type: ignore[method-assign]
    namespace.refused = {*MONITOR_RIGHTS}
    by_name = {each.name: each for each in doctor.prerequisites_of_copies(SHOPS_OF_OWN, "shop")}
    assert list(by_name) == ["cluster", "rights", "Deployment shop", "Prometheus"]
    assert [each.name for each in by_name.values() if each.fix] == []
    assert asked == {"shops"}

    namespace.refused = {*COPY_RIGHTS, *POLICY_RIGHTS, *FORWARD_RIGHTS}
    state = {each.name: each for each in doctor.prerequisites_of_copies(SHOPS_OF_OWN, "shop")}["rights"].state
    for right in (*COPY_RIGHTS, *POLICY_RIGHTS, *FORWARD_RIGHTS):
        assert state.count(f" {right},") + state.endswith(f" {right}") == 1, right


def test_without_an_option_a_run_has_one_of_its_own() -> None:
    usual = options.copying(Copying())
    assert usual == reference.default_copying()
    assert (usual.prometheus, usual.monitor_labels) == ("", "")
    assert usual.prometheus_image.startswith("quay.io/prometheus/prometheus:v3.")
    mirrored = options.copying(Copying(prometheus_image="registry.example/prometheus:3", agent_image="agent:1"))
    assert (mirrored.prometheus_image, mirrored.agent_image) == ("registry.example/prometheus:3", "agent:1")
    assert mirrored.k6_image == usual.k6_image
    theirs = options.copying(Copying(prometheus="http://p.m:9090", monitor_labels="release=stack"))
    assert (theirs.prometheus, theirs.monitor_labels) == ("http://p.m:9090", "release=stack")
    assert theirs.prometheus_image == "", "it needs no image"


@pytest.mark.parametrize(
    ("words", "message", "fix"),
    [
        (
            ("--monitor-labels", "release=stack"),
            "--monitor-labels release=stack without --prometheus",
            "--prometheus http://prometheus-operated.monitoring:9090",
        ),
        (
            ("--prometheus", "http://p.m:9090", "--prometheus-image", "p:1"),
            "--prometheus http://p.m:9090 runs already",
            "leave out one of them",
        ),
    ],
)
def test_options_of_two_ways_are_refused_with_what_to_do(words: tuple[str, ...], message: str, fix: str) -> None:
    called = cli_call.call("try", "GET /", "--deployment", "shop", *words)
    assert called.code == 2
    assert message in called.err
    assert fix in called.err


# --- the verdict, for the user's own -----------------------------------------


@pytest.fixture
def measured(tmp_path: Path, invented_tools: None) -> Path:
    """The results of a run that had one of its own."""
    run = recorded.run(target="kubernetes", cluster=SHOPS_OF_OWN.document())
    folder = store.create(tmp_path / "run", run.manifest)
    for block in run.blocks:
        store.append_block(folder, block)
    return folder


def published(folder: Path, capsys: pytest.CaptureFixture[str]) -> str:
    (analysis,) = verdict.analyse_all([store.read(folder)])
    publish_verdicts([folder], [analysis], Console())
    return capsys.readouterr().out


def test_the_usual_prometheus_gets_the_verdict(
    measured: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    opened: list[tuple[str, float | None]] = []
    on = Posted(now=2e9)

    def client(_: Any, remote_write: str, patience: float | None = None) -> PrometheusApi:
        opened.append((remote_write, patience))
        return on.client()

    monkeypatch.setattr(cluster_prometheus, "Cluster", lambda _: Namespace())
    monkeypatch.setattr(cluster_prometheus, "client", client)
    assert published(measured, capsys).startswith("dashboards: run ")
    ((url, patience),) = opened
    assert url == reference.PROMETHEUS
    assert patience is not None
    assert patience <= 10, "it may not be there"
    assert len(on.documents) == 1


@pytest.mark.parametrize("error", [BlockFault("the Service is not there"), PrerequisiteMissing("no right", "bind it")])
def test_a_verdict_that_nobody_takes_is_one_line(
    measured: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], error: Exception
) -> None:
    def away(_: PrometheusApi) -> int:
        raise error

    off = Posted()
    monkeypatch.setattr(cluster_prometheus, "Cluster", lambda _: Namespace())
    monkeypatch.setattr(cluster_prometheus, "client", lambda *_: off.client())
    monkeypatch.setattr(PrometheusApi, "now", away)
    assert published(measured, capsys) == (
        "note: the dashboards do not show the verdict of threads: vtlab reaches no Prometheus at"
        f" {reference.PROMETHEUS} ({error}); the report has the verdict\n"
    )
    assert off.documents == []


def test_ctrl_c_while_it_is_looked_for_is_no_note(measured: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(_: PrometheusApi) -> int:
        raise Interrupted("interrupted")

    monkeypatch.setattr(cluster_prometheus, "Cluster", lambda _: Namespace())
    monkeypatch.setattr(cluster_prometheus, "client", lambda *_: Posted().client())
    monkeypatch.setattr(PrometheusApi, "now", interrupted)
    with pytest.raises(Interrupted):
        publish_verdicts([measured], [recorded.analysed(store.read(measured))], Console(quiet=True))


def test_a_run_with_a_named_prometheus_writes_to_that(monkeypatch: pytest.MonkeyPatch) -> None:
    opened: list[str] = []

    def client(_: Any, remote_write: str, *__: Any) -> PrometheusApi:
        opened.append(remote_write)
        return Posted().client()

    monkeypatch.setattr(cluster_prometheus, "Cluster", lambda _: Namespace())
    monkeypatch.setattr(cluster_prometheus, "client", client)
    with cluster_prometheus.connect(SHOPS):
        pass
    assert opened == [f"{COPYING.prometheus}/api/v1/write"]

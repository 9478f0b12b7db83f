"""Copies of a service in a namespace: what is made, in which order, what is refused, and what is left at the end."""

from __future__ import annotations

import contextlib
import json
import os
import re
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.support.experiments import service_file
from tests.unit.test_kubernetes_manifests import DEPLOYMENT, EXPERIMENT, SHOP, changed, environment, web
from tests.unit.test_kubernetes_network_policies import named, policies
from tests.unit.test_kubernetes_target import FakeCluster, owned
from vtlab import shipped
from vtlab.doctor import cluster as doctor
from vtlab.errors import BadInput, BlockFault, PrerequisiteMissing
from vtlab.model import normalised
from vtlab.model.load import ClosedLoad
from vtlab.model.service import Service
from vtlab.planning.load_call import CallPacing, LoadCall
from vtlab.planning.planned_runs import PlannedRun
from vtlab.planning.shipped_experiments import of_service
from vtlab.prometheus.api import PrometheusApi
from vtlab.prometheus.queries import NotScraped, Prometheus
from vtlab.runs.create import create_runs
from vtlab.runs.options import Options
from vtlab.services import builds
from vtlab.targets.kubernetes import cluster_prometheus, job, target
from vtlab.targets.kubernetes.api import labels, watch
from vtlab.targets.kubernetes.api.release_ref import Copying, ReleaseRef
from vtlab.targets.kubernetes.api.rights import (
    COPY_RIGHTS,
    FORWARD_RIGHTS,
    MONITOR_RIGHTS,
    POLICY_RIGHTS,
    RESIZE,
    Right,
)
from vtlab.targets.kubernetes.block import ClusterStart, KubernetesBlock
from vtlab.targets.kubernetes.copies import facts, images, k6_job, own_prometheus, reference
from vtlab.targets.kubernetes.copies import variants as copies
from vtlab.targets.kubernetes.copies.environment import jvm_flags
from vtlab.targets.kubernetes.copies.original import from_deployment
from vtlab.targets.kubernetes.copies.workload_secret import Files

Json = dict[str, Any]

COPYING = Copying(
    prometheus="http://prometheus-operated.m:9090",
    agent_image="agent:1",
    k6_image="k6:1",
    monitor_labels="release=stack",
)
SHOPS = ReleaseRef(None, "shops", "shop", COPYING)


class Namespace(FakeCluster):
    """A namespace with the Deployment shop, from memory."""

    server = "https://test"

    def __init__(self) -> None:
        super().__init__()
        self.release = SHOPS
        self.deployments = {"shop": DEPLOYMENT}
        self.made: list[Json] = []
        self.refused: set[Right] = set()
        self.of_kind: dict[str, list[Json]] = {}

    def create_config_map(self, body: Json) -> None:
        self.done.append(f"create {body['metadata']['name']}")
        self.listed_config_maps.append({**body, "metadata": {**body["metadata"], "uid": "42"}})

    def create(self, body: Json) -> None:
        assert self.listed_config_maps, "the ConfigMap, which owns it, is made first"
        self.made.append(body)

    def annotate_pods(self, name: str, *_: str) -> None:
        self.done.append(f"replace {name}")

    def services(self) -> list[Json]:
        return self.of_kind.get("Service", [])

    def replica_sets(self) -> list[Json]:
        return self.of_kind.get("ReplicaSet", [])

    def disruption_budgets(self) -> list[Json]:
        return self.of_kind.get("PodDisruptionBudget", [])

    def network_policies(self) -> list[Json]:
        return self.of_kind.get("NetworkPolicy", [])

    def allowed(self, right: Right, namespace: str) -> bool:
        return right not in self.refused

    def names(self, kind: str) -> list[str]:
        return [body["metadata"]["name"] for body in self.made if body["kind"] == kind]


def opened_namespace(monkeypatch: pytest.MonkeyPatch) -> Namespace:
    """The namespace that vtlab opens."""
    fake = Namespace()

    def opened(ref: ReleaseRef) -> Namespace:
        fake.release = ref
        return fake

    monkeypatch.setattr(PrometheusApi, "refuse_old", lambda _: None)
    for module in (facts, target, doctor):
        monkeypatch.setattr(module, "Cluster", opened)
    return fake


@pytest.fixture
def namespace(monkeypatch: pytest.MonkeyPatch) -> Namespace:
    return opened_namespace(monkeypatch)


MESSAGES: list[str] = []


def measuring(folder: Path, ref: ReleaseRef = SHOPS) -> contextlib.AbstractContextManager[target.KubernetesTarget]:
    MESSAGES.clear()
    return target.kubernetes_target(folder, folder, ref, "run", MESSAGES.append)


@pytest.fixture
def started(monkeypatch: pytest.MonkeyPatch) -> None:
    stop_at_pods(monkeypatch)


def stop_at_pods(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of a start only what comes before the wait for pods."""

    def wait(*_: Any) -> None:
        raise BlockFault("no further")

    monkeypatch.setattr(watch, "wait_for_pods", wait)


def start(running: target.KubernetesTarget, attempt: int = 1) -> None:
    with pytest.raises(BlockFault, match="no further"):
        running.start(EXPERIMENT, 1, attempt)


def test_facts_are_the_copies(namespace: Namespace) -> None:
    described = facts.collect(SHOPS, SHOP, EXPERIMENT)
    assert described.versions["app"] == "registry.example/shop:1.4"
    assert (described.versions["agent"], described.versions["k6"]) == ("agent:1", "k6:1")
    assert described.jvm_flags[:2] == ["-XX:MaxRAMPercentage=60", "-Dfile.encoding=..."]
    assert described.versions["pod template"] == from_deployment(SHOP, DEPLOYMENT).digest
    assert described.machine["deployment"] == "shop"
    assert cluster_prometheus.remote_write(namespace) == "http://prometheus-operated.m:9090/api/v1/write"  # type: ignore[arg-type]


def test_a_manifest_brings_the_same_copies_back() -> None:
    assert ReleaseRef.from_manifest(SHOPS.document()) == SHOPS
    measured = reference.for_service(ReleaseRef("c", "shops", "lab"), COPYING, SHOP)
    assert measured == ReleaseRef("c", "shops", "shop", COPYING)
    sample = ReleaseRef("c", "lab", "lab")
    assert reference.for_service(sample, COPYING, Service(name="s", jar="s.jar")) == sample


def test_a_deployment_that_is_not_there_is_said(namespace: Namespace) -> None:
    namespace.deployments = {}
    with pytest.raises(PrerequisiteMissing, match="no Deployment shop in namespace shops") as missing:
        facts.collect(SHOPS, SHOP, EXPERIMENT)
    assert "kubectl -n shops get deployments" in missing.value.fix


@pytest.mark.parametrize(
    ("service", "experiment", "message"),
    [
        (SHOP, EXPERIMENT.model_copy(update={"needs": ["database"]}), "needs database"),
        (SHOP.model_copy(update={"env": ["PASSWORD"]}), EXPERIMENT, "takes values from"),
    ],
)
def test_what_copies_lack_is_refused(namespace: Namespace, service: Service, experiment: Any, message: str) -> None:
    with pytest.raises(BadInput, match=message):
        facts.collect(SHOPS, service, experiment)


@pytest.mark.usefixtures("started")
def test_each_variant_has_a_deployment_and_a_service_that_go_with_the_run(namespace: Namespace, tmp_path: Path) -> None:
    with measuring(tmp_path) as running:
        start(running)
        start(running, 2)
        name = running.site.cluster.release.name
        assert re.fullmatch(r"vtlab-shop-[0-9a-f]{4}", name)
        assert namespace.deleted == []
    variants = [f"{name}-platform", f"{name}-virtual"]
    assert namespace.names("Deployment") == namespace.names("Service") == variants, "once, not in every block"
    assert namespace.names("ServiceMonitor") == [name]
    replaced = [f"replace {variant}" for variant in variants]
    assert namespace.done == [f"create {name}", *replaced, *replaced]
    for body in namespace.made:
        (owner,) = body["metadata"]["ownerReferences"]
        assert owner == {"apiVersion": "v1", "kind": "ConfigMap", "name": name, "uid": "42"}
        assert body["metadata"]["labels"]["app.kubernetes.io/managed-by"] == "vtlab"
        assert body["metadata"]["labels"]["app.kubernetes.io/instance"] == name
    assert namespace.deleted == [f"configmap {name}"]


@pytest.mark.usefixtures("started")
def test_pods_of_the_first_block_start_once(namespace: Namespace, tmp_path: Path) -> None:
    with measuring(tmp_path) as running:
        start(running)
    stamps = [
        body["spec"]["template"]["metadata"]["annotations"]["vtlab/block"]
        for body in namespace.made
        if body["kind"] == "Deployment"
    ]
    assert stamps == [f"{running.site.objects.name}-1-1"] * 2, "the annotation that follows changes nothing"


@pytest.mark.usefixtures("started")
def test_what_is_shared_is_said_before_anything_is_made(namespace: Namespace, tmp_path: Path) -> None:
    with measuring(tmp_path) as running:
        start(running)
    text = "\n".join(MESSAGES)
    assert "copies of Deployment shop: container web, port 8081" in text
    assert "Secret shop-db" in text
    assert "the copies lack the labels app, tier" in text
    assert "(envFrom)" not in text


@pytest.mark.usefixtures("started")
def test_a_deployments_own_liveness_probe_reaches_k6(
    namespace: Namespace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The port that a probe needs is in the Service, and in the policies where these restrict."""
    headers = [{"name": "X-Key", "value": "secret"}]
    own = {"httpGet": {"path": "/alive", "port": "management", "httpHeaders": headers}}
    namespace.deployments = {"shop": changed(livenessProbe=own)}
    namespace.of_kind["NetworkPolicy"] = policies()
    asked: list[Mapping[str, str]] = []

    def run(_: KubernetesBlock, variables: Mapping[str, str], __: str | None) -> Any:
        asked.append(variables)
        raise BlockFault("no Job")

    monkeypatch.setattr(KubernetesBlock, "_run", run)
    with measuring(tmp_path) as running:
        start(running)
        release = running.site.cluster.release
        of_copies = {name: {"metadata": {"name": name}} for name in EXPERIMENT.variants}
        block = KubernetesBlock(running.site, ClusterStart(SHOP, EXPERIMENT, 1, 1, of_copies, []))
        for call in (LoadCall(trial_order=EXPERIMENT.variants), LoadCall(single_user_phase="3s")):
            with pytest.raises(BlockFault, match="no Job"):
                block.load(call)
    urls = {name: f"http://{release.deployment(name)}:9404/alive" for name in EXPERIMENT.variants}
    assert [variables["PROBES"] for variables in asked] == [json.dumps(urls), "none"]
    services = [body["spec"]["ports"] for body in namespace.made if body["kind"] == "Service"]
    assert [port for ports in services for port in ports if port["name"] == "probe"] == [
        {"name": "probe", "port": 9404, "targetPort": 9404}
    ] * 2
    by_name = {body["metadata"]["name"]: body["spec"] for body in namespace.made if body["kind"] == "NetworkPolicy"}
    opened = [by_name[f"{release.name}-variants"]["ingress"][0], by_name[f"{release.name}-k6"]["egress"][0]]
    assert [[port["port"] for port in rule["ports"]] for rule in opened] == [[8081, 9404]] * 2
    assert "  headers of its liveness probe (httpHeaders) are not sent to the copies" in MESSAGES


@pytest.mark.usefixtures("started")
def test_options_that_copies_lose_are_said(namespace: Namespace, tmp_path: Path) -> None:
    namespace.deployments = {"shop": changed(envFrom=[{"secretRef": {"name": "jvm"}}], env=[])}
    with measuring(tmp_path) as running:
        start(running)
    assert "JAVA_TOOL_OPTIONS from a whole ConfigMap or Secret (envFrom) has no effect" in "\n".join(MESSAGES)


@pytest.mark.usefixtures("started")
@pytest.mark.parametrize("kind", ["Service", "ReplicaSet", "PodDisruptionBudget"])
def test_what_selects_the_copies_is_refused_and_nothing_made(namespace: Namespace, tmp_path: Path, kind: str) -> None:
    selector = {"app.kubernetes.io/managed-by": "vtlab"}
    namespace.of_kind[kind] = [
        named("theirs", selector=selector if kind == "Service" else {"matchLabels": selector}),
        named("shop", selector={"app": "shop"} if kind == "Service" else {"matchLabels": {"app": "shop"}}),
    ]
    with measuring(tmp_path) as running, pytest.raises(BadInput, match=f"{kind} theirs would also select the copies"):
        running.start(EXPERIMENT, 1, 1)
    assert namespace.made == []
    assert namespace.done == []


@pytest.mark.usefixtures("started")
def test_network_policies_are_copied_only_where_there_are_any(namespace: Namespace, tmp_path: Path) -> None:
    with measuring(tmp_path) as running:
        start(running)
    assert namespace.names("NetworkPolicy") == []

    namespace.of_kind["NetworkPolicy"] = policies()
    with measuring(tmp_path) as running:
        start(running)
        name = running.site.cluster.release.name
    of_run = [f"{name}-{policy}" for policy in ("of-shop", "to-database", "variants", "k6")]
    assert namespace.names("NetworkPolicy") == of_run
    assert "NetworkPolicies for the copies: of-shop, to-database, variants, k6" in "\n".join(MESSAGES)
    assert [body["kind"] for body in namespace.made[-9:-5]] == ["NetworkPolicy"] * 4, "before the pods"


@pytest.mark.usefixtures("started")
@pytest.mark.parametrize("right", POLICY_RIGHTS)
def test_network_policies_that_may_not_be_copied_are_said(namespace: Namespace, tmp_path: Path, right: Right) -> None:
    namespace.of_kind["NetworkPolicy"] = policies()
    namespace.refused = {right}
    with measuring(tmp_path) as running:
        start(running)
    assert namespace.names("NetworkPolicy") == []
    assert namespace.names("Deployment") != []
    assert "NetworkPolicies are not copied: vtlab may not" in "\n".join(MESSAGES)


@pytest.mark.usefixtures("started")
def test_an_image_has_variants_without_an_original(namespace: Namespace, tmp_path: Path) -> None:
    experiment = EXPERIMENT.model_copy(update={"service": Service(name="cart", image="cart:2")})
    with measuring(tmp_path) as running, pytest.raises(BlockFault, match="no further"):
        running.start(experiment, 1, 1)
    made = [body for body in namespace.made if body["kind"] == "Deployment"]
    assert [web(body)["image"] for body in made] == ["cart:2", "cart:2"]
    assert [environment(body)["SPRING_THREADS_VIRTUAL_ENABLED"] for body in made] == ["false", "true"]


@pytest.mark.usefixtures("started")
def test_k6_loads_the_copies_from_a_job_of_the_run(namespace: Namespace, tmp_path: Path) -> None:
    with measuring(tmp_path) as running:
        start(running)
        assert running.site.copies is not None
        body = job.manifest(running.site.copies.template(), "j", {"a": "b"}, {"BLOCK": "1"}, running.site.objects.name)
    assert body["metadata"]["ownerReferences"][0]["uid"] == "42"
    template = body["spec"]["template"]
    assert template["metadata"]["labels"]["app.kubernetes.io/component"] == "k6"
    (k6,) = template["spec"]["containers"]
    assert k6["image"] == "k6:1"
    assert k6["command"][-1] == "/k6/block.ts"
    variables = {variable["name"]: variable["value"] for variable in k6["env"]}
    assert variables["K6_PROMETHEUS_RW_SERVER_URL"] == "http://prometheus-operated.m:9090/api/v1/write"
    (scripts,) = (volume for volume in template["spec"]["volumes"] if volume["name"] == "scripts")
    paths = {item["path"] for item in scripts["configMap"]["items"]}
    assert "block.ts" in paths
    assert "lib/plan.ts" in paths
    assert template["metadata"]["labels"]["sidecar.istio.io/inject"] == "false", "as the chart's"
    assert template["metadata"]["annotations"]["karpenter.sh/do-not-disrupt"] == "true"
    (config_map,) = namespace.listed_config_maps
    assert {item["key"] for item in scripts["configMap"]["items"]} | {normalised.PLAN} == config_map["data"].keys()


def test_k6_may_use_the_registry_and_the_nodes_of_the_original() -> None:
    original = {"imagePullSecrets": [{"name": "registry"}], "tolerations": [{"key": "web"}], "nodeSelector": {"a": "b"}}
    made = {"app.kubernetes.io/instance": "vtlab-shop-a1b2", "app.kubernetes.io/component": "k6"}

    def spec(of_pod: Json, nodes: str = "") -> Json:
        ref = replace(SHOPS, copying=replace(COPYING, k6_node_selector=nodes))
        config_map: Json = {"metadata": {"name": "c"}, "data": {}}
        parts = k6_job.K6JobParts(config_map, made, ref, Files(), of_pod)
        pod: Json = k6_job.template(parts)["spec"]["jobTemplate"]["spec"]["template"]["spec"]
        return pod

    assert spec(original)["imagePullSecrets"] == [{"name": "registry"}]
    assert spec(original)["tolerations"] == [{"key": "web"}]
    (term,) = spec({})["affinity"]["podAntiAffinity"]["preferredDuringSchedulingIgnoredDuringExecution"]
    selector = term["podAffinityTerm"]["labelSelector"]["matchLabels"]
    assert selector == {**made, "app.kubernetes.io/component": "variant"}
    assert not {"imagePullSecrets", "tolerations", "nodeSelector"} & spec({}).keys()
    assert spec(original, "pool=load,zone=a")["nodeSelector"] == {"pool": "load", "zone": "a"}


def test_the_cluster_may_choose_the_user_ids_of_k6() -> None:
    """As restricted-v2 of OpenShift does: it refuses ids that are not of the namespace's range."""

    def context(copying: Copying) -> Json:
        ref = replace(SHOPS, copying=copying)
        parts = k6_job.K6JobParts({"metadata": {"name": "c"}, "data": {}}, {}, ref, Files(), {})
        made: Json = k6_job.template(parts)["spec"]["jobTemplate"]["spec"]["template"]["spec"]["securityContext"]
        return made

    others = {"runAsNonRoot": True, "seccompProfile": {"type": "RuntimeDefault"}}
    assert context(COPYING) == {**others, "runAsUser": 12345, "runAsGroup": 12345}
    assert context(replace(COPYING, fixed_user_ids=False)) == others


def test_the_run_of_copies_fits_a_config_map() -> None:
    files = k6_job.scripts() | own_prometheus.files(SHOPS, EXPERIMENT.variants, 9404)
    assert all(re.fullmatch(r"[-._a-zA-Z0-9]+", key) for key in files)
    assert sum(map(len, files.values())) < 512 * 1024, "a ConfigMap holds a mebibyte, with the experiment"


def test_copies_of_a_killed_vtlab_go_with_the_next_call_of_any_service(namespace: Namespace, tmp_path: Path) -> None:
    left = owned("vtlab-cart-c3d4", f"{labels._machine()}_{os.getpid()}-1")
    namespace.listed_config_maps = [left]
    asked: list[str] = []
    listed = namespace.config_maps

    def config_maps(selector: str) -> list[Json]:
        asked.append(selector)
        return listed(selector)

    namespace.config_maps = config_maps  # type: ignore[method-assign]
    with measuring(tmp_path):
        pass
    assert namespace.deleted == ["configmap vtlab-cart-c3d4"]
    assert asked == ["app.kubernetes.io/managed-by=vtlab,vtlab/copies"]


def test_another_vtlab_that_measures_copies_is_refused(namespace: Namespace, tmp_path: Path) -> None:
    namespace.listed_config_maps = [owned("vtlab-shop-c3d4", "another-machine_1-1")]
    with (
        pytest.raises(PrerequisiteMissing, match="another vtlab is measuring copies of a service in namespace shops"),
        measuring(tmp_path),
    ):
        pass
    assert namespace.deleted == []


def test_labels_of_the_monitor_are_checked_before_the_run(namespace: Namespace) -> None:
    for texts in ({"monitor_labels": "stack"}, {"k6_node_selector": "stack"}):
        wrong = ReleaseRef(
            None,
            "shops",
            "shop",
            Copying(prometheus="http://p.m:9090", agent_image="agent:1", k6_image="k6:1", **texts),
        )
        with pytest.raises(BadInput, match="'stack' is not a list of labels"):
            facts.collect(wrong, SHOP, EXPERIMENT)


def test_the_images_are_the_charts() -> None:
    usual = reference.default_copying()
    values = yaml.safe_load((shipped.ROOT / "helm" / "values.yaml").read_text(encoding="utf-8"))
    assert usual.k6_image == f"{values['k6']['image']['repository']}:{values['k6']['image']['tag']}"
    assert usual.agent_image.startswith(f"{values['image']['repository']}:")
    assert images._reference({"repository": "r", "digest": "sha256:a", "tag": "1"}, "2") == "r@sha256:a"
    assert images._reference({"repository": "r", "digest": "", "tag": ""}, "2") == "r:2"


class Meters(Prometheus):
    """A Prometheus that knows what an agent says."""

    def __init__(self, tomcat: float | None, jetty: float | None) -> None:
        super().__init__("http://test")
        self.tomcat, self.jetty = tomcat, jetty

    def measured(self, variant: str, query: str, at_ms: int) -> float | None:
        if "tomcat" in query:
            return self.tomcat
        if "jetty" in query:
            return self.jetty
        return 0.5 if "cgroup" in query else 1.0

    def labels(self, variant: str, query: str, at_ms: int) -> dict[str, str]:
        return {"version": "21.0.8"}

    def all(self, variant: str, query: str, at_ms: int) -> list[tuple[dict[str, str], float]]:
        return []


@pytest.mark.usefixtures("namespace")
def test_limits_and_threads_are_read_back_by_the_agent(tmp_path: Path) -> None:
    def verified(variant: str, tomcat: float | None = None, jetty: float | None = None, flags: str = "") -> int:
        container = {"name": "app", "env": [{"name": "JAVA_TOOL_OPTIONS", "value": flags}]}
        pod = {"metadata": {"name": "p", "uid": "1"}, "spec": {"containers": [container]}, "status": {}}
        with measuring(tmp_path) as running:
            running.site = replace(running.site, client=Meters(tomcat, jetty))
            return running._verified(target.StartedPod(SHOP, EXPERIMENT, variant, pod), 1).processors

    assert verified("virtual", tomcat=-1) == 1
    assert verified("platform", tomcat=200) == 1
    with pytest.raises(PrerequisiteMissing, match="the JVM counts 1 processors, not 4"):
        verified("virtual", tomcat=-1, flags="-XX:ActiveProcessorCount=4")
    assert verified("virtual", jetty=1) == 1
    assert verified("virtual") == 1, "no server that the agent knows"
    for server in ({"tomcat": 200}, {"jetty": 0}):
        with pytest.raises(BadInput, match="virtual: it runs on platform threads"):
            verified("virtual", **server)


class Unscraped(Prometheus):
    """A Prometheus that scrapes nothing, and knows the target or not."""

    def __init__(self, interval: str | None) -> None:
        super().__init__("http://test")
        self.interval = interval

    def scrape_interval(self, variant: str) -> str | None:
        return self.interval

    def await_scrape(self, variant: str, after_ms: int, within: float = 0) -> int:
        raise NotScraped("not scraped")


@pytest.mark.usefixtures("namespace")
def test_a_prometheus_that_does_not_take_the_monitor_is_said_at_once(tmp_path: Path) -> None:
    with measuring(tmp_path) as running:
        running.site = replace(running.site, client=Unscraped(None))
        with pytest.raises(
            PrerequisiteMissing, match=r"platform: Prometheus does not use the ServiceMonitor"
        ) as caught:
            running._scraped("platform", 1)
        running.site = replace(running.site, client=Unscraped("1s"))
        with pytest.raises(NotScraped):
            running._scraped("platform", 1)
    assert "--monitor-labels" in caught.value.fix


@pytest.mark.usefixtures("namespace")
def test_only_the_agents_port_of_a_copy_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pod = {"metadata": {"name": "p", "uid": "1"}, "status": {}}
    monkeypatch.setattr(watch, "wait_for_pods", lambda *_: ({"platform": pod}, {}))
    with measuring(tmp_path) as running:
        client = Unscraped("1s")
        running.site = replace(running.site, client=client)
        monkeypatch.setattr(client, "refuse_old", lambda: None)
        monkeypatch.setattr(client, "now", lambda: 1)
        with pytest.raises(NotScraped):
            running.start(EXPERIMENT, 1, 1)
    assert client.selectors == {"platform": {"namespace": "shops", "pod": "p", "endpoint": "vtlab-agent"}}


def test_doctor_names_every_right_that_copies_lack(namespace: Namespace) -> None:
    by_name = {prerequisite.name: prerequisite for prerequisite in doctor.prerequisites_of_copies(SHOPS, "shop")}
    assert list(by_name) == ["cluster", "rights", "Deployment shop", "Prometheus (prometheus-operated:9090)"]
    assert [prerequisite.name for prerequisite in by_name.values() if prerequisite.fix] == []
    assert by_name["Deployment shop"].state == "container web, image registry.example/shop:1.4, port 8081"

    namespace.refused = {*COPY_RIGHTS, *MONITOR_RIGHTS, *POLICY_RIGHTS, *FORWARD_RIGHTS}
    by_name = {prerequisite.name: prerequisite for prerequisite in doctor.prerequisites_of_copies(SHOPS, "shop")}
    for right in (*COPY_RIGHTS, *MONITOR_RIGHTS, *POLICY_RIGHTS):
        assert str(right) in by_name["rights"].state
    for right in FORWARD_RIGHTS:
        assert str(right) in by_name["Prometheus (prometheus-operated:9090)"].state
    assert "own-service-on-kubernetes.md" in by_name["rights"].fix
    assert "Deployment shop" not in by_name, "it would only repeat that"


def test_the_roles_in_the_docs_are_what_copies_need() -> None:
    """One Role for a run with a Prometheus of its own; two more with another, in its two namespaces."""
    pages = [
        shipped.ROOT / "docs/how-to" / f"{name}.md" for name in ("own-service-on-kubernetes", "prometheus-of-copies")
    ]
    text = "\n".join(page.read_text(encoding="utf-8") for page in pages)
    blocks = re.findall(r"```yaml\n(.*?)```", text, re.S)
    roles = [role for block in blocks for role in yaml.safe_load_all(block) if role.get("kind") == "Role"]
    granted = [
        {
            Right(verb, f"{group}/{resource}")
            for rule in role["rules"]
            for group in rule["apiGroups"]
            for resource in rule["resources"]
            for verb in rule["verbs"]
        }
        for role in roles
    ]
    own = {*COPY_RIGHTS, *FORWARD_RIGHTS, RESIZE, *POLICY_RIGHTS}
    assert granted == [own, set(MONITOR_RIGHTS), set(FORWARD_RIGHTS)]
    assert [role["metadata"]["namespace"] for role in roles] == ["shops", "shops", "monitoring"]


def test_a_service_of_a_cluster_is_tried_by_its_file_with_a_load(tmp_path: Path) -> None:
    service = {"deployment": "shop", "jvm_flags": ["-Xss512k"]}
    file = service_file(tmp_path, service, requests=["GET /orders/17"], load={"full": {"users": 20}})
    experiment = of_service(file, [])
    assert (experiment.name, experiment.needs_cluster) == ("shop", True)
    assert isinstance(experiment.service, Service)
    assert experiment.service.deployment == "shop"
    assert experiment.limits.heap is None
    assert "-Xss512k" in jvm_flags(from_deployment(experiment.service, DEPLOYMENT), experiment)


@pytest.mark.usefixtures("started")
def test_the_load_that_a_search_chose_is_in_a_config_map_of_its_own(
    namespace: Namespace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """vtlab may create and delete ConfigMaps, not change them. The copies belong to the first."""
    jobs: list[Json] = []

    def created(body: Json) -> None:
        jobs.append(body)
        raise BlockFault("no pod")

    monkeypatch.setattr(namespace, "create_job", created, raising=False)
    monkeypatch.setattr(Prometheus, "now", lambda _: 7000)
    chosen = EXPERIMENT.with_load(ClosedLoad(users=24))
    with measuring(tmp_path) as running:
        start(running)
        name = running.site.objects.name
        of_copies = {variant: {"metadata": {"name": variant}} for variant in EXPERIMENT.variants}
        block = KubernetesBlock(running.site, ClusterStart(SHOP, EXPERIMENT, 1, 1, of_copies, []))
        search = LoadCall(trial_order=EXPERIMENT.variants, pacing=CallPacing(users=(2, 4)))
        for call in (search, LoadCall(trial_order=EXPERIMENT.variants)):
            with pytest.raises(BlockFault, match="no pod"):
                block.load(call)
            block.set_load(chosen)
    first, second = namespace.listed_config_maps[:2]
    assert (first["metadata"]["name"], second["metadata"]["name"]) == (name, f"{name}-load")
    assert second["metadata"]["ownerReferences"][0]["name"] == name
    assert json.loads(second["data"]["plan.json"])["load"]["users"] == 24
    mounted = [
        next(v["configMap"]["name"] for v in spec["volumes"] if v["name"] == "experiment")
        for spec in (body["spec"]["template"]["spec"] for body in jobs)
    ]
    assert mounted == [name, f"{name}-load"]
    env = [{v["name"]: v.get("value") for v in job["spec"]["template"]["spec"]["containers"][0]["env"]} for job in jobs]
    assert [variables["RUN_ID"] for variables in env] == ["run_search", "run"], "levels are no trials of the run"
    assert len({body["metadata"]["name"] for body in jobs}) == 2
    assert {f"configmap {name}", f"configmap {name}-load"} <= set(namespace.deleted)


@pytest.mark.usefixtures("started")
def test_an_attempt_that_starts_its_copies_twice_gets_fresh_pods_twice(
    namespace: Namespace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    stamps: list[str] = []
    monkeypatch.setattr(namespace, "annotate_pods", lambda _, __, stamp: stamps.append(stamp))
    with measuring(tmp_path) as running:
        start(running)
        start(running)
    assert len(set(stamps)) == 2


def test_a_jar_is_refused_in_a_cluster_and_a_deployment_on_this_machine(tmp_path: Path) -> None:
    options = Options(1, None, tmp_path, False, cluster=SHOPS)
    jar = EXPERIMENT.model_copy(update={"service": Service(name="s", jar="s.jar")})
    with pytest.raises(BadInput, match="a cluster starts neither a jar nor a command"):
        create_runs([PlannedRun("s", jar)], options, "s")
    with pytest.raises(BadInput, match="the service shop is a Deployment, which runs in a cluster only"):
        builds.version(SHOP)


def test_what_the_charts_runner_makes_goes_with_its_pod(
    namespace: Namespace, started: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Uninstalled or killed, it cannot delete its copies itself."""
    for name, value in ((copies._POD_NAME, "lab-runner-1-x"), (copies._POD_UID, "7")):
        monkeypatch.setenv(name, value)
    with contextlib.suppress(BlockFault), measuring(tmp_path) as running:
        start(running)
        (config_map,) = namespace.listed_config_maps
        owner = {"apiVersion": "v1", "kind": "Pod", "name": "lab-runner-1-x", "uid": "7"}
        assert config_map["metadata"]["ownerReferences"] == [owner]
    monkeypatch.delenv(copies._POD_UID)
    assert copies.runner_pod() is None

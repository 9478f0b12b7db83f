"""A run in a cluster: what it refuses, and what it removes at the end. (The rest is tested on a real one: e2e/.)"""

from __future__ import annotations

import contextlib
import copy
import json
import os
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.support import recorded
from tests.unit.test_kubernetes_job import CRON_JOB
from vtlab.errors import BadInput, BlockFault, PrerequisiteMissing
from vtlab.host import processes
from vtlab.model.experiment import Properties
from vtlab.model.experiment_files import load
from vtlab.planning.load_call import LoadCall
from vtlab.planning.shipped_experiments import EXPERIMENTS
from vtlab.prometheus.queries import Prometheus
from vtlab.services import sample
from vtlab.targets.kubernetes import target
from vtlab.targets.kubernetes.api import labels
from vtlab.targets.kubernetes.api.connection import NotFound
from vtlab.targets.kubernetes.api.release_ref import ReleaseRef
from vtlab.targets.kubernetes.block import ClusterStart, KubernetesBlock, refuse_pressure
from vtlab.targets.kubernetes.release import facts as release

RELEASE = ReleaseRef(None, "ns", "lab")
SERVICE = sample.service()
BLOCKING = load("blocking", EXPERIMENTS)


def deployment(virtual: str, **limits: str) -> dict[str, Any]:
    container = {
        "name": "app",
        "image": "virtual-threads-lab:1",
        "resources": {"limits": {"cpu": "1", "memory": "768Mi", **limits}},
        "env": [
            {"name": "SPRING_THREADS_VIRTUAL_ENABLED", "value": virtual},
            {"name": "JAVA_TOOL_OPTIONS", "value": "-XX:+UseSerialGC -Xms384m -Xmx384m"},
        ],
    }
    labels = {"helm.sh/chart": "virtual-threads-lab-0.1.0"}
    return {"metadata": {"labels": labels}, "spec": {"replicas": 1, "template": {"spec": {"containers": [container]}}}}


class FakeCluster:
    """The API's answers, from memory."""

    inside = False

    def __init__(self) -> None:
        self.release = RELEASE
        self.patience = 60.0
        self.deployments = {"lab-platform": deployment("false"), "lab-virtual": deployment("true")}
        k6 = copy.deepcopy(CRON_JOB)
        k6["spec"]["jobTemplate"]["spec"]["template"]["spec"]["containers"][0]["image"] = "k6:1"
        self.cron = [k6]
        self.listed_jobs: list[dict[str, Any]] = []
        self.listed_config_maps: list[dict[str, Any]] = []
        self.deleted: list[str] = []
        self.done: list[str] = []
        self.listed_pods: list[dict[str, Any]] = []

    def pods(self, _: str, namespace: str | None = None) -> list[dict[str, Any]]:
        return self.listed_pods

    def deployment(self, name: str) -> dict[str, Any]:
        if name not in self.deployments:
            raise NotFound(name)
        return self.deployments[name]

    def last_warning(self, _: str) -> str:
        return ""

    def cron_jobs(self, _: str) -> list[dict[str, Any]]:
        return self.cron

    def jobs(self, _: str) -> list[dict[str, Any]]:
        return self.listed_jobs

    def config_maps(self, _: str) -> list[dict[str, Any]]:
        return self.listed_config_maps

    def create_config_map(self, body: dict[str, Any]) -> None:
        self.done.append(f"create {body['metadata']['name']}")

    def annotate_pods(self, name: str, *_: str) -> None:
        self.done.append(f"replace {name}")
        raise BlockFault("no further")

    def delete_job(self, name: str) -> None:
        self.deleted.append(f"job {name}")

    def delete_config_map(self, name: str) -> None:
        self.deleted.append(f"configmap {name}")

    def version(self) -> str:
        return "v1.34.4"

    def close(self) -> None:
        pass


@pytest.fixture
def cluster(monkeypatch: pytest.MonkeyPatch) -> FakeCluster:
    fake = FakeCluster()
    monkeypatch.setattr(Prometheus, "refuse_old", lambda _: None)
    for module in (release, target):
        monkeypatch.setattr(module, "Cluster", lambda _: fake)
    return fake


def test_facts_are_the_releases(cluster: FakeCluster) -> None:
    facts = release.collect(RELEASE, SERVICE, BLOCKING)
    assert facts.versions["app"] == "virtual-threads-lab:1"
    assert facts.versions["k6"] == "k6:1"
    assert facts.versions["chart"] == "virtual-threads-lab-0.1.0"
    assert facts.jvm_flags == ["-XX:+UseSerialGC", "-Xms384m", "-Xmx384m"]
    assert facts.machine["kubernetes"] == "v1.34.4"


@pytest.mark.parametrize(
    ("changed", "message", "fix"),
    [
        (deployment("true", cpu="500m"), "its CPU limit is 500m, not 1", "limits.cpu=1"),
        (deployment("true", memory="1Gi"), "its memory limit is 1Gi, not 768Mi", "limits.memory=768Mi"),
        (
            deployment("false"),
            "its SPRING_THREADS_VIRTUAL_ENABLED is false, not true",
            "variants.virtual.env.SPRING_THREADS_VIRTUAL_ENABLED=true",
        ),
    ],
)
def test_a_deployment_that_is_not_what_the_experiment_says_is_refused(
    cluster: FakeCluster, changed: dict[str, Any], message: str, fix: str
) -> None:
    cluster.deployments["lab-virtual"] = changed
    with pytest.raises(BadInput) as caught:
        release.collect(RELEASE, SERVICE, BLOCKING)
    assert message in caught.value.message
    assert f"--set-string {fix}" in caught.value.fix


def test_no_limit_and_another_heap_are_refused_too(cluster: FakeCluster) -> None:
    container = cluster.deployments["lab-virtual"]["spec"]["template"]["spec"]["containers"][0]
    container["resources"] = {}
    container["env"][1]["value"] = "-Xmx1g"
    cluster.deployments["lab-virtual"]["spec"]["replicas"] = 2
    with pytest.raises(
        BadInput, match=r"CPU limit is absent.*memory limit is absent.*heap is not -Xmx384m.*2 replicas"
    ):
        release.collect(RELEASE, SERVICE, BLOCKING)


def test_a_setting_of_the_experiment_must_be_in_the_deployment(cluster: FakeCluster) -> None:
    wanted = BLOCKING.model_copy(update={"settings": {"SERVER_TOMCAT_THREADS_MAX": "50"}})
    with pytest.raises(BadInput, match="SERVER_TOMCAT_THREADS_MAX is absent, not 50") as caught:
        release.collect(RELEASE, SERVICE, wanted)
    assert "settings.SERVER_TOMCAT_THREADS_MAX=50" in caught.value.fix


def test_an_environment_that_the_experiment_does_not_have_is_refused(cluster: FakeCluster) -> None:
    for deployment in cluster.deployments.values():
        deployment["spec"]["template"]["spec"]["containers"][0]["env"].append(
            {"name": "SERVER_TOMCAT_THREADS_MAX", "value": "9"}
        )
    with pytest.raises(BadInput, match="sets SERVER_TOMCAT_THREADS_MAX=9, which the experiment does not") as caught:
        release.collect(RELEASE, SERVICE, BLOCKING)
    # With --reuse-values Helm keeps what null should remove, and the chart refuses a null where there is nothing.
    assert "--reset-then-reuse-values --set settings.SERVER_TOMCAT_THREADS_MAX=null" in caught.value.fix
    assert "--set variants.platform.env.SERVER_TOMCAT_THREADS_MAX=null instead" in caught.value.fix


def give(cluster: FakeCluster, variant: str, **env: str) -> None:
    """As the chart does with a database and a downstream service: the password comes from a Secret."""
    container = cluster.deployments[f"lab-{variant}"]["spec"]["template"]["spec"]["containers"][0]
    container["env"] += [{"name": key, "value": value} for key, value in env.items()]
    secret = {"secretKeyRef": {"name": "lab-database", "key": "password"}}
    container["env"].append({"name": "SPRING_DATASOURCE_PASSWORD", "valueFrom": secret})


BESIDE = {
    "SPRING_DATASOURCE_URL": "jdbc:mysql://lab-database:3306/lab",
    "SPRING_DATASOURCE_USERNAME": "lab",
    "LAB_DOWNSTREAM_URL": "http://lab-downstream:8080",
}


def test_what_the_chart_gives_for_the_services_beside_is_no_setting(cluster: FakeCluster) -> None:
    for name in ("platform", "virtual"):
        give(cluster, name, **BESIDE)
    assert release.collect(RELEASE, SERVICE, BLOCKING).jvm_flags == ["-XX:+UseSerialGC", "-Xms384m", "-Xmx384m"]

    give(cluster, "virtual", SPRING_DATASOURCE_HIKARI_MAXIMUM_POOL_SIZE="50")
    with pytest.raises(BadInput, match="sets SPRING_DATASOURCE_HIKARI_MAXIMUM_POOL_SIZE=50, which the exp") as caught:
        release.collect(RELEASE, SERVICE, BLOCKING)
    assert "SPRING_DATASOURCE_URL" not in caught.value.message + caught.value.fix


def test_variants_beside_different_services_are_refused(cluster: FakeCluster) -> None:
    give(cluster, "platform", **BESIDE)
    give(cluster, "virtual", **{**BESIDE, "LAB_DOWNSTREAM_URL": "http://faster:8080"})
    with pytest.raises(BadInput, match="more than their threads: LAB_DOWNSTREAM_URL is http://lab-downstream:8080 and"):
        release.collect(RELEASE, SERVICE, BLOCKING)


@pytest.mark.parametrize("other", ["image", "flags"])
def test_variants_that_differ_in_more_than_their_threads_are_refused(cluster: FakeCluster, other: str) -> None:
    container = cluster.deployments["lab-virtual"]["spec"]["template"]["spec"]["containers"][0]
    if other == "image":
        container["image"] = "virtual-threads-lab:2"
    else:
        container["env"][1]["value"] += " -XX:+UseG1GC"
    with pytest.raises(BadInput, match="platform and virtual differ in more than their threads"):
        release.collect(RELEASE, SERVICE, BLOCKING)


def test_a_lab_that_is_not_installed_is_said(cluster: FakeCluster) -> None:
    del cluster.deployments["lab-virtual"]
    with pytest.raises(PrerequisiteMissing, match="no Deployment lab-virtual in namespace ns"):
        release.collect(RELEASE, SERVICE, BLOCKING)
    cluster.deployments["lab-virtual"] = deployment("true")
    cluster.cron = []
    with pytest.raises(PrerequisiteMissing, match="no CronJob of k6"):
        release.collect(RELEASE, SERVICE, BLOCKING)


def test_an_experiment_that_needs_what_is_off_is_refused(cluster: FakeCluster) -> None:
    needy = BLOCKING.model_copy(update={"name": "needy", "needs": ["database"]})
    with pytest.raises(PrerequisiteMissing, match="needy needs database, which the release lab does not") as caught:
        release.collect(RELEASE, SERVICE, needy)
    assert "--set database.enabled=true" in caught.value.fix
    for name in ("platform", "virtual"):
        give(cluster, name, **BESIDE)
    assert release.collect(RELEASE, SERVICE, needy).versions["k6"] == "k6:1", "by the CronJob of another experiment"


def test_a_database_that_the_chart_does_not_have_is_refused(cluster: FakeCluster) -> None:
    needy = BLOCKING.model_copy(update={"name": "needy", "needs": ["postgres"]})
    with pytest.raises(BadInput, match="needy needs postgres, and the chart has MariaDB alone"):
        release.collect(RELEASE, SERVICE, needy)


def test_a_variant_on_another_jdk_than_the_experiments_is_refused() -> None:
    made_by_java = BLOCKING.model_copy(
        update={"properties": {"virtual": Properties.model_validate({"threads": "virtual", "java": 21})}}
    )
    for version in ("21.0.8", "21+35", "21"):
        target.refuse_other_java(RELEASE, made_by_java, "virtual", version)
    target.refuse_other_java(RELEASE, made_by_java, "platform", "25.0.1")
    with pytest.raises(BadInput, match=r"virtual: it runs on Java 25\.0\.1, the experiment says 21") as caught:
        target.refuse_other_java(RELEASE, made_by_java, "virtual", "25.0.1")
    assert "variants.virtual.image.tag=" in caught.value.fix


class Pressed:
    """A Prometheus that says what kube-state-metrics says of the nodes."""

    def __init__(self, pressure: float | None) -> None:
        self.pressure, self.asked = pressure, ""

    def evaluate(self, expr: str, at_ms: int | None) -> float | None:
        self.asked = f"{expr} at {at_ms}"
        return self.pressure


def test_a_node_under_pressure_rejects_the_block() -> None:
    for pressure in (None, 0.0):
        refuse_pressure(Pressed(pressure), {"a", "b"}, 1000, 9000)  # type: ignore[arg-type]
    pressed = Pressed(1.0)
    with pytest.raises(BlockFault, match=r"the node a\|b was under pressure"):
        refuse_pressure(pressed, {"a", "b"}, 1000, 9000)  # type: ignore[arg-type]
    assert 'node=~"a|b"' in pressed.asked
    assert pressed.asked.endswith("[8s])) at 9000")


class Peaks(Prometheus):
    """A Prometheus that knows the largest resident memory of platform alone."""

    def __init__(self) -> None:
        super().__init__("http://test")
        self.asked: list[str] = []

    def now(self) -> int:
        return 7000

    def evaluate(self, expr: str, at_ms: int | None) -> float | None:
        self.asked.append(f"{expr} at {at_ms}")
        return 5e8 if "platform" in expr else None


def block_of(running: target.KubernetesTarget) -> KubernetesBlock:
    instances = [recorded.instance(variant=name, identity=name) for name in BLOCKING.variants]
    pods = {name: {"metadata": {"name": name, "uid": name}} for name in BLOCKING.variants}
    return KubernetesBlock(running.site, ClusterStart(SERVICE, BLOCKING, 1, 1, pods, instances))


def test_a_release_is_probed_on_its_management_port(
    cluster: FakeCluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[Mapping[str, str]] = []

    def run(_: KubernetesBlock, variables: Mapping[str, str], __: str | None) -> Any:
        asked.append(variables)
        raise BlockFault("no Job")

    monkeypatch.setattr(KubernetesBlock, "_run", run)
    with measuring(tmp_path) as running:
        block = block_of(running)
        for loads in (
            LoadCall(trial_order=["platform", "virtual"]),
            LoadCall(trial_order=["platform"], with_probe=False),
        ):
            with pytest.raises(BlockFault, match="no Job"):
                block.load(loads)
        block.drop("platform")
        assert list(block._probes) == ["virtual"]
    urls = {name: f"http://lab-{name}:8081/actuator/health/liveness" for name in ("platform", "virtual")}
    assert [variables["PROBES"] for variables in asked] == [json.dumps(urls), "none"]


def test_the_largest_resident_memory_is_the_agents(cluster: FakeCluster, tmp_path: Path) -> None:
    ready = {"conditions": [{"type": "Ready", "status": "True"}], "phase": "Running"}
    cluster.listed_pods = [{"metadata": {"name": name, "uid": name}, "status": ready} for name in BLOCKING.variants]
    client = Peaks()
    with measuring(tmp_path) as running:
        running.site = replace(running.site, client=client)
        assert [instance.resident_peak for instance in block_of(running).check_instances()] == [5e8, None]
    query = "max by (namespace, variant) (process_resident_memory_peak_bytes{variant="
    assert client.asked == [f'{query}"{name}"}}) at 7000' for name in BLOCKING.variants]


class Scraping:
    """A Prometheus that scrapes so often."""

    def __init__(self, interval: str | None) -> None:
        self.interval = interval

    def scrape_interval(self, variant: str) -> str | None:
        return self.interval


def test_a_variant_that_is_scraped_too_rarely_is_refused() -> None:
    for known in ("1s", "500ms", None, "of no known form"):
        target.refuse_rare_scrapes(Scraping(known), RELEASE, "virtual")  # type: ignore[arg-type]
    for rare in ("5s", "1s1ms", "1m"):
        with pytest.raises(PrerequisiteMissing, match=f"virtual: Prometheus scrapes it every {rare}, vtlab") as caught:
            target.refuse_rare_scrapes(Scraping(rare), RELEASE, "virtual")  # type: ignore[arg-type]
        assert "--set monitoring.interval=1s; the operator takes" in caught.value.fix


def test_the_version_of_prometheus_is_asked_for_in_every_block(
    cluster: FakeCluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    answers = [BlockFault("away"), PrerequisiteMissing("too old")]

    def refuse_old(_: Prometheus) -> None:
        raise answers.pop(0)

    monkeypatch.setattr(Prometheus, "refuse_old", refuse_old)
    with measuring(tmp_path) as running:
        with pytest.raises(BlockFault, match="away"):
            running.start(BLOCKING, 1, 1)
        with pytest.raises(PrerequisiteMissing, match="too old"):
            running.start(BLOCKING, 1, 2)
    assert not [line for line in cluster.done if line.startswith("replace")], "before any pod is replaced"


class Nodes:
    """A Prometheus that knows the processors of nodes."""

    def __init__(self, *models: tuple[str, str, float]) -> None:
        self.models = models
        self.asked: list[str] = []

    def now(self) -> int:
        return 1

    def query(self, expr: str, at_ms: int) -> list[tuple[dict[str, str], float]]:
        self.asked.append(expr)
        return [({"nodename": node, "model_name": model}, count) for node, model, count in self.models]


def test_the_processors_of_nodes_are_asked_for_where_there_are_several() -> None:
    known = Nodes(("a", "Xeon", 4), ("b.c", "EPYC", 8))
    found = target.node_processors(known, {"a", "b.c"})  # type: ignore[arg-type]
    assert found == {"a": "4 × Xeon", "b.c": "8 × EPYC"}
    assert 'nodename=~"a|b\\\\.c"' in known.asked[0]
    assert target.node_processors(known, {"a"}) == {}  # type: ignore[arg-type]
    assert len(known.asked) == 1
    assert target.node_processors(Nodes(), {"a", "b"}) == {}  # type: ignore[arg-type]


def test_a_release_that_names_no_prometheus_is_refused(cluster: FakeCluster, tmp_path: Path) -> None:
    cluster.cron = []
    with pytest.raises(PrerequisiteMissing, match="not of the form http://service"):
        enter(tmp_path)


def owned(name: str, owner: str, **status: int) -> dict[str, Any]:
    return {"metadata": {"name": name, "labels": {"vtlab/owner": owner}}, "status": status}


def measuring(folder: Path) -> contextlib.AbstractContextManager[target.KubernetesTarget]:
    return target.kubernetes_target(folder, folder, RELEASE, "run")


def enter(folder: Path) -> None:
    with measuring(folder):
        pass


def test_a_job_of_a_vtlab_that_is_gone_is_removed_with_its_config_map(cluster: FakeCluster, tmp_path: Path) -> None:
    gone = f"{labels._machine()}_{os.getpid()}-1"
    cluster.listed_jobs = [owned("lab-vtlab-run-a1b2-1-2-3", gone)]
    owner = processes.Identity.of(os.getpid())
    assert owner is not None
    # One was killed between two Jobs, and one run of this process could not remove its own.
    cluster.listed_config_maps = [
        owned("lab-vtlab-run-a1b2", gone),
        owned("lab-vtlab-old-c3d4", f"{labels._machine()}_{owner.pid}-{owner.start}"),
    ]
    enter(tmp_path)
    assert cluster.deleted == [
        "job lab-vtlab-run-a1b2-1-2-3",
        "configmap lab-vtlab-run-a1b2",
        "configmap lab-vtlab-old-c3d4",
    ]


@pytest.mark.parametrize("kind", ["Job", "ended Job", "ConfigMap"])
def test_what_another_vtlab_may_still_need_is_refused_and_nothing_deleted(
    cluster: FakeCluster, tmp_path: Path, kind: str
) -> None:
    living = processes.Identity.of(os.getppid())
    assert living is not None
    gone = owned("lab-vtlab-old-c3d4", f"{labels._machine()}_{os.getpid()}-1")
    for owner in ("another-machine_1-1", f"{labels._machine()}_{living.pid}-{living.start}"):
        cluster.listed_jobs, cluster.listed_config_maps = [gone], [gone]
        if kind == "ConfigMap":
            # Between two Jobs there is nothing else.
            cluster.listed_config_maps.append(owned("lab-vtlab-run", owner))
        else:
            status = {"failed": 1} if kind == "ended Job" else {}
            cluster.listed_jobs.append(owned("lab-vtlab-run", owner, **status))
        with pytest.raises(
            PrerequisiteMissing, match="another vtlab is measuring release lab in namespace ns"
        ) as caught:
            enter(tmp_path)
        assert f"({kind.removeprefix('ended ')} lab-vtlab-run)" in caught.value.message
        selector = "app.kubernetes.io/managed-by=vtlab,app.kubernetes.io/instance=lab"
        assert f"kubectl -n ns delete jobs,configmaps -l {selector}" in caught.value.fix
    assert cluster.deleted == []


def test_the_config_map_is_there_before_the_pods_are_replaced_and_gone_at_the_end(
    cluster: FakeCluster, tmp_path: Path
) -> None:
    with measuring(tmp_path) as running:
        for attempt in (1, 2):
            with pytest.raises(BlockFault, match="no further"):
                running.start(BLOCKING, 1, attempt)
    name = running.site.objects.name
    assert cluster.done == [f"create {name}", "replace lab-platform", "replace lab-platform"]
    assert cluster.deleted == [f"configmap {name}"]

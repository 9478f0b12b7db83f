"""Copies of a Deployment, or of an image, that vtlab knows nothing of. Its service is the sample application, without
the chart: under other labels and ports, behind a Service, a PodDisruptionBudget and NetworkPolicies."""

from __future__ import annotations

import base64
import json
import os
import re
import signal
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import pytest

from e2e.on_cluster import lab, pods, reach, runs
from tests.support import lab_call
from tests.support.lab_call import TINY, measuring
from vtlab.runs import store

#: What vtlab may make for a run, by kubectl's names.
KINDS = "deployments,services,configmaps,secrets,jobs,servicemonitors,networkpolicies,pods"
OF_VTLAB = "app.kubernetes.io/managed-by=vtlab"
SHOP = {"app": "shop"}
PROMETHEUS = "http://prometheus-operated.monitoring:9090"


def web() -> dict[str, Any]:
    """The container of the service."""
    return {
        "name": "web",
        "image": pods.image(25),
        "ports": [{"name": "http", "containerPort": 8080}, {"name": "management", "containerPort": 8081}],
        "env": [
            {"name": "JAVA_TOOL_OPTIONS", "value": "-XX:MaxRAMPercentage=50"},
            {"name": "GREETING", "valueFrom": {"secretKeyRef": {"name": "shop", "key": "greeting"}}},
        ],
        "readinessProbe": {"httpGet": {"path": "/actuator/health/readiness", "port": "management"}},
        "livenessProbe": {"httpGet": {"path": "/actuator/health/liveness", "port": "management"}},
        "resources": {"requests": {"cpu": "100m"}, "limits": {"cpu": "1", "memory": "512Mi"}},
        "securityContext": {
            "allowPrivilegeEscalation": False,
            "readOnlyRootFilesystem": True,
            "capabilities": {"drop": ["ALL"]},
        },
        "volumeMounts": [{"name": "tmp", "mountPath": "/tmp"}],
    }


def shop() -> list[dict[str, Any]]:
    """The objects of a team that has a service."""

    def of(version: str, kind: str, **rest: Any) -> dict[str, Any]:
        return {"apiVersion": version, "kind": kind, "metadata": {"name": "shop"}, **rest}

    spec = {
        "securityContext": {"runAsNonRoot": True, "seccompProfile": {"type": "RuntimeDefault"}},
        "containers": [web()],
        "volumes": [{"name": "tmp", "emptyDir": {}}],
    }
    selector = {"matchLabels": SHOP}
    template = {"metadata": {"labels": SHOP}, "spec": spec}
    # The namespace denies all by default; what is allowed holds for the original alone, until it is copied.
    allowed = {"podSelector": selector, "policyTypes": ["Ingress", "Egress"], "ingress": [{}], "egress": [{}]}
    denied = of("networking.k8s.io/v1", "NetworkPolicy", spec={"podSelector": {}, "policyTypes": ["Ingress", "Egress"]})
    return [
        of("v1", "Secret", stringData={"greeting": "hello"}),
        of("apps/v1", "Deployment", spec={"replicas": 1, "selector": selector, "template": template}),
        of("v1", "Service", spec={"selector": SHOP, "ports": [{"port": 80, "targetPort": "http"}]}),
        of("policy/v1", "PodDisruptionBudget", spec={"minAvailable": 1, "selector": selector}),
        of("networking.k8s.io/v1", "NetworkPolicy", spec=allowed),
        {**denied, "metadata": {"name": "deny"}},
    ]


@pytest.fixture(scope="module", autouse=True)
def _shop() -> Iterator[None]:
    lab.fresh_namespace()
    for document in shop():
        lab.kubectl("create", "-f", "-", given=json.dumps(document))
    lab.kubectl("rollout", "status", "deployment/shop", "--timeout=5m")
    yield
    lab.run("kubectl", "delete", "namespace", lab.NAMESPACE)


def roles() -> tuple[str, str]:
    """The Roles that the docs name: for a run with a Prometheus of its own, and what another one needs besides."""
    pages = [
        lab.REPOSITORY / "docs/how-to" / name for name in ("own-service-on-kubernetes.md", "prometheus-of-copies.md")
    ]
    text = "\n".join(page.read_text(encoding="utf-8") for page in pages)
    own, other = (block for block in re.findall(r"```yaml\n(.*?)```", text, re.S) if "kind: Role" in block)
    here = f"namespace: {lab.NAMESPACE}"
    return own.replace("namespace: shops", here), other.replace("namespace: shops", here)


def bind(role: str, namespace: str) -> None:
    """Gives a Role to the account of ``limited``."""
    account = f"--serviceaccount={lab.NAMESPACE}:runner"
    lab.run("kubectl", "-n", namespace, "create", "rolebinding", role, f"--role={role}", account)


@pytest.fixture(scope="module")
def limited(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """The environment of a user who has the Role that the docs name for a run, and nothing else."""
    environment = runs.limited(tmp_path_factory.mktemp("rights"))
    lab.run("kubectl", "apply", "-f", "-", given=roles()[0])
    bind("vtlab", lab.NAMESPACE)
    return environment


@pytest.fixture
def with_other_prometheus(limited: dict[str, str]) -> Iterator[dict[str, str]]:
    """The same, with the Roles for ``--prometheus``, for one test."""
    lab.run("kubectl", "apply", "-f", "-", given=roles()[1])
    bound = (("vtlab-monitor", lab.NAMESPACE), ("vtlab", "monitoring"))
    for role, namespace in bound:
        bind(role, namespace)
    yield limited
    for role, namespace in bound:
        lab.run("kubectl", "-n", namespace, "delete", f"rolebinding/{role}", f"role/{role}")


def experiment(folder: Path, service: dict[str, Any], **changes: Any) -> Path:
    """The tiny experiment of that service, with some keys replaced."""
    document = json.loads(TINY.read_text(encoding="utf-8"))
    document |= {"service": service, "limits": {"cpu": 1, "memory": "640Mi", "heap": None}} | changes
    path = folder / "tiny.json"
    path.write_text(json.dumps(document), encoding="utf-8")
    return path


def measure(path: Path, root: Path, blocks: int = 1) -> list[str | Path]:
    """The words after ``vtlab`` that measure copies here."""
    return [*runs.measure(path, root, blocks), "--namespace", lab.NAMESPACE, "--agent-image", os.environ["LAB_IMAGE"]]


def left() -> list[str]:
    """What vtlab made and has not been deleted."""
    return lab.kubectl("get", KINDS, "-l", OF_VTLAB, "-o", "name", "--ignore-not-found").split()


def made(component: str) -> list[dict[str, Any]]:
    """The pods that vtlab made of that kind."""
    found: list[dict[str, Any]] = lab.get("pods", "-l", f"{OF_VTLAB},app.kubernetes.io/component={component}")["items"]
    return found


def copies() -> list[dict[str, Any]]:
    """The pods of variants that vtlab made."""
    return made("variant")


def names(of: Iterable[dict[str, Any]]) -> set[str]:
    return {pod["metadata"]["name"] for pod in of}


def endpoints() -> set[str]:
    """The pods behind the Service of the shop."""
    slices = lab.get("endpointslices", "-l", "kubernetes.io/service-name=shop")["items"]
    return {endpoint["targetRef"]["name"] for each in slices for endpoint in each.get("endpoints") or []}


def test_copies_of_a_deployment_are_measured_and_the_original_is_left_alone(
    limited: dict[str, str], tmp_path: Path
) -> None:
    """A Deployment is measured by copies of its pod template on their kinds of threads and under the experiment's
    limits, by a Prometheus of the run's own, with the rights that the docs name. They have both loads, and its own
    liveness probe beside these. Its Service, its PodDisruptionBudget and its pods stay as they were, and nothing of
    vtlab's is left."""
    doctor = runs.vtlab("doctor", "--target", "kubernetes", "--deployment", "shop", env=limited)
    assert doctor.returncode == 0, doctor.stdout + doctor.stderr
    lab.until("the budget counts the pod", lambda: lab.get("pdb", "shop").get("status", {}).get("expectedPods") == 1)
    lab.until("the Service has the pod", lambda: len(endpoints()) == 1)
    before, (original,) = lab.get("deployment", "shop"), endpoints()
    root = tmp_path / "results"
    both = {"full": {"users": 20}, "typical": {"share": 0.6}}
    path = experiment(tmp_path, {"name": "shop", "deployment": "shop"}, load=both)
    with runs.Running(tmp_path, *measure(path, root), env=limited) as run:
        run.until(measuring(1))
        labels = [pod["metadata"]["labels"] for pod in copies()]
        assert {each["variant"] for each in labels} == {"platform", "virtual"}
        assert all("app" not in each for each in labels)
        assert endpoints() == {original}
        assert lab.get("pdb", "shop")["status"]["expectedPods"] == 1
        assert len(made("prometheus")) == 1
        assert lab.get("servicemonitors", "-l", OF_VTLAB)["items"] == []
        assert run.exit_code() == 0, run.text()
    assert "Secret shop" in run.text(), "what is shared is said"
    assert "NetworkPolicies for the copies: of-shop, prometheus, variants, k6" in run.text()
    assert run.text().count("vtlab reaches no Prometheus at") == 1, "there is no right in its namespace"
    document = runs.verdict(lab_call.only(root))
    assert document["valid"] is True, document
    # Also of attempts that a busy machine cost.
    check_copies(lab_call.blocks(lab_call.only(root)))
    after = lab.get("deployment", "shop")
    assert after["metadata"]["generation"] == before["metadata"]["generation"]
    assert endpoints() == {original}
    lab.until("the cluster has deleted what vtlab made", lambda: left() == [])


def check_copies(blocks: list[dict[str, Any]]) -> None:
    """Asserts that the copies of both variants had the limits of the experiment, both loads, and the probes of the
    Deployment beside these."""
    instances = [instance for block in blocks for instance in block["instances"]]
    assert {instance["variant"] for instance in instances} == {"platform", "virtual"}
    assert {(instance["processors"], instance["cpu_limit"]) for instance in instances} == {(1, 1)}
    felt = [block for block in blocks if block["typical"]]
    assert felt
    for block in felt:
        assert {trial["variant"] for trial in block["typical"]} == {"platform", "virtual"}
        for trial in (*block["trials"], *block["typical"]):
            # On the port of the requests there is no such path.
            assert trial["probe"]["healthy"] > 0, "the port of the Deployment's own probe was asked"
            assert trial["server"]["jit_cpu"] is not None, "by the agent in the pod"
        assert all(instance["resident_peak"] > 0 for instance in block["instances"])


@pytest.mark.cluster_all
def test_copies_of_a_killed_vtlab_go_with_the_next_call(tmp_path: Path) -> None:
    """Ctrl-C deletes the copies; those of a killed vtlab go with the next call, which then measures."""
    path = experiment(tmp_path, {"name": "shop", "deployment": "shop"})
    with runs.Running(tmp_path, *measure(path, tmp_path / "stopped")) as run:
        run.until(measuring(1))
        assert run.end(signal.SIGINT) == 130, run.text()
    lab.until("the cluster has deleted the copies", lambda: left() == [])

    with runs.Running(tmp_path, *measure(path, tmp_path / "killed")) as run:
        run.until(measuring(1))
        run.process.kill()
        run.process.wait()
    assert left() != []
    done = runs.vtlab(*measure(path, tmp_path / "next"))
    assert done.returncode == 0, done.stdout + done.stderr
    assert runs.verdict(lab_call.only(tmp_path / "next"))["valid"] is True
    lab.until("the cluster has deleted all copies", lambda: left() == [])


@pytest.mark.cluster_all
def test_a_load_is_searched_with_copies(with_other_prometheus: dict[str, str], tmp_path: Path) -> None:
    """Without `--users` vtlab searches the load with copies of a Deployment, and measures the first block with the same
    copies and what it chose. Five threads are named. The Prometheus of `--prometheus` scrapes the copies."""
    asked = ("doctor", "--deployment", "shop", "--namespace", lab.NAMESPACE, "--prometheus", PROMETHEUS)
    doctor = runs.vtlab(*asked, env=with_other_prometheus)
    assert doctor.returncode == 0, doctor.stdout + doctor.stderr
    file = tmp_path / "vtlab.json"
    service = {"deployment": "shop", "jvm_flags": ["-Dserver.tomcat.threads.max=5"]}
    file.write_text(json.dumps({"service": service}), encoding="utf-8")
    root = tmp_path / "results"
    # A Deployment implies the cluster.
    words = ["--namespace", lab.NAMESPACE, "--agent-image", os.environ["LAB_IMAGE"], "--prometheus", PROMETHEUS]
    line: list[str | Path] = ["try", file, "GET /thread?duration=300ms", "--blocks", "1", *words, "--results", root]
    with runs.Running(tmp_path, *line, env=with_other_prometheus) as run:
        run.wait_for(lambda: len(names(copies())) == 2, "copies", 300)
        of_search = names(copies())
        assert made("prometheus") == []
        run.until(measuring(1))
        assert names(copies()) == of_search
        # 4: a busy machine cost three blocks.
        assert run.exit_code() in (0, 4), run.text()
    measured = store.read(lab_call.only(root))
    curve = measured.manifest.curve
    assert curve is not None
    assert {point.variant for point in curve.points} == {"platform", "virtual"}
    assert curve.users[0] == 1
    cycles = [trial for block in measured.blocks for trial in block.warmup]
    raised = {trial.raised_cpu: trial.server["cpu_limit"] for trial in cycles if "cpu_limit" in trial.server}
    assert raised == {2: 2, None: 1}, "in place, read inside the copies"
    assert measured.experiment.load.users == curve.chosen
    document = runs.verdict(lab_call.only(root))
    if curve.chosen > 5 and document["valid"]:
        assert document["variants"]["platform"]["bottleneck"]["resource"] == "tomcat-threads", run.text()
    lab.until("the cluster has deleted the copies", lambda: left() == [])


#: Users log in, and ask for what the rows of data and a variable say: with another value the service answers 400.
REQUESTS = {
    "requests": [
        "GET /thread?duration={wait}",
        {"GET /thread?duration={env.VTLAB_WAIT}": {"headers": {"X-By": "{by}"}}},
    ],
    "data": "waits.csv",
    "login": {"GET": "/thread?duration=1ms", "capture": {"by": "$.threadName"}},
}
SCRIPT = """
import http from 'k6/http';
import { check } from 'k6';
import { path } from './paths.js';

const rows = open('./waits.csv').split('\\n');

export default function () {
  const wait = __ITER % 2 ? rows[1] : __ENV.VTLAB_WAIT;
  check(http.get(`http://shop.example:1234${path(wait)}`), { answered: (r) => r.status === 200 });
}
"""


@pytest.mark.cluster_all
@pytest.mark.parametrize("by", ["requests", "script"])
def test_data_login_and_scripts_reach_k6_by_a_secret(by: str, limited: dict[str, str], tmp_path: Path) -> None:
    """A workload's rows, login, variables and script reach k6 in a Secret that goes with the run. Each copy is asked
    once before: the script's fixed address stands for the variant's."""
    (tmp_path / "waits.csv").write_text("wait\n100ms\n", encoding="utf-8")
    (tmp_path / "paths.js").write_text("export const path = (wait) => `/thread?duration=${wait}`;\n", encoding="utf-8")
    (tmp_path / "load.js").write_text(SCRIPT, encoding="utf-8")
    file = tmp_path / "vtlab.json"
    asked = REQUESTS if by == "requests" else {"k6": "load.js"}
    document = {"service": {"deployment": "shop"}, **asked, "load": {"full": {"users": 20}}}
    file.write_text(json.dumps(document), encoding="utf-8")
    root = tmp_path / "results"
    words = ["--target", "kubernetes", "--namespace", lab.NAMESPACE, "--agent-image", os.environ["LAB_IMAGE"]]
    line: list[str | Path] = ["try", file, "--blocks", "1", *words, "--results", root]
    with runs.Running(tmp_path, *line, env={**limited, "VTLAB_WAIT": "120ms"}) as run:
        run.until(measuring(1))
        (secret,) = lab.get("secrets", "-l", OF_VTLAB)["items"]
        assert "120ms" in "".join(base64.b64decode(text).decode() for text in secret["data"].values())
        assert "120ms" not in json.dumps(lab.get("configmaps,deployments,jobs,pods", "-l", OF_VTLAB))
        # 4: a busy machine cost the blocks.
        assert run.exit_code() in (0, 4), run.text()
    if by == "script":
        assert "the script has the fixed address http://shop.example:1234" in run.text()
    (trials, *_) = (block["trials"] for block in lab_call.blocks(lab_call.only(root)) if block["trials"])
    assert {trial["variant"] for trial in trials} == {"platform", "virtual"}
    assert all(trial["ok"] and not trial["failed"] for trial in trials), trials
    lab.until("the cluster has deleted what vtlab made", lambda: left() == [])


@pytest.fixture
def without_policies() -> Iterator[None]:
    """A namespace in which no policy restricts, for one test."""
    lab.kubectl("delete", "networkpolicies", "--all")
    yield
    for document in shop():
        if document["kind"] == "NetworkPolicy":
            lab.kubectl("create", "-f", "-", given=json.dumps(document))


@pytest.mark.cluster_all
@pytest.mark.usefixtures("without_policies")
def test_an_image_alone_is_measured(tmp_path: Path) -> None:
    """An image without a Deployment is measured in a namespace that enforces Pod Security `restricted`. The cluster's
    Prometheus gets the verdict, and nothing else of the run. The run's own is closed to other pods, also where the
    namespace has no policies."""
    service = {"name": "cart", "image": os.environ["LAB_IMAGE"], "jvm_flags": ["-XX:MaxRAMPercentage=50"]}
    root = tmp_path / "results"
    # Ready before, as the run may be over sooner than a pod is.
    with (
        reach.waiting(reach.Pod(lab.NAMESPACE, "stranger"), {"app": "stranger"}) as stranger,
        runs.Running(tmp_path, *measure(experiment(tmp_path, service), root)) as run,
    ):
        run.until(measuring(1))
        if lab.enforces_policies():
            check_closed(stranger)
        assert run.exit_code() == 0, run.text()
    results = lab_call.only(root)
    assert runs.verdict(results)["valid"] is True
    of_run = f'testid="{store.read(results).manifest.run_id}"'
    assert lab.value(f"last_over_time(vtlab_verdict_blocks{{{of_run}}}[1h])") == 1
    assert lab.prometheus("series", **{"match[]": f'{{__name__=~"k6_.+", {of_run}}}'}) == []
    lab.until("the cluster has deleted the copies", lambda: left() == [])


def check_closed(stranger: reach.Pod) -> None:
    """Asserts that the policy of a run's own Prometheus keeps another pod out of it."""
    (service,) = lab.get("services", "-l", f"{OF_VTLAB},app.kubernetes.io/component=prometheus")["items"]
    (policy,) = lab.get("networkpolicies")["items"]
    address = (f"{service['metadata']['name']}.{lab.NAMESPACE}", 9090)
    lab.until("the policy refuses it", lambda: reach.reaches(stranger, *address) is False)
    lab.kubectl("delete", "networkpolicy", policy["metadata"]["name"])
    lab.until("without the policy it is open", lambda: reach.reaches(stranger, *address))


@pytest.mark.cluster_all
def test_the_runs_own_prometheus_that_is_killed_costs_a_block(tmp_path: Path) -> None:
    """A Prometheus of the run's own that is killed costs the block that it did not see whole; another one measures the
    next."""
    path, root = experiment(tmp_path, {"name": "shop", "deployment": "shop"}), tmp_path / "results"
    with runs.Running(tmp_path, *measure(path, root)) as run:
        run.until(measuring(1))
        (before,) = names(made("prometheus"))
        lab.kubectl("delete", "pod", before, "--grace-period=0", "--force", "--wait=false")
        assert run.exit_code() == 0, run.text()
    assert "Prometheus" in runs.faults(lab_call.only(root))
    assert runs.verdict(lab_call.only(root))["valid"] is True
    lab.until("the cluster has deleted the copies", lambda: left() == [])


@pytest.mark.cluster_all
def test_the_charts_runner_measures_copies(tmp_path: Path) -> None:
    """`helm install` with an experiment of the namespace's own Deployment makes a Job that measures copies of it. It
    needs no right but those of the chart. Its verdict is in the ConfigMap, and nothing of the copies is left. Without
    monitoring it brings a Prometheus, which it reaches by those rights."""
    path = experiment(tmp_path, {"name": "shop", "deployment": "shop"})
    document = json.loads(path.read_text(encoding="utf-8"))
    none = {"variants": dict.fromkeys(("platform", "virtual")), "experiments": []}
    values = tmp_path / "values.json"
    values.write_text(json.dumps({**none, "runner": {"experiment": document}}), encoding="utf-8")
    given = ("-f", str(values), *runs.runner())
    lab.install(*given)
    log = lab.job_log(lab.runner_job(1), timeout=runs.PATIENCE)
    assert "copies of Deployment shop" in log
    assert "NetworkPolicies for the copies: of-shop" in log
    held = json.loads(lab.get("configmap", "lab-verdict")["data"]["verdict.json"])
    assert (held["valid"], held["n"], held["environment"]["target"]) == (True, 1, "kubernetes")
    assert held["variants"].keys() == {"platform", "virtual"}
    lab.until("the cluster has deleted the copies", lambda: left() == [])
    # Uninstalled while it measures, it has no rights any more.
    lab.install(*given, "--set", "monitoring.enabled=false", command="upgrade")
    # By then that Prometheus has told it that it scrapes the copies.
    lab.until("the second Job has copies under load", lambda: made("k6"), within=600)
    assert len(made("prometheus")) == 1
    lab.uninstall()
    lab.until("the cluster has deleted the copies of a runner that is gone", lambda: left() == [])

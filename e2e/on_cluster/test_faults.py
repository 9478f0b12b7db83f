"""What goes wrong in a cluster while vtlab measures: it is named, the block is repeated, finished blocks are kept."""

from __future__ import annotations

import json
import signal
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

from e2e.on_cluster import lab, runs
from e2e.on_cluster.proxy import Proxy
from tests.support import lab_call
from tests.support.lab_call import TINY, measuring

pytestmark = pytest.mark.cluster_all

IMAGE_REFUSED = "ImagePullBackOff"
K6 = "app.kubernetes.io/component=k6"
VARIANTS = "app.kubernetes.io/component=variant"


@pytest.fixture(scope="module", autouse=True)
def _lab() -> Iterator[None]:
    lab.fresh_namespace()
    lab.install()
    yield
    lab.uninstall()


def running_pods(selector: str) -> list[str]:
    """The names of the pods with those labels of which each container runs."""
    pods = lab.get("pods", "-l", selector)["items"]
    states = {pod["metadata"]["name"]: pod["status"].get("containerStatuses", []) for pod in pods}
    return [name for name, states in states.items() if states and all("running" in each["state"] for each in states)]


def running_pod(selector: str) -> str:
    """The name of a running pod with those labels, once there is one."""
    seen: list[str] = []

    def look() -> list[str]:
        seen[:] = running_pods(selector)
        return seen

    lab.until(f"a running pod {selector}", look)
    return seen[0]


def evict_k6(run: lab_call.Running) -> None:
    """Evicts running pods of k6 until vtlab says so: k6 may end its work before the eviction reaches its pod."""

    def is_named() -> bool:
        for pod in running_pods(K6):
            metadata = {"name": pod, "namespace": lab.NAMESPACE}
            eviction = {"apiVersion": "policy/v1", "kind": "Eviction", "metadata": metadata}
            path = f"/api/v1/namespaces/{lab.NAMESPACE}/pods/{pod}/eviction"
            lab.attempt("kubectl", "create", "--raw", path, "-f", "-", given=json.dumps(eviction))
        return "was evicted" in run.text()

    run.wait_for(is_named, "evicted pod of k6", run.patience)


def test_a_killed_pod_and_an_evicted_k6_cost_a_block_each(tmp_path: Path) -> None:
    """A killed pod of a variant and an evicted pod of k6 are named, cost a block each, and the run continues."""
    root = tmp_path / "results"
    with runs.Running(tmp_path, *runs.measure(TINY, root)) as run:
        first = run.until(measuring(1))
        at_once = ("--grace-period=0", "--force", "--wait=false")
        lab.kubectl("delete", "pod", running_pod("variant=virtual"), *at_once)
        run.until(measuring(1), first)
        evict_k6(run)
        assert run.exit_code() == 0, run.text()
    results = lab_call.only(root)
    faults = [" ".join(block["faults"]) for block in lab_call.blocks(results)]
    (killed,) = [number for number, text in enumerate(faults) if "virtual: its pod lab-virtual-" in text]
    evicted = [number for number, text in enumerate(faults) if "k6: its pod" in text and "was evicted" in text]
    assert evicted
    assert killed < evicted[0]
    assert faults[-1] == ""
    assert runs.verdict(results)["valid"] is True
    assert runs.left_by_vtlab() == []


def test_a_restarted_prometheus_and_an_absent_api_server_lose_no_block(tmp_path: Path) -> None:
    """An API server that is absent for ten seconds costs no block, a restarted Prometheus only the block that it did
    not see; finished blocks stay as they were."""
    root = tmp_path / "results"
    admin: Any = json.loads(lab.run("kubectl", "config", "view", "--raw", "--minify", "--flatten", "-o", "json"))
    server = urlsplit(admin["clusters"][0]["cluster"]["server"])
    with Proxy(str(server.hostname), server.port or 443) as proxy:
        admin["clusters"][0]["cluster"]["server"] = f"https://127.0.0.1:{proxy.port}"
        kubeconfig = tmp_path / "kubeconfig"
        kubeconfig.write_text(json.dumps(admin), encoding="utf-8")
        kubeconfig.chmod(0o600)
        with runs.Running(tmp_path, *runs.measure(TINY, root, blocks=2), env={"KUBECONFIG": str(kubeconfig)}) as run:
            run.until(measuring(1))
            proxy.cut()
            time.sleep(10)
            proxy.restore()
            run.until(measuring(2))
            before = lab_call.blocks(lab_call.only(root))
            prometheus = ("-l", "app.kubernetes.io/name=prometheus")
            lab.run("kubectl", "-n", "monitoring", "delete", "pod", *prometheus, "--wait=false")
            assert run.exit_code() == 0, run.text()
    results = lab_call.only(root)
    blocks = lab_call.blocks(results)
    assert blocks[: len(before)] == before
    document = runs.verdict(results)
    assert (document["valid"], document["n"]) == (True, 2)
    assert [blocks[0]["block"], blocks[0]["faults"]] == [1, []]
    without = [rejected for rejected in document["rejected"] if "Prometheus" in " ".join(rejected["reasons"])]
    assert {rejected["block"] for rejected in without} == {2}, document["rejected"]
    assert runs.left_by_vtlab() == []


def test_an_image_that_is_not_there_ends_the_run(tmp_path: Path) -> None:
    """An image that cannot be pulled ends the run with exit code 3, the image's name and a fix, as soon as the kubelet
    says so. Pods that are not ready in time end it with 4."""
    lab.upgrade("--set", "image.tag=no-such-tag", wait=False)

    def refused() -> set[str]:
        pods = lab.get("pods", "-l", VARIANTS)["items"]
        states = {pod["metadata"]["uid"]: pod["status"].get("containerStatuses", []) for pod in pods}
        return {
            uid
            for uid, containers in states.items()
            if any(container["state"].get("waiting", {}).get("reason") == IMAGE_REFUSED for container in containers)
        }

    try:
        lab.until("the kubelet cannot pull", refused)
        before = refused()
        with runs.Running(tmp_path, *runs.measure(TINY, tmp_path / "results")) as run:
            lab.until("the same for vtlab's fresh pods", lambda: refused() - before or run.process.poll() is not None)
            known = time.monotonic()
            assert run.exit_code() == 3, run.text()
            lab.show([f"a missing image was reported {time.monotonic() - known:.0f} s after the kubelet had said so"])
            for part in ("no-such-tag", IMAGE_REFUSED, "vtlab resume"):
                assert part in run.text(), run.text()
    finally:
        lab.rollback()


def test_a_variant_killed_for_lack_of_memory_fails(tmp_path: Path) -> None:
    """A variant that the kernel kills for lack of memory is named, and its failure is a result of the run."""
    tight = json.loads(TINY.read_text(encoding="utf-8"))
    tight["limits"] = {"cpu": 1, "memory": "96Mi", "heap": "64m"}
    path = tmp_path / "tiny.json"
    path.write_text(json.dumps(tight), encoding="utf-8")
    lab.upgrade("--set", "limits.memory=96Mi,limits.heap=64m", wait=False)
    try:
        done = runs.vtlab(*runs.measure(path, tmp_path / "results", max_rejected=2))
        assert done.returncode == 0, done.stdout + done.stderr
        assert "the kernel killed it at its memory limit" in done.stdout + done.stderr
        document = runs.verdict(lab_call.only(tmp_path / "results"))
        assert document["valid"] is True
        assert {name: result["failed_blocks"] for name, result in document["variants"].items()} == {
            "platform": 1,
            "virtual": 1,
        }
    finally:
        lab.rollback()


def test_the_jobs_of_an_ended_vtlab_are_removed_and_resume_finishes_the_run(tmp_path: Path) -> None:
    """A killed vtlab leaves a Job that the next one removes, an interrupted one deletes its Job itself, and `vtlab
    resume` measures on fresh pods."""
    root = tmp_path / "results"
    with runs.Running(tmp_path, *runs.measure(TINY, root)) as run:
        run.until("block 1 of 1: warm-up")
        running_pod(K6)
        run.process.kill()
        run.process.wait(60)
    left = set(runs.left_by_vtlab())
    assert any(name.startswith("job") for name in left), "a killed vtlab cannot delete its Job"
    with runs.Running(tmp_path, "resume", lab_call.only(root)) as run:
        run.until(measuring(1))
        assert left.isdisjoint(runs.left_by_vtlab())
        running_pod(K6)
        assert run.end(signal.SIGINT) == 130, run.text()
        assert "vtlab resume" in run.text()
    lab.until("no Job of vtlab's", lambda: not runs.left_by_vtlab(), within=300)
    loaded = {pod["metadata"]["uid"] for pod in lab.get("pods", "-l", VARIANTS)["items"]}
    done = runs.vtlab("resume", lab_call.only(root))
    assert done.returncode == 0, done.stdout + done.stderr
    assert runs.verdict(lab_call.only(root))["n"] == 1
    measured = {
        instance["identity"] for block in lab_call.blocks(lab_call.only(root)) for instance in block["instances"]
    }
    assert measured
    assert loaded.isdisjoint(measured), "fresh pods, not those loaded before"

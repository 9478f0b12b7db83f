"""What goes wrong in a cluster while vtlab measures: it is named, the block is repeated, finished blocks are kept."""

from __future__ import annotations

import json
import signal
import time
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

from e2e import lab
from e2e.faults.proxy import Proxy
from tests.support import lab_call
from tests.support.lab_call import TINY, blocks, measuring, only


@pytest.fixture(scope="module", autouse=True)
def _lab() -> Iterator[None]:
    lab.fresh_namespace()
    lab.install()
    yield
    lab.helm("uninstall", "lab", "--wait", "--timeout", "3m")


REFUSED = "ImagePullBackOff"
K6 = "app.kubernetes.io/component=k6"
#: Pods take longer than processes, to start and to go.
Running = partial(lab_call.Running, patience=900, parting=300)


def running_pod(selector: str, **env: str) -> str:
    """The name of the running pod with those labels and environment, once there is one."""
    found: list[str] = []

    def look() -> list[str]:
        found.clear()
        for pod in lab.get("pods", "-l", selector)["items"]:
            given = {each["name"]: each.get("value") for each in pod["spec"]["containers"][0].get("env", [])}
            if pod["status"]["phase"] == "Running" and env.items() <= given.items():
                found.append(pod["metadata"]["name"])
        return found

    lab.until(f"a running pod {selector}", look)
    return found[0]


def test_a_killed_pod_and_an_evicted_k6_cost_a_block_each(tmp_path: Path) -> None:
    root = tmp_path / "results"
    with Running(tmp_path, *lab.measure(TINY, root)) as run:
        said = run.until(measuring(1))
        lab.kubectl(
            "delete",
            "pod",
            running_pod("variant=virtual"),
            "--grace-period=0",
            "--force",
            "--wait=false",
        )
        run.until(measuring(1), said)
        pod = running_pod(K6, WARMUP_CYCLES="0")
        eviction = {
            "apiVersion": "policy/v1",
            "kind": "Eviction",
            "metadata": {"name": pod, "namespace": lab.NAMESPACE},
        }
        path = f"/api/v1/namespaces/{lab.NAMESPACE}/pods/{pod}/eviction"
        lab.run("kubectl", "create", "--raw", path, "-f", "-", given=json.dumps(eviction))
        assert run.ended() == 0, run.text()
    results = only(root)
    found = [" ".join(block["faults"]) for block in blocks(results)]
    (killed,) = [number for number, faults in enumerate(found) if "virtual: its pod lab-virtual-" in faults]
    (evicted,) = [number for number, faults in enumerate(found) if "k6: its pod" in faults and "was evicted" in faults]
    assert killed < evicted
    assert found[-1] == ""
    assert lab.verdict(results)["valid"] is True
    assert lab.left_by_vtlab() == []


def test_a_restarted_prometheus_and_an_absent_api_server_lose_no_block(
    tmp_path: Path,
) -> None:
    root = tmp_path / "results"
    admin: Any = json.loads(lab.run("kubectl", "config", "view", "--raw", "--minify", "--flatten", "-o", "json"))
    server = urlsplit(admin["clusters"][0]["cluster"]["server"])
    with Proxy(str(server.hostname), server.port or 443) as proxy:
        admin["clusters"][0]["cluster"]["server"] = f"https://127.0.0.1:{proxy.port}"
        kubeconfig = tmp_path / "kubeconfig"
        kubeconfig.write_text(json.dumps(admin), encoding="utf-8")
        kubeconfig.chmod(0o600)
        with Running(tmp_path, *lab.measure(TINY, root, blocks=2), env={"KUBECONFIG": str(kubeconfig)}) as run:
            run.until(measuring(1))
            proxy.cut()
            time.sleep(10)
            proxy.restore()
            run.until(measuring(2))
            before = blocks(only(root))
            lab.run(
                "kubectl",
                "-n",
                "monitoring",
                "delete",
                "pod",
                "-l",
                "app.kubernetes.io/name=prometheus",
                "--wait=false",
            )
            assert run.ended() == 0, run.text()
    results = only(root)
    after = blocks(results)
    assert after[: len(before)] == before, "the blocks done before are kept as they were"
    found = lab.verdict(results)
    assert (found["valid"], found["n"]) == (True, 2)
    # Ten seconds without the API server cost no block; a block without its samples does not count.
    first, *_ = after
    assert [first["block"], first["faults"]] == [1, []]
    without = [r for r in found["rejected"] if "Prometheus" in " ".join(r["reasons"])]
    assert {r["block"] for r in without} == {2}, found["rejected"]
    assert lab.left_by_vtlab() == []


def test_an_image_that_is_not_there_is_said_within_seconds(tmp_path: Path) -> None:
    lab.upgrade("--set", "image.tag=no-such-tag", wait=False)

    def refused() -> set[str]:
        pods = lab.get("pods", "-l", "app.kubernetes.io/component=variant")["items"]
        states = {pod["metadata"]["uid"]: pod["status"].get("containerStatuses", []) for pod in pods}
        return {
            uid
            for uid, containers in states.items()
            if any(each["state"].get("waiting", {}).get("reason") == REFUSED for each in containers)
        }

    try:
        lab.until("the kubelet cannot pull", refused)
        before = refused()
        with Running(tmp_path, *lab.measure(TINY, tmp_path / "results")) as run:
            lab.until("the same for vtlab's fresh pods", lambda: refused() - before or run.process.poll() is not None)
            known = time.monotonic()
            assert run.ended() == 3, run.text()
            elapsed = time.monotonic() - known
            for said in ("no-such-tag", REFUSED, "vtlab resume"):
                assert said in run.text(), run.text()
        assert elapsed < 60
        lab.show([f"a missing image was reported {elapsed:.0f} s after the kubelet had said so"])
    finally:
        lab.rollback()


def test_a_variant_killed_for_lack_of_memory_makes_the_run_invalid(
    tmp_path: Path,
) -> None:
    tight = json.loads(TINY.read_text(encoding="utf-8"))
    tight["limits"] = {"cpu": 1, "memory": "96Mi", "heap": "64m"}
    path = tmp_path / "tiny.json"
    path.write_text(json.dumps(tight), encoding="utf-8")
    lab.upgrade("--set", "limits.memory=96Mi,limits.heap=64m", wait=False)
    try:
        done = lab.vtlab(*lab.measure(path, tmp_path / "results", max_rejected=2))
        assert done.returncode == 4, done.stdout + done.stderr
        assert "OOMKilled" in done.stdout + done.stderr
        results = only(tmp_path / "results")
        assert lab.verdict(results)["valid"] is False
        assert "OOMKilled" in lab.faults(results)
    finally:
        lab.rollback()


def test_ctrl_c_deletes_its_job_and_resume_goes_on(tmp_path: Path) -> None:
    root = tmp_path / "results"
    with Running(tmp_path, *lab.measure(TINY, root)) as run:
        run.until(measuring(1))
        running_pod(K6)
        assert run.end(signal.SIGINT) == 130, run.text()
        assert "vtlab resume" in run.text()
    lab.until("no Job of vtlab's", lambda: not lab.left_by_vtlab(), within=300)
    loaded = {pod["metadata"]["uid"] for pod in lab.get("pods", "-l", "app.kubernetes.io/component=variant")["items"]}
    done = lab.vtlab("resume", only(root))
    assert done.returncode == 0, done.stdout + done.stderr
    assert lab.verdict(only(root))["n"] == 1
    measured = {each["identity"] for block in blocks(only(root)) for each in block["instances"]}
    assert measured
    assert loaded.isdisjoint(measured), "fresh pods, not those loaded before"


def test_a_killed_vtlab_leaves_a_job_that_the_next_one_removes(tmp_path: Path) -> None:
    root = tmp_path / "results"
    with Running(tmp_path, *lab.measure(TINY, root)) as run:
        run.until("block 1 of 1: warm-up")
        running_pod(K6)
        run.process.kill()
        run.process.wait(60)
    assert lab.left_by_vtlab(), "nobody was there to delete it"
    with Running(tmp_path, "resume", only(root)) as run:
        run.until("block 1 of 1: starting")
        assert run.end(signal.SIGTERM) == 130, run.text()
    lab.until("no Job of vtlab's", lambda: not lab.left_by_vtlab(), within=300)

"""What goes wrong in a cluster while vtlab measures: it is named, the block is repeated, finished blocks are kept."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

from e2e import lab
from e2e.faults.proxy import Proxy

TINY = Path(__file__).parent / "tiny.json"


@pytest.fixture(scope="module", autouse=True)
def _lab() -> Iterator[None]:
    lab.fresh_namespace()
    lab.install()
    yield
    lab.helm("uninstall", "lab", "--wait", "--timeout", "3m")


class Running:
    """A vtlab in the background."""

    def __init__(self, folder: Path, *words: str | Path, env: dict[str, str] | None = None) -> None:
        self.log = folder / "vtlab.log"
        with self.log.open("wb") as log:
            self.process = subprocess.Popen(
                [str(word) for word in (lab.VTLAB, *words)],
                stdout=log,
                stderr=subprocess.STDOUT,
                stdin=subprocess.DEVNULL,
                start_new_session=True,
                env={**os.environ, **(env or {})},
            )

    def text(self) -> str:
        return self.log.read_text(encoding="utf-8", errors="replace")

    def until(self, said: str, within: float = 200) -> None:
        """Waits until it has said so."""
        end = time.monotonic() + within
        while said not in self.text():
            assert self.process.poll() is None, f"vtlab ended before '{said}': {self.text()}"
            assert time.monotonic() < end, f"not '{said}' within {within:.0f} s: {self.text()}"
            time.sleep(0.2)

    def ended(self, within: float = 400) -> int:
        """Its exit code."""
        code = self.process.wait(within)
        assert "Traceback" not in self.text(), self.text()
        return code

    def __enter__(self) -> Running:
        return self

    def __exit__(self, *_: object) -> None:
        if self.process.poll() is None:
            self.process.terminate()
            self.process.wait(90)


def measuring(root: Path, experiment: Path = TINY, blocks: int = 1) -> list[str | Path]:
    return [
        "run",
        experiment,
        "--target",
        "kubernetes",
        "--blocks",
        str(blocks),
        "--results",
        root,
    ]


K6 = "app.kubernetes.io/component=k6"


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
    with Running(tmp_path, *measuring(root)) as run:
        run.until("block 1 of 1: measuring")
        lab.kubectl(
            "delete",
            "pod",
            running_pod("variant=virtual"),
            "--grace-period=0",
            "--force",
            "--wait=false",
        )
        run.until("attempt 2: measuring")
        pod = running_pod(K6, WARMUP_CYCLES="0")
        eviction = {
            "apiVersion": "policy/v1",
            "kind": "Eviction",
            "metadata": {"name": pod, "namespace": lab.NAMESPACE},
        }
        path = f"/api/v1/namespaces/{lab.NAMESPACE}/pods/{pod}/eviction"
        lab.run("kubectl", "create", "--raw", path, "-f", "-", given=json.dumps(eviction))
        assert run.ended() == 0, run.text()
    results = lab.only(root)
    first, second, third = lab.blocks(results)
    assert "virtual: its pod lab-virtual-" in " ".join(first["faults"])
    assert "k6: its pod" in " ".join(second["faults"])
    assert "was evicted" in " ".join(second["faults"])
    assert third["faults"] == []
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
        with Running(tmp_path, *measuring(root, blocks=2), env={"KUBECONFIG": str(kubeconfig)}) as run:
            run.until("block 1 of 2: measuring")
            proxy.cut()
            time.sleep(10)
            proxy.restore()
            run.until("block 2 of 2: measuring")
            before = lab.blocks(lab.only(root))
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
    results = lab.only(root)
    after = lab.blocks(results)
    assert after[: len(before)] == before, "the blocks done before are kept as they were"
    found = lab.verdict(results)
    assert (found["valid"], found["n"]) == (True, 2)
    # Ten seconds without the API server cost no block; a block without its samples does not count.
    assert [r["block"] for r in found["rejected"]] == [2], found["rejected"]
    assert "Prometheus" in " ".join(found["rejected"][-1]["reasons"])
    assert lab.left_by_vtlab() == []


def test_an_image_that_is_not_there_is_said_within_seconds(tmp_path: Path) -> None:
    lab.helm(
        "upgrade",
        "lab",
        lab.CHART,
        "--reuse-values",
        "--set",
        "image.tag=no-such-tag",
    )
    try:
        begun = time.monotonic()
        done = lab.attempt(lab.VTLAB, *measuring(tmp_path / "results"), timeout=170)
        assert done.returncode == 3, done.stdout + done.stderr
        assert "no-such-tag" in done.stderr
        assert "ImagePullBackOff" in done.stderr
        assert "vtlab resume" in done.stderr
        lab.show([f"a missing image was reported after {time.monotonic() - begun:.0f} s"])
    finally:
        lab.helm("rollback", "lab", "--wait", "--timeout", "4m")


def test_a_variant_killed_for_lack_of_memory_makes_the_run_invalid(
    tmp_path: Path,
) -> None:
    tight = json.loads(TINY.read_text(encoding="utf-8"))
    tight["limits"] = {"cpu": 1, "memory": "96Mi", "heap": "64m"}
    path = tmp_path / "tiny.json"
    path.write_text(json.dumps(tight), encoding="utf-8")
    lab.helm(
        "upgrade",
        "lab",
        lab.CHART,
        "--reuse-values",
        "--set",
        "limits.memory=96Mi,limits.heap=64m",
    )
    try:
        done = lab.attempt(lab.VTLAB, *measuring(tmp_path / "results", path), timeout=400)
        assert done.returncode == 4, done.stdout + done.stderr
        assert "OOMKilled" in done.stdout + done.stderr
        results = lab.only(tmp_path / "results")
        assert lab.verdict(results)["valid"] is False
        assert "OOMKilled" in lab.faults(results)
    finally:
        lab.helm("rollback", "lab", "--wait", "--timeout", "4m")


def test_ctrl_c_deletes_its_job_and_resume_goes_on(tmp_path: Path) -> None:
    root = tmp_path / "results"
    with Running(tmp_path, *measuring(root)) as run:
        run.until("block 1 of 1: measuring")
        running_pod(K6)
        run.process.send_signal(signal.SIGINT)
        assert run.ended(60) == 130, run.text()
        assert "vtlab resume" in run.text()
    lab.until("no Job of vtlab's", lambda: not lab.left_by_vtlab(), within=30)
    loaded = {pod["metadata"]["uid"] for pod in lab.get("pods", "-l", "app.kubernetes.io/component=variant")["items"]}
    done = lab.attempt(lab.VTLAB, "resume", lab.only(root), timeout=400)
    assert done.returncode == 0, done.stdout + done.stderr
    assert lab.verdict(lab.only(root))["n"] == 1
    (block,) = lab.blocks(lab.only(root))
    assert loaded.isdisjoint(instance["identity"] for instance in block["instances"]), (
        "fresh pods, not those loaded before"
    )


def test_a_killed_vtlab_leaves_a_job_that_the_next_one_removes(tmp_path: Path) -> None:
    root = tmp_path / "results"
    with Running(tmp_path, *measuring(root)) as run:
        run.until("block 1 of 1: warm-up")
        running_pod(K6)
        run.process.kill()
        run.process.wait(20)
    assert lab.left_by_vtlab(), "nobody was there to delete it"
    with Running(tmp_path, "resume", lab.only(root)) as run:
        run.until("block 1 of 1: starting")
        run.process.send_signal(signal.SIGTERM)
        assert run.ended(60) == 130, run.text()
    lab.until("no Job of vtlab's", lambda: not lab.left_by_vtlab(), within=30)

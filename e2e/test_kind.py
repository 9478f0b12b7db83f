"""The scripts of e2e/kind, without Docker: that bash reads them, and what the runtime takes out of a specification."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
from ipaddress import ip_network
from pathlib import Path

import pytest
import yaml

from tests.support.versions import VERSIONS

FOLDER = Path(__file__).resolve().parent / "kind"


@pytest.mark.parametrize("name", ["up", "down", "images", "runtime"])
def test_bash_reads_the_script(name: str) -> None:
    done = subprocess.run(["bash", "-n", FOLDER / name], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    assert os.access(FOLDER / name, os.X_OK)


@pytest.mark.skipif(shutil.which("jq") is None, reason="jq is missing: apt-get install jq")
@pytest.mark.parametrize(("option", "name"), [("--bundle", "config.json"), ("--process", "process.json")])
def test_the_runtime_takes_out_what_needs_a_capability(tmp_path: Path, option: str, name: str) -> None:
    """A specification of a container, or of a process in one, loses what needs the right; runc gets the same words."""
    (tmp_path / "bin").mkdir()
    runc = tmp_path / "bin/runc"
    runc.write_text('#!/bin/sh\necho "$@"\n', encoding="utf-8")
    runc.chmod(0o755)
    file = tmp_path / name
    capabilities = {"bounding": ["CAP_KILL", "CAP_SYS_RESOURCE"]}
    file.write_text(json.dumps({"process": {"oomScoreAdj": -500, "capabilities": capabilities}}), encoding="utf-8")
    words = ["--log", "x", "create", option, str(tmp_path if option == "--bundle" else file), "id"]
    path = f"{tmp_path / 'bin'}{os.pathsep}{os.environ['PATH']}"
    done = subprocess.run([FOLDER / "runtime", *words], env={"PATH": path}, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout.split()) == (0, words), done.stderr
    left = json.loads(file.read_text(encoding="utf-8"))
    assert left == {"process": {"oomScoreAdj": 0, "capabilities": {"bounding": ["CAP_KILL"]}}}


@pytest.mark.skipif(shutil.which("jq") is None, reason="jq is missing: apt-get install jq")
def test_the_runtime_leaves_other_calls_alone(tmp_path: Path) -> None:
    runc = tmp_path / "runc"
    runc.write_text('#!/bin/sh\necho "$@"\n', encoding="utf-8")
    runc.chmod(0o755)
    path = f"{tmp_path}{os.pathsep}{os.environ['PATH']}"
    done = subprocess.run(
        [FOLDER / "runtime", "state", "id"], env={"PATH": path}, capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stdout.split()) == (0, ["state", "id"])


def test_pods_and_services_have_the_addresses_that_stay_on_the_machine() -> None:
    """Packets from them have no way out; the node's network and its firewall know the same ones."""
    networking = yaml.safe_load((FOLDER / "cluster.yaml").read_text(encoding="utf-8"))["networking"]
    (kept,) = re.findall(r"^range=(\S+)", (FOLDER / "up").read_text(encoding="utf-8"), re.M)
    assert f"blackhole {kept} " in (FOLDER / "down").read_text(encoding="utf-8")
    for subnet in networking.values():
        assert ip_network(subnet).subnet_of(ip_network(kept))  # type: ignore[arg-type]
    (plugin, _) = json.loads((FOLDER / "pods.conflist").read_text(encoding="utf-8"))["plugins"]
    ((pods,),) = plugin["ipam"]["ranges"]
    # The first of the node's size, which the controller manager gives to the only node.
    assert ip_network(pods["subnet"]) == next(ip_network(networking["podSubnet"]).subnets(new_prefix=24))
    service = (FOLDER / "network-policies.service").read_text(encoding="utf-8")
    assert f"--service-cluster-ip-range={networking['serviceSubnet']}\n" in service


@pytest.mark.parametrize(
    ("name", "image"),
    [
        ("k6", f"grafana/k6:{VERSIONS['K6_VERSION']}"),
        ("prometheus", f"quay.io/prometheus/prometheus:v{VERSIONS['PROMETHEUS_VERSION']}"),
        ("mariadb", f"mariadb:{VERSIONS['MARIADB_IMAGE_VERSION']}"),
    ],
)
def test_images_have_published_names(name: str, image: str) -> None:
    done = subprocess.run([FOLDER / "images", "name", name], capture_output=True, text=True, check=False)
    assert done.stdout.strip() == image


def test_the_operator_has_the_version_of_its_module() -> None:
    (version,) = re.findall(
        r"prometheus-operator/prometheus-operator (v\S+)", (FOLDER / "programs/go.mod").read_text(encoding="utf-8")
    )
    for name in ("prometheus-operator", "prometheus-config-reloader"):
        done = subprocess.run([FOLDER / "images", "name", name], capture_output=True, text=True, check=False)
        assert done.stdout.strip() == f"quay.io/prometheus-operator/{name}:{version}"
    stack = yaml.safe_load_all((FOLDER / "prometheus.yaml").read_text(encoding="utf-8"))
    assert next(stack)["spec"]["version"] == f"v{VERSIONS['PROMETHEUS_VERSION']}"

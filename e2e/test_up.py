"""What e2e/up remembers and takes down. Stand-ins for kind and kubectl, which cannot run everywhere the tests do."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).resolve().parents[1]
NEEDED = ("bash", "cat", "dirname", "grep", "id", "mkdir", "rm", "sed")


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """Enough of a checkout for e2e/up, with a PATH of its own in bin/."""
    for name in ("e2e/up", "helm/Chart.yaml"):
        (tmp_path / name).parent.mkdir()
        shutil.copy(REPOSITORY / name, tmp_path / name)
    (tmp_path / ".tools").mkdir()
    (tmp_path / "bin").mkdir()
    for name in NEEDED:
        program = shutil.which(name)
        assert program
        (tmp_path / "bin" / name).symlink_to(program)
    return tmp_path


def up(checkout: Path, *words: str) -> subprocess.CompletedProcess[str]:
    env = {"PATH": str(checkout / "bin"), "CALLS": str(checkout / "calls")}
    return subprocess.run([checkout / "e2e/up", *words], capture_output=True, text=True, check=False, env=env)


def stand_in(checkout: Path, name: str) -> None:
    """A program that writes down how it was called."""
    program = checkout / "bin" / name
    program.write_text(f'#!/bin/sh\necho "{name} $*" >>"$CALLS"\n', encoding="utf-8")
    program.chmod(0o755)


def calls(checkout: Path) -> list[str]:
    path = checkout / "calls"
    return path.read_text(encoding="utf-8").splitlines() if path.exists() else []


@pytest.mark.parametrize("target", ["kind", "minikube", "current"])
def test_a_target_that_cannot_be_had_is_not_remembered(checkout: Path, target: str) -> None:
    done = up(checkout, target)
    assert done.returncode == 3, done.stderr
    assert "no kubectl on PATH" in done.stderr
    assert "fix: install kubectl" in done.stderr
    assert not (checkout / ".tools/up").exists(), "another target can be chosen"
    assert "nothing is up" in up(checkout, "down").stderr


def test_another_target_is_refused_while_one_is_up(checkout: Path) -> None:
    (checkout / ".tools/up").write_text("target embedded\n", encoding="utf-8")
    done = up(checkout, "kind")
    assert done.returncode == 3
    assert "the target embedded is up" in done.stderr


def test_only_a_cluster_of_its_own_is_deleted(checkout: Path) -> None:
    for name in ("kind", "kubectl", "helm"):
        stand_in(checkout, name)
    state = checkout / ".tools/up"
    state.write_text("target kind\ncontext kind-vtlab\nmade lab\n", encoding="utf-8")
    assert up(checkout, "down").returncode == 0
    assert calls(checkout) == [
        "helm uninstall lab --kube-context kind-vtlab --namespace lab --ignore-not-found",
        "kubectl --context kind-vtlab delete namespace lab --ignore-not-found",
    ]
    assert not state.exists()

    (checkout / "calls").unlink()
    state.write_text("target kind\nmade cluster\ncontext kind-vtlab\nmade lab\n", encoding="utf-8")
    assert up(checkout, "down").returncode == 0
    assert calls(checkout) == ["kind delete cluster --name vtlab"]

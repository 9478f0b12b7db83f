"""A wheel of vtlab, and an environment outside the checkout in which it is installed."""

from __future__ import annotations

import shutil
import stat
import subprocess
import sys
import sysconfig
import venv
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

from vtlab import shipped
from vtlab.host import tools

Installed = Callable[..., subprocess.CompletedProcess[str]]


#: Stands for the licences, which ``lab/setup wheel`` collects by Go.
NOTICE = Path(".tools", "licences", "NOTICE")


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Builds the wheel from a copy of the sources: a build leaves files beside them."""
    checkout = tmp_path_factory.mktemp("checkout")
    lab = shipped.ROOT / "lab"
    sources = {path: shipped.ROOT / path for path in shipped.files(shipped.PATTERNS)}
    # The checkout's own, or those on PATH.
    programs = {Path(".tools", "bin", tool.path.name): tool.path for tool in (tools.find_k6(), tools.find_prometheus())}
    for path, source in (sources | programs).items():
        (checkout / path).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(source, checkout / path)
    (checkout / NOTICE).parent.mkdir()
    (checkout / NOTICE).write_text("k6 and Prometheus\n", encoding="utf-8")
    shutil.copytree(lab / "vtlab", checkout / "lab" / "vtlab", ignore=shutil.ignore_patterns("__pycache__"))
    for name in ("pyproject.toml", "setup.py"):
        shutil.copyfile(lab / name, checkout / "lab" / name)
    build = "from setuptools import build_meta; build_meta.build_wheel('../dist')"
    done = subprocess.run(
        [sys.executable, "-c", build], cwd=checkout / "lab", capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    (built,) = (checkout / "dist").iterdir()
    return built


@pytest.fixture(scope="module")
def installed(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Installed:
    """Installs the wheel in an environment that shares only its dependencies with this one.

    Returns a call of vtlab there. ``path`` and ``more`` are all of its variables that say where something is.
    """
    folder = tmp_path_factory.mktemp("elsewhere")
    venv.create(folder / "venv")
    python = folder / "venv" / "bin" / "python"
    scheme = {"base": str(folder / "venv"), "platbase": str(folder / "venv")}
    site = Path(sysconfig.get_path("purelib", "venv", scheme))
    _unpack(wheel, site)
    (site / "dependencies.pth").write_text(sysconfig.get_path("purelib") + "\n", encoding="utf-8")

    def call(*arguments: str | Path, path: str = "/nowhere", **more: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [python, "-m", "vtlab", *map(str, arguments)],
            cwd=folder,
            env={"PATH": path, "HOME": str(folder), "COLUMNS": "200", **more},
            capture_output=True,
            text=True,
            check=False,
        )

    return call


def _unpack(wheel: Path, site: Path) -> None:
    """Installs a wheel without code to run: its files, and the modes of its programs, as installers do."""
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(site)
        for member in archive.infolist():
            if member.external_attr >> 16 & stat.S_IXUSR:
                (site / member.filename).chmod(0o755)

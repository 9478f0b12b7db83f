"""The wheel: installed into an empty environment, vtlab has all that it reads, and finds its tools on PATH."""

from __future__ import annotations

import shutil
import subprocess
import sys
import sysconfig
import venv
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.support import builders
from tests.support.lab_call import vtlab
from vtlab import __version__, data, results

Installed = Callable[..., subprocess.CompletedProcess[str]]
REPORTS = ("report.html", "report.md", "junit.xml", "verdict.json")


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Built from a copy: a build leaves files beside its sources."""
    checkout = tmp_path_factory.mktemp("checkout")
    lab = data.ROOT / "lab"
    for path in data.files(data.ROOT):
        (checkout / path).parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(data.ROOT / path, checkout / path)
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
    """Calls vtlab in an environment that has the wheel, and of this one the packages that it depends on."""
    folder = tmp_path_factory.mktemp("elsewhere")
    venv.create(folder / "venv")
    python = folder / "venv" / "bin" / "python"
    scheme = {"base": str(folder / "venv"), "platbase": str(folder / "venv")}
    site = Path(sysconfig.get_path("purelib", "venv", scheme))
    # To install a wheel of pure Python is to unpack it.
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(site)
    (site / "dependencies.pth").write_text(sysconfig.get_path("purelib") + "\n", encoding="utf-8")

    def call(*arguments: str | Path, path: str = "/nowhere") -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [python, "-m", "vtlab", *map(str, arguments)],
            cwd=folder,
            env={"PATH": path, "HOME": str(folder), "COLUMNS": "200"},
            capture_output=True,
            text=True,
            check=False,
        )

    return call


def test_it_has_the_version_the_command_and_all_data(wheel: Path) -> None:
    """A wheel of vtlab has its version, the command vtlab, and every file that vtlab reads of the repository."""
    assert wheel.name == f"vtlab-{__version__}-py3-none-any.whl"
    with zipfile.ZipFile(wheel) as archive:
        names = set(archive.namelist())
        commands = archive.read(f"vtlab-{__version__}.dist-info/entry_points.txt").decode()
    assert "vtlab = vtlab.__main__:main" in commands
    assert {f"vtlab/{data.FOLDER}/{path.as_posix()}" for path in data.files(data.ROOT)} <= names
    assert not [name for name in names if "test" in name.split("/")[0] or "__pycache__" in name]


def test_it_lists_normalises_and_simulates_outside_a_checkout(installed: Installed) -> None:
    """An installed vtlab lists and normalises the shipped experiments as a checkout does, and simulates."""
    listed = installed("list")
    assert listed.returncode == 0, listed.stderr
    assert "blocking-open" in listed.stdout
    normalised = installed("normalise", "blocking")
    assert normalised.stdout == (data.ROOT / "k6" / "plans" / "blocking.json").read_text(encoding="utf-8")
    simulated = installed("simulate", "--runs", "20")
    assert (simulated.returncode, simulated.stderr) == (0, "")


def test_it_reports_the_same_bytes(installed: Installed, tmp_path: Path) -> None:
    """An installed vtlab rebuilds the reports of a run that a checkout measured."""
    run = builders.run(blocks=2, with_series=False)
    folder = results.create(tmp_path / "run", run.manifest)
    for block in run.blocks:
        results.append_block(folder, block)
    done = installed("report", folder)
    assert done.returncode == 0, done.stderr
    written = {name: (folder / name).read_bytes() for name in REPORTS}
    vtlab("report", folder)
    assert {name: (folder / name).read_bytes() for name in REPORTS} == written
    assert installed("history", tmp_path).returncode == 0


def test_it_finds_its_tools_on_path_and_says_what_is_missing(installed: Installed, tmp_path: Path) -> None:
    """An installed vtlab takes k6 from PATH, and names what is missing without the commands of a checkout."""
    k6 = tmp_path / "k6"
    k6.write_text("#!/bin/sh\necho k6 v1.9.0\n", encoding="utf-8")
    k6.chmod(0o755)
    shown = installed("doctor", path=str(tmp_path)).stdout
    assert f"1.9.0 at {k6}" in shown
    assert "no prometheus of at least 3.0: looked on PATH" in shown
    assert "make setup\n" not in shown
    refused = installed("run", "blocking", path=str(tmp_path))
    assert refused.returncode == 3, refused.stderr
    assert "Traceback" not in refused.stderr

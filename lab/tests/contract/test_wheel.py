"""The wheel: installed into an empty environment, vtlab has all that it reads, and finds its tools on PATH."""

from __future__ import annotations

import zipfile
from pathlib import Path

from tests.support import recorded
from tests.support.lab_call import vtlab
from tests.support.wheels import Installed, installed, wheel
from vtlab import __version__, shipped
from vtlab.runs import store

__all__ = ["installed", "wheel"]

REPORTS = ("report.html", "report.md", "junit.xml", "verdict.json")


def test_it_has_the_version_the_command_and_all_data(wheel: Path) -> None:
    """A wheel of vtlab has its version, the command vtlab, and every file that vtlab reads of the repository."""
    assert wheel.name == f"vtlab-{__version__}-py3-none-any.whl"
    with zipfile.ZipFile(wheel) as archive:
        names = set(archive.namelist())
        commands = archive.read(f"vtlab-{__version__}.dist-info/entry_points.txt").decode()
    assert "vtlab = vtlab.__main__:main" in commands
    assert {f"vtlab/{shipped.FOLDER}/{path.as_posix()}" for path in shipped.files()} <= names
    assert not [name for name in names if "test" in name.split("/")[0] or "__pycache__" in name]


def test_it_lists_normalises_and_simulates_outside_a_checkout(installed: Installed) -> None:
    """An installed vtlab lists and normalises the shipped experiments as a checkout does, and simulates."""
    listed = installed("experiments")
    assert listed.returncode == 0, listed.stderr
    assert "blocking-open" in listed.stdout
    normalised = installed("lab", "k6-plan", "blocking")
    assert normalised.stdout == (shipped.ROOT / "k6" / "plans" / "blocking.json").read_text(encoding="utf-8")
    simulated = installed("lab", "simulate", "--runs", "20")
    assert (simulated.returncode, simulated.stderr) == (0, "")


def test_it_reports_the_same_bytes(installed: Installed, tmp_path: Path) -> None:
    """An installed vtlab rebuilds the reports of a run that a checkout measured."""
    run = recorded.run(blocks=2)
    folder = store.create(tmp_path / "run", run.manifest)
    for block in run.blocks:
        store.append_block(folder, block)
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

"""The wheel: installed into an empty environment, vtlab has all that it reads and starts, but for a JDK."""

from __future__ import annotations

import platform
import stat
import zipfile
from pathlib import Path

from tests.support import recorded
from tests.support.foreign import KIOSK, built
from tests.support.lab_call import vtlab
from tests.support.wheels import NOTICE, Installed, installed, wheel
from vtlab import __version__, shipped
from vtlab.host import tools
from vtlab.runs import store

__all__ = ["installed", "wheel"]

#: For every Linux of this machine's kind.
PLATFORM = f"manylinux_2_17_{platform.machine()}"
REPORTS = ("report.html", "report.md", "junit.xml", "verdict.json")


def test_it_has_the_version_the_command_and_all_data(wheel: Path) -> None:
    """A wheel of vtlab has its version, the command vtlab, and every file that vtlab reads of the repository."""
    assert wheel.name == f"vtlab-{__version__}-py3-none-{PLATFORM}.whl"
    with zipfile.ZipFile(wheel) as archive:
        names = set(archive.namelist())
        commands = archive.read(f"vtlab-{__version__}.dist-info/entry_points.txt").decode()
    assert "vtlab = vtlab.__main__:main" in commands
    assert {inside(path) for path in shipped.files(shipped.PATTERNS)} <= names
    assert not [name for name in names if "test" in name.split("/")[0] or "__pycache__" in name]


def test_it_has_k6_and_prometheus_with_their_licences_in_100_mb(wheel: Path) -> None:
    """A wheel of vtlab contains k6 and Prometheus as programs, and their licences, and is no larger than 100 MB."""
    assert wheel.stat().st_size <= 100e6
    with zipfile.ZipFile(wheel) as archive:
        for name in ("k6", "prometheus"):
            member = archive.getinfo(inside(Path(".tools", "bin", name)))
            assert member.external_attr >> 16 & stat.S_IXUSR, name
        assert inside(NOTICE) in archive.namelist()


def inside(path: Path) -> str:
    """Returns the name in the wheel of a file of the repository."""
    return f"vtlab/{shipped.FOLDER}/{path.as_posix()}"


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


def test_it_starts_its_own_programs_and_says_what_is_missing(installed: Installed) -> None:
    """An installed vtlab starts the k6 and the Prometheus of its wheel, and names what is missing without the commands
    of a checkout."""
    lines = dict(line.split(":", 1) for line in installed("doctor").stdout.splitlines() if ":" in line)
    for name, tool in (("k6", tools.find_k6()), ("Prometheus", tools.find_prometheus())):
        state = lines[f"ok       {name}"]
        assert state.split()[0] == tool.version
        assert f"/{shipped.FOLDER}/.tools/bin/{tool.path.name}" in state
    assert "make setup" not in "".join(lines.values())
    refused = installed("run", "blocking")
    assert refused.returncode == 3, refused.stderr
    assert "Traceback" not in refused.stderr


def test_it_checks_a_jar_where_path_has_nothing_but_a_jdk(installed: Installed) -> None:
    """An installed vtlab checks a jar on a machine that has a JDK, and no other program on PATH."""
    done = installed("check", built(KIOSK), path=str(tools.find_java().home / "bin"))
    assert done.returncode == 0, done.stderr
    assert "kiosk.jar: an executable jar with Spring Boot" in done.stdout

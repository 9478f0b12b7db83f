"""Taking thread dumps of a variant under load, with a script in jcmd's place."""

from __future__ import annotations

import itertools
import json
import os
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from tests.support import recorded
from tests.support.waiting import until
from vtlab.errors import BlockFault, Interrupted
from vtlab.host import jcmd as host_jcmd
from vtlab.host.cgroup_hierarchies import Limit
from vtlab.model.records import Diagnosis, Place, Trial
from vtlab.planning.load_call import CallPacing
from vtlab.targets.local import dumps

THREAD = {
    "tid": "1",
    "name": "tomcat-handler-1",
    "stack": ["java.base/java.lang.Thread.sleep0(Native Method)", "app//shop.Till.pay(Till.java:7)"],
}
SERVLET = "jakarta.servlet.http.HttpServlet.service(HttpServlet.java:1)"
#: Writes the file between the quotes of its last argument.
WRITES = """\
for last; do :; done
file="${last#*\\"}"
cat >"${file%%\\"*}" <<'END'
%s
END
"""


def document(**more: Any) -> str:
    stack = [*THREAD["stack"], SERVLET]
    return json.dumps({"threadDump": {"threadContainers": [{"threads": [{**THREAD, "stack": stack, **more}]}]}})


@pytest.fixture
def jcmd(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], Path]:
    """Puts a script in jcmd's place; it notes its arguments in the file that is returned."""
    path, noted = tmp_path / "jcmd", tmp_path / "noted"

    def install(script: str) -> Path:
        path.write_text(f'#!/bin/sh\necho "$@" >>{noted}\n{script}\n', encoding="utf-8")
        path.chmod(0o755)
        monkeypatch.setattr(host_jcmd, "command_for", lambda pid: [str(path)])
        return noted

    return install


def variant(name: str = "virtual") -> Any:
    """As much of a variant as is asked: this process, in windows of 20 ms."""
    planned = recorded.experiment(windows={"measure": "20ms"})
    return SimpleNamespace(
        variant=name,
        process=SimpleNamespace(pid=os.getpid()),
        launch=SimpleNamespace(experiment=planned),
        limits=lambda: Limit(100.0, None),
    )


def taking(folder: Path) -> dumps.Dumps:
    command = host_jcmd.command_for(os.getpid())
    assert command is not None
    return dumps.Dumps(variant(), command, folder, window=0.02)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    path = tmp_path / "a run's folder"
    path.mkdir()
    return path


def await_dumps(noted: Path, count: int) -> None:
    """Waits until so many were begun and ended from now on; on a slow machine some were taken before."""

    def ordered() -> int:
        return noted.read_text(encoding="utf-8").count("dump_to_file") if noted.is_file() else 0

    before = ordered()
    until(lambda: ordered() > before + count)


def window(begun: float) -> Trial:
    """A trial whose window began then and ends now."""
    return recorded.trial().model_copy(update={"start": int(1000 * begun), "end": int(1000 * time.time()) + 1})


def test_the_dumps_of_a_trial_become_a_diagnosis(jcmd: Callable[[str], Path], folder: Path) -> None:
    noted = jcmd(WRITES % document(state="TIMED_WAITING"))
    modes = []

    def load(name: str) -> Trial:
        begun = time.time()
        await_dumps(noted, 3)
        modes.extend(path.stat().st_mode & 0o777 for path in folder.iterdir())
        return window(begun)

    diagnoses = dumps.diagnose([variant()], folder, load, {})
    assert diagnoses["virtual"].dumps >= 3
    assert diagnoses["virtual"].throughput == recorded.trial().throughput
    assert diagnoses["virtual"].places == [Place(activity="wait", place="Thread.sleep at Till:7", threads=1)]
    assert modes == [0o700], "stacks are nobody else's"
    assert list(folder.iterdir()) == []
    first, *later = noted.read_text(encoding="utf-8").split("-format=json")[1:]
    assert "Thread.print" in first
    assert not any("Thread.print" in call for call in later), "the dump has the states"


def test_where_a_dump_has_no_states_the_other_command_is_asked_each_time(
    jcmd: Callable[[str], Path], folder: Path
) -> None:
    noted = jcmd(WRITES % document())
    with taking(folder):
        until(lambda: noted.is_file() and noted.read_text(encoding="utf-8").count("Thread.print") > 1)


def test_dumps_outside_of_the_window_do_not_count(jcmd: Callable[[str], Path], folder: Path) -> None:
    noted = jcmd(WRITES % document())
    with taking(folder) as taken:
        await_dumps(noted, 1)
        assert taken.diagnosis(0, int(1000 * time.time()) - 1_000_000) is None


def test_of_a_long_ramp_up_half_of_the_dumps_go(
    jcmd: Callable[[str], Path], folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(dumps, "MOST", 4)
    noted = jcmd(WRITES % document(state="WAITING"))
    with taking(folder) as taken:
        await_dumps(noted, 9)
        # One may be under way.
        diagnosis = taken.diagnosis(0, int(1000 * time.time()) + 60_000)
        assert diagnosis is not None
        assert 2 <= diagnosis.dumps < 4
        assert len(list(folder.glob("*/*.json"))) == diagnosis.dumps


@pytest.mark.parametrize("script", ["exit 1", "true", WRITES % "no dump", "exec sleep 60"])
def test_dumps_that_do_not_come_are_no_diagnosis(
    jcmd: Callable[[str], Path], folder: Path, monkeypatch: pytest.MonkeyPatch, script: str
) -> None:
    monkeypatch.setattr(host_jcmd, "PATIENCE", 0.2)
    noted = jcmd(script)

    def load(name: str) -> Trial:
        begun = time.time()
        until(noted.is_file)
        return window(begun)

    assert dumps.diagnose([variant()], folder, load, {}) == {}
    assert list(folder.iterdir()) == []


def test_jcmd_is_given_up_that_fails_again_and_again(jcmd: Callable[[str], Path], folder: Path) -> None:
    noted = jcmd("exit 1")
    with taking(folder) as taken:
        until(lambda: not taken.running)
    assert noted.read_text(encoding="utf-8").count("dump_to_file") == dumps.FAILURES


def test_a_variant_that_breaks_under_it_costs_only_its_diagnosis(jcmd: Callable[[str], Path], folder: Path) -> None:
    noted = jcmd(WRITES % document())

    def load(name: str) -> Trial:
        begun = time.time()
        if name == "platform":
            raise BlockFault("platform: the JVM ended while k6 loaded it")
        await_dumps(noted, 1)
        return window(begun)

    diagnoses = dumps.diagnose([variant("platform"), variant("virtual")], folder, load, {})
    assert list(diagnoses) == ["virtual"]
    assert isinstance(diagnoses["virtual"], Diagnosis)


def test_an_interrupt_is_one(jcmd: Callable[[str], Path], folder: Path) -> None:
    jcmd("exit 1")

    def load(name: str) -> Trial:
        raise Interrupted("interrupted")

    with pytest.raises(Interrupted):
        dumps.diagnose([variant()], folder, load, {})
    assert list(folder.iterdir()) == []


@pytest.mark.parametrize(("cpu", "is_held_back"), [(0.0001, False), (1.0, True)])
def test_what_dumps_cost_is_measured_and_said(
    jcmd: Callable[[str], Path], folder: Path, monkeypatch: pytest.MonkeyPatch, cpu: float, is_held_back: bool
) -> None:
    used = itertools.count(0.0, cpu)
    asked = []

    def cpu_seconds(pid: int, names: Sequence[str]) -> float:
        asked.append(names)
        return next(used)

    monkeypatch.setattr(dumps, "_cpu_seconds", cpu_seconds)
    noted = jcmd(WRITES % document(state="WAITING"))
    with taking(folder) as taken:
        until(lambda: "Thread.print" in (noted.read_text(encoding="utf-8") if noted.is_file() else ""))
        until(lambda: len(asked) >= 2)
        end = time.time()
        diagnosis = taken.diagnosis(round(1000 * end) - 10_000, round(1000 * end))
    assert diagnosis is not None
    assert diagnosis.dump_cpu == pytest.approx(cpu)
    # 100 cores for 10 s.
    assert diagnosis.cpu_share == pytest.approx(diagnosis.dumps * cpu / 1000)
    # A window of 20 ms is to have 20.
    assert diagnosis.is_held_back == is_held_back
    assert asked[0] == ("Attach Listener", "VM Thread"), "Thread.print stops the JVM"


def test_the_cpu_time_of_threads_is_the_kernels() -> None:
    with (Path("/proc/self/comm")).open(encoding="utf-8") as file:
        own = file.read().strip()
    before = dumps._cpu_seconds(os.getpid(), (own,))
    assert before > 0
    # As long as it takes the kernel to count it, however fast the machine is.
    while dumps._cpu_seconds(os.getpid(), (own,)) <= before:
        sum(i * i for i in range(1000))
    assert dumps._cpu_seconds(os.getpid(), ("Attach Listener",)) == 0


def test_the_latency_of_the_trial_is_kept(jcmd: Callable[[str], Path], folder: Path) -> None:
    noted = jcmd(WRITES % document(state="TIMED_WAITING"))

    def load(name: str) -> Trial:
        begun = time.time()
        await_dumps(noted, 1)
        return window(begun)

    diagnoses = dumps.diagnose([variant()], folder, load, {"virtual": CallPacing(measure=40)})
    assert diagnoses["virtual"].latency == recorded.trial().latency.mean
    assert diagnoses["virtual"].dump_cpu is None, "this process has no thread of a JVM"


def test_of_what_is_no_jvm_there_is_no_trial(folder: Path) -> None:
    assert dumps.diagnose([variant()], folder, lambda name: pytest.fail("it got load"), {}) == {}


def test_a_second_signal_leaves_no_dumps(
    jcmd: Callable[[str], Path], folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    jcmd("exit 1")

    def interrupt() -> None:
        raise Interrupted("interrupted")

    taken = taking(folder).__enter__()
    assert list(folder.iterdir())
    monkeypatch.setattr(taken, "_end", interrupt)
    with pytest.raises(Interrupted):
        taken.__exit__(None, None, None)
    assert list(folder.iterdir()) == []


def test_dumps_of_a_killed_vtlab_go(jcmd: Callable[[str], Path], folder: Path) -> None:
    jcmd("exit 1")
    (folder / dumps.FOLDER).mkdir()
    (folder / dumps.FOLDER / "0.json").touch()
    with taking(folder):
        assert list((folder / dumps.FOLDER).iterdir()) == []

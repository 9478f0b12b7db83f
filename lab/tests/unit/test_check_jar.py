"""``vtlab check``: what it prints, and its exit codes."""

from __future__ import annotations

import io
import json
from pathlib import Path

import pytest

from tests.support import golden_files, jars
from tests.support.cli_call import call
from tests.support.experiments import service_file
from tests.support.film import terminal
from vtlab.commands import check
from vtlab.errors import BadInput, PrerequisiteMissing
from vtlab.host import tools

pytestmark = pytest.mark.usefixtures("invented_tools")

LIBRARIES = {"com.zaxxer:HikariCP": "6.3.0", "com.mysql:mysql-connector-j": "8.4.0"}
SETTINGS = {"application.properties": "server.tomcat.threads.max=50\nspring.datasource.password=secret\n"}


@pytest.fixture
def shop(tmp_path: Path) -> Path:
    return jars.service(tmp_path / "shop.jar", LIBRARIES, files=SETTINGS)


def test_findings_are_no_failure_and_are_those_of_the_newest_jdk(shop: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(shop.parent)
    done = call("check", shop.name)
    assert (done.code, done.err) == (0, "")
    golden_files.check("check-jar.txt", done.out)
    assert "secret" not in done.out
    assert "mysql" not in done.out


def test_a_jar_without_known_problems_says_so(tmp_path: Path) -> None:
    done = call("check", jars.service(tmp_path / "shop.jar"))
    assert done.code == 0
    assert done.out.endswith("vtlab knows no published problem with these versions and settings.\n")


def test_json_is_the_whole_answer(shop: Path) -> None:
    done = call("check", shop, "--json")
    document = json.loads(done.out)
    assert (done.code, document["jdk"]) == (0, "25.0.4")
    assert [finding["id"] for finding in document["findings"]] == ["hikaricp-spins", "threads-max-ignored"]
    assert document["inspection"]["boot"] == "3.5.0"
    assert {"group": "com.zaxxer", "artifact": "HikariCP", "version": "6.3.0"} in document["inspection"]["libraries"]


def test_another_jdk_has_other_problems(shop: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str | None] = []

    def java(wanted: str | None = None) -> tools.Java:
        asked.append(wanted)
        return tools.Java(Path("/jdk/bin/java"), "21.0.8", "a vendor")

    monkeypatch.setattr(tools, "find_java", java)
    done = call("check", shop, "--java", "21", "--json")
    assert asked == ["21"]
    assert json.loads(done.out)["findings"][0]["id"] == "mysql-driver-pins"


def test_flags_of_the_jvm_are_looked_at_too(shop: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tools, "find_java", lambda _: tools.Java(Path("/jdk/bin/java"), "21.0.2", "a vendor"))
    flags = ("--jvm=-Xmx1g", "--jvm=-Djdk.tracePinnedThreads=full")
    document = json.loads(call("check", shop, *flags, "--json").out)
    places = {finding["id"]: finding["place"] for finding in document["findings"]}
    assert places["trace-pinned-threads-hangs"] == "-Djdk.tracePinnedThreads=full"
    assert places["lock-waiters-hang"] == "JDK 21.0.2"


def test_on_a_terminal_a_line_says_what_is_read(shop: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    screen = terminal(80)
    monkeypatch.setattr(check, "console", screen)
    call("check", shop)
    assert isinstance(screen.file, io.StringIO)
    assert "reading shop.jar" in screen.file.getvalue()


def test_a_file_names_its_jar(shop: Path) -> None:
    file = shop.parent / "vtlab.yaml"
    file.write_text("service: shop.jar\nrequests: [GET /]\n", encoding="utf-8")
    of_jar = call("check", shop).out
    assert call("check", file).out == of_jar.replace(f"{shop} 'GET /' --variant", f"{file} --variant")


def test_without_a_jdk_a_look_shows_the_problems_of_all(shop: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def none(wanted: str | None = None) -> tools.Java:
        raise PrerequisiteMissing("no JDK", "install one")

    monkeypatch.setattr(tools, "find_java", none)
    done = call("check", shop)
    assert done.code == 0
    assert "JDK: not found, so the problems of every JDK are shown" in done.out
    assert "com.mysql:mysql-connector-j 8.4.0" in done.out
    assert call("check", shop, "--java", "21").code == 3


def test_a_jar_that_cannot_be_measured_ends_with_2(tmp_path: Path) -> None:
    done = call("check", jars.service(tmp_path / "old.jar", boot="2.7.18"))
    assert (done.code, done.out) == (2, "")
    assert "has Spring Boot 2.7.18, which cannot use virtual threads" in done.err
    assert "fix: build it with Spring Boot 3.2 or newer" in done.err


def test_of_a_file_the_jar_is_looked_into_with_the_jdk_and_the_flags_that_it_names(tmp_path: Path) -> None:
    flags = {"jar": "shop.jar", "jvm_flags": ["-Xss1m"], "java": 21}
    file = service_file(tmp_path, flags)
    assert check._jar_of(file) == (tmp_path / "shop.jar", "21", ["-Xss1m"])
    set_by_environment = service_file(tmp_path, {**flags, "settings": {"JAVA_TOOL_OPTIONS": "-XX:AOTCache=app.aot"}})
    assert check._jar_of(set_by_environment)[2] == ["-Xss1m", "-XX:AOTCache=app.aot"]
    assert check._jar_of(tmp_path / "shop.jar") == (tmp_path / "shop.jar", None, [])
    for service in ("sample", {"deployment": "shop"}):
        with pytest.raises(BadInput, match="its service has no jar"):
            check._jar_of(service_file(tmp_path, service))
    cure = "vtlab try shop.jar --variant pool=50"
    assert check._cure(cure, tmp_path / "shop.jar", file) == f"vtlab try {file} --variant pool=50"
    assert check._cure(cure, tmp_path / "shop.jar", tmp_path / "shop.jar").endswith("'GET /' --variant pool=50")

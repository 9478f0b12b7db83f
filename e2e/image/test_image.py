"""The images, from their archives: what they hold and say, and how they behave under a CPU limit with a read-only root.

.venv/bin/python -m pytest e2e/image
"""

from __future__ import annotations

import os
import re
import signal
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from e2e.image import archive
from e2e.image.archive import Archive
from e2e.image.container import JAVA_TOOL_OPTIONS, Image
from vtlab.host.processes import Ledger

IMAGES = archive.IMAGES
USER = "10001:10001"
EXTRA = re.compile(
    r"app/(drivers/|lib/(netty-|reactor-|reactive-streams|spring-webflux|mybatis|spring-jdbc|HikariCP|http(client|core)5))"
)

as_root = pytest.mark.skipif(os.geteuid() != 0, reason="runs the image without a container engine: needs root")


@pytest.fixture(scope="module", params=IMAGES, ids=lambda java: f"java-{java}")
def java(request: pytest.FixtureRequest) -> int:
    version: int = request.param
    return version


@pytest.fixture(scope="module")
def packed(java: int) -> Archive:
    return archive.find(IMAGES[java])


@pytest.fixture(scope="module")
def image(packed: Archive) -> Iterator[Image]:
    with tempfile.TemporaryDirectory() as place, Ledger(Path(place)) as ledger:
        yield Image.unpack(packed, Path(place), ledger)


class TestWhatItHolds:
    def test_runs_as_a_user_by_number_that_is_not_root(self, packed: Archive) -> None:
        assert packed.config["User"] == USER

    def test_starts_java_without_a_shell_in_between(self, packed: Archive) -> None:
        assert packed.config["Entrypoint"] == [
            "java",
            "@/app/java.options",
            "-jar",
            "/app/app.jar",
        ]
        assert not packed.config.get("Cmd")

    def test_names_its_ports(self, packed: Archive) -> None:
        assert set(packed.config["ExposedPorts"]) >= {"8080/tcp", "8081/tcp"}

    def test_says_what_it_is(self, packed: Archive) -> None:
        pom = (archive.REPOSITORY / "app" / "pom.xml").read_text(encoding="utf-8")
        version = re.search(
            r"<artifactId>virtual-threads-lab-app</artifactId>\s*<version>(.+?)</version>",
            pom,
        )
        assert version
        labels = packed.config["Labels"]
        assert labels["org.opencontainers.image.title"] == "virtual-threads-lab"
        assert labels["org.opencontainers.image.description"]
        assert labels["org.opencontainers.image.licenses"] == "Apache-2.0"
        assert labels["org.opencontainers.image.version"] == version[1]

    def test_has_an_ahead_of_time_cache_where_the_jdk_can_make_one(self, packed: Archive, java: int) -> None:
        assert ("app/app.aot" in packed.files) == (java >= 25)
        assert (packed.files["app/java.options"].size > 0) == (java >= 25)

    def test_holds_the_app_and_nothing_of_its_build(self, packed: Archive) -> None:
        names = set(packed.files)
        assert "app/app.jar" in names
        assert any(re.fullmatch(r"app/lib/spring-boot-\d.*\.jar", name) for name in names)
        assert not [
            name for name in names if re.search(r"(^|/)(mvn|javac|\.m2|pom\.xml)$|^(src|trained)/|\w\.java$", name)
        ]

    def test_its_user_can_read_the_app_and_change_nothing(self, packed: Archive) -> None:
        wrong = [
            name
            for name, member in packed.files.items()
            if (name == "app" or name.startswith("app/"))
            and (member.uid != 0 or member.mode & 0o022 or not member.mode & 0o004)
        ]
        assert wrong == []

    def test_size(self, packed: Archive, java: int, capsys: pytest.CaptureFixture[str]) -> None:
        ours = sum(member.size for name, member in packed.files.items() if name.startswith("app/"))
        with capsys.disabled():
            print(f"\nimage for Java {java}: {packed.size / 1e6:.0f} MB unpacked, {ours / 1e6:.0f} MB of them in /app")
        # What some variants and workloads alone need: Netty, MyBatis, an HTTP client and two database drivers.
        extra = sum(member.size for name, member in packed.files.items() if EXTRA.match(name))
        assert 0 < extra < 22e6
        assert ours - extra < (130e6 if java >= 25 else 40e6)
        # No layer repeats the files of another.
        assert sum(packed.layer_sizes()[-3:]) < 1.05 * ours


@as_root
class TestHowItRuns:
    @pytest.mark.parametrize("virtual", [False, True], ids=["platform", "virtual"])
    def test_serves_with_a_read_only_root_and_ends_at_sigterm(self, image: Image, java: int, virtual: bool) -> None:
        container = image.start(f"serve-{virtual}", {"SPRING_THREADS_VIRTUAL_ENABLED": str(virtual).lower()})
        started_in = container.await_ready()
        answer = container.get("/thread?duration=10ms")
        assert answer.status_code == 200
        assert answer.json()["isVirtual"] is virtual
        status = Path(f"/proc/{container.process.pid}/status").read_text(encoding="ascii")
        assert re.search(r"^Uid:\t10001\t10001\t10001\t10001$", status, re.M)
        assert re.search(r"^CapEff:\t0+$", status, re.M)
        # Nothing was in flight, so ending is less work than starting; what waits for something takes its time-out.
        assert container.stop(grace=60) < started_in
        # It got the signal itself, and ended in order.
        assert container.process.returncode() == 128 + signal.SIGTERM
        log = container.process.log.read_text(encoding="utf-8")
        assert f"jdk={java}." in log
        assert "processors=1 " in log
        assert "cpu-limit=1.0" in log
        assert "Exception" not in log

    def test_its_user_cannot_change_the_app_even_where_the_root_is_writable(self, image: Image) -> None:
        container = image.start("write", entry=["sh", "-c", ": >/tmp/ok && : >/app/new"], writable=True)
        deadline = time.monotonic() + 60
        while container.process.exit_description() is None and time.monotonic() < deadline:
            time.sleep(0.05)
        container.stop()
        said = container.process.last_lines()
        assert "/app/new: Permission denied" in said, "by its owner and mode, not by a read-only mount"
        assert "/tmp/ok" not in said

    def test_takes_its_classes_from_the_cache_with_the_charts_options(self, image: Image, java: int) -> None:
        options = f"{JAVA_TOOL_OPTIONS} -Xlog:class+load:stdout"
        # "on" makes a cache that cannot be used an error.
        container = image.start(
            "cache",
            {"JAVA_TOOL_OPTIONS": options + (" -XX:AOTMode=on" if java >= 25 else "")},
        )
        container.await_ready()
        container.stop()
        loaded = re.findall(
            r"\] (lab\.virtualthreads\.\S+|org\.springframework\.\S+) source: (.*)",
            container.process.log.read_text(encoding="utf-8"),
        )
        shared = [name for name, source in loaded if source.startswith("shared objects file")]
        assert len(loaded) > 1000
        if java >= 25:
            assert len(shared) / len(loaded) > 0.95
        else:
            assert not shared

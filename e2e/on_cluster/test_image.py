"""The images, each in one pod of the chart's: what they hold, how they run and how they end."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

import pytest

from e2e.on_cluster import lab, pods

pytestmark = pytest.mark.cluster_all

USER = 10001
#: What some variants and workloads alone need: Netty, MyBatis, HTTP clients and two database drivers.
EXTRA = re.compile(
    r"app/(drivers/|lib/(netty-|reactor-|reactive-streams|spring-webflux|mybatis|spring-jdbc|HikariCP|http(client|core)5))"
)
BUILD = re.compile(r"(^|/)(mvn|javac|\.m2|pom\.xml)$|^(src|trained)/|\w\.java$")
CLASS_LOAD = "[class,load]"


class File(NamedTuple):
    size: int
    owner: int
    mode: int
    kind: str


@dataclass(frozen=True)
class Image:
    """An image whose pod is ready."""

    java: int
    pod: str
    #: Every path of its root file system, without a leading slash.
    files: dict[str, File]

    def inside(self, command: str) -> str:
        """The output of a shell's command in the container."""
        return lab.kubectl("exec", self.pod, "-c", "app", "--", "sh", "-c", command)

    def log(self) -> str:
        return lab.kubectl("logs", self.pod, "-c", "app")

    def size(self, pattern: str) -> int:
        """Bytes of the files whose path matches from its beginning."""
        wanted = re.compile(pattern)
        return sum(file.size for path, file in self.files.items() if file.kind == "f" and wanted.match(path))


@pytest.fixture(scope="module", params=pods.SUFFIXES, ids=lambda java: f"java-{java}")
def image(request: pytest.FixtureRequest) -> Iterator[Image]:
    java: int = request.param
    lab.fresh_namespace()
    # The list of the files is root's: some folders of an image are for root alone.
    lab.run("kubectl", "label", "namespace", lab.NAMESPACE, "pod-security.kubernetes.io/enforce-")
    # "on" makes a cache that cannot be used an error.
    options = ["-Xlog:class+load:stdout", *(["-XX:AOTMode=on"] if java >= 25 else [])]
    pod = pods.pod_of_chart(f"image-{java}", java, options)
    # By the image's user, which must be a number then: the chart names the same one.
    del pod["spec"]["securityContext"]["runAsUser"], pod["spec"]["securityContext"]["runAsGroup"]
    files = {
        "name": "files",
        "image": pods.image(java),
        "command": ["find", "/", "-xdev", "-printf", r"%P\t%s\t%U\t%m\t%y\n"],
        "securityContext": {"runAsUser": 0, "runAsNonRoot": False},
    }
    pod["spec"]["initContainers"] = [files]
    pods.start(pod)
    name = pod["metadata"]["name"]
    lines = [line.split("\t") for line in lab.kubectl("logs", name, "-c", "files").splitlines()]
    listed = {path: File(int(size), int(owner), int(mode, 8), kind) for path, size, owner, mode, kind in lines}
    yield Image(java, name, listed)
    lab.kubectl("delete", "pod", name, "--ignore-not-found")


def test_it_runs_java_as_a_user_without_rights(image: Image) -> None:
    """The image's first process is Java itself, as a user by number, without capabilities, on one processor where the
    chart's limit is 1 CPU."""
    assert image.inside("tr '\\0' ' ' </proc/1/cmdline").split() == [
        "java",
        "@/app/java.options",
        "-jar",
        "/app/app.jar",
    ]
    kernel = dict(re.findall(r"(\w+):\t(.*)", image.inside("cat /proc/1/status")))
    assert kernel["Uid"].split() == [str(USER)] * 4
    assert int(kernel["CapEff"], 16) == 0
    log = image.log()
    for part in (f"jdk={image.java}.", "processors=1 ", "cpu-limit=1.0"):
        assert part in log, part


def test_it_holds_the_app_and_nothing_of_its_build(image: Image) -> None:
    """The image holds the application with its libraries, the agent for other services, and nothing of its build."""
    assert {"app/app.jar", "app/vtlab-agent.jar"} <= image.files.keys()
    assert any(re.fullmatch(r"app/lib/spring-boot-\d.*\.jar", path) for path in image.files)
    assert [path for path in image.files if BUILD.search(path)] == []


def test_its_user_can_read_the_app_and_change_nothing(image: Image) -> None:
    """The image's user can read the application, and by owner and mode change nothing of it."""
    app = {path: file for path, file in image.files.items() if path == "app" or path.startswith("app/")}
    wrong = [path for path, file in app.items() if file.owner != 0 or file.mode & 0o022 or not file.mode & 0o004]
    assert wrong == []


def test_it_takes_its_classes_from_the_cache(image: Image) -> None:
    """Where the JDK can make an ahead-of-time cache, the image has one, and with the chart's options the application
    takes its classes from it."""
    newer = image.java >= 25
    assert ("app/app.aot" in image.files) == newer
    assert (image.files["app/java.options"].size > 0) == newer
    classes = r"\] (?:lab\.virtualthreads\.\S+|org\.springframework\.\S+) source: (.*)"
    sources = re.findall(classes, image.log())
    shared = [source for source in sources if source.startswith("shared objects file")]
    assert len(sources) > 1000
    assert len(shared) > 0.95 * len(sources) if newer else not shared


def test_size(image: Image) -> None:
    """The image's own files are as large as documented at most, and no layer repeats the files of another."""
    ours, everything = image.size("app/"), image.size("")
    lab.show([f"image for Java {image.java}: {everything / 1e6:.0f} MB unpacked, {ours / 1e6:.0f} MB of them in /app"])
    assert 0 < image.size(EXTRA.pattern) < 22e6
    assert ours - image.size(EXTRA.pattern) < (130e6 if image.java >= 25 else 40e6)
    # What the node has stored, where that is not compressed: a header and padding for each file.
    stored = max(
        (
            entry["sizeBytes"]
            for node in lab.get("nodes")["items"]
            for entry in node["status"]["images"]
            if any(name.endswith(pods.image(image.java)) for name in entry.get("names") or [])
        ),
        default=None,
    )
    assert stored, "the node lists the image"
    assert stored < everything + 1024 * len(image.files) + 0.15 * ours


def test_it_ends_in_order_at_sigterm(image: Image) -> None:
    """SIGTERM to the image's first process ends the application in order, by that signal."""
    image.inside("kill -TERM 1")
    exit_code = "{.status.containerStatuses[?(@.name=='app')].state.terminated.exitCode}"
    lab.kubectl("wait", "pod", image.pod, f"--for=jsonpath={exit_code}=143", "--timeout=5m")
    assert [line for line in image.log().splitlines() if "Exception" in line and CLASS_LOAD not in line] == []

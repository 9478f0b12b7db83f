"""What the Dockerfile tells others about the image."""

from __future__ import annotations

import re
from pathlib import Path

from vtlab.targets.kubernetes.copies import environment

REPOSITORY = Path(__file__).resolve().parents[1]
DOCKERFILE = (REPOSITORY / "Dockerfile").read_text(encoding="utf-8")


def test_its_version_is_that_of_the_app() -> None:
    pom = (REPOSITORY / "app/pom.xml").read_text(encoding="utf-8")
    version = re.search(r"<artifactId>virtual-threads-lab-app</artifactId>\s*<version>(.+?)</version>", pom)
    assert version
    assert re.findall(r"^ARG VERSION=(.*)$", DOCKERFILE, re.M) == [version[1]]
    assert 'org.opencontainers.image.version="${VERSION}"' in DOCKERFILE


def test_it_has_a_title_a_description_and_a_licence() -> None:
    labels = dict(re.findall(r'org\.opencontainers\.image\.(\w+)="([^"]+)"', DOCKERFILE))
    assert labels["title"] == "virtual-threads-lab"
    assert labels["description"]
    assert labels["licenses"] == "Apache-2.0"


def test_it_names_its_ports_and_a_user_by_number() -> None:
    (ports,) = re.findall(r"^EXPOSE (.*)$", DOCKERFILE, re.M)
    assert set(ports.split()) >= {"8080", "8081"}
    assert re.findall(r"^USER (.*)$", DOCKERFILE, re.M) == ["10001:10001"], "Kubernetes sees that it is not root"


def test_it_has_the_agent_where_an_init_container_finds_it() -> None:
    pom = (REPOSITORY / "agent/pom.xml").read_text(encoding="utf-8")
    (name,) = re.findall(r"<finalName>(.*)</finalName>", pom)
    assert re.findall(r"^COPY --from=build /src/agent/target/(\S+) (\S+)$", DOCKERFILE, re.M) == [
        (f"{name}.jar", environment.AGENT_IN_IMAGE)
    ]
    ignored = (REPOSITORY / ".dockerignore").read_text(encoding="utf-8").splitlines()
    assert {"!agent/pom.xml", "!agent/src/main"} <= set(ignored)


def test_the_image_of_vtlab_is_a_jdk_with_the_wheel() -> None:
    text = (REPOSITORY / "lab/Dockerfile").read_text(encoding="utf-8")
    assert re.findall(r"^COPY (?!--from)(.*) /", text, re.M) == [
        "lab/runtime.txt dist/vtlab-${VERSION}-py3-none-manylinux*.whl"
    ]
    assert {"!dist/vtlab-*.whl", "!lab/runtime.txt"} <= set(
        (REPOSITORY / ".dockerignore").read_text(encoding="utf-8").split("\n")
    )
    stages = set(re.findall(r"^FROM \S+ AS (\S+)", text, re.M))
    assert set(re.findall(r"^FROM (\S+)", text, re.M)) - stages == {"eclipse-temurin:25-jdk"}


def test_the_image_of_vtlab_may_make_control_groups_in_the_callers_folder() -> None:
    """A user by number would be in the way of docker run --privileged; the chart's runner names one by itself."""
    text = (REPOSITORY / "lab/Dockerfile").read_text(encoding="utf-8")
    assert "USER" not in re.findall(r"^(\w+) ", text, re.M)
    assert re.findall(r"^WORKDIR (.*)$", text, re.M) == ["/work"]

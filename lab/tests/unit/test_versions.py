"""Every place that must repeat a version of versions.env has the same one."""

from __future__ import annotations

import re
import subprocess

import pytest

from tests.support.versions import REPOSITORY, VERSIONS

#: Files that cannot read versions.env: the version's name, the file, and where in it the version stands.
COPIES = (
    ("LAB_VERSION", "lab/vtlab/__init__.py", r'__version__ = "(.+)"'),
    ("LAB_VERSION", "agent/pom.xml", r"\n\t<version>(.+)</version>"),
    ("LAB_VERSION", "app/pom.xml", r"\n\t<version>(.+)</version>"),
    ("LAB_VERSION", "helm/Chart.yaml", r"\nversion: (.+)"),
    ("LAB_VERSION", "helm/Chart.yaml", r"\nappVersion: (.+)"),
    ("LAB_VERSION", "helm/ci/reproductions-values.yaml", r"tag: (.+)-jdk21"),
    ("LAB_VERSION", "Dockerfile", r"ARG VERSION=(.+)"),
    ("LAB_VERSION", "lab/Dockerfile", r"ARG VERSION=(.+)"),
    ("LAB_VERSION", "lab/Dockerfile", r"\bvtlab:(\S+) "),
    ("LAB_VERSION", "CHANGELOG.md", r"\A# Changelog\n\n.+\n\n## (\S+)"),
    ("K6_VERSION", "helm/values.yaml", r"grafana/k6\n +tag: (.+)"),
    ("MARIADB_VERSION", "app/pom.xml", r"<mariadb.version>(.+)</mariadb.version>"),
    ("MARIADB_VERSION", "lab/vtlab/services/companions/mariadb.py", r'\nVERSION = "(.+)"'),
    ("POSTGRES_VERSION", "lab/vtlab/services/companions/postgres.py", r'\nVERSION = "(.+)"'),
    ("MARIADB_IMAGE_VERSION", "helm/values.yaml", r'library/mariadb\n +tag: "(.+)"'),
)
#: Images, and objects of the Prometheus operator, wherever a tracked file has one with a version.
NAMES = {
    "LAB_VERSION": r"\b(?:virtual-threads-lab|vtlab):(\d+\.\d+\.\d+)",
    "K6_VERSION": r"grafana/k6:(\d[\d.]*\d)",
    "PROMETHEUS_VERSION": r"(?:prom(?:etheus)?/prometheus:|kind: Prometheus\n(?:.+\n){1,3}?  version: )v(\d[\d.]*\d)",
    "MARIADB_IMAGE_VERSION": r"\bmariadb:(\d[\d.]*\d)",
}


@pytest.mark.parametrize(("name", "file", "pattern"), COPIES)
def test_a_copy_of_a_version_is_the_same(name: str, file: str, pattern: str) -> None:
    copies = re.findall(pattern, (REPOSITORY / file).read_text(encoding="utf-8"))
    assert copies, f"{file} has no {name}: correct the pattern"
    assert set(copies) == {VERSIONS[name]}


@pytest.mark.parametrize("name", NAMES)
def test_an_image_has_one_version_in_code_and_docs(name: str) -> None:
    tracked = subprocess.run(["git", "ls-files"], cwd=REPOSITORY, capture_output=True, text=True, check=True).stdout
    versions: dict[str, set[str]] = {}
    for file in tracked.splitlines():
        path = REPOSITORY / file
        if path.is_file() and path.suffix != ".png":
            versions[file] = set(re.findall(NAMES[name], path.read_text(encoding="utf-8", errors="replace")))
    assert set.union(*versions.values()), f"no file has {name}: correct the pattern"
    different = [file for file in versions if versions[file] - {VERSIONS[name]}]
    assert not different, f"{name} is {VERSIONS[name]}"


@pytest.mark.parametrize("of", [r"(?s)<parent>.+</parent>", r"<hikaricp.version>.+</hikaricp.version>"])
def test_the_agent_is_tested_with_the_versions_of_the_app(of: str) -> None:
    in_agent, in_app = (re.search(of, _text(f"{project}/pom.xml")) for project in ("agent", "app"))
    assert in_agent
    assert in_app
    assert in_agent[0] == in_app[0]


def test_the_go_module_of_prometheus_has_the_same_version() -> None:
    """Prometheus 3.15.0 is the Go module v0.315.0."""
    module = re.search(r"github.com/prometheus/prometheus v0\.(\d)(\d\d)\.(\d+)", _text("lab/tools/prometheus/go.mod"))
    assert module
    assert ".".join(str(int(number)) for number in module.groups()) == VERSIONS["PROMETHEUS_VERSION"]


def test_charts_are_rendered_for_the_kubernetes_of_kind_from_source() -> None:
    module = re.search(r"k8s\.io/kubernetes v(\S+)", _text("e2e/kind/programs/go.mod"))
    assert module
    assert f'KUBERNETES = "{module[1]}"' in _text("e2e/chart/rendering.py")


def _text(file: str) -> str:
    return (REPOSITORY / file).read_text(encoding="utf-8")

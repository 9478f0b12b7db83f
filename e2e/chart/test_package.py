"""What a user gets in the hand: the chart's package, and the notes after an installation."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import tarfile
from collections.abc import Callable
from pathlib import Path
from xml.etree import ElementTree

import pytest
import yaml

from e2e.chart.rendering import (
    CHART,
    KUBERNETES,
    REPOSITORY,
    Rendered,
    containers,
    helm,
    helm_program,
)
from tests.support.versions import VERSIONS

Render = Callable[..., Rendered]


WHERE = "--target kubernetes --namespace elsewhere --release mine"


@pytest.fixture
def notes(chart_copy: Path) -> Callable[..., str]:
    """notes("--set", "…"): what helm prints after an installation."""
    # `helm template` leaves the notes out, and all other commands that show them want a cluster.
    (chart_copy / "templates/NOTES.txt").rename(chart_copy / "notes")
    (chart_copy / "templates/notes.yaml").write_text('notes: {{ tpl (.Files.Get "notes") . | toJson }}')

    def printed(*arguments: str | Path) -> str:
        where = ("--namespace", "elsewhere", "--kube-version", KUBERNETES)
        done = helm("template", "mine", chart_copy, *arguments, *where, "--show-only", "templates/notes.yaml")
        assert done.returncode == 0, done.stderr
        text: str = yaml.safe_load(done.stdout)["notes"]
        return text

    return printed


def test_notes_name_this_release(notes: Callable[..., str], any_values: Path) -> None:
    text = notes("-f", any_values)

    first = "db-no-sleep" if any_values.name.startswith("reproductions") else "blocking"
    has_variants = any_values.name != "runner-own-service-values.yaml"
    # By the time, so that the same lines work again.
    assert (f"  job={first}-$(date +%H%M%S)\n" in text) == has_variants
    assert (f"kubectl -n elsewhere create job --from=cronjob/mine-{first} $job" in text) == has_variants
    assert ("kubectl -n elsewhere logs -f job/$job" in text) == has_variants
    assert ("helm test mine -n elsewhere" in text) == has_variants
    assert ("Variants:    none: the runner measures copies of the service shop\n" in text) != has_variants
    if "no-monitoring" in any_values.name:
        assert "Monitoring is off" in text
    else:
        found = "$(kubectl -n monitoring get service -l app.kubernetes.io/name=grafana -o name)"
        assert f"kubectl -n monitoring port-forward {found} 3000:80" in text
        assert "get secret grafana-admin" in text
        for dashboard in (REPOSITORY / "grafana-dashboards").glob("*.json"):
            assert f"\n  {json.loads(dashboard.read_text())['title']}\n" in text
        of_runner = any_values.name.startswith("runner")
        assert (f".venv/bin/vtlab doctor {WHERE}" in text) != of_runner
        assert (f".venv/bin/vtlab run blocking {WHERE}" in text) != of_runner
        assert ("kubectl -n elsewhere logs -f job/mine-runner-1-" in text) == of_runner
        assert ("kubectl -n elsewhere get configmap mine-verdict" in text) == of_runner


def test_a_block_by_hand_is_the_same_in_notes_and_page(notes: Callable[..., str]) -> None:
    page = (REPOSITORY / "docs/how-to/kubernetes.md").read_text(encoding="utf-8")
    (block,) = (block for block in re.findall(r"```sh\n(.*?)```", page, re.S) if "create job" in block)
    lines = [line.partition(" #")[0].rstrip() for line in block.splitlines() if "monitoring" not in line]
    assert len(lines) == 4
    text = notes()
    for line in lines:
        assert line.replace("-n lab", "-n elsewhere").replace("cronjob/lab-", "cronjob/mine-") in text


def test_notes_say_which_prometheus_a_run_of_copies_has_without_monitoring(notes: Callable[..., str]) -> None:
    text = notes("-f", CHART / "ci/runner-own-service-values.yaml", "--set", "monitoring.enabled=false")
    assert "Monitoring is off: the run has a Prometheus of its own." in text
    assert "needs both" not in text


def test_notes_name_the_experiments_for_blocks_by_hand(notes: Callable[..., str]) -> None:
    assert "Experiments: blocking, blocking-100ms, blocking-5s, blocking-open, cpu, mixed\n" in notes()
    text = notes("--set-json", 'experiments=["cpu","mixed"]')
    assert "Experiments: cpu, mixed\n" in text
    assert "kubectl -n elsewhere create job --from=cronjob/mine-cpu $job" in text
    assert "create job" not in notes("--set-json", "experiments=[]")


def test_notes_say_where_the_services_beside_the_variants_are(notes: Callable[..., str]) -> None:
    text = notes("-f", CHART / "ci/reproductions-values.yaml")
    assert "Database:    MariaDB in the pod mine-database-0; its password is in the Secret mine-database\n" in text
    assert "Downstream:  the Deployment mine-downstream\n" in text
    text = notes("-f", CHART / "ci/own-services-values.yaml")
    assert "Database:    jdbc:mysql://mysql.data:3307/lab?sslMode=REQUIRED; its password is in the " in text
    assert "Downstream:  https://slow.example.com\n" in text
    assert "Database:" not in notes()


def test_notes_say_in_which_folder_the_dashboards_are(notes: Callable[..., str]) -> None:
    assert 'Dashboards there, in the folder "Virtual Threads Lab":' in notes()
    assert 'in the folder "Ours":' in notes("--set", "monitoring.dashboards.folder=Ours")
    for switch in ("monitoring.enabled", "monitoring.dashboards.enabled"):
        assert "Dashboards" not in notes("--set", f"{switch}=false")


def test_the_package_needs_no_file_beside_it(tmp_path: Path, default: Rendered, render: Render) -> None:
    done = helm("package", CHART, "--destination", tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    (package,) = tmp_path.glob("*.tgz")

    with tarfile.open(package) as archive:
        members = {member.name.partition("/")[2]: member for member in archive}
    assert all(member.isreg() for member in members.values())
    assert not [name for name in members if "kube-prometheus-stack" in name or name.startswith("ci/")]
    assert render(chart=package).objects == default.objects


def packaged(folder: Path, registry: str = "", source: str = "") -> Path:
    """What `make chart` makes, in a copy of what it reads."""
    for name in ("lab/setup", "versions.env"):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(REPOSITORY / name, folder / name)
    shutil.copytree(CHART, folder / "helm")
    path = f"{Path(helm_program()).parent}{os.pathsep}{os.environ['PATH']}"
    environment = {**os.environ, "PATH": path, "REGISTRY": registry, "SOURCE": source}
    done = subprocess.run([folder / "lab/setup", "chart"], env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    (package,) = (folder / "dist").iterdir()
    assert done.stderr == f"setup: dist/{package.name}\n"
    return package


def test_make_chart_packages_it_as_it_is(tmp_path: Path, default: Rendered, render: Render) -> None:
    package = packaged(tmp_path)
    assert package.name == f"virtual-threads-lab-{VERSIONS['LAB_VERSION']}.tgz"
    assert render(chart=package).objects == default.objects


def test_a_package_for_a_registry_has_our_images_from_there_alone(tmp_path: Path, render: Render) -> None:
    values = ("-f", CHART / "ci/runner-values.yaml", "--set", "database.enabled=true,downstream.enabled=true")
    pods = render(*values, chart=packaged(tmp_path, "registry.example/lab")).pods()
    images = {container["image"].rpartition(":")[0] for pod in pods.values() for container in containers(pod)}
    assert images == {
        *("registry.example/lab/virtual-threads-lab", "registry.example/lab/vtlab"),
        *("docker.io/grafana/k6", "docker.io/library/mariadb"),
    }


def test_a_registry_of_charts_can_show_it(tmp_path: Path) -> None:
    """Its README has the values, its metadata say what it is and what it needs beside it."""
    packaged_readme = helm("show", "readme", packaged(tmp_path)).stdout
    assert '| `limits.cpu` | `"1"` |' in packaged_readme
    assert "helm install lab" in packaged_readme
    chart = yaml.safe_load((CHART / "Chart.yaml").read_text())
    assert {"virtual-threads", "spring-boot", "k6"} <= {*chart["keywords"]}
    annotations = chart["annotations"]
    assert annotations["artifacthub.io/license"] == "Apache-2.0"
    assert "Apache License" in (REPOSITORY / "LICENSE").read_text()
    (recommended,) = yaml.safe_load(annotations["artifacthub.io/recommendations"])
    assert recommended["url"].endswith("/kube-prometheus-stack")


def test_a_release_says_whose_chart_it_is(tmp_path: Path, default: Rendered, render: Render) -> None:
    package = packaged(tmp_path, source="https://git.example/owner/lab")
    chart = yaml.safe_load(helm("show", "chart", package).stdout)
    assert chart["home"] == "https://git.example/owner/lab"
    assert chart["sources"] == [chart["home"]]
    assert chart["maintainers"] == [{"name": "owner", "url": "https://git.example/owner"}]
    of_version = f"{chart['home']}/raw/v{VERSIONS['LAB_VERSION']}/"
    icon = REPOSITORY / chart["icon"].removeprefix(of_version)
    assert ElementTree.parse(icon).getroot().tag.endswith("svg")
    assert render(chart=package).objects == default.objects


def test_chart_and_app_have_one_version() -> None:
    chart = yaml.safe_load((CHART / "Chart.yaml").read_text())

    assert f"<version>{chart['appVersion']}</version>" in (REPOSITORY / "app/pom.xml").read_text()

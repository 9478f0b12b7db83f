"""What a user gets in the hand: the chart's package, and the notes after an installation."""

from __future__ import annotations

import json
import tarfile
from collections.abc import Callable
from pathlib import Path

import pytest
import yaml

from e2e.chart.rendering import (
    CHART,
    KUBERNETES,
    REPOSITORY,
    Rendered,
    helm,
)

Render = Callable[..., Rendered]


RUN = ".venv/bin/vtlab run blocking"
WHERE = "--target kubernetes --namespace elsewhere --release mine"
ONLY = "vtlab measures blocking only under memory 768Mi, heap 384m and no settings; a copy of its JSON"


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
    said = notes("-f", any_values)

    assert "kubectl -n elsewhere create job --from=cronjob/mine-blocking blocking-1" in said
    assert "kubectl -n elsewhere logs -f job/blocking-1" in said
    assert "helm test mine -n elsewhere" in said
    if "no-monitoring" in any_values.name:
        assert "Monitoring is off" in said
    else:
        assert "kubectl -n monitoring port-forward svc/monitoring-grafana 3000:80" in said
        assert "get secret grafana-admin" in said
        for dashboard in (REPOSITORY / "grafana-dashboards").glob("*.json"):
            assert f"\n  {json.loads(dashboard.read_text())['title']}\n" in said
    # vtlab refuses other memory limits, heaps and settings than the experiment's.
    assert (f"{RUN} {WHERE}" in said) == any_values.name.startswith(("default", "own-services"))
    assert (ONLY in said) == any_values.name.startswith(("small-limit", "three-variants", "reproductions"))


@pytest.mark.parametrize(
    ("values", "command"),
    [
        ('limits.cpu="500m"', f"{RUN} --cpu 0.5 {WHERE}"),
        ('limits.cpu="0.50"', f"{RUN} --cpu 0.5 {WHERE}"),
        ("limits.cpu=0.5", f"{RUN} --cpu 0.5 {WHERE}"),
        ("limits.cpu=2", f"{RUN} --cpu 2 {WHERE}"),
        ("limits.cpu=1", f"{RUN} {WHERE}"),
        ('limits.cpu="1000m"', f"{RUN} {WHERE}"),
        ('limits.memory="786432Ki"', f"{RUN} {WHERE}"),
        ('limits.memory="1Gi"', ONLY),
        ('limits.heap="256m"', ONLY),
        ("settings.SERVER_TOMCAT_THREADS_MAX=400", ONLY),
        ('variants.virtual.jvmFlags=["-Xss1m"]', ONLY),
        ('experiments=["blocking-100ms"]', f"{RUN}-100ms --cpu 1 {WHERE}"),
    ],
)
def test_notes_print_what_vtlab_takes(notes: Callable[..., str], values: str, command: str) -> None:
    said = notes("--set-json", values)

    assert command in said
    assert (RUN in said) == (command != ONLY)


def test_notes_name_the_cpu_limits_of_experiments(notes: Callable[..., str]) -> None:
    assert "Experiments: blocking, blocking-100ms (made for 0.7 CPU), blocking-5s, " in notes()
    other = notes("--set", "limits.cpu=700m")
    assert "Experiments: blocking (made for 1 CPU), blocking-100ms, blocking-5s (made for 1 CPU), " in other


def test_notes_name_the_settings_of_an_experiment(notes: Callable[..., str], chart_copy: Path) -> None:
    experiment = json.loads((chart_copy / "k6/experiments/blocking.json").read_text())
    experiment["settings"] = {"SERVER_TOMCAT_THREADS_MAX": "400"}
    (chart_copy / "k6/experiments/blocking.json").write_text(json.dumps(experiment))

    assert 'heap 384m and settings {"SERVER_TOMCAT_THREADS_MAX":"400"};' in notes()
    assert f"{RUN} {WHERE}" in notes("--set", "settings.SERVER_TOMCAT_THREADS_MAX=400")


def test_notes_know_what_an_experiment_says_of_one_variant(notes: Callable[..., str], chart_copy: Path) -> None:
    experiment = json.loads((chart_copy / "k6/experiments/blocking.json").read_text())
    experiment["settings"] = {"POOL": "10"}
    experiment["properties"] = {"virtual": {"java": 21, "settings": {"POOL": "50"}, "jvm_flags": ["-Dx=1"]}}
    (chart_copy / "k6/experiments/blocking.json").write_text(json.dumps(experiment))
    values = 'variants.virtual.image.tag="21",variants.virtual.jvmFlags=["-Dx=1"],settings.POOL="10"'

    assert f"{RUN} {WHERE}" in notes("--set-json", f'{values},variants.virtual.env.POOL="50"')
    assert RUN not in notes("--set-json", values), "its setting is missing"
    assert RUN not in notes("--set-json", f'{values},variants.virtual.env.POOL="50",variants.virtual.jvmFlags=[]')


def test_notes_say_where_the_services_beside_the_variants_are(notes: Callable[..., str]) -> None:
    said = notes("-f", CHART / "ci/reproductions-values.yaml")
    assert "Database:    MariaDB in the pod mine-database-0; its password is in the Secret mine-database\n" in said
    assert "Downstream:  the Deployment mine-downstream\n" in said
    said = notes("-f", CHART / "ci/own-services-values.yaml")
    assert "Database:    jdbc:mysql://mysql.data:3307/lab?sslMode=REQUIRED; its password is in the " in said
    assert "Downstream:  https://slow.example.com\n" in said
    assert "Database:" not in notes()


def test_notes_say_in_which_folder_the_dashboards_are(notes: Callable[..., str]) -> None:
    assert 'Dashboards there, in the folder "Virtual Threads Lab":' in notes()
    assert 'in the folder "Ours":' in notes("--set", "monitoring.dashboards.folder=Ours")
    for switch in ("monitoring.enabled", "monitoring.dashboards.enabled"):
        assert "Dashboards" not in notes("--set", f"{switch}=false")


def test_the_package_holds_what_is_behind_the_links_as_files(tmp_path: Path, default: Rendered, render: Render) -> None:
    done = helm("package", CHART, "--destination", tmp_path)
    assert done.returncode == 0, done.stderr
    (package,) = tmp_path.glob("*.tgz")

    with tarfile.open(package) as archive:
        members = {member.name.partition("/")[2]: member for member in archive}
    assert all(member.isreg() for member in members.values())
    scripts = {name for name in members if name.startswith("k6/")}
    assert {"k6/block.ts", "k6/lib/plan.ts", "k6/experiments/blocking.json"} <= scripts
    assert all(name == "k6/block.ts" or name.startswith(("k6/lib/", "k6/experiments/")) for name in scripts)
    dashboards = {path.name for path in (REPOSITORY / "grafana-dashboards").glob("*.json")}
    packed = {name for name in members if name.startswith("grafana-dashboards/")}
    assert packed == {f"grafana-dashboards/{name}" for name in dashboards}
    assert not [name for name in members if "kube-prometheus-stack" in name or "node_modules" in name]
    assert render(chart=package).objects == default.objects


def test_chart_and_app_have_one_version() -> None:
    chart = yaml.safe_load((CHART / "Chart.yaml").read_text())

    assert f"<version>{chart['appVersion']}</version>" in (REPOSITORY / "app/pom.xml").read_text()

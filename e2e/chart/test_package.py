"""What a user gets in the hand: the chart's package, and the notes after an installation."""

from __future__ import annotations

import tarfile
from collections.abc import Callable
from pathlib import Path

import yaml

from e2e.chart.rendering import (
    CHART,
    KUBERNETES,
    REPOSITORY,
    Rendered,
    helm,
)

Render = Callable[..., Rendered]


def test_notes_name_this_release(any_values: Path, chart_copy: Path) -> None:
    # `helm template` leaves the notes out, and all other commands that show them want a cluster.
    (chart_copy / "templates/NOTES.txt").rename(chart_copy / "notes")
    (chart_copy / "templates/notes.yaml").write_text('notes: {{ tpl (.Files.Get "notes") . | toJson }}')
    where = ("--namespace", "elsewhere", "--kube-version", KUBERNETES)
    done = helm(
        "template",
        "mine",
        chart_copy,
        "-f",
        any_values,
        *where,
        "--show-only",
        "templates/notes.yaml",
    )

    assert done.returncode == 0, done.stderr
    notes = yaml.safe_load(done.stdout)["notes"]
    assert "kubectl -n elsewhere create job --from=cronjob/mine-blocking blocking-1" in notes
    assert "kubectl -n elsewhere logs -f job/blocking-1" in notes
    assert "helm test mine -n elsewhere" in notes
    if "no-monitoring" in any_values.name:
        assert "Monitoring is off" in notes
    else:
        assert "vtlab run blocking --target kubernetes --namespace elsewhere --release mine" in notes
        assert "kubectl -n monitoring port-forward svc/monitoring-grafana 3000:80" in notes
        assert "get secret grafana-admin" in notes


def test_the_package_holds_what_a_job_needs_as_files(tmp_path: Path, default: Rendered, render: Render) -> None:
    done = helm("package", CHART, "--destination", tmp_path)
    assert done.returncode == 0, done.stderr
    (package,) = tmp_path.glob("*.tgz")

    with tarfile.open(package) as archive:
        members = {member.name.partition("/")[2]: member for member in archive}
    assert all(member.isreg() for member in members.values())
    scripts = {name for name in members if name.startswith("k6/")}
    assert {"k6/block.ts", "k6/lib/plan.ts", "k6/experiments/blocking.json"} <= scripts
    assert all(name == "k6/block.ts" or name.startswith(("k6/lib/", "k6/experiments/")) for name in scripts)
    assert not [name for name in members if "kube-prometheus-stack" in name or "node_modules" in name]
    assert render(chart=package).objects == default.objects


def test_chart_and_app_have_one_version() -> None:
    chart = yaml.safe_load((CHART / "Chart.yaml").read_text())

    assert f"<version>{chart['appVersion']}</version>" in (REPOSITORY / "app/pom.xml").read_text()

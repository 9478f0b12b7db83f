"""Helm 3 makes the same objects of the chart as Helm 4, with which all other tests are.

Looks for Helm 3 where HELM3 says, then where `make step-helm3` builds it, then on PATH.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from e2e.chart.rendering import CHART, KUBERNETES, REPOSITORY, Json, Rendered, helm, helm_program, parsed, template

HELM3 = "HELM3"


def version(program: str) -> str:
    done = helm("version", "--template", "{{.Version}}", program=program)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def helm3() -> str:
    """The program."""
    for path in (os.environ.get(HELM3), REPOSITORY / ".tools/helm3/helm", shutil.which("helm")):
        if path and os.access(path, os.X_OK) and version(str(path)).startswith("v3."):
            return str(path)
    pytest.skip(f"no Helm 3: {HELM3}, or make step-helm3")


@pytest.fixture(scope="module")
def by_helm3(helm3: str) -> Callable[..., subprocess.CompletedProcess[str]]:
    """by_helm3("--set", "…", chart=…): what Helm 3 says."""

    def rendered(*arguments: str | Path, chart: Path = CHART) -> subprocess.CompletedProcess[str]:
        return template(chart, tuple(map(str, arguments)), helm3)

    return rendered


def without_random(rendered: Rendered) -> list[Json]:
    """The objects, without the password that each rendering makes anew."""
    return [
        {**item, "data": dict.fromkeys(item["data"])} if item["kind"] == "Secret" else item for item in rendered.objects
    ]


def test_all_other_tests_are_with_helm_4() -> None:
    assert version(helm_program()).startswith("v4.")


def test_both_make_the_same_objects(
    render: Callable[..., Rendered], by_helm3: Callable[..., subprocess.CompletedProcess[str]], any_values: Path
) -> None:
    # Some with a password of the chart's, and each kind of value.
    more = ("--set", "database.enabled=true,k6.env.A=1000000,settings.B=true", "--set-string", "requests.cpu=1")
    for arguments in (("-f", any_values), ("-f", any_values, *more)):
        assert without_random(parsed(by_helm3(*arguments))) == without_random(render(*arguments))


def test_both_refuse_the_same_values(
    refusal: Callable[..., str], by_helm3: Callable[..., subprocess.CompletedProcess[str]]
) -> None:
    for arguments, reason in (
        (("--set", "imagee=x"), "additional properties 'imagee' not allowed"),
        (("--set", "experiments={no-such}"), 'experiments: no experiment "no-such"'),
    ):
        assert reason in refusal(*arguments)
        done = by_helm3(*arguments)
        assert done.returncode != 0
        assert reason in done.stderr


def test_helm_3_finds_nothing_to_complain_about(helm3: str, any_values: Path) -> None:
    done = helm("lint", "--strict", "--kube-version", KUBERNETES, CHART, "-f", any_values, program=helm3)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "[WARNING]" not in done.stdout


def test_helm_3_reads_the_package_of_helm_4(
    tmp_path: Path, default: Rendered, by_helm3: Callable[..., subprocess.CompletedProcess[str]]
) -> None:
    assert helm("package", CHART, "--destination", tmp_path).returncode == 0
    (package,) = tmp_path.glob("*.tgz")
    assert parsed(by_helm3(chart=package)).objects == default.objects

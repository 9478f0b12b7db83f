"""The chart, rendered by the real helm."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from e2e.chart.rendering import CHART, CI_VALUES, Rendered, parsed, template


@pytest.fixture(scope="session")
def render() -> Callable[..., Rendered]:
    """render("--set", "…", chart=…): the objects; the test fails where helm does."""

    def rendered(*arguments: str | Path, chart: Path = CHART) -> Rendered:
        return parsed(template(chart, tuple(map(str, arguments))))

    return rendered


@pytest.fixture(scope="session")
def refusal() -> Callable[..., str]:
    """refusal("--set", "…"): what helm says as it refuses."""

    def refused(*arguments: str | Path, chart: Path = CHART) -> str:
        done = template(chart, tuple(map(str, arguments)))
        assert done.returncode != 0, "helm accepted it"
        assert done.stdout == ""
        return done.stderr

    return refused


@pytest.fixture(scope="session")
def default(render: Callable[..., Rendered]) -> Rendered:
    return render()


@pytest.fixture
def chart_copy(tmp_path: Path) -> Path:
    """A copy of the chart, to change."""
    return Path(shutil.copytree(CHART, tmp_path / "helm"))


@pytest.fixture(params=CI_VALUES, ids=lambda path: path.stem)
def any_values(request: pytest.FixtureRequest) -> Path:
    """Each of the values files in helm/ci, one after another."""
    return Path(request.param)

"""The images of a run of copies, unless the call names others."""

from __future__ import annotations

import yaml

from vtlab import shipped
from vtlab.targets.kubernetes.api.types import Json

#: Image of the run's own Prometheus, of the version that local runs have.
PROMETHEUS = "quay.io/prometheus/prometheus:v3.15.0"


def chart_values() -> Json:
    """Returns the values of the chart."""
    values: Json = yaml.safe_load((shipped.ROOT / "helm" / "values.yaml").read_text(encoding="utf-8"))
    return values


def of_chart() -> tuple[str, str]:
    """Returns the images that the chart names: the sample application's, which contains the agent, and k6's."""
    version = yaml.safe_load((shipped.ROOT / "helm" / "Chart.yaml").read_text(encoding="utf-8"))["appVersion"]
    values = chart_values()
    return _reference(values["image"], version), _reference(values["k6"]["image"], version)


def _reference(image: Json, version: str) -> str:
    """Returns an image of the chart's values, as the chart does."""
    by_digest = f"@{image['digest']}" if image["digest"] else ""
    return str(image["repository"]) + (by_digest or f":{image['tag'] or version}")

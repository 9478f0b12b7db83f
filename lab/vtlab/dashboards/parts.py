"""What panels and tables of the dashboards are made of."""

from __future__ import annotations

from grafana_foundation_sdk.builders import dashboard, prometheus
from grafana_foundation_sdk.models import dashboard as models
from grafana_foundation_sdk.models.prometheus import PromQueryFormat

from vtlab.catalogue.resources import EXCEEDED
from vtlab.dashboards import style

DATASOURCE = models.DataSourceRef(type_val="prometheus", uid="${datasource}")
#: Where the time axis has more points than this, each point stands for more than a second.
STEP = "1s"

NO_TRIAL = "no data because no trial of this run was measured in this time range"
NO_VERDICT = "no verdict because vtlab has written none in this time range: it does at a run's end"
NO_SERIES = "no data because this variant was not scraped or not loaded in this time range"


def override(name: str, value: object) -> models.DynamicConfigValue:
    """A property of an override, by its name in Grafana's JSON."""
    return models.DynamicConfigValue(id_val=name, value=value)


#: Where vtlab says something without a figure: what an empty panel says is not for these.
NO_FIGURE = [override("noValue", "–")]


def fixed(colour: str) -> models.DynamicConfigValue:
    """Its colour."""
    return override("color", {"mode": "fixed", "fixedColor": colour})


def ref_id(index: int) -> str:
    """The letter of a query."""
    return chr(ord("A") + index)


def instant(promql: str, ref: str, legend: str) -> prometheus.Dataquery:
    """A query at the end of the time range."""
    return (
        prometheus.Dataquery()
        .datasource(DATASOURCE)
        .expr(promql)
        .instant()
        .format(PromQueryFormat.TIME_SERIES)
        .legend_format(legend)
        .ref_id(ref)
    )


def _range(least: float, most: float | None, text: str) -> models.RangeMap:
    result = models.ValueMappingResult(text=text)
    return models.RangeMap(options=models.DashboardRangeMapOptions(from_val=least, to=most, result=result))


def of_bounds(reached: str) -> list[models.ValueMapping]:
    """Of utilisations: a bound is measured, too, so that 101 % means the same as 100 %."""
    return [_range(0.995, EXCEEDED, reached), _range(EXCEEDED, None, "no such bound")]


def neutral() -> dashboard.FieldColor:
    """The colour of what is no variant's."""
    return dashboard.FieldColor().mode(models.FieldColorModeId.FIXED).fixed_color(style.NEUTRAL)


def thresholds(*steps: tuple[float | None, str]) -> dashboard.ThresholdsConfig:
    """A colour from each value on."""
    config = dashboard.ThresholdsConfig().mode(models.ThresholdsMode.ABSOLUTE)
    return config.steps([models.Threshold(value=value, color=colour) for value, colour in steps])

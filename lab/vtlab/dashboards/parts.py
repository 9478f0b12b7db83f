"""Parts of panels and tables: queries, overrides, colours, and what an empty panel says."""

from __future__ import annotations

from dataclasses import dataclass

from grafana_foundation_sdk.builders import dashboard, prometheus
from grafana_foundation_sdk.models import dashboard as models
from grafana_foundation_sdk.models.prometheus import PromQueryFormat

from vtlab.catalogue.resources import EXCEEDED
from vtlab.dashboards import style

DATASOURCE = models.DataSourceRef(type_val="prometheus", uid="${datasource}")
#: Where the time axis has more points than this, each point stands for more than a second.
STEP = "1s"

#: Matches a variant's series, and none of another variant whose name begins alike.
OF_VARIANT = "/^({})([ :].*)?$/"

NO_TRIAL = "no data because no trial of this run was measured in this time range"
NO_VERDICT = "no verdict because vtlab wrote none in this time range: it writes one at the end of a run"
NO_SERIES = "no data because this variant was not scraped or not loaded in this time range"


@dataclass(frozen=True)
class Line:
    """One query of a panel. ``dashed`` tells a second kind of line of the same variant from the first."""

    promql: str
    legend: str = "{{variant}}"
    dashed: bool = False
    #: Grafana's "min step", which ``$__rate_interval`` is at least four times of.
    step: str = STEP


def override(name: str, value: object) -> models.DynamicConfigValue:
    """Sets a property by its name in Grafana's JSON."""
    return models.DynamicConfigValue(id_val=name, value=value)


#: For rows and series where vtlab says something without a figure, in place of the text of an empty panel.
NO_FIGURE = [override("noValue", "–")]


def fixed(colour: str) -> models.DynamicConfigValue:
    """Sets a fixed colour."""
    return override("color", {"mode": "fixed", "fixedColor": colour})


def ref_id(index: int) -> str:
    """Returns the letter of a query."""
    return chr(ord("A") + index)


def instant(promql: str, ref: str, legend: str) -> prometheus.Dataquery:
    """Queries at the end of the time range."""
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


def bound_texts(reached: str) -> list[models.ValueMapping]:
    """Maps utilisations to words: a bound is measured, too, so that 101 % means the same as 100 %."""
    return [_range(0.995, EXCEEDED, reached), _range(EXCEEDED, None, "no such bound")]


def neutral() -> dashboard.FieldColor:
    """Colours what belongs to no variant."""
    return dashboard.FieldColor().mode(models.FieldColorModeId.FIXED).fixed_color(style.NEUTRAL)


def thresholds(*steps: tuple[float | None, str]) -> dashboard.ThresholdsConfig:
    """Sets a colour from each value on."""
    config = dashboard.ThresholdsConfig().mode(models.ThresholdsMode.ABSOLUTE)
    return config.steps([models.Threshold(value=value, color=colour) for value, colour in steps])

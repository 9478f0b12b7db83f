"""Panels of lines over time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from grafana_foundation_sdk.builders import common, dashboard, prometheus, timeseries
from grafana_foundation_sdk.models import common as kinds
from grafana_foundation_sdk.models import dashboard as models
from grafana_foundation_sdk.models.prometheus import PromQueryFormat

from vtlab.dashboards import style
from vtlab.dashboards.parts import DATASOURCE, NO_SERIES, OF_VARIANT, Line, fixed, override, ref_id, thresholds

#: Points of a line at most: an hour, one a second. What is in windows alone has none where points are further apart.
_POINTS = 3600
_NO_POINTS = [override("custom.showPoints", "never")]
#: In a short window there are points and no line: small ones are those of the dashed line.
_DASHED = [
    override("custom.pointSize", 3),
    override("custom.lineStyle", {"fill": "dash", "dash": [6, 6]}),
    override("custom.lineWidth", 1),
]


@dataclass(frozen=True)
class OverTime:
    """Lines over time, with a point for each sample: a short window has few of them."""

    title: str
    description: str
    unit: str
    lines: Sequence[Line]
    width: int = 12
    height: int = 8
    #: By the series' name, where it is not a variant's.
    colours: Mapping[str, str] = field(default_factory=dict)
    stacked: bool = False
    maximum: float | None = None
    decimals: int | None = None
    #: A dashed line across the panel at that value.
    line_at: float | None = None
    points: bool = True
    no_value: str = NO_SERIES

    def panel(self) -> timeseries.Panel:
        """Builds the panel."""
        panel = self._empty_panel()
        if self.stacked:
            panel.stacking(common.StackingConfig().mode(kinds.StackingMode.NORMAL).group("A")).line_width(1)
        if self.maximum is not None:
            panel.axis_soft_max(self.maximum)
        if self.decimals is not None:
            panel.decimals(self.decimals)
        if self.line_at is not None:
            panel.thresholds(thresholds((None, "transparent"), (self.line_at, style.REACHED)))
            panel.thresholds_style(common.GraphThresholdsStyleConfig().mode(kinds.GraphThresholdsStyleMode.DASHED))
        for index, line in enumerate(self.lines):
            panel.with_target(_ranged(line, ref_id(index)))
        by_name = {f"/^{name}$/": colour for name, colour in self.colours.items()}
        by_variant = {OF_VARIANT.format(variants): colour for colour, variants in style.VARIANTS.items()}
        for regexp, colour in (by_name | by_variant).items():
            panel.override_by_regexp(regexp, [fixed(colour)])
        for index, line in enumerate(self.lines):
            if line.dashed:
                panel.override_by_query(ref_id(index), [*_DASHED, *(_NO_POINTS if line.legend == "limit" else [])])
        return panel

    def _empty_panel(self) -> timeseries.Panel:
        return (
            timeseries.Panel()
            .title(self.title)
            .description(self.description)
            .datasource(DATASOURCE)
            .height(self.height)
            .span(self.width)
            .unit(self.unit)
            .max_data_points(_POINTS)
            .no_value(self.no_value)
            .color_scheme(dashboard.FieldColor().mode(models.FieldColorModeId.PALETTE_CLASSIC_BY_NAME))
            .line_width(2)
            .fill_opacity(60 if self.stacked else 0)
            .gradient_mode(kinds.GraphGradientMode.NONE)
            .draw_style(kinds.GraphDrawStyle.LINE)
            .show_points(kinds.VisibilityMode.ALWAYS if self.points else kinds.VisibilityMode.NEVER)
            .point_size(7)
            .span_nulls(False)
            .min(0)
            .axis_border_show(False)
            .legend(
                common.VizLegendOptions()
                .display_mode(kinds.LegendDisplayMode.LIST)
                .placement(kinds.LegendPlacement.BOTTOM)
                .show_legend(True)
                .calcs([])
            )
            .tooltip(common.VizTooltipOptions().mode(kinds.TooltipDisplayMode.MULTI).sort(kinds.SortOrder.DESCENDING))
        )


def _ranged(line: Line, ref: str) -> prometheus.Dataquery:
    return (
        prometheus.Dataquery()
        .datasource(DATASOURCE)
        .expr(line.promql)
        .range()
        .interval(line.step)
        .format(PromQueryFormat.TIME_SERIES)
        .legend_format(line.legend)
        .ref_id(ref)
    )

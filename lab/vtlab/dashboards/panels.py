"""Constructors that every dashboard's panels come from, but for its tables. All of them set a unit, a description and
what an empty panel says."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from grafana_foundation_sdk.builders import common, dashboard, prometheus, stat, timeseries
from grafana_foundation_sdk.models import common as kinds
from grafana_foundation_sdk.models import dashboard as models
from grafana_foundation_sdk.models.prometheus import PromQueryFormat

from vtlab.catalogue.resources import EXCEEDED
from vtlab.dashboards import queries, style
from vtlab.dashboards.parts import (
    DATASOURCE,
    NO_FIGURE,
    NO_SERIES,
    NO_TRIAL,
    NO_VERDICT,
    STEP,
    fixed,
    instant,
    neutral,
    of_bounds,
    override,
    ref_id,
    thresholds,
)

NAME_ONLY = kinds.BigValueTextMode.NAME

#: What matches a variant's series, and none of another's whose name begins alike.
_OF = "/^({})([ :].*)?$/"


@dataclass(frozen=True)
class Line:
    """One query of a panel. ``dashed`` tells a second kind of line of the same variant from the first."""

    promql: str
    legend: str = "{{variant}}"
    dashed: bool = False
    #: Grafana's "min step", which ``$__rate_interval`` is at least four times of.
    step: str = STEP


def _queries(line: Line) -> tuple[str, ...]:
    return queries.ordered(line.promql) if line.legend.startswith("{{variant}}") else (line.promql,)


#: Of a variant that the load alone limits.
_NOT_SATURATED = [{"type": "range", "options": {"from": 0.9, "to": EXCEEDED, "result": {"text": "not saturated"}}}]


def figures(
    title: str,
    description: str,
    unit: str,
    lines: Sequence[Line],
    *,
    height: int = 4,
    width: int = 6,
    decimals: int | None = None,
    no_value: str = NO_TRIAL,
    size: int | None = 32,
    names: int = 16,
    units: Mapping[str, str] | None = None,
    text: kinds.BigValueTextMode = kinds.BigValueTextMode.VALUE_AND_NAME,
    vertical: bool = False,
) -> stat.Panel:
    """Big numbers of the whole time range beside each other, each in its variant's colour. ``units`` are other units,
    by the series' name. With ``size`` None they fill the panel, and what an empty one says gets small enough, too."""
    panel = (
        stat.Panel()
        .title(title)
        .description(description)
        .datasource(DATASOURCE)
        .height(height)
        .span(width)
        .unit(unit)
        .no_value(no_value)
        .color_scheme(neutral())
        .thresholds(thresholds((None, style.NEUTRAL)))
        .reduce_options(common.ReduceDataOptions().calcs(["lastNotNull"]).values(False))
        .graph_mode(kinds.BigValueGraphMode.NONE)
        .color_mode(kinds.BigValueColorMode.VALUE)
        .justify_mode(kinds.BigValueJustifyMode.CENTER)
        .orientation(kinds.VizOrientation.HORIZONTAL if vertical else kinds.VizOrientation.VERTICAL)
        .text_mode(text)
        .wide_layout(False)
    )
    if decimals is not None:
        panel.decimals(decimals)
    text_size = common.VizTextDisplayOptions().title_size(names)
    panel.text(text_size if size is None else text_size.value_size(size))
    # Of each variant's, platform's come first.
    queried = [(promql, line.legend) for line in lines for promql in _queries(line)]
    for index, (promql, legend) in enumerate(queried):
        panel.with_target(instant(promql, ref_id(index), legend))
    for colour, variants in style.VARIANTS.items():
        panel.override_by_regexp(_OF.format(variants), [fixed(colour)])
    for name, other in (units or {}).items():
        panel.override_by_regexp(f"/^{name}$/", [override("unit", other)])
    return panel


def verdict(*, width: int) -> stat.Panel:
    """The verdict with its ratio, one for each comparison; before there is one, that there is none."""
    blocks = queries.metric("blocks_so_far", "run")
    panel = figures(
        "Verdict",
        "That of vtlab's report: the ratio to the first variant. With ≥ or ≤ the load was the limit of one of them. A"
        " single block, as by hand, has no verdict.",
        "suffix:×",
        [
            Line(queries.published("vtlab_comparison_ratio", queries.PRIMARY), "{{headline}}: {{metric}} {{sign}}"),
            Line(f"{queries.published('vtlab_failed_blocks')} > 0", "blocks: {{variant}} failed"),
            Line(queries.without_verdict(f"{blocks} == 1"), "one block: no verdict"),
            Line(queries.without_verdict(f"{blocks} > 1"), "blocks so far: no verdict yet"),
        ],
        width=width,
        height=5,
        decimals=3,
        # Room for two lines above it, and for what an empty one says.
        size=40,
        names=20,
        no_value="no data because no trial",
    )
    panel.override_by_regexp("/./", NO_FIGURE)
    return panel.override_by_regexp(
        "/block/", [fixed(style.NEUTRAL), override("unit", "none"), override("decimals", 0)]
    )


def bottleneck(*, width: int) -> stat.Panel:
    """What limits each variant."""
    panel = figures(
        "What limits each variant",
        "By vtlab's verdict: to be faster a variant needs more of it, and the figure is how closely throughput reaches"
        " its bound. 'unknown' means that nothing measured explains the throughput.",
        "percentunit",
        [Line(queries.published("vtlab_bottleneck_ratio"), "{{variant}}: {{bottleneck}}")],
        width=width,
        height=5,
        decimals=0,
        size=None,
        names=20,
        no_value=NO_VERDICT,
    )
    panel.mappings(of_bounds("at its limit")).override_by_regexp("/./", NO_FIGURE)
    return panel.override_by_regexp("/: Load .it keeps up.$/", [override("mappings", _NOT_SATURATED)])


def over_time(
    title: str,
    description: str,
    unit: str,
    lines: Sequence[Line],
    *,
    width: int = 12,
    height: int = 8,
    colours: Mapping[str, str] | None = None,
    stacked: bool = False,
    maximum: float | None = None,
    decimals: int | None = None,
    line_at: float | None = None,
    points: bool = True,
    no_value: str = NO_SERIES,
) -> timeseries.Panel:
    """Lines over time, with a point for each sample: of a short window there are few. ``colours`` are those of the
    series by their names, where they are not the variants'."""
    panel = (
        timeseries.Panel()
        .title(title)
        .description(description)
        .datasource(DATASOURCE)
        .height(height)
        .span(width)
        .unit(unit)
        .no_value(no_value)
        .color_scheme(dashboard.FieldColor().mode(models.FieldColorModeId.PALETTE_CLASSIC_BY_NAME))
        .line_width(2)
        .fill_opacity(60 if stacked else 0)
        .gradient_mode(kinds.GraphGradientMode.NONE)
        .draw_style(kinds.GraphDrawStyle.LINE)
        .show_points(kinds.VisibilityMode.ALWAYS if points else kinds.VisibilityMode.NEVER)
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
    if stacked:
        panel.stacking(common.StackingConfig().mode(kinds.StackingMode.NORMAL).group("A")).line_width(1)
    if maximum is not None:
        panel.axis_soft_max(maximum)
    if decimals is not None:
        panel.decimals(decimals)
    if line_at is not None:
        panel.thresholds(thresholds((None, "transparent"), (line_at, style.REACHED)))
        panel.thresholds_style(common.GraphThresholdsStyleConfig().mode(kinds.GraphThresholdsStyleMode.DASHED))
    for index, line in enumerate(lines):
        panel.with_target(_ranged(line, ref_id(index)))
    named = {f"/^{name}$/": colour for name, colour in (colours or {}).items()}
    of_variants = {_OF.format(variants): colour for colour, variants in style.VARIANTS.items()}
    for regexp, colour in (named | of_variants).items():
        panel.override_by_regexp(regexp, [fixed(colour)])
    for index, line in enumerate(lines):
        if line.dashed:
            panel.override_by_query(ref_id(index), [*_DASHED, *(_NO_POINTS if line.legend == "limit" else [])])
    return panel


_NO_POINTS = [override("custom.showPoints", "never")]
#: In a short window there are points and no line: small ones are those of the dashed line.
_DASHED = [
    override("custom.pointSize", 3),
    override("custom.lineStyle", {"fill": "dash", "dash": [6, 6]}),
    override("custom.lineWidth", 1),
]


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

"""Constructors that every dashboard's panels come from. All of them set a unit, a description and what an empty panel
says."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from grafana_foundation_sdk.builders import common, dashboard, prometheus, stat, table, timeseries
from grafana_foundation_sdk.models import common as kinds
from grafana_foundation_sdk.models import dashboard as models
from grafana_foundation_sdk.models.prometheus import PromQueryFormat

from vtlab.catalogue import resources
from vtlab.catalogue.dashboards import queries, style
from vtlab.catalogue.resources import EXCEEDED

DATASOURCE = models.DataSourceRef(type_val="prometheus", uid="${datasource}")
#: Where the time axis has more points than this, each point stands for more than a second.
STEP = "1s"

NO_TRIAL = "no data because no trial of this run was measured in this time range"
NO_VERDICT = "no verdict because vtlab has written none in this time range: it does at a run's end"
NO_SERIES = "no data because this variant was not scraped or not loaded in this time range"

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


def _property(name: str, value: object) -> models.DynamicConfigValue:
    return models.DynamicConfigValue(id_val=name, value=value)


#: Where vtlab says something without a figure: what an empty panel says is not for these.
_NO_FIGURE = [_property("noValue", "–")]


def fixed(colour: str) -> models.DynamicConfigValue:
    """The property of an override."""
    return _property("color", {"mode": "fixed", "fixedColor": colour})


def _ref(index: int) -> str:
    return chr(ord("A") + index)


def _instant(promql: str, ref: str, legend: str) -> prometheus.Dataquery:
    return (
        prometheus.Dataquery()
        .datasource(DATASOURCE)
        .expr(promql)
        .instant()
        .format(PromQueryFormat.TIME_SERIES)
        .legend_format(legend)
        .ref_id(ref)
    )


def _queries(line: Line) -> tuple[str, ...]:
    return queries.ordered(line.promql) if line.legend.startswith("{{variant}}") else (line.promql,)


def _range(least: float, most: float | None, text: str) -> models.RangeMap:
    result = models.ValueMappingResult(text=text)
    return models.RangeMap(options=models.DashboardRangeMapOptions(from_val=least, to=most, result=result))


def _of_bounds(reached: str) -> list[models.ValueMapping]:
    """Of utilisations: a bound is measured, too, so that 101 % means the same as 100 %."""
    return [_range(0.995, EXCEEDED, reached), _range(EXCEEDED, None, "no such bound")]


#: Of a variant that the load alone limits.
_NOT_SATURATED = [{"type": "range", "options": {"from": 0.9, "to": EXCEEDED, "result": {"text": "not saturated"}}}]


def _neutral() -> dashboard.FieldColor:
    return dashboard.FieldColor().mode(models.FieldColorModeId.FIXED).fixed_color(style.NEUTRAL)


def _steps(*steps: tuple[float | None, str]) -> dashboard.ThresholdsConfig:
    config = dashboard.ThresholdsConfig().mode(models.ThresholdsMode.ABSOLUTE)
    return config.steps([models.Threshold(value=value, color=colour) for value, colour in steps])


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
        .color_scheme(_neutral())
        .thresholds(_steps((None, style.NEUTRAL)))
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
        panel.with_target(_instant(promql, _ref(index), legend))
    for colour, variants in style.VARIANTS.items():
        panel.override_by_regexp(_OF.format(variants), [fixed(colour)])
    for name, other in (units or {}).items():
        panel.override_by_regexp(f"/^{name}$/", [_property("unit", other)])
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
    panel.override_by_regexp("/./", _NO_FIGURE)
    return panel.override_by_regexp(
        "/block/", [fixed(style.NEUTRAL), _property("unit", "none"), _property("decimals", 0)]
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
    panel.mappings(_of_bounds("at its limit")).override_by_regexp("/./", _NO_FIGURE)
    return panel.override_by_regexp("/: load .it keeps up.$/", [_property("mappings", _NOT_SATURATED)])


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
        panel.thresholds(_steps((None, "transparent"), (line_at, style.REACHED)))
        panel.thresholds_style(common.GraphThresholdsStyleConfig().mode(kinds.GraphThresholdsStyleMode.DASHED))
    for index, line in enumerate(lines):
        panel.with_target(_ranged(line, _ref(index)))
    named = {f"/^{name}$/": colour for name, colour in (colours or {}).items()}
    of_variants = {_OF.format(variants): colour for colour, variants in style.VARIANTS.items()}
    for regexp, colour in (named | of_variants).items():
        panel.override_by_regexp(regexp, [fixed(colour)])
    for index, line in enumerate(lines):
        if line.dashed:
            panel.override_by_query(_ref(index), [*_DASHED, *(_NO_POINTS if line.legend == "limit" else [])])
    return panel


_NO_POINTS = [_property("custom.showPoints", "never")]
#: In a short window there are points and no line: small ones are those of the dashed line.
_DASHED = [
    _property("custom.pointSize", 3),
    _property("custom.lineStyle", {"fill": "dash", "dash": [6, 6]}),
    _property("custom.lineWidth", 1),
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


def _as_bar(reached: float) -> list[models.DynamicConfigValue]:
    steps = [{"value": None, "color": style.NEUTRAL}, {"value": reached, "color": style.REACHED}]
    return [
        _property("custom.cellOptions", {"type": "gauge", "mode": "basic", "valueDisplayMode": "text"}),
        _property("min", 0),
        _property("max", 1),
        _property("color", {"mode": "thresholds"}),
        _property("thresholds", {"mode": "absolute", "steps": steps}),
        _property("mappings", _of_bounds("reached")),
    ]


def no_number(text: str) -> dict[str, object]:
    """What stands in place of NaN."""
    return {"type": "special", "options": {"match": "nan", "result": {"text": text}}}


_NO_NUMBER = (no_number("–"),)
#: Of a latency of clients.
NOT_SETTLED = no_number("not settled")
TOO_FEW: dict[str, object] = {"type": "value", "options": {str(queries.TOO_FEW): {"text": "too few requests"}}}


@dataclass(frozen=True)
class Column:
    """A column of a table: its name, unit and query. With ``reached`` it is a utilisation, drawn as a bar to 1, which
    stands out from there on. ``texts`` stand in place of figures: those of NaN, and of numbers that are none."""

    name: str
    unit: str
    promql: str
    decimals: int | None = None
    reached: float | None = None
    texts: Sequence[Mapping[str, object]] = _NO_NUMBER


def rows(
    title: str,
    description: str,
    labels: Mapping[str, str],
    columns: Sequence[Column],
    *,
    sort: str,
    descending: bool = False,
    width: int = 24,
    height: int = 8,
    no_value: str = NO_TRIAL,
    pixels: Mapping[str, int] | None = None,
) -> table.Panel:
    """A table with a row for each combination of ``labels`` (label -> its column's name), by the column ``sort``.
    ``pixels`` are the widths of columns that leave more to the others, by their names."""
    panel = (
        table.Panel()
        .title(title)
        .description(description)
        .datasource(DATASOURCE)
        .height(height)
        .span(width)
        .unit("short")
        .no_value(no_value)
        .color_scheme(_neutral())
        .show_header(True)
        .cell_height(kinds.TableCellHeight.SM)
        .min_width(60)
    )
    for index, column in enumerate(columns):
        panel.with_target(_instant(column.promql, _ref(index), "").format(PromQueryFormat.TABLE))
    values = {f"Value #{_ref(index)}": column.name for index, column in enumerate(columns)}
    if len(columns) == 1:
        # Of a single query Grafana leaves the letter out.
        values = {"Value": columns[0].name}
    order = [*labels, *values]
    panel.with_transformation(models.DataTransformerConfig(id_val="merge", options={}))
    panel.with_transformation(
        models.DataTransformerConfig(
            id_val="organize",
            options={
                "excludeByName": {name: True for name in ("Time", *_LABELS) if name not in labels},
                "indexByName": {name: index for index, name in enumerate(order)},
                "renameByName": {**labels, **values},
            },
        )
    )
    panel.with_transformation(
        models.DataTransformerConfig(id_val="sortBy", options={"sort": [{"field": sort, "desc": descending}]})
    )
    for column in columns:
        properties = [_property("unit", column.unit), *_NO_FIGURE]
        properties += (
            _as_bar(column.reached) if column.reached is not None else [_property("mappings", list(column.texts))]
        )
        if column.decimals is not None:
            properties.append(_property("decimals", column.decimals))
        panel.override_by_name(column.name, properties)
    for name, width_of_column in (pixels or {}).items():
        panel.override_by_name(name, [_property("custom.width", width_of_column)])
    for label in ("variant", "over"):
        if label in labels:
            panel.override_by_name(labels[label], _IN_ITS_COLOUR)
    if "resource" in labels:
        panel.override_by_name(labels["resource"], [_property("mappings", [_RESOURCE_TITLES])])
    return panel


#: Labels of what is published, beside those that a table shows.
_LABELS = ("namespace", "experiment", "testid", "variant", "over", "resource", "metric", "sign")
_IN_ITS_COLOUR = [
    _property(
        "mappings",
        [
            {
                "type": "value",
                "options": {
                    name: {"color": colour}
                    for colour, variants in style.VARIANTS.items()
                    for name in variants.split("|")
                    # What is no name but a pattern has no colour in tables.
                    if name.replace("-", "").isalnum()
                },
            }
        ],
    ),
    _property("custom.cellOptions", {"type": "color-text"}),
]
_RESOURCE_TITLES = {
    "type": "value",
    "options": {name: {"text": resource.title} for name, resource in resources.RESOURCES.items()},
}

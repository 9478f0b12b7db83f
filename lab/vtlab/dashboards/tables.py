"""The constructor that every table of the dashboards comes from."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from grafana_foundation_sdk.builders import table
from grafana_foundation_sdk.models import common as kinds
from grafana_foundation_sdk.models import dashboard as models
from grafana_foundation_sdk.models.prometheus import PromQueryFormat

from vtlab.catalogue import resources
from vtlab.dashboards import queries, style
from vtlab.dashboards.parts import DATASOURCE, NO_FIGURE, NO_TRIAL, instant, neutral, of_bounds, override, ref_id

_SERVED = {"type": "value", "options": {str(queries.SERVED): {"text": "served"}}}


def _as_bar(reached: float) -> list[models.DynamicConfigValue]:
    steps = [{"value": None, "color": style.NEUTRAL}, {"value": reached, "color": style.REACHED}]
    return [
        override("custom.cellOptions", {"type": "gauge", "mode": "basic", "valueDisplayMode": "text"}),
        override("min", 0),
        override("max", 1),
        override("color", {"mode": "thresholds"}),
        override("thresholds", {"mode": "absolute", "steps": steps}),
        override("mappings", [*of_bounds("reached"), _SERVED]),
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
        .color_scheme(neutral())
        .show_header(True)
        .cell_height(kinds.TableCellHeight.SM)
        .min_width(60)
    )
    for index, column in enumerate(columns):
        panel.with_target(instant(column.promql, ref_id(index), "").format(PromQueryFormat.TABLE))
    values = {f"Value #{ref_id(index)}": column.name for index, column in enumerate(columns)}
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
        properties = [override("unit", column.unit), *NO_FIGURE]
        properties += (
            _as_bar(column.reached) if column.reached is not None else [override("mappings", list(column.texts))]
        )
        if column.decimals is not None:
            properties.append(override("decimals", column.decimals))
        panel.override_by_name(column.name, properties)
    for name, width_of_column in (pixels or {}).items():
        panel.override_by_name(name, [override("custom.width", width_of_column)])
    for label in ("variant", "over"):
        if label in labels:
            panel.override_by_name(labels[label], _IN_ITS_COLOUR)
    if "resource" in labels:
        panel.override_by_name(labels["resource"], [override("mappings", [_RESOURCE_TITLES])])
    return panel


#: Labels of what is published, beside those that a table shows.
_LABELS = ("namespace", "experiment", "testid", "variant", "over", "resource", "metric", "sign")
_IN_ITS_COLOUR = [
    override(
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
    override("custom.cellOptions", {"type": "color-text"}),
]
_RESOURCE_TITLES = {
    "type": "value",
    "options": {name: {"text": resource.title} for name, resource in resources.RESOURCES.items()},
}

"""Tables of the dashboards."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from grafana_foundation_sdk.builders import table
from grafana_foundation_sdk.models import common as kinds
from grafana_foundation_sdk.models import dashboard as models
from grafana_foundation_sdk.models.prometheus import PromQueryFormat

from vtlab.catalogue import resources
from vtlab.dashboards import queries, style
from vtlab.dashboards.parts import DATASOURCE, NO_FIGURE, NO_TRIAL, bound_texts, instant, neutral, override, ref_id

_SERVED = {"type": "value", "options": {str(queries.SERVED): {"text": "served"}}}


def _as_bar(reached: float) -> list[models.DynamicConfigValue]:
    steps = [{"value": None, "color": style.NEUTRAL}, {"value": reached, "color": style.REACHED}]
    return [
        override("custom.cellOptions", {"type": "gauge", "mode": "basic", "valueDisplayMode": "text"}),
        override("min", 0),
        override("max", 1),
        override("color", {"mode": "thresholds"}),
        override("thresholds", {"mode": "absolute", "steps": steps}),
        override("mappings", [*bound_texts("reached"), _SERVED]),
    ]


def no_number(text: str) -> dict[str, object]:
    """Shows a text in place of NaN."""
    return {"type": "special", "options": {"match": "nan", "result": {"text": text}}}


_NO_NUMBER = (no_number("–"),)
#: For a latency of clients.
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
    #: Whether it only sorts.
    hidden: bool = False


#: Labels of what is published, beside those that a table shows.
_LABELS = ("namespace", "experiment", "testid", "variant", "over", "resource")
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
_OUTCOMES = [
    override(
        "mappings",
        [
            {"type": "regex", "options": {"pattern": f"^(.*({words}))$", "result": {"text": "$1", "color": colour}}}
            for words, colour in style.OUTCOMES.items()
        ],
    ),
    override("custom.cellOptions", {"type": "color-text"}),
]
_WRAPPED = [override("custom.cellOptions", {"type": "auto", "wrapText": True})]
_RESOURCE_TITLES = {
    "type": "value",
    "options": {name: {"text": resource.title} for name, resource in resources.RESOURCES.items()},
}


@dataclass(frozen=True)
class Table:
    """A table with a row for each combination of ``labels`` (label -> its column's name), by the column ``sort``."""

    title: str
    description: str
    labels: Mapping[str, str]
    columns: Sequence[Column]
    sort: str
    descending: bool = False
    width: int = 24
    height: int = 8
    no_value: str = NO_TRIAL
    #: Widths of columns that leave more room to the others, by their names.
    pixels: Mapping[str, int] = field(default_factory=dict)

    def panel(self) -> table.Panel:
        """Builds the panel."""
        panel = (
            table.Panel()
            .title(self.title)
            .description(self.description)
            .datasource(DATASOURCE)
            .height(self.height)
            .span(self.width)
            .unit("short")
            .no_value(self.no_value)
            .color_scheme(neutral())
            .show_header(True)
            .cell_height(kinds.TableCellHeight.SM)
            .min_width(60)
        )
        for index, column in enumerate(self.columns):
            panel.with_target(instant(column.promql, ref_id(index), "").format(PromQueryFormat.TABLE))
        self._put_together(panel)
        self._format_columns(panel)
        self._format_labels(panel)
        return panel

    def _put_together(self, panel: table.Panel) -> None:
        """Merges the queries into rows, and sorts rows and columns."""
        values = {f"Value #{ref_id(index)}": column.name for index, column in enumerate(self.columns)}
        if len(self.columns) == 1:
            # Of a single query Grafana leaves the letter out.
            values = {"Value": self.columns[0].name}
        names = {**self.labels, **values}
        hidden = [raw for raw, name in values.items() if any(c.hidden and c.name == name for c in self.columns)]
        excluded = [name for name in ("Time", *_LABELS) if name not in self.labels]
        sorted_by = next(raw for raw, name in names.items() if name == self.sort)
        transformations: dict[str, dict[str, object]] = {
            "merge": {},
            # Before a column that only sorts is left out.
            "sortBy": {"sort": [{"field": sorted_by, "desc": self.descending}]},
            "organize": {
                "excludeByName": dict.fromkeys([*excluded, *hidden], True),
                "indexByName": {name: index for index, name in enumerate(names)},
                "renameByName": names,
            },
        }
        for name, options in transformations.items():
            panel.with_transformation(models.DataTransformerConfig(id_val=name, options=options))

    def _format_columns(self, panel: table.Panel) -> None:
        for column in self.columns:
            if column.hidden:
                continue
            properties = [override("unit", column.unit), *NO_FIGURE]
            properties += (
                _as_bar(column.reached) if column.reached is not None else [override("mappings", list(column.texts))]
            )
            if column.decimals is not None:
                properties.append(override("decimals", column.decimals))
            panel.override_by_name(column.name, properties)
        for name, width in self.pixels.items():
            panel.override_by_name(name, [override("custom.width", width)])

    def _format_labels(self, panel: table.Panel) -> None:
        for label in ("variant", "over"):
            if label in self.labels:
                panel.override_by_name(self.labels[label], _IN_ITS_COLOUR)
        if "outcome" in self.labels:
            panel.override_by_name(self.labels["outcome"], _OUTCOMES)
        if "headline" in self.labels:
            panel.override_by_name(self.labels["headline"], _WRAPPED)
        if "resource" in self.labels:
            panel.override_by_name(self.labels["resource"], [override("mappings", [_RESOURCE_TITLES])])

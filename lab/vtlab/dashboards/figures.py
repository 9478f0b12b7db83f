"""Panels of big numbers: the bottleneck, and others."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from grafana_foundation_sdk.builders import common, stat
from grafana_foundation_sdk.models import common as kinds

from vtlab.catalogue.resources import EXCEEDED
from vtlab.dashboards import queries, style
from vtlab.dashboards.parts import (
    DATASOURCE,
    NO_FIGURE,
    NO_TRIAL,
    NO_VERDICT,
    OF_VARIANT,
    Line,
    bound_texts,
    fixed,
    instant,
    neutral,
    override,
    ref_id,
    thresholds,
)

NAME_ONLY = kinds.BigValueTextMode.NAME

#: For a variant that only the load limits.
_NOT_SATURATED = [{"type": "range", "options": {"from": 0.9, "to": EXCEEDED, "result": {"text": "not saturated"}}}]


@dataclass(frozen=True)
class Figures:
    """Big numbers of the whole time range beside each other, each in its variant's colour."""

    title: str
    description: str
    unit: str
    lines: Sequence[Line]
    height: int = 4
    width: int = 6
    decimals: int | None = None
    no_value: str = NO_TRIAL
    #: Size of the figures; None: they fill the panel, and the text of an empty one gets small enough, too.
    size: int | None = 32
    #: Size of the names.
    names: int = 16
    #: Other units, by the series' name.
    units: Mapping[str, str] = field(default_factory=dict)
    text: kinds.BigValueTextMode = kinds.BigValueTextMode.VALUE_AND_NAME
    vertical: bool = False

    def panel(self) -> stat.Panel:
        """Builds the panel."""
        panel = self._empty_panel()
        if self.decimals is not None:
            panel.decimals(self.decimals)
        text_size = common.VizTextDisplayOptions().title_size(self.names)
        panel.text(text_size if self.size is None else text_size.value_size(self.size))
        queried = [(promql, line.legend) for line in self.lines for promql in _queries(line)]
        for index, (promql, legend) in enumerate(queried):
            panel.with_target(instant(promql, ref_id(index), legend))
        for colour, variants in style.VARIANTS.items():
            panel.override_by_regexp(OF_VARIANT.format(variants), [fixed(colour)])
        for name, unit in self.units.items():
            panel.override_by_regexp(f"/^{name}$/", [override("unit", unit)])
        return panel

    def _empty_panel(self) -> stat.Panel:
        return (
            stat.Panel()
            .title(self.title)
            .description(self.description)
            .datasource(DATASOURCE)
            .height(self.height)
            .span(self.width)
            .unit(self.unit)
            .no_value(self.no_value)
            .color_scheme(neutral())
            .thresholds(thresholds((None, style.NEUTRAL)))
            .reduce_options(common.ReduceDataOptions().calcs(["lastNotNull"]).values(False))
            .graph_mode(kinds.BigValueGraphMode.NONE)
            .color_mode(kinds.BigValueColorMode.VALUE)
            .justify_mode(kinds.BigValueJustifyMode.CENTER)
            .orientation(kinds.VizOrientation.HORIZONTAL if self.vertical else kinds.VizOrientation.VERTICAL)
            .text_mode(self.text)
            .wide_layout(False)
        )


def _queries(line: Line) -> tuple[str, ...]:
    """Splits a query of all variants, so that platform comes first."""
    return queries.ordered(line.promql) if line.legend.startswith("{{variant}}") else (line.promql,)


def bottleneck(*, width: int) -> stat.Panel:
    """Shows what limits each variant."""
    panel = Figures(
        "What limits each variant",
        "By vtlab's verdict: more of it would make the variant faster, and the figure is how closely throughput reaches"
        " its bound. 'unknown' means that nothing measured explains the throughput.",
        "percentunit",
        [Line(queries.published("vtlab_bottleneck_ratio"), "{{variant}}: {{bottleneck}}")],
        width=width,
        height=5,
        decimals=0,
        size=None,
        names=20,
        no_value=NO_VERDICT,
    ).panel()
    panel.mappings(bound_texts("at its limit")).override_by_regexp("/./", NO_FIGURE)
    return panel.override_by_regexp("/: Load .it keeps up.$/", [override("mappings", _NOT_SATURATED)])

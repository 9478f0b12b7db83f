"""The picture of ``docs/explanation/few-blocks.md``: how blocks scatter in the archive, and how often intervals with a
prior cover the truth."""

from __future__ import annotations

from collections.abc import Iterator

from markupsafe import Markup

from maintain import priors
from vtlab.analysis.statistics import simulated_priors
from vtlab.report.charts.axes import horizontal_grid, vertical_grid
from vtlab.report.charts.scales import Scale
from vtlab.report.charts.svg import circle, element, line, path, text

PICTURE = "docs/images/few-blocks.svg"
_WIDTH, _LEFT, _ROW = 720, 110, 26
_BLOCKS, _RUNS = 3, 20_000
_ENDS = (0.0005, 0.5)
_STYLE = """svg{font:13px system-ui,sans-serif}text{fill:#333}.tick{font-size:11px;fill:#666}.grid{stroke:#ddd}
.one{stroke:#999}.dot{fill:#3b6fb6;fill-opacity:.55}.prior{stroke:#c0392b;stroke-width:3}.promise{stroke:#c0392b;
stroke-dasharray:5 3}.k0,.k1,.k2{fill:none;stroke:#3b6fb6;stroke-width:2}.k1{stroke-dasharray:7 3}.k2{stroke-dasharray:
2 3}@media(prefers-color-scheme:dark){svg{background:#1e2129}text{fill:#ddd}.tick{fill:#aaa}.grid{stroke:#3a3f4b}.one{
stroke:#777}.dot{fill:#7fb0f0}.prior,.promise{stroke:#ff8a7a}.k0,.k1,.k2{stroke:#7fb0f0}}"""


def picture() -> str:
    """Draws both charts."""
    rows = sorted(priors.deviations(priors.read()).items())
    top = 30 + _ROW * max(1, len(rows)) + 60
    title = "How blocks scatter, and how often intervals with a prior cover the truth"
    height = top + 260
    return (
        str(
            element(
                "svg",
                element("title", title),
                element("style", Markup(_STYLE.replace("\n", ""))),
                *_scatter(rows),
                *_coverage(top),
                xmlns="http://www.w3.org/2000/svg",
                viewBox=f"0 0 {_WIDTH} {height}",
                role="img",
                aria_label=title,
            )
        )
        + "\n"
    )


def _scatter(rows: list[tuple[str, dict[str, tuple[float, int]]]]) -> Iterator[Markup]:
    """Draws a dot for each series, by criterion, and the prior."""
    across = Scale(*_ENDS, _LEFT, _WIDTH - 20, log=True)
    bottom = 30 + _ROW * max(1, len(rows))
    yield text(0, 18, "Standard deviation of a block's ratio: a dot a service, a bar the prior s₀")
    yield from vertical_grid((28, bottom), across, {0.001: "0.1 %", 0.01: "1 %", 0.1: "10 %", 0.5: "50 %"})
    for number, (criterion, of) in enumerate(rows):
        y = 30 + _ROW * (number + 0.5)
        yield text(_LEFT - 10, y + 4, criterion, "end")
        yield from (circle(across(sd), y, 4, "dot", f"{name}: {sd:.2%}") for name, (sd, _) in sorted(of.items()))
        if prior := priors.fit(list(of.values())):
            yield line(across(prior.sd), y - 9, across(prior.sd), y + 9, "prior")


def _coverage(top: float) -> Iterator[Markup]:
    """Draws the coverage over the true deviation, a line for each kind of scatter."""
    across, up = Scale(0.25, 3.0, _LEFT, _WIDTH - 20), Scale(0.70, 1.0, top + 190, top + 14)
    yield text(0, top, f"Coverage of intervals of 95 % over {_BLOCKS} blocks, by the true deviation in s₀")
    yield from horizontal_grid(
        (_LEFT, _WIDTH - 20), up, {0.7: "70 %", 0.8: "80 %", 0.9: "90 %", 0.95: "95 %", 1.0: "100 %"}
    )
    yield from vertical_grid((top + 14, top + 190), across, {0.5: "0.5", 1.0: "1", 1.5: "1.5", 2.0: "2", 3.0: "3"})
    for end, least in (((0.25, 1.0), 0.93), ((1.0, 1.5), 0.90)):
        yield line(across(end[0]), up(least), across(end[1]), up(least), "promise")
    for number, (kind, draw) in enumerate(simulated_priors.KINDS.items()):
        covered = {m: simulated_priors.covered(draw, m, _BLOCKS, _RUNS).coverage for m in simulated_priors.MULTIPLES}
        yield path([(across(m), up(share)) for m, share in covered.items()], f"k{number}")
        x = _LEFT + 210 * number
        yield line(x, top + 230, x + 30, top + 230, f"k{number}")
        yield text(x + 36, top + 234, kind.partition(":")[0])

"""Page of a picture: title, style sheet and background for a stand-alone SVG file."""

from __future__ import annotations

from markupsafe import Markup

from vtlab.report.charts.svg import element, rect

#: Colours as in reports (``vtlab/report/pages/report.css``): light, dark.
_COLOURS = {
    "paper": ("#ffffff", "#171e26"),
    "ink": ("#18212d", "#e7ecf2"),
    "soft": ("#525d6c", "#a9b4c2"),
    "rule": ("#d8dee6", "#313b48"),
    "wash": ("#eef1f5", "#202934"),
    "good": ("#0b6e4f", "#5fd3a5"),
    "bad": ("#a92a35", "#ff9a9a"),
    "same": ("#38506e", "#a9c3e2"),
    "open": ("#805300", "#f0c060"),
    "v0": ("#b0420a", "#f2995c"),
    "v1": ("#0b5ea8", "#6bb5f2"),
}
_RULES = """svg{font:13px system-ui,-apple-system,"Segoe UI",Roboto,"Liberation Sans",Arial,sans-serif}
text{fill:var(--ink)}.paper{fill:var(--paper)}.head{font-size:15px;font-weight:600}.tick{font-size:11px}
.tick,.soft{fill:var(--soft)}.grid{stroke:var(--rule)}.one{stroke:var(--soft)}
.margin{fill:var(--soft);opacity:.17}.v0{--v:var(--v0)}.v1{--v:var(--v1)}
.solid{fill:var(--v)}.faint{fill:var(--v);opacity:.28}.line{fill:none;stroke:var(--v);stroke-width:2.2}
.law{fill:none;stroke:var(--v);stroke-dasharray:2 4}
.good{--tone:var(--good)}.bad{--tone:var(--bad)}.same{--tone:var(--same)}.open{--tone:var(--open)}.none{--tone:var(--soft)}
.whisker{stroke:var(--tone);stroke-width:2.2}.beyond{stroke-width:1.4;stroke-dasharray:3 3}
.estimate,.arrow{fill:var(--tone);stroke:var(--tone);stroke-width:1.6}.hollow{fill:var(--paper)}.toned{fill:var(--tone)}"""


def document(size: tuple[float, float], title: str, description: str, *parts: str, style: str = "") -> str:
    """Writes an SVG file of that width and height: ``title`` names the picture, ``description`` tells it in words.
    ``style``: rules beside the common ones."""
    width, height = size
    return (
        element(
            "svg",
            element("title", title),
            element("desc", description),
            element("style", Markup(_style() + style.replace("\n", ""))),
            rect(0, 0, width, height, "paper"),
            *parts,
            xmlns="http://www.w3.org/2000/svg",
            viewBox=f"0 0 {width:g} {height:g}",
            role="img",
            aria_label=title,
        )
        + "\n"
    )


def _style() -> str:
    light, dark = (";".join(f"--{name}:{pair[at]}" for name, pair in _COLOURS.items()) for at in (0, 1))
    return f"svg{{{light}}}@media(prefers-color-scheme:dark){{svg{{{dark}}}}}" + _RULES.replace("\n", "")

"""One colour per variant, the same in the report and in every dashboard.

Of the hues of M. Okabe, K. Ito: Color Universal Design, 2008, which colour-blind people can tell apart, each as dark or
as light as it must be to stand out from white and from black paper alike (contrast of at least 3, WCAG 2.1, 1.4.11):
Grafana has one colour for both themes.
"""

from __future__ import annotations

from collections.abc import Sequence

ORANGE, BLUE, GREEN, PURPLE = "#D97706", "#0A84CC", "#009E73", "#B565A7"
VERMILLION, SKY, YELLOW, GREY = "#E0503A", "#4A94C4", "#A68A00", "#8E8E8E"

#: A variant that comes to the lab gets its line here.
VARIANTS = {"platform": ORANGE, "virtual": BLUE, "virtual-jdk21": GREEN, "reactive": PURPLE}
#: In this order of variants that have no line above.
_OTHERS = (ORANGE, BLUE, GREEN, PURPLE, VERMILLION, SKY, YELLOW)


def of(variants: Sequence[str]) -> list[str]:
    """A colour for each of these variants, all different as long as there are any."""
    named = {VARIANTS[name] for name in variants if name in VARIANTS}
    others = iter([colour for colour in _OTHERS if colour not in named])
    return [VARIANTS.get(name) or next(others, GREY) for name in variants]

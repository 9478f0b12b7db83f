"""One colour per variant, the same in the report and in every dashboard.

Of the hues of M. Okabe, K. Ito: Color Universal Design, 2008, which colour-blind people can tell apart, each as dark or
as light as it must be to stand out from white and from black paper alike (contrast of at least 3, WCAG 2.1, 1.4.11):
Grafana has one colour for both themes.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

ORANGE, BLUE, GREEN, PURPLE = "#D97706", "#0A84CC", "#009E73", "#B565A7"
VERMILLION, SKY, YELLOW, GREY = "#E0503A", "#4A94C4", "#A68A00", "#8E8E8E"

#: The names of variants that have a colour in dashboards, too, as regular expressions: those of the lab's experiments,
#: and one of each kind that ``--variant`` adds, on JDK 21 or 25. No two of an experiment have the same. In tables what
#: is no plain name, as ``platform-[0-9]+``, has none.
VARIANTS = {
    ORANGE: "platform|platform-jdk21|pool-8|pool-10|bounded|one-thread|lock-jdk21",
    BLUE: "virtual|pool-50|unbounded|one-carrier|monitor-jdk25",
    GREEN: "virtual-jdk21|pool-200|pool-250|two-carriers|monitor-jdk21",
    PURPLE: "reactive|virtual-jdk25|four-carriers",
    YELLOW: "virtual-driver9|platform-[0-9]+",
    SKY: "virtual-pool[0-9]+",
}
#: In this order of variants whose colour is not known, or is another one's already.
_OTHERS = (ORANGE, BLUE, GREEN, PURPLE, VERMILLION, SKY, YELLOW)


def known_colour(variant: str) -> str | None:
    """Returns the colour of a variant of that name, if there is one."""
    return next((colour for colour, names in VARIANTS.items() if re.fullmatch(names, variant)), None)


def colours(variants: Sequence[str]) -> list[str]:
    """Chooses a colour for each of these variants, all different as long as there are any."""
    first = {colour: name for name in reversed(variants) if (colour := known_colour(name))}
    others = iter([colour for colour in _OTHERS if colour not in first])
    return [
        colour if (colour := known_colour(name)) and first[colour] == name else next(others, GREY) for name in variants
    ]

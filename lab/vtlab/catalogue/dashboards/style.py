"""Colours: one per variant, the same in every dashboard, and Okabe and Ito's, which colour-blind people can tell apart.

M. Okabe, K. Ito: Color Universal Design, 2008.
"""

from __future__ import annotations

from vtlab.catalogue import resources

ORANGE, SKY, GREEN, YELLOW = "#E69F00", "#56B4E9", "#009E73", "#F0E442"
BLUE, VERMILLION, PURPLE, GREY = "#0072B2", "#D55E00", "#CC79A7", "#8E8E8E"
#: Their blue is too dark for text on Grafana's dark theme: the same hue, lighter.
LIGHT_BLUE = "#0A84CC"

#: A variant that comes to the lab gets its line here.
VARIANTS = {"platform": ORANGE, "virtual": LIGHT_BLUE, "virtual-jdk21": SKY, "reactive": GREEN}
#: Of ratios, and of what is no variant's.
NEUTRAL = GREY
#: What is at its bound.
REACHED = VERMILLION

#: Within one variant's panel.
RESOURCES = {name: resource.colour for name, resource in resources.RESOURCES.items()}
STATES = {"runnable": GREEN, "blocked": VERMILLION, "waiting": GREY, "timed-waiting": SKY}

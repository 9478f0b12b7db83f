"""Colours of figures that belong to no variant."""

from __future__ import annotations

from vtlab.catalogue import palette, resources

VARIANTS = palette.VARIANTS
#: Colour of limits, and of what has no verdict.
NEUTRAL = palette.GREY
#: What is at its bound.
REACHED = palette.VERMILLION
GENERATOR = palette.PURPLE
#: Colours of outcomes, by a pattern of their words. The others are neutral.
OUTCOMES = {"better": palette.GREEN, "worse|fails": palette.VERMILLION, "undecided": palette.YELLOW}

#: Within one variant's panel.
RESOURCES = {name: resource.colour for name, resource in resources.RESOURCES.items()}
STATES = {
    "runnable": palette.GREEN,
    "blocked": palette.VERMILLION,
    "waiting": palette.GREY,
    "timed-waiting": palette.SKY,
}

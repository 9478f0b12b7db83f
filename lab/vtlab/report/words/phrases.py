"""Phrases that several sentences share."""

from __future__ import annotations

from vtlab.model.experiment import Experiment
from vtlab.model.load import ClosedLoad


def load_words(experiment: Experiment) -> str:
    """Puts the load into words: ``1,000 users``, ``150 arrivals per second``."""
    load = experiment.load
    if isinstance(load, ClosedLoad):
        return f"{load.users:,} user{'' if load.users == 1 else 's'}"
    return f"{load.rate:,.10g} arrivals per second"

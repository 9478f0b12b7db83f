"""Latency that a user wants to hold: ``p99=200ms`` (``--slo``)."""

from __future__ import annotations

from typing import Annotated, Literal, get_args

from pydantic import Field

from vtlab.errors import BadInput
from vtlab.model import units
from vtlab.model.records import Record

ObjectivePercentile = Literal["p50", "p90", "p95", "p99"]


class Objective(Record):
    """Percentile of latency, and the most seconds that it may be."""

    percentile: ObjectivePercentile
    seconds: Annotated[float, Field(gt=0)]


def parse(text: str) -> Objective:
    """Parses ``p99=200ms``. BadInput for anything else."""
    percentile, _, limit = text.partition("=")
    names = get_args(ObjectivePercentile)
    if percentile not in names:
        raise BadInput(f"--slo {text}: no percentile of {', '.join(names)}", "write it as --slo p99=200ms")
    try:
        seconds = units.seconds(limit)
    except ValueError as error:
        raise BadInput(f"--slo {text}: {error}", "write it as --slo p99=200ms") from None
    if not seconds:
        raise BadInput(f"--slo {text}: no time at all", "write it as --slo p99=200ms")
    return Objective(percentile=percentile, seconds=seconds)

"""Throughput and latency over users: what the search for a load found, on the JVMs of one block."""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, ConfigDict

#: Why the search went no further: no variant serves more, the load generator or the machine was at its end, a variant
#: failed, the time was over, or there are as many users as vtlab asks for at most.
Ended = Literal["levelled off", "load generator", "failed", "time", "most users"]


class _Record(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Point(_Record):
    """One variant at one level, in a window of some seconds. One trial: no interval."""

    variant: str
    users: int
    #: OK requests per second.
    throughput: float
    #: Mean and 99th percentile of the client's latency, seconds; None without an answer, and the percentile with fewer
    #: than 1,000 answers.
    mean: float | None
    p99: float | None
    #: Share of the answers that were errors.
    failed: float
    #: OK answers in the window; 0 where that is not known.
    answers: int = 0
    #: The longest answer, seconds; None where that is not known.
    longest: float | None = None
    #: Share of the CPU limit that the JIT compiler took from the requests; 0 where the CPU was not scarce, None where
    #: that is not known.
    jit: float | None = None


class Curve(_Record):
    """Points that the search measured, in its order, and the users that it chose by them."""

    points: list[Point]
    ended: Ended
    #: In words, where that needs any: which variant failed, and how.
    why: str = ""
    #: Seconds that it took, with the warm-up under the CPU limit before its levels.
    seconds: float
    #: Users of the blocks.
    chosen: int

    def points_of(self, variant: str) -> list[Point]:
        """Selects the points of one variant, by users."""
        return sorted((point for point in self.points if point.variant == variant), key=lambda point: point.users)

    @property
    def users(self) -> list[int]:
        """The levels, the smallest first."""
        return sorted({point.users for point in self.points})

"""Runs as read from a results directory, and their analyses."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

from vtlab.model.experiment import Experiment
from vtlab.model.manifest import Manifest
from vtlab.model.records import Block, ServerFigure
from vtlab.model.verdict import Rejection, Verdict

#: One block's samples: variant -> metric (``metrics.REPORT_SERIES``) -> [[epoch ms, value], …].
BlockSeries = dict[str, dict[str, list[list[float]]]]


@dataclass(frozen=True)
class Run:
    """A results directory as read: everything recorded, nothing judged."""

    manifest: Manifest
    experiment: Experiment
    blocks: list[Block]
    #: (block, attempt) -> samples; absent where a run was killed before they were written.
    series: dict[tuple[int, int], BlockSeries]
    #: What reading it passed over: a last line that a killed run left unfinished.
    warnings: list[str] = field(default_factory=list)

    @property
    def name(self) -> str:
        """The name as planned: that of the manifest."""
        return self.manifest.name


@dataclass(frozen=True)
class CheckResult:
    """A validity check over several blocks: its limit and the worst value in words, with where that was."""

    name: str
    limit: str
    worst: str
    passed: bool


@dataclass(frozen=True)
class Analysis:
    """A run, judged: which blocks count, and the verdict over them."""

    run: Run
    accepted: list[Block]
    rejected: list[Rejection]
    verdict: Verdict
    #: One row for each validity check, over the blocks that count.
    checks: list[CheckResult]

    def has_windows(self, variant: str) -> bool:
        """Tells whether a window of a variant counts: one that broke in the warm-up has none."""
        return any(trial.variant == variant for block in self.accepted for trial in (*block.trials, *block.typical))

    def over_windows(self, variant: str, figure: ServerFigure) -> float | None:
        """Averages a figure of the server over all windows of a variant that count, each as long as it was; None where
        none has it."""
        trials = [trial for block in self.accepted for trial in block.trials if trial.variant == variant]
        values_and_windows = [
            (value, trial.window) for trial in trials if (value := trial.server.get(figure)) is not None
        ]
        seconds = math.fsum(window for _, window in values_and_windows)
        return math.fsum(value * window for value, window in values_and_windows) / seconds if seconds else None

"""Difference of the first block of a run from the others: the search for the load is in it alone.

``python -m maintain.first_block [DIRECTORY…]`` prints a row for each run of six blocks or more and each criterion: of
these results directories, without any of the archive.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from maintain import priors
from maintain.priors import Series
from vtlab.analysis.laws.estimates import quantile
from vtlab.errors import LabError
from vtlab.runs.report import analyse_runs

#: Blocks of a run from which on the others tell how blocks scatter.
LEAST_BLOCKS = 6
NONE = f"no run of {LEAST_BLOCKS} blocks or more"
_TITLE = "The first block of a run over the mean of the others, in %, with its 95 % interval."
_HEAD = f"{'criterion':13} {'blocks':>6}  {'search':6}  {'first block':>27}  run"


@dataclass(frozen=True)
class Effect:
    """The log ratio of a first block less the mean of the others, and half of the width of its 95 % interval; None
    where the others are all alike."""

    difference: float
    half: float | None

    def __str__(self) -> str:
        """Writes it in percent: ``+1.2 (-3.1 to +5.7)``."""
        if self.half is None:
            return _percent(self.difference)
        ends = (_percent(self.difference + side * self.half) for side in (-1, 1))
        return f"{_percent(self.difference)} ({' to '.join(ends)})"


def effect(log_ratios: Sequence[float]) -> Effect:
    """Compares the first block with the others, which tell how blocks scatter: a first block that is as the others lies
    within the interval of one more block of theirs in 95 % of runs."""
    first, *others = log_ratios
    difference = first - float(np.mean(others))
    sd = float(np.std(others, ddof=1)) if max(others) > min(others) else 0.0
    half = quantile(len(others) - 1) * sd * math.sqrt(1 + 1 / len(others))
    return Effect(difference, half or None)


def effects(archive: Mapping[str, Series]) -> Iterator[tuple[str, str, Effect]]:
    """Yields run, criterion and effect. A criterion that a block lacks is left out: its first value may be of another
    block."""
    for name, series in archive.items():
        for criterion, logs in series.log_ratios.items():
            if len(logs) == series.blocks >= LEAST_BLOCKS:
                yield name, criterion, effect(logs)


def table(archive: Mapping[str, Series]) -> str:
    """Writes a row for each of them, by criterion; runs with a search on the first block's JVMs come first."""
    found = sorted(effects(archive), key=lambda row: (row[1], not archive[row[0]].searched, row[0]))
    rows = [
        f"{criterion:13} {archive[name].blocks:6}  {'yes' if archive[name].searched else 'no':6}  {of!s:>27}  {name}"
        for name, criterion, of in found
    ]
    return "\n".join([_TITLE, _HEAD, *rows]) if rows else NONE


def _percent(log: float) -> str:
    return f"{100 * math.expm1(log):+.1f}"


def main(arguments: Sequence[str], folder: Path = priors.FOLDER) -> int:
    try:
        analyses = [analysis for path in arguments for analysis in analyse_runs(Path(path))]
    except LabError as error:
        print(f"first_block: {error.message}\n  fix: {error.fix}", file=sys.stderr)
        return error.exit_code
    long = [analysis for analysis in analyses if analysis.verdict.n >= LEAST_BLOCKS]
    named = {analysis.run.manifest.run_id: priors.series_of(analysis) for analysis in long}
    print(table(named if arguments else priors.read(folder)))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

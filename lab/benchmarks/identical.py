"""Aims of "six criteria, one decision" that whole calls of vtlab show, each with what it found.

    cd lab && ../.venv/bin/python -m benchmarks.identical [--results FOLDER] [--read DIR...]

A variant beside itself, six blocks of ``blocking``, ``behind-a-pool`` and ``cpu`` (about an hour): no outcome may be
other than ``same`` or ``undecided``. ``--read`` takes results directories of earlier such calls and measures nothing.
Exit code 1 where an outcome is another.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

from benchmarks.aims import call_vtlab
from vtlab import shipped
from vtlab.host import machine
from vtlab.model.outcome import Outcome
from vtlab.model.run import Analysis
from vtlab.runs.report import analyse_runs

EXPERIMENTS = ("blocking", "behind-a-pool", "cpu")
BLOCKS = "6"
#: What a variant beside itself may be.
ALIKE = ("same", "undecided")


def outcomes(analyses: Sequence[Analysis]) -> list[tuple[str, Outcome]]:
    """Lists the outcomes of runs with the names of these, without criteria that have none."""
    return [(a.run.name, o) for a in analyses for o in a.verdict.outcomes if o.judgement is not None]


def false(found: Sequence[tuple[str, Outcome]]) -> list[tuple[str, Outcome]]:
    """Selects the outcomes that say a difference where there is none."""
    return [(name, outcome) for name, outcome in found if outcome.judgement not in ALIKE]


def row(name: str, outcome: Outcome) -> str:
    """Writes an outcome as a line of the table."""
    ratio = "" if outcome.ratio is None else f"{outcome.ratio:.3f}"
    ends = "" if outcome.low is None or outcome.high is None else f"{outcome.low:.3f} to {outcome.high:.3f}"
    sd = "" if outcome.sd is None else f"{outcome.sd:.2%}"
    return f"| {name} | {outcome.key} | {ratio} | {ends} | {sd} | {outcome.judgement} |"


def main(arguments: Sequence[str]) -> int:
    """Measures, or reads, and prints the table."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.identical", description=(__doc__ or "").partition("\n")[0]
    )
    parser.add_argument("--results", type=Path, default=shipped.ROOT / "results", help="where results stay")
    parser.add_argument("--read", type=Path, nargs="+", metavar="DIR", help="results directories to read instead")
    options = parser.parse_args(arguments)
    command = ["lab", "aa", "--blocks", BLOCKS]
    folders = options.read or [
        call_vtlab([*command[:2], name, *command[2:]], options.results.resolve()).folder for name in EXPERIMENTS
    ]
    named_outcomes = outcomes([analysis for folder in folders for analysis in analyse_runs(folder)])
    described = ", ".join(f"{key} {value}" for key, value in machine.describe().items())
    print(f"{datetime.now(UTC):%Y-%m-%d}, {described}\n")
    print("| experiment | criterion | ratio | interval | SD of a block | outcome |\n|---|---|---|---|---|---|")
    for name, outcome in named_outcomes:
        print(row(name, outcome))
    wrong = false(named_outcomes)
    print(f"\n{len(wrong)} of {len(named_outcomes)} outcomes are other than {' or '.join(ALIKE)}; the aim is 0")
    return int(bool(wrong))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

"""The table of aims of a decision in eight minutes: each measure as it is now, beside version 0.2 and the aim.

    cd lab && ../.venv/bin/python -m benchmarks.aims [--results FOLDER] [--calls N] [--jar NAME=PATH...] [ROW...]

All rows if none is named, but those of a jar that is not given; that takes hours. ``--list`` names them. Each row is
calls of vtlab, whose results directories stay in FOLDER (results); only how long a call took is measured here. A
measure of less than ten minutes is the median of three calls; ``--calls`` says how many each row is to have.
``cluster`` needs a cluster with the lab (make up, and its KUBECONFIG). Exit code 1 where a call failed.
"""

from __future__ import annotations

import argparse
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path

from vtlab import shipped
from vtlab.analysis.statistics import paired
from vtlab.errors import LabError
from vtlab.host import machine
from vtlab.model.run import Analysis
from vtlab.runs.report import analyse_runs

VTLAB = Path(sys.executable).parent / "vtlab"
#: Blocks that tell a standard deviation to a factor of 0.74 to 1.55.
SD_BLOCKS = "16"
#: Stands in a command where the path of a jar goes.
JAR = "JAR"
#: Where vtlab's own output goes: the table alone is on stdout.
_STDERR = 2


@dataclass(frozen=True)
class Call:
    """One call of vtlab that ended well."""

    #: Wall time of the command.
    seconds: float
    folder: Path

    @property
    def analyses(self) -> list[Analysis]:
        """Reads what the call measured."""
        return analyse_runs(self.folder)


@dataclass(frozen=True)
class Row:
    """One measure of the table. ``describe``: writes its value from the row's calls."""

    measure: str
    earlier: str
    aim: str
    command: Sequence[str]
    describe: Callable[[Sequence[Call]], str]
    calls: int = 1


def verdicts(calls: Sequence[Call]) -> str:
    """Writes the seconds of a call, median, and how many of its runs have a decision."""
    analyses = [analysis for call in calls for analysis in call.analyses]
    settled = sum(all(d.advice != "no decision" for d in a.verdict.decisions) for a in analyses)
    blocks = ", ".join(f"{a.run.name} {a.verdict.n}" for a in analyses)
    return f"{_seconds([c.seconds for c in calls])}; {settled} of {len(analyses)} settled (blocks: {blocks})"


def minutes(calls: Sequence[Call]) -> str:
    """Writes the minutes of a call, median."""
    return f"{statistics.median(call.seconds for call in calls) / 60:.1f} min"


def spread(calls: Sequence[Call]) -> str:
    """Writes the per-block standard deviation of the log ratio of the throughputs, with its 95 % interval."""
    outcomes = [o for call in calls for a in call.analyses for o in a.verdict.outcomes if str(o.key) == "capacity"]
    ratios = [ratio for outcome in outcomes for ratio in outcome.log_ratios]
    sd = paired.spread(ratios)
    if sd.sd is None or sd.low is None or sd.high is None:
        return "unknown: two blocks are needed"
    return f"{sd.sd:.2%}, 95 % interval {sd.low:.2%} to {sd.high:.2%} (blocks: {sd.n})"


def block(calls: Sequence[Call]) -> str:
    """Writes the seconds of a block that counts, with the start of its JVMs, median."""
    seconds = [b.seconds for call in calls for a in call.analyses for b in a.accepted if b.seconds is not None]
    return _seconds(seconds) if seconds else "unknown: no block counts"


def over_law(calls: Sequence[Call]) -> str:
    """Writes the throughput of each variant over the operational law."""
    shares = [
        f"{name} {result.fidelity:.4f}"
        for call in calls
        for a in call.analyses
        for name, result in a.verdict.variants.items()
        if result.fidelity is not None
    ]
    return ", ".join(shares) or "unknown: no block counts"


def _seconds(values: Sequence[float]) -> str:
    listed = ", ".join(f"{value:.0f}" for value in values)
    return f"{statistics.median(values):.0f} s" + (f" (of {listed})" if len(values) > 1 else "")


ROWS = {
    "compare": Row(
        "`make compare`, set up",
        "360 s",
        "≤ 360 s, both decided",
        ["run", "blocking", "behind-a-pool", "--precision", "25%"],
        verdicts,
        3,
    ),
    "blocking": Row(
        "the decision on `blocking` alone",
        "137 s",
        "≤ 140 s",
        ["run", "blocking", "--precision", "25%"],
        verdicts,
        3,
    ),
    "petclinic": Row(
        "spring-petclinic (H2)",
        "no decision",
        "decided within 8 min, 3 of 3",
        ["try", JAR, "GET /owners/1"],
        verdicts,
        3,
    ),
    "petclinic-rest": Row(
        "spring-petclinic-rest (15 requests), `vtlab init --openapi` before",
        "no decision",
        "decided within 10 min, 2 of 3",
        ["try", JAR, "--max-time", "10m"],
        verdicts,
        3,
    ),
    "hikaricp": Row("hikaricp-production-tuning", "decided", "decided within 8 min, 3 of 3", ["try", JAR], verdicts, 3),
    "cpu-aa": Row("`cpu`: per-block SD, A/A", "1.9 %", "≤ 1.5 %", ["lab", "aa", "cpu", "--blocks", SD_BLOCKS], spread),
    "cpu-ab": Row("`cpu`: per-block SD, A/B", "3 to 9 %", "≤ 2 %", ["run", "cpu", "--blocks", SD_BLOCKS], spread),
    "reproduce": Row(
        "`vtlab lab reproduce-publication`", "89 min", "≤ 45 min", ["lab", "reproduce-publication"], minutes
    ),
    "quick": Row(
        "`vtlab lab reproduce-publication --quick`",
        "28 min",
        "≤ 20 min",
        ["lab", "reproduce-publication", "--quick"],
        minutes,
    ),
    "cluster": Row(
        "block on a cluster, `blocking`",
        "83 s",
        "≤ 105 s",
        ["run", "blocking", "--target", "kubernetes", "--blocks", "3"],
        block,
    ),
    "law": Row(
        "throughput over the law, `blocking-5s`", "1.000", "≥ 0.999", ["run", "blocking-5s", "--blocks", "2"], over_law
    ),
}


def with_jar(name: str, jars: Mapping[str, str]) -> Row:
    """Returns a row whose command has the jar, or the vtlab.yaml, that was given for it."""
    row = ROWS[name]
    return replace(row, command=[jars.get(name, JAR) if word == JAR else word for word in row.command])


def known_jars(given: Sequence[str], named: Sequence[str]) -> dict[str, str]:
    """Reads ``NAME=PATH`` for each row that needs a jar; ValueError where one is missing of a row that was named."""
    jars = dict(text.split("=", 1) for text in given if "=" in text)
    needing = [name for name, row in ROWS.items() if JAR in row.command]
    if unknown := [text for text in given if text.partition("=")[0] not in needing or "=" not in text]:
        raise ValueError(f"--jar {unknown[0]}: NAME=PATH is expected, with the name of a row: {', '.join(needing)}")
    if missing := [name for name in named if name in needing and name not in jars]:
        raise ValueError(f"{missing[0]} needs a jar: --jar {missing[0]}=PATH")
    return jars


def call_vtlab(command: Sequence[str], root: Path) -> Call:
    """Calls vtlab; raises LabError where it does not end well."""
    before = set(root.iterdir()) if root.is_dir() else set()
    begin = time.monotonic()
    done = subprocess.run([VTLAB, *command, "--results", root], stdout=_STDERR, check=False)
    seconds = time.monotonic() - begin
    if done.returncode:
        raise LabError(f"vtlab {' '.join(command)} ended with exit code {done.returncode}", "see what it printed")
    new_folders = [folder for folder in set(root.iterdir()) - before if not folder.name.startswith(".")]
    if len(new_folders) != 1:
        raise LabError(f"{root} has {len(new_folders)} new folders, one was expected", "let nothing else write there")
    return Call(seconds, new_folders[0])


def measure_row(row: Row, root: Path, calls: int) -> str:
    """Measures a row, and writes it as a line of the table."""
    try:
        text = row.describe([call_vtlab(row.command, root) for _ in range(calls)])
    except LabError as error:
        text = f"FAILED: {error.message}"
    command = f"`vtlab {' '.join(row.command)}`"
    return f"| {row.measure} | {row.earlier} | {row.aim} | {text} | {calls} | {command} |"


def main(arguments: Sequence[str]) -> int:
    """Measures, and prints each row as soon as it is there."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.aims", description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("rows", nargs="*", metavar="ROW", help=", ".join(ROWS))
    parser.add_argument("--results", type=Path, default=shipped.ROOT / "results", help="where results stay")
    parser.add_argument("--calls", type=int, metavar="N", help="of each row, in place of three or one")
    parser.add_argument("--jar", action="append", default=[], metavar="NAME=PATH", help="the jar of a row")
    parser.add_argument("--list", action="store_true", help="only name the rows")
    options = parser.parse_args(arguments)
    if unknown := [name for name in options.rows if name not in ROWS]:
        parser.error(f"no such row: {', '.join(unknown)}; there is {', '.join(ROWS)}")
    if options.calls is not None and options.calls < 1:
        parser.error(f"--calls {options.calls}: at least one call is needed")
    if options.list:
        for name, row in ROWS.items():
            print(f"{name:10} {row.measure}")
        return 0
    try:
        jars = known_jars(options.jar, options.rows)
    except ValueError as error:
        parser.error(str(error))
    described = ", ".join(f"{key} {value}" for key, value in machine.describe().items())
    print(f"{datetime.now(UTC):%Y-%m-%d}, {described}\n")
    print("| measure | version 0.2 | aim | now | calls | command |\n|---|---|---|---|---|---|", flush=True)
    failed = False
    for name in options.rows or [name for name, row in ROWS.items() if JAR not in row.command or name in jars]:
        row = with_jar(name, jars)
        line = measure_row(row, options.results.resolve(), options.calls or row.calls)
        failed |= "FAILED" in line
        print(line, flush=True)
    return int(failed)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

"""``docs/evidence/measured.md``: the figures of real runs, each with its command, machine, date and n.

``python -m maintain.measured_page [--conditions TEXT] DIR…`` takes over the runs of results directories into
``docs/evidence/measured.json`` and writes the page. TEXT says what else the machine did. A run replaces an earlier one
of the same experiment under the same limits on the same target. The page and its pictures are made from that file alone
(``make generate``), so that they can be checked where the results directories are not.
"""

from __future__ import annotations

import json
import re
import shlex
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path, PurePath
from typing import Any

from pydantic import BaseModel, ConfigDict, TypeAdapter

from maintain.reference.pages import code, page, table
from vtlab import shipped
from vtlab.analysis import verdict
from vtlab.errors import BadInput, LabError
from vtlab.model import publication, variant
from vtlab.model.manifest import Manifest
from vtlab.model.outcome import Judgement, Outcome
from vtlab.model.run import Analysis
from vtlab.report.words import advice, block_counts, bottlenecks, figures, labels, outcome_rows
from vtlab.runs.report import analyse_runs, describe_noise

DATA = "docs/evidence/measured.json"
PAGE = "docs/evidence/measured.md"
#: Words of versions before 0.3, and those of today.
_WORDS: Mapping[str, str] = {
    "throughput": "capacity",
    "faster": "better",
    "slower": "worse",
    "equivalent": "same",
    "inconclusive": "undecided",
}
#: Options that say where a run lies and who watches it: they change no figure.
_ELSEWHERE = ("--results", "--prometheus-port", "--context")
_INTRODUCTION = """Each table is of one run. `make measured RESULTS="results/DIR ..."` takes over the figures of a
results directory. Another machine gives other throughputs where the CPU is the bottleneck; the command shows yours.
Each command has the names of its version of vtlab. The outcomes have the words of today.

*Same*: the whole interval lies within the margin, or the load alone limits the capacity of both. *Undecided*: it
reaches across the margin. Where the reason is another, the table has it below, if the run was kept. Version 0.2 left
ratios of few answers undecided, too. *No outcome*: the run cannot judge it. *Too wide*: the upper end of the interval
is over 100 times the lower one. [Reports](../reference/report.md#outcomes) have the margins and the percentile of a
tail, the [glossary](../reference/glossary.md) the other words. A fixed number of fewer than 6 blocks is a quick look.

Before cf001017 (2026-11-29) k6's users reported within the windows of typical load. So p99 there may hold delays of k6
in earlier runs ([by how much](cost-of-measuring.md)).

![Measured runs by criterion: each interval beside its margin](../images/measured-by-criterion.svg)

Runs of versions before 0.3, and of publications, judge throughput alone. Of a run of `cpu` under 1 CPU by 0.3 the log
ratios are kept: [accuracy](accuracy.md#cpu-is-not-a-perfect-null-test).

![Throughput in the runs that judged it alone, with its intervals](../images/measured-throughput.svg)"""


class Drawn(BaseModel):
    """The outcome of a criterion, as a picture draws it: by which factor the variant is better, with its interval."""

    model_config = ConfigDict(extra="forbid")

    key: str
    factor: float
    low: float
    high: float
    margin: float
    judgement: Judgement | None
    is_lower_bound: bool


class Judged(BaseModel):
    """The outcome of a criterion, as a report prints it."""

    model_config = ConfigDict(extra="forbid")

    criterion: str
    load: str
    base_value: str
    value: str
    change: str
    judgement: str
    #: None where there is no interval.
    drawn: Drawn | None = None


class Pair(BaseModel):
    """Two variants, ``of`` beside ``over``: the decision in a sentence, and the outcomes."""

    model_config = ConfigDict(extra="forbid")

    of: str
    over: str
    decision: str
    outcomes: list[Judged]
    #: Why criteria have no outcome, or are undecided whatever their interval.
    reasons: list[str] = []


class Compared(BaseModel):
    """A comparison of two variants, as reports of versions before 0.3 printed it."""

    model_config = ConfigDict(extra="forbid")

    of: str
    over: str
    metric: str
    ratio: str
    interval: str
    verdict: str

    @property
    def criterion(self) -> str:
        """Name of the measure today."""
        return _WORDS.get(self.metric, self.metric)

    @property
    def change(self) -> str:
        """Ratio with its interval, as reports of today write them."""
        ends = re.findall(r"[\d.]+(?=×)", self.interval)
        return f"{self.ratio} ({'–'.join(ends)})" if ends else self.ratio

    @property
    def judgement(self) -> str:
        """Verdict with its symbol, in the words of today."""
        return " ".join(_WORDS.get(word, word) for word in self.verdict.split())


class Measured(BaseModel):
    """One run. ``variants``: name -> throughput, and what limits it."""

    model_config = ConfigDict(extra="forbid")

    experiment: str
    limits: str
    target: str
    command: str
    machine: str
    date: str
    version: str
    commit: str
    blocks: int
    rejected: int
    pairs: list[Pair] = []
    #: Comparisons of a run of a version before 0.3.
    comparisons: list[Compared] = []
    variants: dict[str, tuple[str, str]]
    #: By how much the blocks of a variant that is compared with itself differ.
    noise: str = ""
    #: What else the machine did, where that is known.
    conditions: str = ""

    @property
    def key(self) -> tuple[str, str, str, bool]:
        """Key of a result: a newer run with the same key replaces it."""
        return self.experiment, self.limits, self.target, bool(self.noise)


def from_analysis(analysis: Analysis) -> Measured:
    """Collects the figures of a run. BadInput for a run that is not valid: its figures decide nothing."""
    manifest, v = analysis.run.manifest, analysis.verdict
    if not v.valid:
        why = block_counts.why_invalid(analysis)
        raise BadInput(f"{analysis.run.name}: {why}", "measure it again, or vtlab resume it")
    names = v.variants
    return Measured(
        experiment=v.experiment,
        limits=labels.limits(analysis),
        target="one machine" if manifest.target == "local" else "Kubernetes",
        command=shown_command(manifest),
        machine=machine(manifest),
        date=figures.utc(manifest.started),
        version=manifest.versions.get("vtlab", ""),
        commit=manifest.commit[:7],
        blocks=v.n,
        rejected=len(v.rejected),
        pairs=[_pair(of_pair) for of_pair in verdict.split_by_pair(analysis)],
        variants={n: (figures.rate(names[n].throughput), bottlenecks.sentence(analysis, n)) for n in names},
        noise=describe_noise(analysis) if any(variant.kind(name) != name for name in names) else "",
    )


def _pair(analysis: Analysis) -> Pair:
    """Collects the decision and the outcomes of a run's analysis of one pair."""
    over, of = analysis.run.experiment.variants
    return Pair(
        of=of,
        over=over,
        decision=advice.sentence(analysis),
        outcomes=[
            Judged(
                criterion=row.criterion,
                load=row.load,
                base_value=f"{row.base_value} {row.unit}".strip(),
                value=f"{row.value} {row.unit}".strip(),
                change=row.change,
                judgement=f"{row.symbol} {row.judgement}",
                drawn=_drawn(row.outcome),
            )
            for row in outcome_rows.rows(analysis)
        ],
        reasons=outcome_rows.reasons(analysis),
    )


def _drawn(outcome: Outcome) -> Drawn | None:
    """Returns what a picture draws of an outcome, rounded; None without an interval."""
    if outcome.ratio is None or outcome.low is None or outcome.high is None:
        return None
    ends = (outcome.ratio, outcome.low, outcome.high)
    factor, low, high = ends if outcome.better == "higher" else (1 / ends[0], 1 / ends[2], 1 / ends[1])
    return Drawn(
        key=str(outcome.key),
        factor=_rounded(factor),
        low=_rounded(low),
        high=_rounded(high),
        margin=_rounded(outcome.margin),
        judgement=outcome.judgement,
        is_lower_bound=outcome.is_one_sided,
    )


def _rounded(value: float) -> float:
    return float(f"{value:.5g}")


def shown_command(manifest: Manifest) -> str:
    """Returns the command of a run, without the options for its results folder and its observers, and without the
    directories of a file on the machine."""
    parts = shlex.split(manifest.command)
    elsewhere = {i + j for i, part in enumerate(parts) if part in _ELSEWHERE for j in (0, 1)}
    return shlex.join(_without_directories(part) for i, part in enumerate(parts) if i not in elsewhere)


def _without_directories(part: str) -> str:
    path = PurePath(part)
    return path.name if path.is_absolute() and path.suffix else part


def machine(manifest: Manifest) -> str:
    """Describes the machine of a run, with its JDK."""
    m = manifest.machine
    cores = f"{m['cores']} cores of {m['cpu']}" if "cores" in m and "cpu" in m else ""
    parts = [cores, m.get("memory", ""), f"JDK {manifest.versions['java']}" if "java" in manifest.versions else ""]
    return ", ".join(part for part in parts if part)


def read(repository: Path) -> list[Measured]:
    """Reads the results in the file; none where there is no file."""
    path = repository / DATA
    return TypeAdapter(list[Measured]).validate_json(path.read_bytes()) if path.is_file() else []


def merge(measured_before: Sequence[Measured], new: Sequence[Measured]) -> list[Measured]:
    """Merges results by experiment, limits and target; new ones replace known ones."""
    by_key = {measured.key: measured for measured in [*measured_before, *new]}
    return [by_key[key] for key in sorted(by_key)]


def document(runs: Sequence[Measured]) -> str:
    """Writes the text of ``docs/evidence/measured.json``."""
    rows: list[dict[str, Any]] = [run.model_dump(mode="json") for run in runs]
    return json.dumps(rows, indent=1, ensure_ascii=False) + "\n"


def text(runs: Sequence[Measured]) -> str:
    """Writes the text of ``docs/evidence/measured.md``."""
    return page("Measured", DATA, _INTRODUCTION, *(_section(run) for run in runs))


def _section(run: Measured) -> str:
    published = publication.load().get(run.experiment)
    names = {number: name for name, number in publication.numbers().items()}
    rejected = f", {run.rejected} rejected" if run.rejected else ""
    facts = [
        code(run.command),
        f"of the publication {code(names[published.number])}" if published else "",
        run.target,
        run.machine,
        run.conditions,
        run.date,
        f"vtlab {run.version} ({run.commit})",
        f"n = {run.blocks} block{'' if run.blocks == 1 else 's'}{rejected}",
    ]
    # Where capacity has a row, it has the throughput.
    has_outcomes = bool(run.pairs)
    heads = ("variant", *["throughput"] * (not has_outcomes), "what limits it")
    variants = [
        (code(name), *[throughput] * (not has_outcomes), limit) for name, (throughput, limit) in run.variants.items()
    ]
    compared = [(f"{c.criterion}, {code(c.of)} over {code(c.over)}", c.change, c.judgement) for c in run.comparisons]
    parts = [
        f"## {run.experiment}{', a variant with itself' if run.noise else ''}, {run.limits}, {run.target}",
        "\n".join(f"- {fact}" for fact in facts if fact),
        table(heads, variants),
        *(part for pair in run.pairs for part in _pair_parts(pair)),
        table(("comparison", "change (95 %)", "the first is"), compared) if compared else "",
        run.noise,
    ]
    return "\n\n".join(part for part in parts if part)


def _pair_parts(pair: Pair) -> tuple[str, ...]:
    rows = [(o.criterion, o.load, o.base_value, o.value, o.change, o.judgement) for o in pair.outcomes]
    heads = ("criterion", "load", code(pair.over), code(pair.of), "change (95 %)", f"{code(pair.of)} is")
    return f"{pair.decision}.", table(heads, rows), *(f"{reason}." for reason in pair.reasons)


def main(arguments: Sequence[str], repository: Path = shipped.ROOT) -> int:
    conditions, folders = "", list(arguments)
    if folders[:1] == ["--conditions"]:
        conditions, folders = " ".join(folders[1:2]), folders[2:]
    if not folders:
        usage = "python -m maintain.measured_page [--conditions TEXT] RESULTS_DIRECTORY..."
        print(f"usage: {usage}", file=sys.stderr)
        return 2
    try:
        measured = [from_analysis(a) for folder in folders for a in analyse_runs(Path(folder))]
        new = [run.model_copy(update={"conditions": conditions}) for run in measured]
    except LabError as error:
        print(f"measured: {error.message}\n  fix: {error.fix}", file=sys.stderr)
        return error.exit_code
    runs = merge(read(repository), new)
    (repository / DATA).write_text(document(runs), encoding="utf-8")
    (repository / PAGE).write_text(text(runs), encoding="utf-8")
    for run in new:
        print(f"{run.experiment}: {run.command}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

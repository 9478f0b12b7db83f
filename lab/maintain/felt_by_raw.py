"""Computes from k6's raw samples what a block's record says of its answers and probes, and prints each difference.

k6 hands over quantiles alone, from which ``block.ts`` gets every answer back; its raw samples are an independent way to
the same figures. By hand, for a block against services that run already::

    k6 run -o json=raw.json -e DOCUMENT=block.json -e EXPERIMENT=… -e TARGETS=… k6/block.ts
    cd lab && ../.venv/bin/python -m maintain.felt_by_raw ../block.json ../raw.json

In place of a document it takes the ``trials.jsonl`` of a run, and compares its last block. vtlab starts the k6 of
``.tools/bin`` or else of ``PATH``: a script of that name which adds ``-o json=…`` keeps the raw samples. Several files,
one for each call of k6, are joined by ``cat``.
"""

from __future__ import annotations

import json
import math
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from vtlab.errors import BadInput, LabError
from vtlab.model.histogram import bucket
from vtlab.model.k6_documents import K6Document
from vtlab.model.records import Answers, Block, Histogram, Trial

#: Percentiles of a record, and how many samples one needs beyond it.
PERCENTILES = {"p50": 500, "p90": 900, "p95": 950, "p99": 990, "p99_9": 999}
BEYOND = 10
#: Percentiles above which the answers of a part are counted.
ABOVE = ("p50", "p90", "p95", "p99")
#: A record's figures are whole microseconds; of an answer's time quantiles tell all but this many milliseconds.
ROUNDING, EQUAL = 1.5e-6, 1e-7
#: Beginnings of the tag ``trial`` by phase.
PREFIX = {"measure": "", "typical": "t"}
#: Codes of answers' forms and of probes' slots, as ``k6/lib/codes.ts`` writes them.
SHAPES, LENGTHS, PER_DECADE, MICROSECONDS = 2**20, 2**7, 10, 2**24
MOST_FORMS, MOST_SLOTS, SLOT = 24, 500, 200
SLOW_PROBE = 1000.0


class Sample(NamedTuple):
    """One sample of a metric; times are milliseconds."""

    value: float
    tags: dict[str, str]


class Raw:
    """Samples of one phase by the names of their metrics, without those from outside of its window."""

    def __init__(self, kind: str) -> None:
        self._kind = kind
        self._samples: dict[str, list[Sample]] = {}

    def add(self, metric: str, sample: Sample) -> None:
        if sample.tags.get("phase") == self._kind:
            self._samples.setdefault(metric, []).append(sample)

    def values(self, metric: str, **tags: str) -> list[float]:
        """Returns the values of a metric with these tags, in rising order."""
        samples = self._samples.get(f"trial_{metric}", [])
        return sorted(value for value, of in samples if tags.items() <= of.items())

    def count(self, metric: str, **tags: str) -> int:
        """Returns the sum of a counter."""
        return round(sum(self.values(metric, **tags)))

    def sums(self, metric: str, tag: str) -> dict[str, int]:
        """Returns the sum of a counter for each value of a tag."""
        names = {sample.tags[tag] for sample in self._samples.get(f"trial_{metric}", [])}
        return {name: self.count(metric, **{tag: name}) for name in names}


def read_raw(path: Path, phases: Sequence[Trial]) -> list[Raw]:
    """Reads k6's samples of these phases, in their order."""
    raws = [Raw(phase.phase) for phase in phases]
    by_tags = {(p.variant, f"{PREFIX[p.phase]}{p.position}"): raw for p, raw in zip(phases, raws, strict=True)}
    with path.open(encoding="utf-8") as lines:
        for line in lines:
            if '"Point"' not in line or '"trial_' not in line:
                continue
            point = json.loads(line)
            tags = point["data"]["tags"] or {}
            raw = by_tags.get((tags.get("variant", ""), tags.get("trial", "")))
            if raw:
                raw.add(point["metric"], Sample(point["data"]["value"], tags))
    return raws


def recomputed(trial: Trial, raw: Raw) -> dict[str, Any]:
    """Computes from raw samples the figures of a record; those that they cannot tell are as recorded."""
    latencies = raw.values("latency")
    is_steady = trial.latency.count > 0 or not trial.ok
    figures: dict[str, Any] = {
        "ok": len(latencies),
        "failed": raw.sums("failed", "reason"),
        "latency": latency(latencies if is_steady else []),
    }
    if trial.answers:
        figures["answers"] = _answers(trial.answers, raw, is_steady)
    if trial.probe:
        figures["probe"] = _probe(trial, raw)
    return figures


def latency(values: Sequence[float]) -> dict[str, Any]:
    """Describes sorted milliseconds as a record does, in seconds."""
    n = len(values)
    figures: dict[str, Any] = {"count": n, "mean": sum(values) / n / 1000 if n else None}
    for name, per_mille in PERCENTILES.items():
        beyond = max(0, n - 1 - per_mille * (n - 1) // 1000)
        figures[name] = percentile(values, per_mille / 1000) / 1000 if beyond >= BEYOND else None
    return {**figures, "max": values[-1] / 1000 if n else None}


def percentile(values: Sequence[float], share: float) -> float:
    """Interpolates between two of the sorted values, as k6 does."""
    rank = share * (len(values) - 1)
    low, high = values[math.floor(rank)], values[math.ceil(rank)]
    return low + (high - low) * (rank - math.floor(rank))


def _answers(recorded: Answers, raw: Raw, is_steady: bool) -> dict[str, Any]:
    values, is_script = raw.values("answer"), recorded.latency is not None
    whole = latency((values if is_script else raw.values("latency")) if is_steady else [])
    parts = [raw.values("answer", part=str(part)) for part in range(len(recorded.parts.ok))]
    limits = {name: 1000 * whole[name] for name in ABOVE if whole[name] is not None}
    return {
        "latency": whole if is_script else None,
        "histogram": _histogram(values, recorded.histogram.is_exact),
        "parts": {
            "seconds": recorded.parts.seconds,
            "ok": [len(part) for part in parts],
            "above": {name: [_above(part, limit) for part in parts] for name, limit in limits.items()},
        },
        "halves": _halves(raw),
        "kinds": [_kind(raw, kind.name, str(number), is_steady) for number, kind in enumerate(recorded.kinds)],
        "forms": _forms(raw.values("form")),
    }


def _histogram(values: Sequence[float], is_exact: bool) -> dict[str, Any]:
    counts = Counter(bucket(value / 1000) for value in values)
    first = min(counts, default=0)
    filled = [counts[number] for number in range(first, max(counts, default=-1) + 1)]
    return {"first": first, "counts": filled, "is_exact": is_exact}


def _above(values: Sequence[float], limit: float) -> int:
    return sum(value > limit + EQUAL for value in values)


def _halves(raw: Raw, **tags: str) -> dict[str, Any]:
    return {
        "arrived": [raw.count("arrivals", half=half, **tags) for half in ("1", "2")],
        "completed": [raw.count("completions", half=half, **tags) for half in ("1", "2")],
    }


def _kind(raw: Raw, name: str, kind: str, is_steady: bool) -> dict[str, Any]:
    values = raw.values("answer", kind=kind)
    figures = latency(values if is_steady else [])
    return {
        "name": name,
        "failed": raw.count("failed", kind=kind),
        "halves": _halves(raw, kind=kind),
        "latency": {**figures, "count": len(values)},
    }


def _forms(codes: Sequence[float]) -> dict[str, Any] | None:
    if not codes:
        return None
    counts = Counter(round(code) for code in codes)
    by_count = sorted(counts.items(), key=lambda form: (-form[1], form[0]))
    return {
        "rows": [[*_form(code), count] for code, count in by_count[:MOST_FORMS]],
        "others": sum(count for _, count in by_count[MOST_FORMS:]),
    }


def _form(code: int) -> tuple[int, int, str]:
    """Returns the kind, the least length of its class, and the shape."""
    rest, shape = divmod(code, SHAPES)
    kind, length = divmod(rest, LENGTHS)
    least = math.ceil(10 ** ((length - 1) / PER_DECADE) - 1e-9) if length else 0
    return kind, least, f"{shape:05x}" if shape else ""


def _probe(trial: Trial, raw: Raw) -> dict[str, Any]:
    taken = raw.values("probe")
    times: list[float | None] = [None] * min(MOST_SLOTS, math.ceil((trial.end - trial.start) / SLOT))
    for code in raw.values("probe_slot"):
        slot, microseconds = divmod(round(code), MICROSECONDS)
        times[slot] = microseconds / 1e6
    return {
        "sent": len(taken),
        "skipped": raw.count("probe_skipped"),
        "healthy": raw.count("probe_healthy"),
        "unanswered": raw.count("probe_unanswered"),
        # Those without an answer count as the 15 s for which they were waited, or as the time until they were given up.
        "over_second": _above(taken, SLOW_PROBE),
        "longest": taken[-1] / 1000 if taken else None,
        "times": times,
    }


def differences(trial: Trial, raw: Raw) -> Iterator[str]:
    """Yields a line for each figure of a record that raw samples give otherwise."""
    whole = recomputed(trial, raw)
    recorded = trial.model_dump(mode="json", include=set(whole))
    answers = trial.answers
    if answers and not answers.histogram.is_exact:
        yield from _inexact(answers.histogram, whole["answers"]["histogram"], len(answers.parts.ok))
        for figures in (recorded["answers"], whole["answers"]):
            del figures["histogram"], figures["parts"]["above"]
    before, after = dict(_figures(recorded)), dict(_figures(whole))
    for name in sorted(before.keys() | after.keys()):
        ours, theirs = before.get(name, "nothing"), after.get(name, "nothing")
        if not _is_equal(ours, theirs):
            yield f"{name}: {ours} recorded, {theirs} by raw samples"


def _inexact(recorded: Histogram, whole: dict[str, Any], parts: int) -> Iterator[str]:
    """Compares cumulated counts: each answer is read off at most half a thousandth of its part away from its place."""
    ours = Counter(dict(enumerate(recorded.counts, recorded.first)))
    theirs = Counter(dict(enumerate(whole["counts"], whole["first"])))
    far, sums = 0, [0, 0]
    for number in range(max([*ours, *theirs], default=0) + 1):
        sums = [sums[0] + ours[number], sums[1] + theirs[number]]
        far = max(far, abs(sums[0] - sums[1]))
    allowed = theirs.total() / 1000 + parts
    if far > allowed or sums[0] != sums[1]:
        yield f"answers.histogram: {far} answers of {theirs.total()} elsewhere, {allowed:.0f} allowed"


def _figures(value: Any, name: str = "") -> Iterator[tuple[str, Any]]:
    """Yields every number and text of a record, by its place in it."""
    children = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else None
    if children is None:
        yield name, value
        return
    for key, child in children:
        yield from _figures(child, f"{name}.{key}" if name else str(key))


def _is_equal(ours: Any, theirs: Any) -> bool:
    if isinstance(ours, float | int) and isinstance(theirs, float | int):
        return abs(ours - theirs) <= ROUNDING
    return bool(ours == theirs)


def compare(document: Path, raw: Path) -> tuple[int, list[str]]:
    """Returns how many figures were compared, and the differences. BadInput for a document without such records."""
    read = _read(document)
    phases = [phase for phase in [*read.trials, *read.typical] if phase.answers or phase.probe]
    if not phases:
        raise BadInput(f"{document}: no phase has answers or probes", "measure a block that has trials")
    count, lines = 0, []
    for phase, samples in zip(phases, read_raw(raw, phases), strict=True):
        count += sum(1 for _ in _figures(recomputed(phase, samples)))
        trial = f"{PREFIX[phase.phase]}{phase.position} {phase.variant}"
        lines += [f"{trial}: {line}" for line in differences(phase, samples)]
    return count, lines


def _read(path: Path) -> K6Document | Block:
    """Reads k6's document, or the last line of ``trials.jsonl``."""
    if path.suffix == ".jsonl":
        return Block.model_validate_json(path.read_bytes().splitlines()[-1])
    return K6Document.model_validate_json(path.read_bytes())


def main(arguments: Sequence[str]) -> int:
    """Compares a block's document with raw samples; returns an exit code."""
    if len(arguments) != 2:
        print("python -m maintain.felt_by_raw BLOCK.json|trials.jsonl RAW.json", file=sys.stderr)
        return 2
    try:
        count, lines = compare(Path(arguments[0]), Path(arguments[1]))
    except LabError as error:
        print(f"{error.message}: {error.fix}", file=sys.stderr)
        return error.exit_code
    print("\n".join([*lines, f"{len(lines)} differences in {count} figures"]))
    return 1 if lines else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

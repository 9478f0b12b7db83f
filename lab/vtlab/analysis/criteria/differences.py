"""Differences between the answers of the variants of a pair: shares of errors, and of the forms of answers.

A service that answers with fallbacks, or with errors that ``max_errors`` allows, is fast for another reason than its
threads. A share differs where all windows of one variant at a load have more than all of the other, the exact intervals
of both are disjoint, and a hundredth or more lies between them: what varies from window to window within a variant is
no difference between the variants.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass

from vtlab.analysis.criteria.criterion import loads_of, windows
from vtlab.analysis.criteria.judged import Judged, Pair
from vtlab.analysis.statistics import paired
from vtlab.model.outcome import Key
from vtlab.model.records import Trial
from vtlab.model.units import percent

#: Confidence of the intervals that must be disjoint, and the least difference of two shares.
CONFIDENCE, LEAST = 0.999, 0.01
#: Differences of forms that are told of a load.
MOST_TOLD = 3
#: Classes of lengths (``Forms``).
CLASSES_PER_DECADE = 10
#: Characters by which JSON of one shape may differ: the names of threads in it do.
SMALL_DIFFERENCE = 64


@dataclass(frozen=True)
class _Share:
    """Share of a class among the answers of a variant; ``counts`` and ``totals``: of each window."""

    counts: list[int]
    totals: list[int]

    @property
    def pooled(self) -> float:
        return sum(self.counts) / sum(self.totals)

    @property
    def by_window(self) -> list[float]:
        return [count / total for count, total in zip(self.counts, self.totals, strict=True)]

    def is_below(self, other: _Share) -> bool:
        """Tells whether the other share is larger in all windows, and clearly in all together."""
        ends = [paired.binomial(sum(s.counts), sum(s.totals), CONFIDENCE) for s in (self, other)]
        is_apart = max(self.by_window) < min(other.by_window) and ends[0][1] < ends[1][0]
        return is_apart and other.pooled - self.pooled >= LEAST


#: Shares of the first variant, and of the other.
_Shares = tuple[_Share, _Share]
#: As in ``Forms``. Rows of forms by variant and window.
_Row = tuple[int, int, str, int]
_Rows = Sequence[Sequence[Sequence[_Row]]]


def differences(judged: Judged, pair: Pair) -> list[str]:
    """Lists what the variants of a pair answer differently, in clauses."""
    found = []
    for load in loads_of(judged.experiment):
        trials = [
            trial
            for block in pair.sound_blocks(judged)
            for trial in windows(block, judged.experiment, Key(criterion="tail", load=load))
        ]
        by_variant = [[t for t in trials if t.variant == name and _answers(t)] for name in pair.names]
        if all(by_variant):
            at_load = [*_errors(pair, by_variant), *list(_forms(pair, by_variant))[:MOST_TOLD]]
            found += [f"at {load} load {text}" for text in at_load]
    return found


def _answers(trial: Trial) -> int:
    return trial.ok + sum(trial.failed.values())


def _errors(pair: Pair, by_variant: Sequence[Sequence[Trial]]) -> Iterator[str]:
    over, of = (
        _Share([sum(t.failed.values()) for t in trials], [_answers(t) for t in trials]) for trials in by_variant
    )
    if over.is_below(of) or of.is_below(over):
        yield _clause(pair, (over, of), "of the answers were errors")


def _forms(pair: Pair, by_variant: Sequence[Sequence[Trial]]) -> Iterator[str]:
    """Yields the largest difference of each kind of requests: of shapes, or of lengths where the shapes agree."""
    of_all = [t.answers.forms for trials in by_variant for t in trials if t.answers and t.answers.forms]
    for kind in sorted({row[0] for forms in of_all for row in forms.rows}):
        rows = [[of_kind for t in trials if (of_kind := _of_kind(t, kind))] for trials in by_variant]
        if not all(rows):
            continue
        answers = f"of the answers{_to(by_variant, kind)}"
        if found := _largest(_by_shape(rows)):
            yield _clause(pair, found[1], f"{answers} had another form (JSON {found[0]})")
        elif found := _largest(_by_length(rows)):
            yield _clause(pair, found[1], f"{answers} had {found[0]} characters or more")


def _by_shape(rows: _Rows) -> Iterator[tuple[str, _Shares]]:
    """Yields the shapes of JSON whose shares differ."""
    for shape in sorted({row[2] for row in _flat(rows)}):
        over, of = (_share(variant_rows, 2, {shape}) for variant_rows in rows)
        if over.is_below(of) or of.is_below(over):
            yield shape, (over, of)


def _by_length(rows: _Rows) -> Iterator[tuple[str, _Shares]]:
    """Yields the lengths from which on the shares differ. Answers of one class less are no shorter, nor is JSON of one
    shape by a few characters: the name of a thread in an answer, or a number with another digit, makes no other
    answer."""
    lengths = sorted({row[1] for row in _flat(rows)})
    about = SMALL_DIFFERENCE if all(row[2] for row in _flat(rows)) else 0
    for length in lengths:
        as_long = {other for other in lengths if other >= length}
        about_as_long = {other for other in lengths if _class(other) >= _class(length) - 1 or other >= length - about}
        over, of = (_share(variant_rows, 1, as_long) for variant_rows in rows)
        about_over, about_of = (_share(variant_rows, 1, about_as_long) for variant_rows in rows)
        if about_over.is_below(of) or about_of.is_below(over):
            yield f"{length:,}", (over, of)


def _flat(rows: _Rows) -> Iterator[_Row]:
    return (row for variant_rows in rows for window in variant_rows for row in window)


def _class(length: int) -> int:
    return round(CLASSES_PER_DECADE * math.log10(length)) if length else -1


def _share(variant_rows: Sequence[Sequence[_Row]], place: int, values: Collection[object]) -> _Share:
    """Counts the answers whose rows have one of these values at a place."""
    counts = [sum(row[3] for row in window if row[place] in values) for window in variant_rows]
    return _Share(counts, [sum(row[3] for row in window) for window in variant_rows])


def _largest(differing: Iterable[tuple[str, _Shares]]) -> tuple[str, _Shares] | None:
    """Returns the form whose shares differ most; None where none do."""
    return max(differing, key=lambda found: abs(found[1][0].pooled - found[1][1].pooled), default=None)


def _of_kind(trial: Trial, kind: int) -> list[_Row]:
    forms = trial.answers.forms if trial.answers else None
    return [row for row in forms.rows if row[0] == kind] if forms else []


def _to(by_variant: Sequence[Sequence[Trial]], kind: int) -> str:
    """Names a kind of requests where there are several."""
    kinds = next((t.answers.kinds for trials in by_variant for t in trials if t.answers and t.answers.kinds), [])
    return f" to {kinds[kind].name}" if kind < len(kinds) else ""


def _clause(pair: Pair, shares: _Shares, words: str) -> str:
    """Writes the larger share first: ``75 % of the answers of virtual were errors, 1.2 % of platform``."""
    (low, less), (high, more) = sorted((share.pooled, name) for share, name in zip(shares, pair.names, strict=True))
    return f"{percent(high, 1)} {words} under {more}, and {percent(low, 1)} under {less}"

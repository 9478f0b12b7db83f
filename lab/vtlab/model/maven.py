"""Versions of Maven artifacts in their order, and ranges of them.

The order is that of Maven's ``ComparableVersion`` (maven.apache.org/pom.html, "Version Order Specification"), but a
hyphen separates as a dot does. Versions of one library, which alone are compared here, do not mix the two.
There is no library for it among vtlab's dependencies; ``packaging`` orders by the rules of Python.
"""

from __future__ import annotations

import functools
import re
from dataclasses import dataclass
from itertools import zip_longest

#: Qualifiers that stand before a release, in order; the release itself; then the service pack.
_ORDER = {"alpha": -5, "beta": -4, "milestone": -3, "rc": -2, "cr": -2, "snapshot": -1, "": 0, "sp": 1}
_SHORT = {"a": "alpha", "b": "beta", "m": "milestone"}
_RELEASE = ("final", "ga", "release")
_INTERVAL = re.compile(r"^(?P<open>[\[(])(?P<low>[^,]*)(?P<comma>,?)(?P<high>[^,]*)(?P<close>[\])])$")

#: (kind, number, text): qualifiers before a release, the release, service packs, other words, numbers.
_Part = tuple[int, int, str]
_NOTHING: _Part = (0, 0, "")


@functools.total_ordering
class Version:
    """A version that compares as Maven does: ``5.1.0-rc1 < 5.1.0 == 5.1 < 5.1.1``."""

    def __init__(self, text: str) -> None:
        self.text = text
        self._parts = _parts(text)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Version) and self._parts == other._parts

    def __lt__(self, other: Version) -> bool:
        pairs = zip_longest(self._parts, other._parts, fillvalue=_NOTHING)
        return next((one < two for one, two in pairs if one != two), False)

    def __hash__(self) -> int:
        return hash(self._parts)

    def __str__(self) -> str:
        return self.text


@dataclass(frozen=True)
class _Interval:
    """Versions from ``low`` to ``high``; None is without an end."""

    low: Version | None
    high: Version | None
    includes_low: bool
    includes_high: bool

    def has(self, version: Version) -> bool:
        above = self.low is None or version > self.low or (self.includes_low and version == self.low)
        below = self.high is None or version < self.high or (self.includes_high and version == self.high)
        return above and below


@dataclass(frozen=True)
class Range:
    """One interval of versions or several."""

    intervals: tuple[_Interval, ...]

    def __contains__(self, version: str) -> bool:
        return any(interval.has(Version(version)) for interval in self.intervals)


def parse_range(text: str) -> Range:
    """Parses a range in Maven's notation: ``[5.0,7.1)``, ``(,9.0)``, ``[42.7.8]``, ``[1.0,1.2),[2.0,2.1)``.

    ValueError for anything else.
    """
    parts = [_INTERVAL.match(part) for part in re.split(r"(?<=[\])]),", text.replace(" ", ""))]
    return Range(tuple(_interval(match, text) for match in parts))


def range_in_words(text: str) -> str:
    """Writes a range as people say it: ``before 9.0``, ``from 21 to before 24``, ``from 3.1 on``, ``2.5.0 to
    2.13.1``."""
    return " or ".join(_words(interval) for interval in parse_range(text).intervals)


def _words(interval: _Interval) -> str:
    low, high = interval.low, interval.high
    if low == high:
        return str(low)
    if low is None:
        return f"{'up to' if interval.includes_high else 'before'} {high}"
    after = "from" if interval.includes_low else "after"
    if high is None:
        return f"{after} {low} on"
    return f"{low} to {high}" if interval.includes_high else f"{after} {low} to before {high}"


def _interval(match: re.Match[str] | None, text: str) -> _Interval:
    if match is None or not (match["low"] or match["high"]) or not (match["comma"] or match["low"]):
        raise ValueError(f"{text!r} is not a range of versions: write it as Maven does, [1.0,2.0)")
    if not match["comma"]:
        only = Version(match["low"])
        return _Interval(only, only, True, True)
    low, high = (Version(match[end]) if match[end] else None for end in ("low", "high"))
    return _Interval(low, high, match["open"] == "[", match["close"] == "]")


def _parts(text: str) -> tuple[_Part, ...]:
    """Splits a version into numbers and words, without the zeros and release words at the end."""
    parts = [_part(word) for word in re.findall(r"\d+|[a-z]+", text.lower().partition("+")[0])]
    while parts and parts[-1] == _NOTHING:
        parts.pop()
    return tuple(parts)


def _part(word: str) -> _Part:
    if word.isdigit():
        return (2, int(word), "") if int(word) else _NOTHING
    word = "" if word in _RELEASE else _SHORT.get(word, word)
    return (0, _ORDER[word], "") if word in _ORDER else (1, 0, word)

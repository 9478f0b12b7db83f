"""Numbers as people read them: three significant digits, the unit after them, a dash for an unknown one."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from datetime import UTC, datetime

DASH = "–"
#: A resource is at its limit at this share of its bound or above: a bound is a measurement, too, and a throughput may
#: lie a percent above it.
AT_ITS_LIMIT = 0.995
#: At this ratio or above, "2.3×" reads better than a percentage; and where an interval goes beyond the other.
TIMES, _FAR = 1.5, 3.0
#: Ends of an interval that differ by more than this factor say nothing of the ratio: two blocks that differ have such.
_TOO_WIDE = 100


def significant(value: float, digits: int = 3) -> str:
    """Writes ``value`` with that many significant digits, thousands separated, never in scientific notation."""
    if value == 0:
        return "0"
    rounded = float(f"{value:.{digits - 1}e}")
    whole = len(f"{abs(rounded):.0f}") if abs(rounded) >= 1 else 0
    if whole >= digits:
        return f"{rounded:,.0f}"
    places = digits - whole if whole else digits - 1 - int(f"{rounded:e}".partition("e")[2])
    return f"{rounded:,.{places}f}"


def rate(value: float | None, more_digits: int = 0) -> str:
    """Writes requests per second: ``9.24/s``, ``199.9/s``, ``2,950/s``."""
    if value is None:
        return DASH
    text = f"{value:,.{(0 if value >= 1000 else 1 if value >= 10 else 2) + more_digits}f}"
    return (text.rstrip("0").rstrip(".") if "." in text else text) + "/s"


def duration(seconds: float | None) -> str:
    """Writes seconds as ``5.02 s``, ``34.1 ms`` or ``120 µs``."""
    if seconds is None:
        return DASH
    if seconds == 0:
        return "0 s"
    for unit, scale in (("s", 1.0), ("ms", 1e3), ("µs", 1e6)):
        if abs(seconds) * scale >= 0.9995 or unit == "µs":
            return f"{significant(seconds * scale)} {unit}"
    raise AssertionError("not reached")


def memory(value: float | None) -> str:
    """Writes bytes as ``412 MiB``."""
    if value is None:
        return DASH
    for unit, scale in (("GiB", 2**30), ("MiB", 2**20), ("KiB", 2**10)):
        if abs(value) >= scale:
            return f"{significant(value / scale)} {unit}"
    return f"{value:.0f} B"


def share(value: float | None) -> str:
    """Writes a share of one as ``99.9 %``; never rounded up to a whole that it is not."""
    if value is None:
        return DASH
    percent = value * 100
    if percent in (0, 100):
        return f"{percent:.0f} %"
    text = f"{percent:.1f}"
    if text == "100.0" and percent < 100:
        return "> 99.9 %"
    return f"{text} %" if percent >= 0.05 else "< 0.1 %"


def ratio(value: float | None, more_digits: int = 0) -> str:
    """Writes a ratio as ``0.985×`` or ``4.98×``; beyond sense only that it is."""
    if value is None:
        return DASH
    if value > 9_999:
        return "> 9,999×"
    if value < 0.001:
        return "< 0.001×"
    return f"{value:,.{(3 if value < 2 else 2) + more_digits}f}×"


def interval(low: float | None, high: float | None, form: Callable[[float, int], str] = ratio) -> str:
    """Writes an interval with as many digits as its ends need to differ: ``4.87× to 5.05×``, ``4.998× to 5.003×``.
    Writes one figure where they print alike even so."""
    if low is None or high is None:
        return DASH
    distinct = [f"{form(low, more)} to {form(high, more)}" for more in range(4) if form(low, more) != form(high, more)]
    return distinct[0] if distinct else form(low, 0)


def ends(low: float | None, high: float | None, form: Callable[[float, int], str] = ratio) -> str:
    """Writes an interval behind its figure, without the unit: `` (4.87–5.05)``. Empty where it is not known, or where
    its ends print alike: then the figure is both."""
    both = interval(low, high, form).split(" to ")
    return f" ({'–'.join(_number(end) for end in both)})" if len(both) == 2 else ""


def _number(text: str) -> str:
    return re.sub(r"[^\d.]+$", "", text)


def change(ratio: float, low: float | None, high: float | None) -> str:
    """Writes a ratio with its interval in the notation of sentences: ``−0.9 % (−2.1 to +0.3)``, and from 1.5 on, or
    where the interval goes beyond 3, ``4.98× (4.77–5.21)``. An interval that says nothing is ``1.04× (too wide)``."""
    if low is not None and high is not None and high > _TOO_WIDE * low:
        return f"{significant(ratio)}× (too wide)"
    if ratio >= TIMES or (high or ratio) > _FAR:
        return f"{significant(ratio)}×{ends(low, high, lambda value, more: significant(value, 3 + more))}"
    if low is None or high is None:
        return f"{_percent(ratio, 0 if 0.0995 <= abs(ratio - 1) < 0.99 else 1)} %"
    digits = 0 if high - low >= 0.03 else 1
    # Ends that print alike need more digits, as an interval has a width.
    digits = next((n for n in range(digits, digits + 4) if _percent(low, n) != _percent(high, n)), digits)
    return f"{_percent(ratio, digits)} % ({_percent(low, digits)} to {_percent(high, digits)})"


def _percent(ratio: float, digits: int) -> str:
    text = f"{100 * (ratio - 1):+.{digits}f}"
    return text.lstrip("+-") if float(text) == 0 else text.replace("-", "−")


def reached(utilisation: float) -> str:
    """Says how much of a bound was reached; never more than all of it."""
    return "at its limit" if utilisation >= AT_ITS_LIMIT else share(utilisation)


def count(value: float | None) -> str:
    """Writes a number of things: whole where it is whole or large."""
    if value is None:
        return DASH
    return f"{value:,.0f}" if value == round(value) or abs(value) >= 100 else significant(value)


def cores(value: float) -> str:
    """Writes a CPU limit as ``0.5 CPU``."""
    return f"{value:g} CPU"


def utc(text: str) -> str:
    """Writes an ISO 8601 time of the manifest as ``2026-11-20 22:58 UTC``; leaves any other text as it is."""
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        return text
    return moment.astimezone(UTC).strftime("%Y-%m-%d %H:%M UTC") if moment.tzinfo else text


def short(text: str) -> str:
    """Cuts zeros at the end of a figure, for an axis: ``5 s``, ``0.25``."""
    return re.sub(r"(\.\d*?)0+(?!\d)", r"\1", text).replace(". ", " ").removesuffix(".")


def listed(names: Sequence[str]) -> str:
    """Joins names: ``a``, ``a and b``, ``a, b and c``."""
    return " and ".join([", ".join(names[:-1]), names[-1]] if len(names) > 1 else names)

"""The time of a request, part by part: a table with the variants side by side."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from vtlab.analysis.dumps import breakdown
from vtlab.model.run import Analysis
from vtlab.model.units import percent
from vtlab.model.verdict import Breakdown, TimePart
from vtlab.report.parts.part import Table
from vtlab.report.words import figures, labels

TITLE = "Where the time goes"
#: Least share of a part that stands alone.
_LEAST = 0.01
#: Requests that wait for a carrier are mentioned at this share of the requests in flight or above.
_CARRIER_WAITS = 0.1
#: What a request does in a part of its time.
_WORDS: Mapping[str, str] = {
    "database": "database",
    "downstream": "service downstream",
    "db-pool": "wait for a database connection",
    "client-pool": "wait for an HTTP connection",
    "executor": "wait for the executor",
    "lock": "lock",
    "wait": "wait",
    "computation": "computation, or ready to run",
    "server-queue": "queue for a server thread",
    "outside": "unknown: no thread has the request",
}
_UNEXPLAINED = "for an unknown reason"


def caveat(analysis: Analysis, name: str, time: Breakdown) -> str:
    """Says why dumps show waits that have ended: a thread that is ready and waits for a carrier or for the CPU still
    shows the one before. Empty where such threads are few."""
    if not time.parts:
        return ""
    queued = analysis.over_windows(name, "virtual_queued") or 0.0
    if queued >= _CARRIER_WAITS * time.throughput * time.latency:
        return f"{figures.count(queued)} threads at a time wait for a carrier only: dumps show their previous wait."
    bottleneck = analysis.verdict.variants[name].bottleneck
    if "cpu" in bottleneck.resources:
        return "Its CPU is used up: for threads that wait for the CPU only, dumps may show their previous wait."
    return ""


def noun(activity: str) -> str:
    """Names what a request does."""
    return _WORDS[activity]


def part_name(part: TimePart) -> str:
    """Names what a request does in a part of its time, and where."""
    noun = _WORDS[part.activity]
    return f"{noun}: {part.place}" if part.place else noun


def breakdown_table(analysis: Analysis) -> Table:
    """Lists the parts of all variants, side by side; no rows without thread dumps."""
    times = {name: time for name in labels.variant_names(analysis) if (time := _time(analysis, name))}
    trials = (f"{name}: {_trial(time)} {caveat(analysis, name, time)}".rstrip() for name, time in times.items())
    caption = " ".join([_CAPTION, *trials])
    known_times = [time for time in times.values() if time.parts]
    if not known_times:
        rows = [[name, _contradiction(time)] for name, time in times.items()]
        return Table(caption, ["variant", "why the table is missing"], rows)
    keys = _keys(known_times)
    rows = [[*_labels(key), *_side_by_side(times.values(), [key])] for key in keys]
    others = [key for time in known_times for part in time.parts if (key := _key(part)) not in keys]
    if others:
        rows.append(["the rest", "", *_side_by_side(times.values(), others)])
    explained = ([percent(time.explained) if time.parts else figures.DASH, "", ""] for time in times.values())
    rows.append(["explained", "", *(cell for cells in explained for cell in cells)])
    head = [f"{name}: {column}" for name in times for column in ("share", "time", "at a time")]
    head = ["what a request does", "where", *head]
    return Table(caption, head, rows, (len(rows) - 1,), tuple(range(2, len(head))))


_CAPTION = (
    "From thread dumps in a final, unscored trial of each variant. Shares refer to the client's mean latency in that"
    " trial; time is per request, by Little's law: requests at a time / throughput. Explained: parts with a resource or"
    " a place in the code."
)


def _time(analysis: Analysis, name: str) -> Breakdown | None:
    result = analysis.verdict.variants.get(name)
    return result.time if result else None


def _trial(time: Breakdown) -> str:
    """Describes the trial of a breakdown: its figures, and what the dumps cost."""
    dumps = f"{time.dumps} dump{'' if time.dumps == 1 else 's'}"
    text = f"{dumps} at {figures.rate(time.throughput)} and a mean latency of {figures.duration(time.latency)}"
    if time.dump_cpu is not None and time.cpu_share is not None:
        text += (
            f"; a dump took {figures.duration(time.dump_cpu)} of CPU time, all dumps {figures.share(time.cpu_share)}"
        )
        text += " of the CPU limit"
    if time.is_held_back:
        text += "; more dumps would have taken too much CPU"
    if not time.parts:
        text += f"; {_contradiction(time)}"
    elif time.is_slowed:
        text += (
            f"; no times, because the throughput was more than {percent(1 - breakdown.SLOWED)} below that of the scored"
            " trials"
        )
    return f"{text}."


def _contradiction(time: Breakdown) -> str:
    return (
        f"it is unknown where the time goes: the threads that handle requests account for {percent(time.accounted)} of"
        " the mean latency"
    )


_Key = tuple[str, str, bool]


def _key(part: TimePart) -> _Key:
    return part.activity, part.place, part.is_explained


def _keys(times: Sequence[Breakdown]) -> list[_Key]:
    """Returns the rows that stand alone, those with the largest share of any variant first."""
    largest: dict[_Key, float] = {}
    for part in (part for time in times for part in time.parts):
        largest[_key(part)] = max(part.share, largest.get(_key(part), 0.0))
    ranked = sorted(largest.items(), key=lambda item: (-item[1], item[0]))
    return [key for key, share in ranked if share >= _LEAST]


def _labels(key: _Key) -> list[str]:
    activity, place, is_explained = key
    remark = "" if is_explained or activity == "outside" else f" ({_UNEXPLAINED})"
    return [_WORDS[activity] + remark, place]


def _side_by_side(times: Iterable[Breakdown], keys: Sequence[_Key]) -> list[str]:
    """Adds up share, time and requests of these rows, for each variant."""
    return [cell for time in times for cell in _cells([part for part in time.parts if _key(part) in keys])]


def _cells(parts: Sequence[TimePart]) -> list[str]:
    seconds = [part.seconds for part in parts if part.seconds is not None]
    return [
        figures.share(sum(part.share for part in parts) if parts else None),
        figures.duration(sum(seconds) if seconds else None),
        figures.count(sum(part.requests for part in parts) if parts else None),
    ]

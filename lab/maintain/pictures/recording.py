"""Recording of a call of vtlab: what the terminal showed, line by line, its time compressed to ten seconds.

``docs/evidence/recordings/petclinic.txt`` is what a real call printed while it ran, beginning with its command. Lines
of progress have the time of day, and come in its rhythm. Its verdict is that of the recorded results, in the words of
today. ``python -m maintain.pictures.recording RESULTS LOG`` takes both over from a call whose output went to LOG.
"""

from __future__ import annotations

import io
import json
import re
import shutil
import sys
import textwrap
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from markupsafe import Markup
from rich.console import Console

from maintain.measured_page import shown_command
from maintain.pictures.page import document
from vtlab import shipped
from vtlab.analysis import verdict
from vtlab.model import normalised
from vtlab.report.charts.svg import element, number, rect, text
from vtlab.report.pages import terminal
from vtlab.runs import store

PICTURE = "docs/images/try.svg"
PROGRESS = "docs/evidence/recordings/petclinic.txt"
#: Results of that call, without search, logs and reports.
RESULTS = "lab/tests/unit/recorded/petclinic"
#: Seconds of the picture, columns and rows of its terminal.
SECONDS, _COLUMNS, _ROWS = 10.0, 104, 30
_LINE, _TOP, _LEFT = 17.0, 46.0, 14.0
_WIDTH, _HEIGHT = 780.0, _TOP + _ROWS * _LINE + 12
_TIME = re.compile(r"(\d\d):(\d\d):(\d\d)  ")
_STYLE = """svg{font:12px ui-monospace,SFMono-Regular,Menlo,"DejaVu Sans Mono",monospace}.bar{fill:var(--wash)}
text{white-space:pre}.title{font-size:12px;fill:var(--soft)}.row{opacity:0;animation:show .01s linear forwards}
.command{font-weight:700}.time{fill:var(--soft)}.word{font-weight:700;fill:var(--good)}
@keyframes show{to{opacity:1}}@media(prefers-reduced-motion:reduce){.row,.roll{animation-duration:0s!important;
animation-delay:0s!important}}"""


@dataclass(frozen=True)
class Row:
    """A line on the terminal, and the seconds of the call after which it came."""

    words: str
    after: float


def rows(output: str) -> list[Row]:
    """Reads the lines of an output, wrapped as a terminal does, each with its time: that of the last line that has
    one."""
    found: list[Row] = []
    first, day, last = None, 0, 0
    for line in output.strip("\n").splitlines():
        if time := _TIME.match(line):
            hours, minutes, seconds = map(int, time.groups())
            now = day + 3600 * hours + 60 * minutes + seconds
            if now < last:
                day, now = day + 86_400, now + 86_400
            first, last = now if first is None else first, now
        after = float(last - first) if first is not None else 0.0
        pieces = textwrap.wrap(line, _COLUMNS, drop_whitespace=False, break_on_hyphens=False) or [""]
        found += [Row(piece if number == 0 else piece.lstrip(), after) for number, piece in enumerate(pieces)]
    return found


def call(repository: Path) -> str:
    """Returns what the recorded call printed: its progress, then its verdict."""
    run = store.read(repository / RESULTS)
    printed = io.StringIO()
    # Without a height a terminal that is called dumb has 80 columns.
    console = Console(file=printed, width=_COLUMNS, height=_ROWS, force_terminal=True, color_system=None)
    console.print(terminal.render(verdict.analyse_all([run])))
    progress = (repository / PROGRESS).read_text(encoding="utf-8")
    return f"{progress}{printed.getvalue()}\nreport: results/{run.manifest.run_id}/report.html\n"


def take_over(results: Path, log: Path, repository: Path) -> None:
    """Copies the results of a call without search, logs and reports, and the lines of its progress. Its jar is in
    ``target``."""
    folder = repository / RESULTS
    folder.mkdir(parents=True, exist_ok=True)
    for name in (normalised.PLAN, store.TRIALS, store.SERIES):
        if (results / name).exists():
            shutil.copy(results / name, folder)
    manifest = json.loads((results / store.MANIFEST).read_text(encoding="utf-8"))
    directory = manifest["experiment"]["service"]["directory"]
    manifest["experiment"]["service"]["directory"] = "target"
    manifest["command"] = shown_command(store.read(results).manifest).replace(directory, "target")
    text = json.dumps(manifest, indent=2, ensure_ascii=False) + "\n"
    (folder / store.MANIFEST).write_text(text, encoding="utf-8")
    lines = log.read_text(encoding="utf-8").splitlines()
    timed = [number for number, line in enumerate(lines) if _TIME.match(line)]
    progress = [f"$ {manifest['command']}", *lines[timed[0] : timed[-1] + 1]]
    (repository / PROGRESS).parent.mkdir(parents=True, exist_ok=True)
    (repository / PROGRESS).write_text("\n".join(progress) + "\n", encoding="utf-8")


def picture(output: str) -> str:
    """Draws the output of a call."""
    shown = rows(output)
    length = shown[-1].after
    minutes, seconds = divmod(round(length), 60)
    title = f"{shown[0].words.removeprefix('$ ').split()[0]} try: {minutes} min {seconds} s in {SECONDS:.0f} seconds"
    moments = [_moment(row, length) for row in shown]
    description = "\n".join(row.words for row in shown)
    clip = element("clipPath", rect(0, _TOP - 13, _WIDTH, _ROWS * _LINE + 4, ""), id="screen")
    lines = element("g", *_lines(shown, moments), class_="roll")
    return document(
        (_WIDTH, _HEIGHT),
        title,
        description,
        rect(0, 0, _WIDTH, 28, "bar"),
        *(element("circle", cx=18.0 + 16 * dot, cy=14.0, r=4.5, fill="none", class_="grid") for dot in range(3)),
        text(_WIDTH / 2, 18, title, "middle", "title"),
        element("defs", clip),
        element("g", lines, clip_path="url(#screen)"),
        style=_STYLE + _rolling(moments),
    )


def _moment(row: Row, length: float) -> float:
    """Returns the second of the picture at which a row comes."""
    return 0.4 + (SECONDS - 0.4) * row.after / length if length else 0.4


def _lines(shown: Sequence[Row], moments: Sequence[float]) -> Iterator[Markup]:
    for place, (row, moment) in enumerate(zip(shown, moments, strict=True)):
        words = row.words
        time = _TIME.match(words)
        word = re.match(r"(VERDICT|WHY|NEXT)\b", words)
        begin = time.group(0) if time else word.group(0) if word else ""
        class_ = "time" if time else "word"
        children = [element("tspan", begin, class_=class_)] if begin else []
        kind = "row command" if words.startswith("$ ") else "row"
        yield element(
            "text",
            *children,
            words[len(begin) :],
            x=_LEFT,
            y=_TOP + _LINE * place,
            class_=kind,
            style=f"animation-delay:{moment:.2f}s" if not words.startswith("$ ") else "opacity:1;animation:none",
        )


def _rolling(moments: Sequence[float]) -> str:
    """Writes the rules that roll the screen up where its rows are full."""
    steps: dict[float, int] = {}
    for place, moment in enumerate(moments):
        if place >= _ROWS:
            steps[round(100 * moment / (SECONDS + 0.2), 2)] = place - _ROWS + 1
    if not steps:
        return ""
    frames, before = ["0%{transform:none}"], 0
    for share, up in sorted(steps.items()):
        frames.append(f"{share - 0.01:.2f}%{{transform:translateY(-{number(before * _LINE)}px)}}")
        frames.append(f"{share:.2f}%{{transform:translateY(-{number(up * _LINE)}px)}}")
        before = up
    frames.append(f"100%{{transform:translateY(-{number(before * _LINE)}px)}}")
    return f".roll{{animation:roll {SECONDS + 0.2:g}s linear forwards}}@keyframes roll{{{''.join(frames)}}}"


if __name__ == "__main__":
    take_over(Path(sys.argv[1]), Path(sys.argv[2]), shipped.ROOT)

"""Decision tree of the docs' front page: five questions, what follows from each, and the measured changes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from markupsafe import Markup

from maintain.measured_page import Measured
from maintain.pictures.page import document
from vtlab.report.charts.svg import element, text

PICTURE = "docs/images/decision-tree.svg"
_WIDTH, _LEFT, _QUESTION, _ANSWER, _RIGHT = 860.0, 16.0, 374.0, 484.0, 844.0
_TOP, _HEIGHT, _STEP = 16.0, 58.0, 92.0
_STYLE = """.box{fill:var(--wash);stroke:var(--soft)}.answer{fill:var(--wash);stroke:var(--tone);stroke-width:1.6}
.way{fill:none;stroke:var(--soft);stroke-width:1.6;marker-end:url(#tip)}.tip{fill:var(--soft)}.strong{font-weight:600}"""
#: Limits of the runs whose changes are shown.
_LIMITS = "1 CPU, 768Mi"


@dataclass(frozen=True)
class _Question:
    """A question: what to look at, and what follows from the answer that does not lead to the next question."""

    words: str
    look_at: str
    #: yes or no.
    aside: str
    tone: str
    follows: tuple[str, str]

    @property
    def onward(self) -> str:
        """Answer that leads to the next question."""
        return "no" if self.aside == "yes" else "yes"


def picture(runs: Sequence[Measured]) -> str:
    """Draws the questions from top to bottom."""
    questions = _questions(runs)
    last = f"Turn it on, and measure. 1,000 waiting users, 200 threads: {_capacity(runs, 'blocking')} throughput"
    marker = element(
        "marker",
        element("path", d="M0 0L8 4L0 8Z", class_="tip"),
        id="tip",
        viewBox="0 0 8 8",
        refX="7",
        refY="4",
        markerWidth="7",
        markerHeight="7",
        orient="auto",
    )
    bottom = _TOP + _STEP * len(questions)
    title = "Should you turn virtual threads on?"
    steps = " ".join(
        f"{number}. {q.words} {q.aside.capitalize()}: {'; '.join(q.follows)}. {q.onward.capitalize()}: go on."
        for number, q in enumerate(questions, 1)
    )
    return document(
        (_WIDTH, bottom + 56),
        title,
        f"{steps} After the last question: {last}.",
        element("defs", marker),
        *(part for number, question in enumerate(questions) for part in _row(number, question)),
        element("rect", x=_LEFT, y=bottom, width=_RIGHT - _LEFT, height=40.0, rx=7.0, class_="answer good"),
        text(_LEFT + 14, bottom + 25, last, class_="strong"),
        style=_STYLE,
    )


def _row(number: int, question: _Question) -> Iterator[Markup]:
    y = _TOP + _STEP * number
    middle, below = y + _HEIGHT / 2, y + _HEIGHT
    yield element("rect", x=_LEFT, y=y, width=_QUESTION, height=_HEIGHT, rx=7.0, class_="box")
    yield text(_LEFT + 14, y + 25, f"{number + 1}. {question.words}", class_="strong")
    yield text(_LEFT + 14, y + 45, question.look_at, class_="soft")
    class_ = f"answer {question.tone}"
    yield element("rect", x=_ANSWER, y=y, width=_RIGHT - _ANSWER, height=_HEIGHT, rx=7.0, class_=class_)
    yield text(_ANSWER + 14, y + 25, question.follows[0], class_="strong")
    yield text(_ANSWER + 14, y + 45, question.follows[1], class_="soft")
    yield element("path", d=f"M{_LEFT + _QUESTION:g} {middle:g}H{_ANSWER - 3:g}", class_="way")
    yield text((_LEFT + _QUESTION + _ANSWER) / 2, middle - 7, question.aside, "middle")
    yield element("path", d=f"M{_LEFT + _QUESTION / 2:g} {below:g}V{y + _STEP - 3:g}", class_="way")
    yield text(_LEFT + _QUESTION / 2 + 9, below + 21, question.onward)


def _capacity(runs: Sequence[Measured], experiment: str) -> str:
    """Returns the measured change of throughput with virtual threads, as reports write it."""
    return next(
        outcome.change
        for run in runs
        if (run.experiment, run.limits, run.target) == (experiment, _LIMITS, "one machine")
        for pair in run.pairs
        if (pair.of, pair.over) == ("virtual", "platform")
        for outcome in pair.outcomes
        if outcome.criterion == "capacity"
    )


def _questions(runs: Sequence[Measured]) -> tuple[_Question, ...]:
    return (
        _Question(
            "Are all request threads busy at peak?",
            "Tomcat, or Spring's executor: busy = maximum",
            "no",
            "open",
            ("Little to gain, perhaps something to lose", "question 4 says what"),
        ),
        _Question(
            "Is the pool behind them full?",
            "HikariCP: active = maximum, pending above 0",
            "yes",
            "open",
            ("Look at the pool first", f"measured throughput: {_capacity(runs, 'behind-a-pool')}"),
        ),
        _Question(
            "Does the code pin carrier threads?",
            "JDK 21 to 23: jdk.VirtualThreadPinned in JFR",
            "yes",
            "bad",
            ("A new driver, or JDK 24 or newer, first", "throughput can fall to a tenth"),
        ),
        _Question(
            "Is the CPU, or its carriers, at the limit?",
            "throttled periods, queued virtual threads",
            "yes",
            "open",
            ("Nothing to gain, or a loss", f"measured on one carrier: {_capacity(runs, 'wait-and-compute')}"),
        ),
        _Question(
            "Can what is behind take all requests at once?",
            "until now 200 threads were its limit",
            "no",
            "bad",
            ("Add a limit first", "a semaphore, a client pool, a short time-out"),
        ),
    )

"""The decision: it follows from verdict and bottlenecks, and is never stronger than the headline."""

from __future__ import annotations

from typing import Any

import pytest

from tests.support import recorded
from tests.unit.test_words import LOAD, OUT_OF_MEMORY, RUN, THREADS
from vtlab.model.run import Analysis
from vtlab.model.verdict import Bottleneck, Inside
from vtlab.report.words import decision
from vtlab.report.words.headline import headline

OPEN = recorded.analysed(recorded.under_open_load(recorded.run(blocks=3)))
CLEAR: dict[str, Any] = {"ratio": 4.96, "low": 4.9, "high": 5.0, "is_lower_bound": False, "verdict": "faster"}
SLOWER: dict[str, Any] = {**CLEAR, "ratio": 0.1, "low": 0.09, "high": 0.11, "verdict": "slower"}
SAME: dict[str, Any] = {**CLEAR, "ratio": 1.001, "low": 0.99, "high": 1.01, "verdict": "equivalent"}
WIDE: dict[str, Any] = {**CLEAR, "ratio": 1.02, "low": 0.82, "high": 1.27, "verdict": "inconclusive"}
POOL = Bottleneck(
    resource="database", utilisation=None, bound=None, inside=Inside(pool="db-pool", alone=0.03, loaded=0.4)
)
UNKNOWN = Bottleneck(resource="unknown", utilisation=None, bound=None)
CARRIERS = Bottleneck(resource="carriers", utilisation=1.0, bound=20.0)


def changed(comparison: dict[str, Any], platform: Bottleneck = THREADS, virtual: Bottleneck = LOAD) -> Analysis:
    return recorded.changed(RUN, comparison, platform={"bottleneck": platform}, virtual={"bottleneck": virtual})


@pytest.mark.parametrize(
    ("analysis", "text"),
    [
        (
            changed(CLEAR),
            "Turn it on: virtual serves more at 20 users; platform is limited by its 10 Tomcat threads.",
        ),
        (changed(CLEAR, platform=UNKNOWN), "Turn it on: virtual serves more at 20 users."),
        (
            changed(SLOWER, LOAD, CARRIERS),
            "Leave it off: virtual serves less at 20 users; virtual is limited by carriers.",
        ),
        (
            changed(SAME, LOAD, LOAD),
            "It makes no difference at 20 users: both keep up with this load.",
        ),
        (
            changed(SAME, POOL, POOL),
            "It makes no difference at 20 users: both are limited by the database, inside their database connections.",
        ),
        (
            changed(SAME, THREADS, UNKNOWN),
            "It makes no difference at 20 users: the difference in throughput is too small to matter.",
        ),
        (changed(WIDE), "No decision: no clear difference at 20 users."),
        (
            changed({**WIDE, "low": 1.01, "high": 1.08}),
            "No decision: throughput differs, but not clearly by more than 5 %.",
        ),
        (
            changed({**WIDE, "low": 1.06, "high": 1.2}),
            "No decision: throughput differs, but not clearly by more than 5 %, after correction for the number of"
            " comparisons.",
        ),
        (changed({**WIDE, "low": None, "high": None}), "No decision: one block gives no interval."),
        (
            recorded.changed(RUN, {"verdict": "inconclusive"}, virtual={"failed_blocks": 1}),
            "No decision: a variant failed in some blocks.",
        ),
        (
            recorded.changed(
                RUN, {"verdict": "fails", "fails": ["virtual"]}, virtual={"failed_blocks": 3, "failures": OUT_OF_MEMORY}
            ),
            "No decision: virtual fails under this load.",
        ),
        (
            recorded.changed(RUN, {"verdict": "fails", "fails": ["virtual", "platform"]}),
            "No decision: both fail under this load.",
        ),
        (
            recorded.changed(
                OPEN, {"ratio": None, "low": None, "high": None, "verdict": "faster", "overloaded": ["platform"]},
                platform={"bottleneck": THREADS},
            ),
            "Turn it on: only virtual keeps up with 150 arrivals per second; platform is limited by its 10 Tomcat"
            " threads.",
        ),
        (
            recorded.changed(
                OPEN,
                {"ratio": None, "verdict": "inconclusive", "overloaded": ["platform", "virtual"]},
            ),
            "No decision: neither keeps up with the arrivals.",
        ),
    ],
)  # fmt: skip
def test_decisions(analysis: Analysis, text: str) -> None:
    assert decision.decide(analysis).text == text


def test_a_run_that_is_not_valid_has_no_decision_whatever_its_figures_say() -> None:
    short = recorded.analysed(recorded.run(blocks=3, planned=6))
    assert decision.decide(recorded.changed(short, CLEAR)).text == "No decision: 3 of 6 planned blocks count."
    assert decision.decide(recorded.analysed(recorded.run(blocks=0, planned=6))).lead == "No decision"


def test_of_other_variants_it_names_the_better_one() -> None:
    names = {"platform": "virtual-a", "virtual": "virtual-b"}
    analysis = recorded.analysed(recorded.renamed(recorded.run("pool", blocks=3), names))
    slower = decision.decide(recorded.changed(analysis, SLOWER))
    assert slower.text.startswith("Prefer virtual-a: virtual-b serves less at ")
    assert decision.decide(recorded.changed(analysis, CLEAR)).lead == "Prefer virtual-b"


@pytest.mark.parametrize("comparison", [CLEAR, SLOWER])
def test_the_figure_stands_in_the_headline_alone_which_says_whether_it_is_a_lower_bound(
    comparison: dict[str, Any],
) -> None:
    for is_lower_bound in (True, False):
        analysis = changed({**comparison, "is_lower_bound": is_lower_bound})
        assert headline(analysis).endswith("ran out first") == is_lower_bound
        assert not {"%", "×"} & set(decision.decide(analysis).text)


def test_latency_is_decided_in_words_for_latency() -> None:
    for outcome, text in (("faster", "virtual answers faster"), ("slower", "virtual answers more slowly")):
        assert text in decision.decide(recorded.changed(OPEN, {**SLOWER, "verdict": outcome})).text

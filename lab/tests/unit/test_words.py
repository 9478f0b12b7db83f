"""What a verdict says in words."""

from __future__ import annotations

import pytest

from tests.support import builders
from vtlab.model.records import Comparison
from vtlab.model.run import Run
from vtlab.report import words


def say(run: Run) -> list[str | None]:
    a = builders.analysed(run)
    v, c = a.verdict, a.verdict.comparisons[0]
    return [
        words.headline(c),
        words.sentence(c, v.n, v.confidence, v.margin),
        words.quick(a),
        words.validity(a),
        words.hint(c, v.n, v.margin),
        *(words.bottleneck(result, run.experiment) for result in v.variants.values()),
    ]


@pytest.mark.parametrize(
    ("metric", "ratio", "text"),
    [
        ("throughput", 5.0, "5.0 times the throughput"),
        ("throughput", 120.4, "120 times the throughput"),
        ("throughput", 1.5, "1.5 times the throughput"),
        ("throughput", 1.494, "49 % more throughput"),
        ("throughput", 1.034, "3.4 % more throughput"),
        ("throughput", 1.0002, "the same throughput"),
        ("throughput", 0.88, "12 % less throughput"),
        ("throughput", 0.2, "80 % less throughput"),
        ("throughput", 0.004, "99.6 % less throughput"),
        ("latency_p99", 2.31, "2.3 times the p99 latency"),
        ("latency_p99", 1.2, "20 % higher p99 latency"),
        ("latency_mean", 0.2, "80 % lower mean latency"),
        ("service_time", 0.9, "10 % shorter service time"),
        ("memory", 0.935, "6.5 % less memory"),
    ],
)
def test_amounts(metric: str, ratio: float, text: str) -> None:
    assert words.amount(metric, ratio) == text


def test_a_clear_verdict() -> None:
    headline, sentence, quick, validity, hint, platform, virtual = say(builders.run())
    assert headline == "Virtual threads: 5.0 times the throughput"
    assert sentence == (
        "Throughput of virtual is 5.00 times that of platform, 95 % interval 5.00 to 5.00, over 6 blocks;"
        " differences up to 5 % do not count."
    )
    assert quick is validity is hint is None
    assert platform is not None
    assert virtual is not None
    assert platform.startswith("limited by its 200 Tomcat threads: 199.9/s ")
    assert platform.endswith("; next would be the load at 998.9/s.")
    assert virtual.startswith("limited by the load (1,000 users): ")
    assert virtual.endswith("; next would be the CPU at 3,333/s.")


def test_a_quick_look_says_so_and_what_a_full_run_costs() -> None:
    quick = say(builders.run(blocks=3))[2]
    assert quick == "Quick look: n = 3, fewer than 6 blocks; a full run of 6 blocks takes about 22 minutes."


def test_an_invalid_run_says_so() -> None:
    headline, sentence, quick, validity, hint, *bottlenecks = say(builders.run(blocks=0, planned=3))
    assert headline == "Virtual threads: no comparison"
    assert sentence == "No block passed the validity checks, so there is nothing to compare."
    assert quick == "Quick look: n = 0, fewer than 6 blocks."
    assert validity == "Not valid: 0 of 3 planned blocks count. Do not decide by this run."
    assert hint == "See the reasons for the rejected blocks."
    assert bottlenecks == ["no block counts, so nothing is known."] * 2
    short = builders.analysed(builders.run(blocks=2, planned=4, rejected={1: "steal"}))
    assert words.validity(short) == "Not valid: 2 of 4 planned blocks count, 1 rejected. Do not decide by this run."


def test_equivalent_inconclusive_and_overloaded() -> None:
    assert say(builders.run(builders.cpu()))[0] == ("Virtual threads: 1.1 % less throughput, too little to matter")
    headline, _, _, _, hint, _, virtual = say(builders.run(ratio=1.1, noise=0.15))
    assert headline == "Virtual threads: perhaps 0.6 % less throughput"
    assert hint == "A new run of 63 blocks would probably settle it (--blocks 63)."
    assert virtual is not None
    assert "nothing measured explains its 213.6/s; the nearest bound is" in virtual
    headline, sentence, *_ = say(builders.run(builders.arrivals(), builders.OVERLOADED))
    assert headline == ("Virtual threads: keep up with the arrivals, platform threads do not")
    assert sentence == (
        "Platform threads dropped arrivals with a healthy load generator, over 6 blocks:"
        " latency there has no upper bound."
    )


def comparison(**fields: object) -> Comparison:
    known = {"metric": "latency_p99", "of": "virtual", "over": "platform", "better": "lower"}
    return Comparison.model_validate({**known, "ratio": None, "low": None, "high": None, **fields})


def test_the_rarer_verdicts() -> None:
    slower = comparison(verdict="slower", overloaded=["virtual"])
    assert words.headline(slower).endswith("do not keep up with the arrivals, platform threads do")
    both = comparison(verdict="inconclusive", overloaded=["platform", "virtual"])
    assert "neither" in words.headline(both)
    assert words.hint(both, 6, 0.05) == "Lower the rate until one of the two keeps up."
    part = comparison(verdict="inconclusive", overloaded=["platform"], ratio=0.9, low=0.8, high=1.0)
    assert "In some blocks platform threads dropped arrivals" in words.sentence(part, 6, 0.95, 0.05)
    assert "keep up in every block" in str(words.hint(part, 6, 0.05))
    close = comparison(verdict="inconclusive", ratio=0.95, low=0.9, high=1.0)
    assert "hardly" in str(words.hint(close, 6, 0.05))
    assert "at least two" in str(words.hint(close, 1, 0.05))
    assert "from a single block" in words.sentence(comparison(ratio=0.9, verdict="inconclusive"), 1, 0.95, 0.05)
    assert words.headline(comparison(ratio=0.9)) == "Virtual threads: 10 % lower p99 latency"


def test_names_of_identical_variants() -> None:
    assert words.name("platform-b") == "Platform threads (b)"
    assert words.name("virtual") == "Virtual threads"


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(0.2, "1 second"), (40, "40 seconds"), (59.8, "1 minute"), (720, "12 minutes"), (9000, "2.5 hours")],
)
def test_durations(seconds: float, text: str) -> None:
    assert words.duration(seconds) == text


@pytest.mark.parametrize(
    ("value", "text"),
    [(9.236, "9.24/s"), (199.94, "199.9/s"), (200.0, "200/s"), (2950.4, "2,950/s"), (100.0, "100/s")],
)
def test_rates(value: float, text: str) -> None:
    assert words.rate(value) == text

"""Planted differences of what users feel, and of what a request costs: each criterion must be judged as the law of the
plant says, and the decision must follow from it.

One variant is planted, the other is not. Where a case is not about typical load, it has none, and no thread dumps.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import AbstractContextManager
from typing import Any

import pytest

from tests.support import short_lab
from tests.support.planted import planted_service
from tests.support.planted_cases import ONE_CARRIER, PLATFORM, VIRTUAL
from tests.support.privileges import needs_root
from tests.support.short_lab import Jvms, Lab, windows
from tests.support.short_runs import analysed, concluded, judged, judgements, measured, names, outcome
from vtlab.analysis.findings.measured import measured_findings
from vtlab.model.experiment import Experiment
from vtlab.model.run import Analysis
from vtlab.report.words import advice

__all__ = ["planted_service"]

pytestmark = [pytest.mark.timeout(1200), needs_root]

#: Puts the liveness on the port of the requests, as a service without a management port has it.
ONE_PORT = {"MANAGEMENT_ENDPOINT_HEALTH_PROBES_ADD_ADDITIONAL_PATHS": "true"}
#: Cheap requests for the warm-up, where those of the trial take seconds.
CHEAP = {"warmup_query": {"duration": "50ms"}, "warmup_load": "2s"}
MIB = 1024 * 1024
#: A fifth of what the JVM has without it, some 370 MB: the margin is a tenth.
BALLAST = 72


@pytest.fixture(scope="module")
def lab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lab]:
    with short_lab.lab(tmp_path_factory.mktemp("criteria")) as made:
        yield made


def planted(by_variant: dict[str, dict[str, str]], **more: Any) -> Jvms:
    """Returns JVMs of two variants, each with settings of its own."""
    properties = {name: {"threads": name, "settings": of_variant} for name, of_variant in by_variant.items()}
    return Jvms(properties=properties, planted=True, **more)


def modes(platform: str, virtual: str, **more: str) -> Jvms:
    """Returns JVMs whose answers take these times; ``more``: settings of the variant on virtual threads."""
    return planted({PLATFORM: {"LAB_PLANTED_MODES": platform}, VIRTUAL: {"LAB_PLANTED_MODES": virtual, **more}})


def at_rate(rate: float, window: str, users: int, gaps: str = "exponential") -> dict[str, Any]:
    """Returns ``load`` and ``windows`` of arrivals at that rate alone."""
    return {
        "load": {"typical": {"rate": rate, "users": users, "gaps": gaps}},
        "windows": {"warmup_cycles": 0, "warmup_load": "2s", "ramp_up": "500ms", "measure": window},
    }


def decided(analysis: Analysis) -> tuple[str, int | None]:
    """Returns the advice, and the number of the rule that gives it."""
    (decision,) = analysis.verdict.decisions
    return decision.advice, decision.rule


def test_a_longer_p99_at_equal_throughput_is_worse_at_full_load(lab: Lab, planted_service: dict[str, Any]) -> None:
    """Three of a hundred requests that take 60 % longer under full load make ``tail`` worse there, while capacity and
    median are the same."""
    jvms = modes("400ms:1", "400ms:0.97,640ms:0.03")
    load = windows(120, {PLATFORM: 120 / 0.4, VIRTUAL: 120 / 0.4072}, 6.0, warmup_cycles=0, warmup_load="2s")
    planned = jvms.experiment(planted_service, requests=[{"path": "/planted/modes"}], **load)
    with analysed(lab, jvms, planned, 3) as analysis:
        tail = outcome(analysis, "tail.full")
        assert (tail.percentile, tail.judgement) == ("p99", "worse"), tail
        assert tail.ratio == pytest.approx(1.6, rel=0.1)
        assert judgements(analysis)["capacity"] == judgements(analysis)["median.full"] == "same"
        assert decided(analysis) == ("no difference", 3)
        (decision,) = analysis.verdict.decisions
        assert (decision.at_full, names(decision.because)) == ("leave it off", ["tail.full"])


def test_a_longer_median_beside_a_shorter_tail_is_a_trade_off(lab: Lab, planted_service: dict[str, Any]) -> None:
    """A median of ten times as long is worse and half of the p95 is better at one rate: a trade-off, with both."""
    jvms = modes("40ms:0.9,800ms:0.1", "400ms:1")
    load = at_rate(100, "8s", users=260)
    planned = jvms.experiment(planted_service, requests=[{"path": "/planted/modes"}], max_response="2s", **load)
    with analysed(lab, jvms, planned, 3) as analysis:
        median, tail = outcome(analysis, "median"), outcome(analysis, "tail")
        assert (median.judgement, tail.judgement, tail.percentile) == ("worse", "better", "p95"), (median, tail)
        assert median.ratio == pytest.approx(10, rel=0.15)
        assert tail.ratio == pytest.approx(0.5, rel=0.1)
        assert decided(analysis) == ("trade-off", 2)
        (decision,) = analysis.verdict.decisions
        assert (names(decision.because), names(decision.against)) == (["tail"], ["median"])


def test_a_tenth_more_cpu_for_a_request_is_worse(lab: Lab, planted_service: dict[str, Any]) -> None:
    """A computation that is a tenth longer makes ``cpu`` worse by about that, and turns nothing on or off."""
    jvms = planted({PLATFORM: {"LAB_PLANTED_MORE_CPU": "0"}, VIRTUAL: {"LAB_PLANTED_MORE_CPU": "0.1"}})
    # Each second has as many requests: the CPU is read once a second.
    load = at_rate(60, "10s", users=170, gaps="even")
    # Open load warms by its rate alone, and the code of a cold JVM costs more than what is planted.
    load["windows"] |= {"warmup_cycles": 8, "warmup_load": "4s"}
    requests = [{"path": "/planted/computation", "query": {"duration": "10ms"}}]
    planned = jvms.experiment(planted_service, requests=requests, max_response="2s", **load)
    with analysed(lab, jvms, planned, 6) as analysis:
        cpu = outcome(analysis, "cpu")
        assert cpu.judgement == "worse", cpu
        # Some of a request's CPU is not the computation's.
        assert cpu.ratio == pytest.approx(1.1, abs=0.05), cpu
        (decision,) = analysis.verdict.decisions
        assert names(decision.beside) == ["cpu"]
        assert decision.advice in ("no difference", "no decision"), decision


def test_a_fifth_more_memory_is_worse(lab: Lab, planted_service: dict[str, Any]) -> None:
    """About a fifth more resident memory at equal capacity makes ``memory`` worse by as much as was planted."""
    properties = {
        "lean": {"threads": "platform"},
        "heavy": {"threads": "platform", "settings": {"LAB_PLANTED_BALLAST": str(BALLAST)}},
    }
    jvms = Jvms(properties=properties, planted=True)
    requests = [{"path": "/thread", "query": {"duration": "200ms"}}]
    load = windows(10, dict.fromkeys(properties, 50.0), 3.0, warmup_cycles=0, warmup_load="2s")
    planned = jvms.experiment(planted_service, variants=list(properties), requests=requests, **load)
    with analysed(lab, jvms, planned, 4) as analysis:
        memory = outcome(analysis, "memory")
        assert memory.judgement == "worse", memory
        assert memory.value is not None
        assert memory.base_value is not None
        assert memory.value - memory.base_value == pytest.approx(BALLAST * MIB, abs=20 * MIB)
        assert decided(analysis) == ("no difference", 4)


def restarted(lab: Lab, jvms: Jvms, planned: Experiment, loser: str) -> None:
    """Asserts that a kubelet would restart a variant, and the other not, and that this decides."""
    found, blocks = concluded(lab, jvms, planned, 2)
    (probe,) = (o for o in found.outcomes if o.key.criterion == "probe")
    assert probe.judgement == ("better" if loser == PLATFORM else "worse"), found.variants
    (decision,) = found.decisions
    assert (decision.rule, decision.loser, decision.fault) == (1, loser, "restarted")
    assert decision.advice == ("turn it on" if loser == PLATFORM else "leave it off")
    shown = measured_findings(planned, blocks, found.variants)
    named = [(finding.id, finding.variant) for finding in shown if finding.id.startswith("probe-")]
    assert named == [("probe-behind-requests" if loser == PLATFORM else "probe-starved", loser)]
    for trial in (trial for block in blocks for trial in block.trials):
        assert trial.probe is not None
        assert trial.probe.healthy == trial.probe.sent - trial.probe.unanswered


def test_computations_on_the_only_carrier_starve_the_probe(lab: Lab) -> None:
    """Three computations of 2 s that take turns on the only carrier would have a kubelet restart the variant on virtual
    threads, and no other."""
    jvms = Jvms(settings=ONE_PORT, limits=ONE_CARRIER.limits, properties=ONE_CARRIER.properties)
    load = windows(3, {PLATFORM: 1.5, VIRTUAL: 1 / 2}, 6.0, **CHEAP)
    request = {"path": "/compute", "query": {"duration": "2s"}}
    restarted(lab, jvms, jvms.experiment(None, requests=[request], max_response="30s", **load), VIRTUAL)


def test_a_probe_behind_busy_threads_is_starved(lab: Lab) -> None:
    """Twice as many users as platform threads, each for 3 s, would have a kubelet restart that variant, and no
    other."""
    jvms = Jvms(settings={**ONE_PORT, "SERVER_TOMCAT_THREADS_MAX": "43"})
    load = windows(86, {PLATFORM: 43 / 3, VIRTUAL: 86 / 3}, 6.0, **CHEAP)
    request = {"path": "/thread", "query": {"duration": "3s"}}
    restarted(lab, jvms, jvms.experiment(None, requests=[request], max_response="30s", **load), PLATFORM)


def test_fallbacks_are_told_beside_the_advice(lab: Lab, planted_service: dict[str, Any]) -> None:
    """A variant that serves twice as much, three quarters of it as answers of another form, is not turned on without
    saying so."""
    settings = {"SERVER_TOMCAT_THREADS_MAX": "10"}
    shapes = {PLATFORM: {"LAB_PLANTED_SHAPE": "0"}, VIRTUAL: {"LAB_PLANTED_SHAPE": "0.75"}}
    jvms = planted(shapes, settings=settings)
    load = windows(20, {PLATFORM: 100, VIRTUAL: 200}, 5.0, warmup_cycles=0, warmup_load="2s")
    request = {"path": "/planted/shape", "query": {"duration": "100ms"}}
    with analysed(lab, jvms, jvms.experiment(planted_service, requests=[request], **load), 2) as analysis:
        assert decided(analysis) == ("turn it on", 2)
        (decision,) = analysis.verdict.decisions
        (difference,) = decision.differences
        # Which of both forms is the other one is left open.
        shares = "7[0-9.]+ % of the answers had another form .* under virtual, and 0.0 % under platform"
        others = "100.0 % of the answers had another form .* under platform, and 2[0-9.]+ % under virtual"
        assert re.search(f"{shares}|{others}", difference), difference
        assert f"But they answer differently: {difference}" in advice.sentence(analysis)


def test_errors_of_one_variant_are_told_or_fail_it(lab: Lab, planted_service: dict[str, Any]) -> None:
    """Three errors in a hundred answers of one variant stand beside the advice, or decide against it where
    max_errors allows fewer."""
    jvms = modes("100ms:1", "100ms:1", LAB_PLANTED_ERRORS="0.03")
    load = windows(20, dict.fromkeys((PLATFORM, VIRTUAL), 200.0), 6.0, warmup_cycles=0, warmup_load="2s")
    planned = jvms.experiment(planted_service, requests=[{"path": "/planted/modes"}], max_errors=0.2, **load)
    with measured(lab, jvms, planned, 3) as blocks:
        (allowed,) = judged(planned, blocks).verdict.decisions
        (difference,) = allowed.differences
        assert "of the answers were errors" in difference
        assert f"under {VIRTUAL}, and 0.0 % under {PLATFORM}" in difference
        assert allowed.advice != "turn it on"
        (refused,) = judged(strict(planned), blocks).verdict.decisions
        assert (refused.advice, refused.rule, refused.loser) == ("leave it off", 1, VIRTUAL)
        assert refused.fault == "fails"


def strict(planned: Experiment) -> Experiment:
    return planned.model_copy(update={"max_errors": 0.001})


def overloading(lab: Lab, by: float) -> AbstractContextManager[Analysis]:
    """Measures 43 platform threads of 200 ms under so many more arrivals than they serve."""
    jvms = Jvms(settings={"SERVER_TOMCAT_THREADS_MAX": "43"})
    request = {"path": "/thread", "query": {"duration": "200ms"}}
    load = at_rate(round((1 + by) * 43 / 0.2, 1), "15s", users=500)
    return analysed(lab, jvms, jvms.experiment(None, requests=[request], max_response="1700ms", **load), 2)


def test_too_many_arrivals_by_a_tenth_overload_a_variant_and_that_decides(lab: Lab) -> None:
    """A variant that gets 10 % more arrivals than it serves, in windows of typical load, is overloaded, and that
    decides."""
    with overloading(lab, 0.10) as analysis:
        (decision,) = analysis.verdict.decisions
        assert (decision.advice, decision.rule, decision.loser) == ("turn it on", 1, PLATFORM)
        assert decision.fault == "overloaded"
        judged = judgements(analysis)
        assert (judged["median"], judged["tail"]) == ("better", "better")


def test_too_many_arrivals_by_a_thirtieth_are_never_kept_up_with(lab: Lab) -> None:
    """A variant that gets 3 % more arrivals than it serves is overloaded, slower, or undecided, and never said to keep
    up."""
    with overloading(lab, 0.03) as analysis:
        judged = judgements(analysis)
        assert {judged["median"], judged["tail"]} <= {"better", "undecided", None}, judged
        assert decided(analysis)[0] in ("turn it on", "no decision")
        assert analysis.verdict.variants[PLATFORM].bottleneck.resource != "load"

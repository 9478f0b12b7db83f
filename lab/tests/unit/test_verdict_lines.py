"""First lines of a run: the decision with the largest effect and the load, why, and what to do next.

Each case is a situation that a newcomer may read: what would you do, and why?
"""

from __future__ import annotations

import copy
from dataclasses import replace
from typing import Any

import pytest

from tests.support import felt, outcomes, recorded
from tests.support.outcomes import BASE, concluded, limited, outcome
from vtlab.analysis import run_status, time_plan
from vtlab.analysis.criteria import reasons
from vtlab.analysis.findings import run_findings
from vtlab.analysis.statistics import stopping_rule
from vtlab.model.curve import Curve, Point
from vtlab.model.finding import Finding
from vtlab.model.outcome import Decision, Outcome, ProbeResult
from vtlab.model.records import Diagnosis, Failure, Trial
from vtlab.model.run import Analysis
from vtlab.model.verdict import Bottleneck, Bound, Inside, RunEnd
from vtlab.report.parts import performance
from vtlab.report.words import block_counts, outcome_rows
from vtlab.report.words.turning_it_on import turning_it_on
from vtlab.report.words.verdict_lines import verdict_lines

LOAD = Bottleneck(resource="load", utilisation=1.0, bound=100.0)
THREADS = Bottleneck(resource="tomcat-threads", utilisation=1.0, bound=49.0)
UNKNOWN = Bottleneck(resource="unknown", utilisation=None, bound=None)
CPU = Bottleneck(resource="cpu", utilisation=1.0, bound=300.0)
CORE = Bound(resource="cpu", bound=300.0, utilisation=1.0, capacity=1.0, service_demand=0.003)
TEN = Bound(resource="tomcat-threads", bound=49.0, utilisation=1.0, capacity=10.0, service_demand=0.2)
COMPUTING, WAITING = limited(CPU, CPU, CORE), limited(THREADS, LOAD, TEN)
CALL = "vtlab try shop.jar 'GET /orders/17'"
LONG = f"{CALL} --max-time 20m"
STOPPED = RunEnd(
    looks=[2, 3, 4, 6, 9, 12, 16], blocks=6, level=0.01, claims=3, precision=0.1, within=480.0, ended="within"
)
WIDE: dict[str, Any] = {"judgement": "undecided", "low": 0.8, "high": 1.5}
NOT_MEASURED: dict[str, Any] = {
    **dict.fromkeys(("judgement", "base_value", "value", "ratio", "low", "high")),
    "reason": "it was not measured",
}


def decided(**fields: Any) -> Decision:
    return Decision.model_validate({"of": "virtual", "over": "platform", "rule": 1, **fields})


def probes(**fields: Any) -> ProbeResult:
    fine = {"sent": 400, "over_second": 0, "unanswered": 0, "longest": 0.02, "restarts": "no", "restarting_blocks": 0}
    return ProbeResult.model_validate({**fine, **fields})


def failing(reason: str, *moments: str) -> Analysis:
    failures = [Failure(variant="virtual", reason=reason, moment=m) for m in moments or ("trial 1", "trial 2")]
    return recorded.changed(BASE, virtual={"failed_blocks": 6, "failures": failures, "failed_interval": (0.54, 1.0)})


def overtaking(connections: int) -> Analysis:
    """Returns an analysis with the finding that requests overtake each other in the queue of a pool of that size."""
    pool = outcomes.CONNECTIONS.model_copy(update={"capacity": connections})
    tails = {"platform": 0.52, "virtual": 1.2}
    shown = {name: {"latency": {"p95": p95}, "throughput": 49.0} for name, p95 in tails.items()}
    base = recorded.changed(limited(outcomes.POOL, outcomes.POOL, pool), **shown)
    blocks = [
        recorded.copied(b, {"trials": [recorded.changed_trial(t, server=sized) for t in b.trials]})
        for b in base.accepted
        for sized in [{"capacity_db-pool": float(connections)}]
    ]
    found = run_findings.findings_of_run(base.run, blocks, base.verdict.variants)
    return replace(base, verdict=base.verdict.model_copy(update={"findings": found}))


STARVED = probes(over_second=390, unanswered=12, longest=15.0, restarts="yes", restarting_blocks=6)
READINGS: dict[str, tuple[Analysis, str, str | None, str | None]] = {
    "behind a pool: a worse tail at full load": (
        concluded(outcome("tail.full", 2.3)),
        "No difference at 29.3/s. At full load leave spring.threads.virtual.enabled off: p95 is 2.30 times as long"
        " (2.07–2.53)",
        "Both wait for 10 database connections; virtual threads overtake each other there",
        f"Hold connections more briefly, or try a larger pool: {LONG} --variant pool=20",
    ),
    "behind a pool of 50, with the finding": (
        concluded(outcome("tail.full", 2.3), base=overtaking(connections=50)),
        "No difference at 29.3/s. At full load leave spring.threads.virtual.enabled off: p95 is 2.30 times as long"
        " (2.07–2.53)",
        "Both wait for 50 database connections; virtual threads overtake each other there",
        "Hold connections more briefly, or try a larger pool, if the database can serve more at a time:"
        f" {LONG} --variant pool=100",
    ),
    "petclinic: a shorter tail": (
        concluded(outcome("tail", 0.26), outcome("median", 1.02), base=COMPUTING),
        "Turn on spring.threads.virtual.enabled: p95 at 29.3/s is 74 % shorter (71–77)",
        "At full load both are limited by the CPU (1 core)",
        "Set spring.threads.virtual.enabled: true in application.yaml; to go back, false and a restart",
    ),
    "a service that computes": (
        concluded(outcome("cpu", 1.3), outcome("memory", 0.7), base=COMPUTING),
        "spring.threads.virtual.enabled makes no difference at 29.3/s and 20 users. virtual takes 30 % more CPU per"
        " request (17–43) and 30 % less memory (23–37)",
        "Both are limited by the CPU (1 core)",
        f"Compute less for a request, or give it more CPU: {LONG} --cpu 2",
    ),
    "a service that computes, with a tail at full load that is undecided": (
        concluded(outcome("tail.full", 1.1, blocks_needed=9, **WIDE), base=COMPUTING),
        "spring.threads.virtual.enabled makes no difference at 29.3/s and in capacity at 20 users. Undecided: p95 at"
        " 20 users",
        "Both are limited by the CPU (1 core)",
        f"Compute less for a request, or give it more CPU: {LONG} --cpu 2",
    ),
    "the same without capacity": (
        concluded(
            outcome("capacity").model_copy(update=NOT_MEASURED),
            outcome("tail.full", 1.1, **WIDE),
            base=COMPUTING,
        ),
        "spring.threads.virtual.enabled makes no difference at 29.3/s. Undecided: p95 at 20 users",
        "Both are limited by the CPU (1 core)",
        f"Compute less for a request, or give it more CPU: {LONG} --cpu 2",
    ),
    "the load limits both, and a tail at full load is undecided": (
        concluded(outcome("tail.full", 1.1, blocks_needed=9, **WIDE), base=limited(LOAD, LOAD)),
        "spring.threads.virtual.enabled makes no difference at 29.3/s and in capacity at 20 users. Undecided: p95 at"
        " 20 users",
        "The load limits both, but at least one is close to another limit",
        f"9 blocks would probably settle it, in about 14 minutes: {CALL} --blocks 9",
    ),
    "one that waits for its threads": (
        concluded(outcome("capacity", 4.98, is_lower_bound=True), outcome("tail.full", 0.2), base=WAITING),
        "Turn on spring.threads.virtual.enabled: virtual serves 4.98 times as much at 20 users (4.48–5.48); with more"
        " users virtual may serve more",
        "platform is limited by its 10 Tomcat threads, virtual only by the 20 users",
        "Set spring.threads.virtual.enabled: true in application.yaml; to go back, false and a restart",
    ),
    "light and heavy requests on one carrier": (
        concluded(outcome("median", 48.0), outcome("tail", 0.34), base=COMPUTING),
        "spring.threads.virtual.enabled is a trade-off: p95 at 29.3/s is 66 % shorter (63–69), but the median at 29.3/s"
        " is 48.0 times as long (43.2–52.8)",
        "At full load both are limited by the CPU (1 core)",
        "Decide which of both your users feel; --slo p95=200ms tells which variant meets such a limit",
    ),
    "platform cannot keep up with the typical load": (
        concluded(
            decision=decided(advice="turn it on", loser="platform", fault="overloaded"),
            base=limited(THREADS, LOAD, TEN, recorded.changed(BASE, platform={"overloaded_blocks": 5})),
        ),
        "Turn on spring.threads.virtual.enabled: platform is overloaded at 29.3/s in 5 of 6 blocks",
        "platform is limited by its 10 Tomcat threads, virtual only by the 20 users",
        "Set spring.threads.virtual.enabled: true in application.yaml; to go back, false and a restart",
    ),
    "virtual runs out of memory": (
        concluded(
            decision=decided(advice="leave it off", loser="virtual", fault="fails"),
            base=failing("out of heap memory (384m)"),
        ),
        "Leave spring.threads.virtual.enabled off: virtual fails at 20 users: out of heap memory (384m) in 6 of 6"
        " blocks (54–100 % of starts)",
        "virtual: out of heap memory (384m) (trial 1, trial 2)",
        "Read the log of virtual: the results directory has it in its folder logs",
    ),
    "a kubelet restarts platform": (
        concluded(
            decision=decided(advice="turn it on", loser="platform", fault="restarted"),
            base=limited(
                THREADS,
                LOAD,
                TEN,
                recorded.changed(BASE, platform={"probes": {"full": STARVED, "typical": probes()}}),
            ),
        ),
        "Turn on spring.threads.virtual.enabled: a kubelet would restart platform at 20 users: 97.5 % of its probes"
        " took over 1 s",
        "platform is limited by its 10 Tomcat threads, virtual only by the 20 users",
        "Set spring.threads.virtual.enabled: true in application.yaml; to go back, false and a restart",
    ),
    "intervals that are too wide": (
        concluded(outcome("median", 1.1, blocks_needed=6, **WIDE), outcome("tail", 1.1, blocks_needed=9, **WIDE)),
        "No decision: the median and p95 at 29.3/s are undecided",
        "Both wait for 10 database connections",
        f"9 blocks would probably settle it, in about 14 minutes: {CALL} --blocks 9",
    ),
    "an undecided tail beside more capacity": (
        concluded(outcome("capacity", 1.5), outcome("tail", 1.1, blocks_needed=9, **WIDE), base=WAITING),
        "Probably turn on spring.threads.virtual.enabled: virtual serves 1.50 times as much at 20 users (1.35–1.65)."
        " Undecided: p95 at 29.3/s",
        "platform is limited by its 10 Tomcat threads, virtual only by the 20 users",
        f"9 blocks would probably settle it, in about 14 minutes: {CALL} --blocks 9",
    ),
    "a tail at full load alone, with an undecided one": (
        concluded(outcome("tail.full", 0.5), outcome("tail", 1.1, **WIDE), base=COMPUTING),
        "Probably no difference at 29.3/s. At full load turn on spring.threads.virtual.enabled: p95 is 50 % shorter"
        " (45–55). Undecided: p95 at 29.3/s",
        "Both are limited by the CPU (1 core)",
        "Set spring.threads.virtual.enabled: true in application.yaml; to go back, false and a restart",
    ),
    "a tail at full load alone, and nothing that is known at typical load": (
        concluded(
            outcome("tail.full", 0.5), outcome("median", 1.1, **WIDE), outcome("tail", 1.1, **WIDE), base=COMPUTING
        ),
        "No decision at 29.3/s. At full load p95 is 50 % shorter (45–55) with virtual. Undecided: the median and p95 at"
        " 29.3/s",
        "Both are limited by the CPU (1 core)",
        "Judging by 6 blocks, this machine cannot settle it: a difference is too close to its margin, or blocks differ"
        " too much",
    ),
    "a tail at typical load that cannot be judged": (
        concluded(
            outcome("tail.full", 0.65),
            outcome("median", 1.1, blocks_needed=9, **WIDE),
            outcome("tail", 4.2).model_copy(update={"judgement": None, "ratio": None, "reason": "two modes"}),
            base=COMPUTING,
        ),
        "No decision at 29.3/s. At full load p95 is 35 % shorter (28–41) with virtual. Undecided: the median at 29.3/s."
        " Without outcome: p95 at 29.3/s",
        "Both are limited by the CPU (1 core)",
        f"9 blocks would probably settle it, in about 14 minutes: {CALL} --blocks 9",
    ),
    "the same, where more blocks would settle typical load": (
        concluded(
            outcome("tail.full", 1.9),
            outcome("median", 1.1, blocks_needed=6, **WIDE),
            outcome("tail", 1.1, blocks_needed=9, **WIDE),
            base=COMPUTING,
        ),
        "No decision at 29.3/s. At full load p95 is 1.90 times as long (1.71–2.09) with virtual. Undecided: the median"
        " and p95 at 29.3/s",
        "Both are limited by the CPU (1 core)",
        f"9 blocks would probably settle it, in about 14 minutes: {CALL} --blocks 9",
    ),
    "slower, with more room": (
        concluded(outcome("median", 1.5), base=WAITING),
        "Leave spring.threads.virtual.enabled off: the median at 29.3/s is 1.50 times as long (1.35–1.65)",
        "At full load platform is limited by its 10 Tomcat threads, virtual only by the 20 users",
        f"Measure more users, if you expect them: {LONG} --users 40",
    ),
    "no difference, and nobody knows the limit": (
        concluded(base=limited(CPU, UNKNOWN, CORE)),
        "spring.threads.virtual.enabled makes no difference at 29.3/s and 20 users",
        "platform is limited by the CPU (1 core); nothing measured explains what limits virtual",
        "Find out what requests of virtual wait for: vtlab run FILE --thread-dumps always, with a file of vtlab init",
    ),
    "both ways at full load": (
        concluded(outcome("median.full", 0.4), outcome("tail.full", 2.3)),
        "No difference at 29.3/s. At full load spring.threads.virtual.enabled is a trade-off: the median is 60 %"
        " shorter (56–64), but p95 is 2.30 times as long (2.07–2.53)",
        "Both wait for 10 database connections; virtual threads overtake each other there",
        f"Hold connections more briefly, or try a larger pool: {LONG} --variant pool=20",
    ),
}


@pytest.mark.parametrize("situation", READINGS)
def test_a_newcomer_reads_what_to_do_and_why(situation: str) -> None:
    analysis, *expected = READINGS[situation]
    lines = verdict_lines(analysis)
    assert [lines.verdict, lines.why, lines.next] == expected


def test_without_typical_load_it_is_about_capacity() -> None:
    typical = [outcome(name).model_copy(update=NOT_MEASURED) for name in ("median", "tail", "cpu")]
    lines = verdict_lines(concluded(*typical, outcome("tail.full", 1.9)))
    assert lines.verdict.startswith("No difference in capacity. At full load leave ")
    assert (
        verdict_lines(concluded(*typical)).verdict == "spring.threads.virtual.enabled makes no difference at 20 users"
    )
    assert verdict_lines(concluded(*typical, outcome("median.full", **WIDE))).verdict == (
        "spring.threads.virtual.enabled makes no difference in capacity at 20 users. Undecided: the median at 20 users"
    )


def of_others(*made: Outcome) -> Analysis:
    """Returns an analysis of two variants on virtual threads."""
    names = {"of": "virtual-b", "over": "virtual-a"}
    renamed = recorded.renamed(BASE.run, {"platform": "virtual-a", "virtual": "virtual-b"}, None)
    analysis = concluded(*made, base=limited(THREADS, LOAD, TEN))
    verdict = analysis.verdict
    (decision,) = (d.model_copy(update=names) for d in verdict.decisions)
    results = {"virtual-a": verdict.variants["platform"], "virtual-b": verdict.variants["virtual"]}
    update = {"outcomes": [o.model_copy(update=names) for o in verdict.outcomes], "decisions": [decision]}
    return replace(analysis, run=renamed, verdict=verdict.model_copy(update={**update, "variants": results}))


def test_of_other_variants_the_better_one_is_preferred() -> None:
    more, less = of_others(outcome("capacity", 4.98)), of_others(outcome("capacity", 0.5))
    assert verdict_lines(more).verdict.startswith("Prefer virtual-b: virtual-b serves 4.98 times as much at 20 users")
    assert verdict_lines(less).verdict.startswith("Prefer virtual-a: virtual-b serves 50 % less at 20 users")
    assert verdict_lines(of_others(outcome("tail", 1.5))).verdict == (
        "Prefer virtual-a: p95 at 29.3/s is 1.50 times as long (1.35–1.65) with virtual-b"
    )
    assert verdict_lines(of_others()).verdict == "virtual-a and virtual-b do not differ at 29.3/s and 20 users"
    assert verdict_lines(of_others(outcome("median.full", **WIDE), outcome("tail.full", **WIDE))).verdict == (
        "virtual-a and virtual-b do not differ at 29.3/s and in capacity at 20 users. Undecided: the median and p95 at"
        " 20 users"
    )
    mixed = verdict_lines(of_others(outcome("median", 2.0), outcome("tail", 0.5))).verdict
    assert mixed.startswith("virtual-b in place of virtual-a is a trade-off: p95 at 29.3/s is 50 % shorter")
    assert turning_it_on(more) is None


@pytest.mark.parametrize(
    ("moments", "where"),
    [
        (["trial 1", "the last warm-up cycle"], "at 20 users"),
        (["typical load", "typical load"], "at 29.3/s"),
        (["trial 1", "typical load"], "at 29.3/s and 20 users"),
        (["warm-up cycle 2", "warm-up cycle 3"], "at 20 users"),
        (["warm-up cycle 1", "trial 2"], "under this load"),  # with fewer users
        (["while it started", "while it started"], "under this load"),
        (["light load", "before trial 1"], "under this load"),
    ],
)
def test_a_failure_names_the_load_where_it_happened(moments: list[str], where: str) -> None:
    """Seen: "fails under this load", of a run that has two."""
    decision = decided(advice="leave it off", loser="virtual", fault="fails")
    analysis = concluded(decision=decision, base=failing("out of heap memory", *moments))
    run = analysis.run
    windows = run.experiment.windows.model_copy(update={"warmup_cycles": 1})
    run = replace(run, experiment=run.experiment.model_copy(update={"windows": windows}))
    analysis = replace(analysis, run=run)
    assert f": virtual fails {where}: out of heap memory in 6 of 6 blocks" in verdict_lines(analysis).verdict


def test_cycles_with_fewer_users_tell_no_load_at_which_a_variant_failed() -> None:
    """In a cycle platform threads have as many users as they serve at a time, 200 of 1,000: that is not full load."""
    decision = decided(advice="leave it off", loser="virtual", fault="fails")
    analysis = concluded(decision=decision, base=failing("out of heap memory", "the last warm-up cycle"))
    assert "virtual fails at 20 users" in verdict_lines(analysis).verdict
    few = [
        recorded.copied(b, {"warmup": [t.model_copy(update={"users": 5}) for t in b.warmup]}) for b in analysis.accepted
    ]
    assert "virtual fails under this load" in verdict_lines(replace(analysis, accepted=few)).verdict


def test_a_finding_whose_cure_was_measured_is_no_next_step() -> None:
    """Its cure is virtual threads, by the same call: after "Leave … off" that is no step."""
    base = concluded(base=with_users())
    words = dict.fromkeys(("title", "symptom", "cause", "amount", "place", "source", "cure", "command"), "words")
    finding = Finding(id="throttled-platform-threads", kind="measured", variant="platform", **words)
    shown = replace(base, verdict=base.verdict.model_copy(update={"findings": [finding]}))
    assert verdict_lines(shown).next == verdict_lines(base).next


def test_a_rate_at_which_no_queue_was_steady_is_to_be_lowered() -> None:
    base = recorded.analysed(recorded.under_open_load(recorded.run(blocks=6)))
    unsteady = {"judgement": "undecided", "reason": reasons.NOT_STEADY, "ratio": None, "low": None, "high": None}
    made = [o.model_copy(update=unsteady) if o.is_claim else o for o in base.verdict.outcomes]
    decision = base.verdict.decisions[0].model_copy(
        update={"rule": None, "advice": "no decision", "undecided": [o.key for o in made if o.is_claim]}
    )
    shown = replace(base, verdict=base.verdict.model_copy(update={"outcomes": made, "decisions": [decision]}))
    assert verdict_lines(shown).next == "Lower the rate (--rate): at this one queues were not steady"


def test_answers_that_differ_are_told_with_the_advice() -> None:
    shown = concluded(outcome("capacity", 4.98), base=WAITING)
    differences = ["virtual answers 31 % in another shape"]
    decision = shown.verdict.decisions[0].model_copy(update={"differences": differences})
    lines = verdict_lines(replace(shown, verdict=shown.verdict.model_copy(update={"decisions": [decision]})))
    assert lines.verdict.endswith(". But they answer differently: virtual answers 31 % in another shape")
    assert lines.next == "Find out first why they answer differently"


def test_two_blocks_that_scatter_do_not_say_what_the_machine_can_settle() -> None:
    """Seen: "this machine cannot settle it" of 4.81 and 4.20 times, by two blocks."""
    two = recorded.analysed(recorded.run(blocks=2, command=f"{CALL} --blocks 2 --users 20"))
    assert two.verdict.n == 2
    lines = verdict_lines(concluded(outcome("capacity", 4.5, **WIDE), base=two))
    assert lines.next == f"Measure until it is settled: {CALL} --users 20"


def test_what_no_run_would_settle_is_said() -> None:
    unsettled = concluded(outcome("tail", 1.1, **WIDE))
    assert verdict_lines(unsettled).next == (
        "Judging by 6 blocks, this machine cannot settle it: a difference is too close to its margin, or blocks differ"
        " too much"
    )
    rushed = replace(unsettled, verdict=unsettled.verdict.model_copy(update={"end": STOPPED}))
    assert str(verdict_lines(rushed).next).startswith("Give it more time: "), "two blocks do not blame the machine"
    probable = concluded(outcome("capacity", 1.5), outcome("tail", 1.1, **WIDE))
    assert str(verdict_lines(probable).next).startswith("Set spring.threads.virtual.enabled: true")


def test_a_probable_advice_of_few_blocks_asks_for_more_time() -> None:
    """Read by three newcomers: "Probably turn on … 45 % more (12-88)" of two blocks. Each would have measured longer,
    where NEXT said to set the property."""
    two = recorded.analysed(recorded.run(blocks=2, command=CALL))
    rushed = replace(two, verdict=two.verdict.model_copy(update={"end": STOPPED}))
    probable = [outcome("capacity", 1.45), outcome("tail", 1.1, **WIDE)]
    assert str(verdict_lines(concluded(*probable, base=rushed)).next).startswith("Give it more time: ")
    fixed = concluded(*probable, base=two)
    assert str(verdict_lines(fixed).next).startswith("Measure until it is settled: ")
    clear = concluded(outcome("capacity", 1.45), base=rushed)
    assert str(verdict_lines(clear).next).startswith("Set spring.threads.virtual.enabled: true")


def test_a_larger_pool_is_not_advised_where_what_holds_it_is_slow() -> None:
    slow = Bottleneck(
        resource="lock",
        utilisation=None,
        bound=None,
        inside=Inside(pool="db-pool", alone=0.03, loaded=0.4, activity="lock", place="Semaphore at OrderService:42"),
    )
    lines = verdict_lines(concluded(base=limited(slow, slow)))
    assert lines.next == (
        "Shorten the time that database connections are held (Semaphore at OrderService:42): a larger pool does not"
        " help"
    )


def with_users(*others: Bound, **about: Any) -> Analysis:
    """Returns an analysis whose 20 users are the limit of both variants, with those further bounds."""
    users = Bound(
        resource="load", bound=100.0, low=98.0, high=102.0, utilisation=1.0, capacity=20.0, service_demand=0.2
    )
    results = {
        name: {"bounds": [users, *others], "cpu_per_request": 0.0002, **about} for name in ("platform", "virtual")
    }
    return recorded.changed(limited(LOAD, LOAD), **results)


def test_a_load_that_limits_both_is_said_with_the_users_to_try() -> None:
    lines = verdict_lines(concluded(base=with_users()))
    assert lines.why == "The load limits both; neither is near a metered limit"
    assert lines.next == f"Measure more users, if you expect them: {LONG} --users 40"


def test_an_unknown_limit_asks_for_thread_dumps_where_vtlab_has_none() -> None:
    """Seen: no NEXT at all after "makes no difference"."""
    analysis = concluded(base=limited(CPU, UNKNOWN, CORE))

    def following(**manifest: Any) -> str:
        run = replace(analysis.run, manifest=recorded.copied(analysis.run.manifest, manifest))
        return str(verdict_lines(replace(analysis, run=run)).next)

    asked = "Find out what requests of virtual wait for: "
    assert following(command="vtlab run shop.yaml") == f"{asked}vtlab run shop.yaml --thread-dumps always"
    assert following(target="kubernetes") == f"{asked}take thread dumps in its pod under load (jcmd)"
    block = analysis.accepted[0].model_copy(
        update={"diagnosis": {"virtual": Diagnosis(dumps=9, threads=20, places=[])}}
    )
    dumped = verdict_lines(replace(analysis, accepted=[block, *analysis.accepted[1:]])).next
    assert dumped == f"{asked}the report shows where its threads stood"


def test_a_limit_beside_the_load_is_what_to_change() -> None:
    both = CPU.model_copy(update={"resource": "load", "together": ["cpu"]})
    lines = verdict_lines(concluded(base=limited(CPU, both, CORE)))
    assert lines.next == f"Compute less for a request, or give it more CPU: {LONG} --cpu 2"


def test_a_rate_that_one_variant_keeps_up_with_is_measured_higher() -> None:
    run = recorded.under_open_load(recorded.run(), "platform")
    analysis = concluded(outcome("median", 1.5), base=limited(THREADS, LOAD, TEN, recorded.analysed(run)))
    assert verdict_lines(analysis).next == "Measure a higher rate: at this one virtual keeps up"


def test_another_limit_is_far_only_where_more_load_was_tried() -> None:
    """Seen: "neither is near its limit: virtual's CPU would bind from about 200 users on", with a semaphore of 23."""
    threads = Bound(
        resource="tomcat-threads",
        bound=1000.0,
        low=980.0,
        high=1020.0,
        utilisation=0.1,
        capacity=200,
        service_demand=0.2,
    )
    analysis = concluded(base=with_users(threads, throughput=100.0))
    of_metered = (
        "The load limits both; neither is near a metered limit: of what is metered, platform's Tomcat threads come"
        " first, from about 200 users"
    )
    assert verdict_lines(analysis).why == of_metered
    points = [
        Point(variant=name, users=40, throughput=rate, mean=0.2, p99=None, failed=0.0)
        for name, rate in (("platform", 199.0), ("virtual", 200.0))
    ]
    curve = Curve(points=points, ended="levelled off", seconds=41.0, chosen=20)
    searched = replace(
        analysis, run=replace(analysis.run, manifest=recorded.copied(analysis.run.manifest, {"curve": curve}))
    )
    assert verdict_lines(searched).why == (
        "The load limits both; neither is near another limit: platform's Tomcat threads would limit it from about 200"
        " users"
    )
    points[1] = points[1].model_copy(update={"throughput": 115.0})
    stopped = recorded.copied(analysis.run.manifest, {"curve": curve.model_copy(update={"points": points})})
    assert verdict_lines(replace(analysis, run=replace(analysis.run, manifest=stopped))).why == of_metered
    cpu = concluded(base=with_users(threads.model_copy(update={"resource": "cpu"}), throughput=100.0))
    assert (verdict_lines(cpu).why or "").endswith(
        "of what is metered, platform's CPU comes first, from about 200 users"
    )


def test_one_block_asks_for_more_time() -> None:
    rule = stopping_rule.sequential_rule(1, within=60)
    run = recorded.run(blocks=1, planned=12, rule=rule, command=f"{CALL} --max-time 1m")
    run = replace(run, blocks=[b.model_copy(update={"seconds": 50.0}) for b in run.blocks])
    lines = verdict_lines(recorded.analysed(run))
    assert lines.verdict == "No decision: one block gives a provisional interval only"
    assert lines.next == f"Give it more time: {CALL} --max-time 3m"
    # Seen: "--max-time 10m" after the block, and 16m here.
    plan = time_plan.plan(run, run_status.status_of(run))
    assert plan is not None
    assert block_counts.in_time(plan, "11:53") == "2 blocks take 40 seconds more: --max-time 3m"


def test_typical_load_that_k6_sends_late_asks_for_a_lower_rate() -> None:
    """Seen: two attempts that were late beside a busy machine; the way out was ``--rate``, which nothing named."""
    run = recorded.run(blocks=1, experiment=felt.experiment(), typical=felt.PLAN, command=f"{CALL} --max-time 8m")

    def late(t: Trial) -> Trial:
        return recorded.changed_trial(t, late_max=0.4, late_arrivals=round(t.started / 10))

    felt_run = felt.felt(run)
    blocks = [b.model_copy(update={"typical": [late(t) for t in b.typical]}) for b in felt_run.blocks]
    lines = verdict_lines(recorded.analysed(replace(felt_run, blocks=blocks)))
    assert lines.next == (
        "k6 sent typical load too late in each rejected block: end what else runs here, or lower the rate:"
        f" {CALL} --max-time 8m --rate {round(felt.PLAN.rate / 2, 1):g}"
    )


def test_a_single_block_by_number_asks_for_a_run_that_ends_by_itself() -> None:
    lines = verdict_lines(recorded.analysed(recorded.run(blocks=1, command=f"{CALL} --blocks=1 --users 20")))
    assert lines.next == f"Measure until it is settled: {CALL} --users 20"


@pytest.mark.parametrize(
    ("analysis", "verdict", "following"),
    [
        (
            recorded.analysed(recorded.run(blocks=3, planned=6)),
            "No decision: 3 of 6 planned blocks count",
            "Measure the missing blocks: vtlab resume",
        ),
        (
            recorded.analysed(recorded.run(blocks=2, planned=4, rejected={1: "steal"})),
            "No decision: 2 of 4 planned blocks count",
            "The report says why blocks were rejected",
        ),
        (
            recorded.analysed(recorded.run(blocks=2, planned=4, rejected={1: "unsteady"})),
            "No decision: 2 of 4 planned blocks count",
            "More warm-up cycles may help: windows.max_cycles in a file (vtlab init)",
        ),
    ],
)
def test_a_run_that_is_not_valid_has_no_decision(analysis: Analysis, verdict: str, following: str) -> None:
    lines = verdict_lines(analysis)
    assert (lines.verdict, lines.next) == (verdict, following)


def test_after_turning_it_on_other_meters_count() -> None:
    on = turning_it_on(concluded(outcome("capacity", 4.98), base=WAITING))
    assert on is not None
    assert on.yaml == "spring:\n  threads:\n    virtual:\n      enabled: true"
    assert "tomcat.threads.busy no longer counts requests" in " ".join(on.lines)
    assert "@Async" in " ".join(on.lines)
    either = turning_it_on(concluded(outcome("median", 48.0), outcome("tail", 0.34)))
    assert either is not None
    assert either.lines[0] == "If you set spring.threads.virtual.enabled: true in application.yaml:"
    full_alone = concluded(outcome("tail.full", 0.5), outcome("median", **WIDE), outcome("tail", **WIDE))
    assert turning_it_on(full_alone) is None, "nothing is known at typical load, so nothing is advised"
    assert turning_it_on(concluded(outcome("tail.full", 2.3))) is None
    assert turning_it_on(concluded()) is None


@pytest.mark.parametrize(
    ("analysis", "times"),
    [
        (concluded(outcome("capacity", 4.98), base=WAITING), 0),
        (concluded(outcome("median", 48.0), outcome("tail", 0.34)), 1),
        (READINGS["an undecided tail beside more capacity"][0], 1),
        (READINGS["both ways at full load"][0], 1),
        (READINGS["a tail at full load alone, with an undecided one"][0], 0),
    ],
)
def test_the_way_back_is_told_once(analysis: Analysis, times: int) -> None:
    """Seen: a trade-off on the terminal said how to turn them on, and not how to go back."""
    on = turning_it_on(analysis)
    assert on is not None
    assert on.lines.count("To go back, set spring.threads.virtual.enabled: false and restart.") == times
    assert ("to go back" in str(verdict_lines(analysis).next)) == (times == 0)


def test_reasons_without_outcome_name_the_load_where_the_other_has_one() -> None:
    reason = {"judgement": None, "reason": "latency is not steady within a window"}
    at_full = [outcome(name).model_copy(update=reason) for name in ("median.full", "tail.full")]
    idle = outcome("cpu").model_copy(update={"judgement": None, "reason": "platform uses less than 10 %"})
    assert outcome_rows.reasons(concluded(*at_full, idle)) == [
        "No outcome of median and tail at 20 users: latency is not steady within a window",
        "No outcome of cpu: platform uses less than 10 %",
    ]
    # Its interval reaches across the margin.
    by_load = outcome("capacity", 1.02, "same", low=0.96, high=1.08, reason="the load alone limits both")
    assert outcome_rows.reasons(concluded(by_load)) == ["The same in capacity: the load alone limits both"]
    assert outcome_rows.margins(concluded(idle)) == (
        "Too small to matter: differences up to 5 % (capacity, cpu), 20 % (median, tail) and 10 % (memory)"
    )


def test_a_margin_that_is_an_amount_is_written_as_one() -> None:
    """Seen: "48 % (median), 58 % (median)", which five readers took for what users would not notice."""
    short = outcome("median").model_copy(update={"margin": 0.48})
    assert outcome_rows.margins(concluded(short)) == (
        "Too small to matter: differences up to 5 % (capacity, cpu), 20 % but at least 2 ms (median), 20 % (tail) and"
        " 10 % (memory)"
    )


@pytest.mark.parametrize(("late", "said"), [(0, "all within 1 s"), (1, "")])
def test_probes_in_time_are_said_to_be(late: int, said: str) -> None:
    """Seen: 46.8 and 82.3 ms, "same", without a reason. A refused connection takes no time, and is no answer."""
    fine, other = probes(), probes(over_second=late, unanswered=late)
    base = recorded.changed(BASE, platform={"probes": {"full": fine}}, virtual={"probes": {"full": other}})
    (row,) = (row for row in outcome_rows.rows(concluded(base=base)) if row.criterion == "probe")
    assert row.change == said


def test_errors_stand_beside_the_outcomes_and_have_none() -> None:
    analysis = recorded.changed(copy.deepcopy(BASE), virtual={"error_ratio": 0.031})
    row = outcome_rows.errors_row(analysis)
    assert row is not None
    assert (row.criterion, row.load, row.base_value, row.value, row.note) == ("errors", "20 users", "0 %", "3.1 %", "")
    for block in analysis.accepted:
        for trial in block.trials:
            trial.server["resident"] = 300 * 2.0**20 + (50 * 2.0**20 if trial.position > 2 else 0.0)
    grown = outcome_rows.errors_row(analysis)
    assert grown is not None
    assert grown.note == "memory grew by 50.0 MiB and 50.0 MiB"


@pytest.mark.parametrize(
    ("errors", "used", "pending", "note"),
    [
        ((0.1, 0.031), 1.0, 40.0, "requests waiting at a full pool: platform (40) and virtual (40)"),
        ((0.0, 0.031), 1.0, 40.0, "requests waiting at a full pool: virtual (40)"),
        ((0.1, 0.0), 0.9, 1.0, "requests waiting at a full pool: platform (1)"),
        ((0.0, 0.0), 1.0, 40.0, ""),
        ((0.1, 0.031), 0.89, 40.0, ""),
        ((0.1, 0.031), 1.0, 0.9, ""),
        ((0.1, 0.031), None, None, ""),
    ],
)
def test_errors_say_which_variant_waits_at_a_full_pool(
    errors: tuple[float, float], used: float | None, pending: float | None, note: str
) -> None:
    """Seen: nothing was said where both variants timed out at their pools."""
    base = copy.deepcopy(BASE)
    for trial in (t for block in base.accepted for t in block.trials):
        trial.server |= {"utilization_db-pool": used, "db_pool_pending": pending}
    shown = recorded.changed(base, platform={"error_ratio": errors[0]}, virtual={"error_ratio": errors[1]})
    row = outcome_rows.errors_row(shown)
    assert row is not None
    assert row.note == note


def test_a_variant_without_a_window_has_no_share_of_errors() -> None:
    """Seen: "errors 0 %" and "0/s" of a variant that left in the warm-up."""
    gone = [
        block.model_copy(update={"trials": [t for t in block.trials if t.variant == "platform"], "typical": []})
        for block in BASE.accepted
    ]
    analysis = replace(BASE, accepted=gone)
    row = outcome_rows.errors_row(analysis)
    assert row is not None
    assert (row.base_value, row.value) == ("0 %", "–")
    (platform, virtual) = performance.cost_table(analysis).rows
    assert platform[1] != "–"
    assert virtual[1:3] == ["–", "–"]


def test_outcomes_of_the_support_have_the_keys_of_a_run() -> None:
    assert [o.key for o in outcomes.BASE.verdict.outcomes] == [o.key for o in concluded().verdict.outcomes]


def test_a_cpu_whose_time_garbage_collection_takes_says_so_and_asks_for_a_larger_heap() -> None:
    analysis = copy.deepcopy(concluded(outcome("cpu", 1.3), base=COMPUTING))
    for trial in (t for block in analysis.accepted for t in block.trials if t.variant == "virtual"):
        trial.server["gc_share"] = 0.23
    lines = verdict_lines(analysis)
    assert lines.why == (
        "Both are limited by the CPU (1 core); garbage collection pauses virtual for 23.0 % of the time"
    )
    assert lines.next is not None
    assert lines.next.startswith("Give it a larger heap, compute less for a request, or give it more CPU: ")

"""vtlab compare: one run over another, its statistics, refusals, exit codes and words."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import stats

from tests.support import felt, golden_files, recorded
from tests.support.cli_call import call
from vtlab.analysis import two_runs, verdict
from vtlab.analysis.statistics import paired
from vtlab.analysis.statistics.paired import Variance
from vtlab.analysis.two_runs import Change, TwoRuns
from vtlab.errors import BadInput
from vtlab.model.experiment import Experiment
from vtlab.model.run import Analysis, Run
from vtlab.report.words import changes
from vtlab.runs import store

RATIO = "capacity(virtual/platform)"
SIXTY = {"full": {"users": 60}}


def pooled(ratio: float = 1.0, noise: float = 0.01, seed: int = 1, **changes: Any) -> Run:
    return recorded.with_ratio(recorded.run("pool", **changes), ratio, noise, seed)


def analysed(**changes: Any) -> Analysis:
    return recorded.analysed(pooled(**changes))


def felt_run(seed: int = 7, **manifest: Any) -> Run:
    """Both loads, in three blocks."""
    told = {"typical": felt.PLAN, "percentiles": {"typical": "p95", "full": "p90"}, **manifest}
    return felt.felt(recorded.run(blocks=3, experiment=felt.experiment(), **told), seed)


def compared(before: Analysis, after: Analysis, between: Variance | None = None) -> dict[str, Change]:
    (two,) = two_runs.compare([before], [after], between)
    return {change.name: change for change in two.changes}


def stored(folder: Path, run: Run) -> Path:
    store.create(folder, run.manifest)
    for block in run.blocks:
        store.append_block(folder, block)
    return folder


@pytest.fixture
def before(tmp_path: Path) -> Path:
    return stored(tmp_path / "before", pooled(run_id="one"))


@pytest.fixture
def after(tmp_path: Path) -> Path:
    return stored(tmp_path / "after", pooled(0.9, seed=2, run_id="two"))


def test_welch_is_that_of_scipy() -> None:
    random = np.random.default_rng(3)
    a, b = random.normal(0.1, 0.02, 6), random.normal(0.0, 0.05, 9)
    parts = [Variance(float(np.var(x, ddof=1)) / len(x), len(x) - 1) for x in (a, b)]
    e = paired.welch(float(np.mean(a) - np.mean(b)), parts)
    expected = stats.ttest_ind(a, b, equal_var=False)
    interval = expected.confidence_interval(paired.CONFIDENCE)
    assert (math.log(e.low), math.log(e.high)) == pytest.approx((interval.low, interval.high))
    shifted = stats.ttest_ind(a - math.log1p(paired.MARGIN), b, equal_var=False, alternative="greater")
    assert e.p == pytest.approx(shifted.pvalue)


def test_welch_with_a_known_part_tends_to_the_normal_distribution() -> None:
    e = paired.welch(0.0, [Variance(1e-12, 5), Variance(0.0001, math.inf)])
    assert math.log(e.high) == pytest.approx(1.96 * 0.01, rel=1e-3)
    with pytest.raises(ValueError, match="no variance"):
        paired.welch(0.0, [Variance(0.0, 5)])


def test_the_interval_of_welch_covers_the_truth_as_often_as_it_says() -> None:
    random = np.random.default_rng(11)
    covered = 0
    for _ in range(2000):
        a, b = random.normal(0.0, 0.02, 6), random.normal(0.0, 0.06, 4)
        parts = [Variance(float(np.var(x, ddof=1)) / len(x), len(x) - 1) for x in (a, b)]
        e = paired.welch(float(np.mean(b) - np.mean(a)), parts)
        covered += e.low <= 1 <= e.high
    assert 0.935 <= covered / 2000 <= 0.965


def test_a_ratio_that_fell_is_worse_and_the_same_is_the_same() -> None:
    before, same, worse = analysed(ratio=1.0), analysed(ratio=1.0, seed=2), analysed(ratio=0.85, seed=3)
    change = compared(before, worse)[RATIO]
    assert change.judgement == "worse"
    assert change.ratio == pytest.approx(0.85, rel=0.02)
    assert change.ratio == pytest.approx((change.after or 0) / (change.before or 1))
    assert compared(before, same)[RATIO].judgement == "same"
    assert compared(worse, before)[RATIO].judgement == "better"


def test_the_verdicts_of_several_runs_are_adjusted_together() -> None:
    def pair(ratio: float, name: str, seed: int) -> Analysis:
        return analysed(ratio=ratio, seed=seed, name=name, noise=0.05)

    alone = compared(pair(1.0, "a", 1), pair(0.82, "a", 2))[RATIO]
    befores, afters = (
        [pair(1.0, name, seed) for seed, name in enumerate("abcdef", 1)],
        [pair(0.82 if name == "a" else 1.0, name, 2) for name in "abcdef"],
    )
    together = two_runs.compare(befores, afters, None)
    (change,) = [c for c in together[0].changes if c.name == RATIO]
    assert alone.p is not None
    assert change.p is not None
    assert change.p >= alone.p
    assert [two.after.run.name for two in together] == list("abcdef")


def test_absolute_capacity_needs_the_spread_and_has_it_in_its_interval() -> None:
    before, after = analysed(ratio=1.0), analysed(ratio=1.0, seed=2)
    (two,) = two_runs.compare([before], [after], None)
    assert two.no_absolute is not None
    assert "--spread" in two.no_absolute
    assert {c.over for c in two.changes} == {"platform"}
    narrow, wide = (compared(before, after, Variance(sd**2, math.inf))["capacity(virtual)"] for sd in (0.001, 0.05))
    for change in (narrow, wide):
        assert change.low is not None
        assert change.high is not None
    assert math.log((wide.high or 0) / (wide.low or 1)) == pytest.approx(2 * 1.96 * 0.05 * math.sqrt(2), rel=0.1)
    assert (narrow.high or 0) / (narrow.low or 1) < 1.05
    assert narrow.judgement == "same"
    assert wide.judgement == "undecided"


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"machine": {"cpu": "another", "cores": "4"}}, "cpu Intel(R) Xeon(R) Processor, then another"),
        ({"cpu_limited": False}, "CPU limit enforced, then none"),
    ],
)
def test_on_another_machine_there_is_no_absolute_capacity(changes: dict[str, Any], reason: str) -> None:
    (two,) = two_runs.compare([analysed()], [analysed(**changes)], Variance(0.0001, math.inf))
    assert reason in (two.no_absolute or "")
    assert all(change.over for change in two.changes)


def test_the_load_of_the_machine_at_the_start_is_no_other_machine() -> None:
    machine = {**analysed().run.manifest.machine, "load": "3.00"}
    (two,) = two_runs.compare([analysed()], [analysed(machine=machine)], Variance(0.0001, math.inf))
    assert two.no_absolute is None


def test_under_open_load_there_is_no_absolute_capacity() -> None:
    analysis = recorded.analysed(recorded.under_open_load(recorded.run()))
    (two,) = two_runs.compare([analysis], [analysis], Variance(0.0001, math.inf))
    assert two.no_absolute == "under open load the arrivals set it"
    assert [c.name for c in two.changes if c.judgement] == ["median(virtual/platform)", "tail(virtual/platform)"]


def test_the_spread_of_aa_runs_is_that_of_their_means() -> None:
    def faster(factor: float, seed: int) -> Run:
        return recorded.with_trials(pooled(seed=seed), lambda _, trial: recorded.scaled(trial, factor))

    aa = [recorded.analysed(faster(factor, seed)) for seed, factor in enumerate((1.0, 0.95, 0.9))]
    of_platform = [sample.mean for a in aa if (sample := two_runs.throughput_sample(a, "platform"))]
    between = two_runs.between_runs(aa, aa[0])
    assert between.df == 2
    assert between.value == pytest.approx(float(np.var(of_platform, ddof=1)), rel=0.3)
    for too_few in ([], aa[:1], [*aa, recorded.analysed(recorded.run())]):
        with pytest.raises(BadInput, match="--aa"):
            two_runs.between_runs(too_few, aa[0])
    with pytest.raises(BadInput, match="measured elsewhere"):
        two_runs.between_runs([*aa, analysed(machine={"cpu": "another"})], aa[0])


def test_each_claim_is_judged_and_the_others_have_their_ratio() -> None:
    one, other = (recorded.analysed(felt_run(seed)) for seed in (7, 8))
    found = compared(one, other)
    names = ("capacity", "median", "tail", "median.full", "tail.full")
    assert list(found)[:5] == [f"{name}(virtual/platform)" for name in names]
    assert [bool(found[f"{name}(virtual/platform)"].judgement) for name in names] == [True, True, True, False, False]
    margins = [found[f"{name}(virtual/platform)"].margin for name in names]
    assert margins == [0.05, 0.2, 0.2, 0.2, 0.2]
    for name in names:
        change = found[f"{name}(virtual/platform)"]
        assert change.ratio is not None
        assert change.low is not None
        assert change.low < change.ratio


def test_typical_loads_of_other_rates_are_not_compared() -> None:
    one = recorded.analysed(felt_run())
    other = recorded.analysed(felt_run(typical=felt.PLAN.model_copy(update={"rate": 40.0})))
    (two,) = two_runs.compare([one], [other], None)
    assert two.no_typical == "the rates differ: 29.3/s, then 40/s"
    assert not any(change.key.load == "typical" for change in two.changes)
    assert any("nothing at typical load: the rates differ" in line for line in changes.lines([two]))


def test_another_percentile_is_another_figure() -> None:
    one, other = (recorded.analysed(felt_run(percentiles={"typical": name})) for name in ("p95", "p90"))
    (two,) = two_runs.compare([one], [other], None)
    assert not any(str(change.key) == "tail" for change in two.changes)
    assert "tail p95 at typical load, then p90 at typical load" in two.differences


def test_where_a_variant_failed_there_is_no_verdict() -> None:
    change = compared(analysed(), analysed(blocks=6, failing={1: "oom"}))[RATIO]
    assert (change.judgement, change.p) == ("undecided", None)
    assert change.blocks == (6, 0)


def test_a_single_block_gives_no_interval() -> None:
    change = compared(analysed(), analysed(blocks=1))[RATIO]
    assert (change.low, change.high, change.judgement) == (None, None, "undecided")
    assert change.ratio is not None


@pytest.mark.parametrize(
    ("other", "key"),
    [
        (
            recorded.experiment("pool", name="other", needs=[], load={"full": {"users": 60}}),
            "name, load, needs",
        ),
        (recorded.experiment("pool", load=SIXTY), "load"),
        (recorded.experiment("pool", limits={"cpu": 0.5, "memory": "512Mi", "heap": "256m"}), "limits"),
    ],
)
def test_another_experiment_is_refused_and_what_differs_named(other: Experiment, key: str) -> None:
    with pytest.raises(BadInput, match=f"differ in {key}$"):
        two_runs.compare([analysed()], [recorded.analysed(recorded.run(experiment=other))], None)


def test_each_run_has_its_own_rate_of_typical_load() -> None:
    full = {"users": 60}
    rates = [recorded.experiment("pool", load={"full": full, "typical": {"rate": rate}}) for rate in (28.7, 29.3)]
    one, other = (recorded.analysed(recorded.run("pool", experiment=exp)) for exp in rates)
    assert two_runs.compare([one], [other], None)
    alone = recorded.experiment("pool", load={"typical": {"rate": 29.3, "users": 300}})
    with pytest.raises(BadInput, match=r"differ in load$"):
        two_runs.compare([one], [recorded.analysed(recorded.run("pool", experiment=alone))], None)


def test_what_may_differ_is_named() -> None:
    settings = recorded.analysed(
        recorded.run("pool", experiment=recorded.experiment("pool", settings={"A": "1"}), versions={"java": "26"})
    )
    (two,) = two_runs.compare([analysed()], [settings], None)
    assert "settings none, then {'A': '1'}" in two.differences
    assert "java 25.0.3 (Eclipse Adoptium), then 26" in two.differences


def test_runs_of_which_no_block_counts_or_that_are_others_are_refused() -> None:
    nothing = analysed(blocks=0, planned=6)
    for pair in ((analysed(), nothing), (nothing, analysed())):
        with pytest.raises(BadInput, match="no block counts"):
            two_runs.compare([pair[0]], [pair[1]], None)
    named = [recorded.analysed(recorded.run("pool", name=name)) for name in "abc"]
    with pytest.raises(BadInput, match="hold different runs: a, b; and a, c"):
        two_runs.compare(named[:2], [named[0], named[2]], None)


def test_its_words_are_those_of_the_golden_file(before: Path, after: Path, tmp_path: Path) -> None:
    bounded = [
        stored(tmp_path / f"{n}", recorded.with_ratio(recorded.run(run_id=f"bounded-{n}"), 2.0, 0.001, n))
        for n in (1, 2)
    ]
    shown = [call("compare", before, after), call("compare", before, after, "--spread", "2"), call("compare", *bounded)]
    assert [(done.code, done.err) for done in shown] == [(0, "")] * 3
    golden_files.check("compare.txt", "".join(done.out for done in shown))


@pytest.mark.parametrize(
    ("demands", "code", "words"),
    [
        ((f"{RATIO} >= 0.8",), 0, ""),
        ((f"{RATIO} >= 0.95",), 1, f"'{RATIO} >= 0.95' does not hold: ▼ worse"),
        (("capacity(virtual) >= 0.5",), 1, "no absolute capacity: the SD between"),
        (("capacity(virtual/reactive) >= 0.5",), 2, "the runs have no such change"),
        (("probe.restart(virtual) == false",), 2, "the runs have no such change"),
        (("speed(virtual/platform) >= 0.5",), 2, "no criterion 'speed'"),
        (("speed",), 2, "is not an assertion"),
    ],
)
def test_an_assertion_is_of_the_change(
    before: Path, after: Path, demands: tuple[str, ...], code: int, words: str
) -> None:
    done = call("compare", before, after, *(f"--assert={text}" for text in demands))
    assert done.code == code, done
    assert words in done.err


def test_an_assertion_may_be_of_one_variant_where_the_spread_is_known(before: Path, after: Path) -> None:
    done = call("compare", before, after, "--spread", "1", "--assert", "capacity(platform) >= 0.9")
    assert done.code == 0, done


def test_missing_blocks_end_with_4_and_nothing_holds_of_what_failed(before: Path, tmp_path: Path) -> None:
    lacking = stored(tmp_path / "lacking", recorded.run("pool", blocks=3, planned=6, run_id="lacking"))
    done = call("compare", before, lacking, "--assert", f"{RATIO} >= 0.1")
    assert (done.code, "blocks are missing: lacking" in done.err) == (4, True)
    assert "not valid: Not valid" in done.out
    failed = stored(tmp_path / "failed", recorded.run("pool", failing={1: "oom"}))
    assert call("compare", before, failed, "--assert", f"{RATIO} >= 0.1").code == 1


def test_bad_input_ends_with_2(before: Path, after: Path, tmp_path: Path) -> None:
    other = stored(tmp_path / "other", recorded.run())
    for arguments in (
        (before,),
        (before, tmp_path / "nothing"),
        (before, other),
        (before, after, "--spread", "-1"),
        (before, after, "--spread", "1", "--aa", before),
        (before, after, "--aa", before),
    ):
        assert call("compare", *arguments).code == 2, arguments


def test_the_directories_of_a_call_with_several_runs_are_compared_by_their_names(tmp_path: Path) -> None:
    for call_of in ("before", "after"):
        for cpu in (0.5, 1.0):
            exp = recorded.experiment("pool", limits={"cpu": cpu, "memory": "512Mi", "heap": "256m"})
            stored(
                tmp_path / call_of / f"cpu@{cpu:g}cpu",
                recorded.run("pool", experiment=exp, name=f"cpu@{cpu:g}cpu", blocks=2),
            )
    done = call("compare", tmp_path / "before", tmp_path / "after")
    assert done.code == 0, done
    assert "hikaricp-production-tuning under 0.5 CPU, 512Mi" in done.out
    assert "hikaricp-production-tuning under 1 CPU, 512Mi" in done.out


def test_both_are_judged_by_the_rules_of_a_report(before: Path) -> None:
    (analysis,) = verdict.analyse_all([store.read(before)])
    (two,) = two_runs.compare([analysis], [analysis], None)
    assert isinstance(two, TwoRuns)
    assert two.changes[0].ratio == 1

"""Intervals with a prior: ``vtlab.analysis.statistics.moderated``."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import special, stats

from vtlab.analysis.statistics import moderated, paired, simulated_priors, stopping_rule
from vtlab.analysis.statistics.moderated import Goal, Prior, Seen

LOGS = st.lists(st.floats(-0.5, 0.5), min_size=2, max_size=12)
PRIORS = st.builds(Prior, sd=st.floats(0.001, 0.2), df=st.floats(0.1, 4))
LEVELS = st.floats(0.001, 0.2)


@given(logs=LOGS, level=LEVELS)
def test_without_a_prior_the_interval_is_that_of_students_t(logs: list[float], level: float) -> None:
    found = moderated.interval(logs, None, 0.0, level)
    assert found.df == len(logs) - 1
    if np.std(logs) > 1e-6:
        expected = stats.ttest_1samp(logs, 0).confidence_interval(1 - level)
        assert found.low == pytest.approx(expected.low, rel=1e-6, abs=1e-9)
        assert found.high == pytest.approx(expected.high, rel=1e-6, abs=1e-9)


@given(logs=LOGS, prior=PRIORS, level=LEVELS, floor=st.floats(0, 0.1))
def test_swapping_the_variants_mirrors_the_interval(
    logs: list[float], prior: Prior, level: float, floor: float
) -> None:
    here, there = (moderated.interval([sign * x for x in logs], prior, floor, level) for sign in (1, -1))
    assert there.low is not None
    assert there.high is not None
    assert (here.low, here.high) == pytest.approx((-there.high, -there.low))


@pytest.mark.parametrize("value", [0.1, -0.1, 0.0])
@pytest.mark.parametrize("n", [2, 3, 6, 7, 11])
def test_equal_blocks_have_the_interval_of_the_floor(value: float, n: int) -> None:
    found = moderated.interval([value] * n, None, 0.01, 0.05)
    half = stats.t.ppf(0.975, n - 1) * 0.01 / math.sqrt(n)
    assert found.sd == 0.01
    assert (found.low, found.high) == (pytest.approx(value - half), pytest.approx(value + half))


def test_windows_that_cut_every_block_alike_do_not_hide_the_truth() -> None:
    # Review finding 13: 3 users x 2 s on 2 threads, windows of 4.5 s: always 6 and 8 answers; the truth is 1.5.
    log = math.log(8 / 6)
    found = moderated.interval([log] * 3, None, float(paired.resolution([8, 8], [6, 6])), 0.05)
    assert found.low is not None
    assert found.high is not None
    assert found.low < math.log(1.5) < found.high


def test_one_block_has_no_interval_without_a_prior_and_none_no_estimate() -> None:
    found = moderated.interval([0.1], None, 0.0, 0.05)
    assert (found.mean, found.low, found.high, found.sd) == (0.1, None, None, None)
    with pytest.raises(ValueError, match="no blocks"):
        moderated.interval([], None, 0.0, 0.05)


@given(logs=LOGS, prior=PRIORS, level=LEVELS)
def test_the_deviation_lies_between_that_of_the_blocks_and_that_of_the_prior(
    logs: list[float], prior: Prior, level: float
) -> None:
    """Where the blocks do not refute it."""
    own = float(np.std(logs, ddof=1)) if np.ptp(logs) else 0.0
    found = moderated.interval(logs, prior, 0.0, level)
    assert found.sd is not None
    if own > moderated.REFUTED * prior.sd:
        assert found == moderated.interval(logs, None, 0.0, level)
    else:
        assert min(own, prior.sd) <= found.sd * (1 + 1e-9)
        assert found.sd <= max(own, prior.sd) * (1 + 1e-9)
        assert found.df == pytest.approx(len(logs) - 1 + prior.df)


@pytest.mark.parametrize(("blocks", "most"), [(2, 31.91), (3, 6.285), (4, 3.729), (6, 2.453)])
def test_a_service_that_scatters_far_less_than_others_does_not_pay_for_them(blocks: int, most: float) -> None:
    """The deviation of the prior counts up to the upper end of the 95 % interval of the blocks' own, by the tables of
    the chi-square distribution: 3.729 times theirs for four blocks."""
    d = blocks - 1
    for sd in (0.0034, 0.01):
        for prior in (Prior(1e6 * sd, 1.1), Prior(1e9 * sd, 2.5)):
            moderated_sd, df = moderated.moderate(sd, blocks, prior)
            ratio = math.sqrt((prior.df * most**2 + d) / (prior.df + d))
            assert float(moderated_sd) == pytest.approx(ratio * sd, rel=1e-3)
            assert float(df) == d + prior.df
    assert float(moderated.moderate(0.0, blocks, Prior(0.02, 2.5))[0]) > 0, "equal blocks tell nothing of their scatter"


@given(logs=LOGS, prior=PRIORS, level=LEVELS, floor=st.floats(0, 0.3))
def test_a_floor_never_makes_an_interval_narrower(logs: list[float], prior: Prior, level: float, floor: float) -> None:
    wide, narrow = (moderated.interval(logs, prior, f, level) for f in (floor, 0.0))
    assert wide.low is not None
    assert narrow.low is not None
    assert wide.low <= narrow.low
    assert wide.sd is not None
    assert wide.sd >= floor


@given(logs=LOGS, sd=st.floats(0.001, 0.2), level=LEVELS)
def test_a_prior_of_no_degrees_of_freedom_changes_nothing(logs: list[float], sd: float, level: float) -> None:
    weak, plain = (moderated.interval(logs, prior, 0.0, level) for prior in (Prior(sd, 1e-12), None))
    assert weak.low == pytest.approx(plain.low, abs=1e-4)
    assert weak.high == pytest.approx(plain.high, abs=1e-4)


@given(logs=LOGS, prior=PRIORS, level=LEVELS, more=st.floats(1, 10))
def test_a_wider_prior_makes_a_wider_interval(logs: list[float], prior: Prior, level: float, more: float) -> None:
    """Where the blocks refute neither."""
    if float(np.std(logs, ddof=1)) <= moderated.REFUTED * prior.sd:
        wide, narrow = (moderated.interval(logs, Prior(prior.sd * k, prior.df), 0.0, level) for k in (more, 1.0))
        assert wide.low is not None
        assert narrow.low is not None
        assert wide.low <= narrow.low + 1e-12


def test_two_blocks_have_an_interval_of_some_two_deviations() -> None:
    """Half-width in deviations of a prior with four degrees of freedom, of one claim at the first look; 18 without."""
    logs = [0.1 - 0.02 / math.sqrt(2), 0.1 + 0.02 / math.sqrt(2)]
    found = moderated.interval(logs, Prior(0.02, 4), 0.0, 0.025)
    assert found.high is not None
    assert (found.high - found.mean) / 0.02 == pytest.approx(2.2, abs=0.05)
    plain = moderated.interval(logs, None, 0.0, 0.025)
    assert plain.high is not None
    assert (plain.high - plain.mean) / 0.02 == pytest.approx(18, abs=0.1)


def test_one_block_has_an_interval_by_the_prior_alone() -> None:
    found = moderated.interval([0.1], Prior(0.02, 4), 0.0, 0.05)
    assert (found.sd, found.df) == (0.02, 4)
    assert moderated.interval([0.1], None, 0.0, 0.05).low is None
    with pytest.raises(ValueError, match="no blocks"):
        moderated.interval([], None, 0.0, 0.05)


#: Looks before the last.
LOOKS = st.sampled_from(stopping_rule.LOOKS[:-1])
RULE = stopping_rule.sequential_rule(1)


def _chance(n: int, mean: float, sd: float) -> float:
    """Returns the chance at the last look, without a prior."""
    return float(moderated.chance(Seen(n, mean, sd), Goal(RULE.looks[-1], RULE.levels[-1])))


@given(LOOKS, st.floats(-2, 2), st.floats(0.0005, 0.5))
def test_a_chance_is_a_probability_and_the_same_for_both_sides(n: int, mean: float, sd: float) -> None:
    chance = _chance(n, mean, sd)
    assert -1e-12 <= chance <= 1 + 1e-12
    assert _chance(n, -mean, sd) == pytest.approx(chance)


@given(LOOKS, st.floats(0.06, 1), st.floats(0.0005, 0.2))
def test_the_chance_grows_with_the_distance_from_the_margin(n: int, mean: float, sd: float) -> None:
    assert _chance(n, mean + 0.1, sd) >= _chance(n, mean, sd) - 1e-9


@pytest.mark.parametrize(("n", "mean", "sd"), [(4, 0.0, 0.02), (4, 0.06, 0.03), (6, 0.0, 0.06), (6, 0.08, 0.05)])
def test_the_chance_is_that_of_runs_which_go_on(n: int, mean: float, sd: float) -> None:
    # Drawn: a true deviation from what n blocks say of it, a true mean, and then the other blocks.
    random, runs, last = np.random.default_rng(5), 200_000, stopping_rule.LOOKS[-1]
    true_sd = sd * np.sqrt((n - 1) / random.chisquare(n - 1, runs))
    true_mean = mean + random.standard_normal(runs) * true_sd / math.sqrt(n)
    more = true_mean[:, None] + random.standard_normal((runs, last - n)) * true_sd[:, None]
    total = (n * mean + more.sum(axis=1)) / last
    squares = (n - 1) * sd**2 + n * mean**2 + np.square(more).sum(axis=1)
    final = np.sqrt((squares - last * total**2) / (last - 1))
    half = -special.stdtrit(last - 1, RULE.levels[-1] / 2) * final / math.sqrt(last)
    edge = math.log1p(paired.MARGIN)
    settled = (np.abs(total) - half > edge) | (np.abs(total) + half < edge)
    assert _chance(n, mean, sd) == pytest.approx(float(np.mean(settled)), abs=0.03)


def test_a_precision_out_of_reach_has_no_chance() -> None:
    seen = Seen(4, math.log(3), 0.08)
    assert float(moderated.chance(seen, Goal(12, 0.005))) > 0.9
    assert float(moderated.chance(seen, Goal(12, 0.005, precision=0.01))) < stopping_rule.FUTILE


def test_the_chance_is_that_of_drawn_blocks() -> None:
    """The predictive probability agrees with blocks that are drawn: a true deviation and mean, as the prior and the
    blocks have them, and the further blocks."""
    random = np.random.default_rng(1)
    prior, n, m, mean, own, runs = Prior(0.03, 4), 4, 12, 0.09, 0.03, 40_000
    known, df = moderated.moderate(own, n, prior)
    true_sd = float(known) * np.sqrt(float(df) / random.chisquare(float(df), runs))
    true_mean = random.normal(mean, true_sd / math.sqrt(n))
    further = random.normal(true_mean[:, None], true_sd[:, None], (runs, m - n))
    # Blocks with exactly that mean and deviation.
    first = np.tile(mean + own * np.array([-1, 1, -1, 1]) * math.sqrt(3 / 4), (runs, 1))
    found = moderated.intervals(np.concatenate([first, further], axis=1), prior, 0.0, 0.01)
    places = paired.position(np.exp(found.low), np.exp(found.high))
    drawn = float(np.mean(places != paired.ACROSS))
    assert float(moderated.chance(Seen(n, mean, own, prior), Goal(m, 0.01))) == pytest.approx(drawn, abs=0.03)


def test_the_chance_takes_runs_one_by_one() -> None:
    goal = Goal(12, 0.005)
    both = moderated.chance(Seen(4, np.array([0.0, 0.2]), np.array([0.01, 0.02]), Prior(0.02, 4)), goal)
    each = [float(moderated.chance(Seen(4, mean, sd, Prior(0.02, 4)), goal)) for mean, sd in ((0.0, 0.01), (0.2, 0.02))]
    assert both.tolist() == pytest.approx(each)


def test_blocks_that_would_settle_it_settle_it_that_often() -> None:
    """A new run of so many blocks settles the claim in four of five cases, truths drawn as the first run tells."""
    seen = Seen(4, 0.10, 0.03, Prior(0.03, 4))
    needed = moderated.blocks_needed(seen, 0.05)
    assert needed is not None
    random, runs = np.random.default_rng(2), 20_000
    known, df = moderated.moderate(seen.sd, seen.blocks, seen.prior)
    true_sd = float(known) * np.sqrt(float(df) / random.chisquare(float(df), runs))
    true_mean = random.normal(0.10, true_sd / math.sqrt(seen.blocks))
    found = moderated.intervals(
        random.normal(true_mean[:, None], true_sd[:, None], (runs, needed)), seen.prior, 0, 0.05
    )
    places = paired.position(np.exp(found.low), np.exp(found.high))
    assert float(np.mean(places != paired.ACROSS)) == pytest.approx(moderated.POWER, abs=0.05)


def test_blocks_for_several_claims_settle_them_all_that_often() -> None:
    """Three claims alike, each with a truth of its own: four of five new runs settle all of them."""
    seen = Seen(4, 0.10, 0.03, Prior(0.03, 4))
    needed = moderated.blocks_needed(seen, 0.05, among=3)
    assert needed is not None
    one = moderated.blocks_needed(seen, 0.05)
    assert one is not None
    assert _settled_together(seen, one, 3) < 0.6
    assert _settled_together(seen, needed, 3) == pytest.approx(moderated.POWER, abs=0.05)


def _settled_together(seen: Seen, blocks: int, claims: int) -> float:
    """Draws the share of new runs of so many blocks that settle all claims, truths drawn as the first run tells."""
    random, shape = np.random.default_rng(3), (20_000, claims)
    known, df = moderated.moderate(seen.sd, seen.blocks, seen.prior)
    true_sd = float(known) * np.sqrt(float(df) / random.chisquare(float(df), shape))
    true_mean = random.normal(seen.mean, true_sd / math.sqrt(seen.blocks))
    logs = random.normal(true_mean[..., None], true_sd[..., None], (*shape, blocks))
    intervals = moderated.intervals(logs, seen.prior, 0, 0.05)
    settled = paired.position(np.exp(intervals.low), np.exp(intervals.high)) != paired.ACROSS
    return float(np.mean(settled.all(axis=-1)))


def test_no_number_of_blocks_settles_what_lies_on_the_margin() -> None:
    assert moderated.blocks_needed(Seen(4, math.log1p(paired.MARGIN), 0.001), 0.05) is None
    assert moderated.blocks_needed(Seen(1, 0.2, 0.0, Prior(0.02, 4)), 0.05) is None


@pytest.mark.parametrize(("multiple", "least"), [(0.1, 0.93), (0.5, 0.93), (1.0, 0.93), (1.5, 0.90)])
@pytest.mark.parametrize("kind", simulated_priors.KINDS)
@pytest.mark.parametrize("blocks", simulated_priors.BLOCKS)
def test_intervals_cover_the_truth_as_often_as_promised(kind: str, blocks: int, multiple: float, least: float) -> None:
    """Up to a true deviation of the prior's 93 %, up to 1.5 of it 90 %; the same on each machine, by a fixed seed."""
    found = simulated_priors.covered(simulated_priors.KINDS[kind], multiple, blocks, 20_000)
    assert found.coverage >= least - 2 * math.sqrt(least * (1 - least) / 20_000)


@pytest.mark.parametrize("prior", [simulated_priors.PRIOR, None])
@pytest.mark.parametrize("claims", simulated_priors.CLAIMS)
def test_runs_with_several_claims_are_wrong_in_5_percent_at_most(claims: int, prior: Prior | None) -> None:
    """At the deviation of the prior, where every true ratio is on the edge of its margin."""
    runs = 4000
    wrong, _ = simulated_priors.wrong_runs(simulated_priors.KINDS["Gaussian"], 1.0, claims, runs, prior)
    assert wrong <= 0.05 + 3 * math.sqrt(0.05 * 0.95 / runs)


def test_refuted_and_other_runs_have_the_intervals_of_each_alone() -> None:
    """One call of the array functions has runs with the prior and runs without it."""
    logs = np.array([[0.0, 0.01, 0.02], [0.0, 0.3, 0.6]])
    prior = Prior(0.02, 4)
    both = moderated.intervals(logs, prior, 0.0, 0.05)
    assert both.df.tolist() == [6, 2]
    for row, run in enumerate(logs):
        alone = moderated.interval([float(x) for x in run], prior, 0.0, 0.05)
        assert (float(both.low[row]), float(both.high[row])) == pytest.approx((alone.low, alone.high))
    assert moderated.intervals(np.empty((0, 3)), prior, 0.0, 0.05).low.shape == (0,)

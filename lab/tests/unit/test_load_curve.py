"""The curve of a search: its levels, its knee, where variants part, what vtlab chooses by it, and how it is shown."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support import golden_files, recorded
from vtlab.analysis import load_curve as curves
from vtlab.model import units
from vtlab.model.curve import Curve, Ended, Point
from vtlab.model.experiment import Experiment
from vtlab.model.load import ClosedLoad
from vtlab.planning import curve_to_load
from vtlab.report.charts.load_curve import throughput_over_users
from vtlab.report.parts.load_curve import curve_table
from vtlab.report.words import curve_sentences
from vtlab.report.words.curve_sentences import decision_sentence, where_variants_part

VARIANTS = ["platform", "virtual"]
#: Users of a warm-up before the search.
WARMED = 50
Serves = Callable[[int], float]


def bounded(alone: float, most: float) -> Serves:
    """Returns a service by its asymptotic bounds: each user adds what one has alone, up to the most."""
    return lambda users: min(users * alone, most)


def points(levels: Sequence[int], services: Mapping[str, Serves]) -> list[Point]:
    return [
        Point(variant=name, users=users, throughput=serves(users), mean=users / serves(users), p99=None, failed=0.0)
        for users in levels
        for name, serves in services.items()
    ]


def doubled(services: Mapping[str, Serves]) -> list[Point]:
    """Returns the points of every level that a search asks for while it doubles the users."""
    measured: list[Point] = []
    while levels := curves.next_users(measured, VARIANTS, WARMED):
        measured += points(levels, services)
    return measured


def curve(measured: Sequence[Point], ended: Ended = "levelled off", why: str = "") -> Curve:
    return Curve(
        points=list(measured), ended=ended, why=why, seconds=41.2, chosen=curves.chosen_users(measured, VARIANTS)
    )


#: 5 threads that wait 50 ms each, and as many users as there are.
PARTING = {"platform": bounded(20, 100), "virtual": bounded(20, 640)}
rates = st.floats(0.5, 5000)
growth = st.floats(1, 2000)


@given(rates, growth)
def test_the_knee_is_the_most_that_is_served_over_what_a_single_user_is(alone: float, factor: float) -> None:
    services = dict.fromkeys(VARIANTS, bounded(alone, alone * factor))
    assert curves.knee(doubled(services), "platform") == pytest.approx(factor)


def test_without_an_answer_to_a_single_user_there_is_no_knee() -> None:
    assert curves.knee([], "platform") is None
    silent = [Point(variant="platform", users=1, throughput=0, mean=None, p99=None, failed=1)]
    assert curves.knee(silent, "platform") is None
    assert curves.chosen_users(silent, VARIANTS) == 2


@given(rates, growth, growth)
def test_users_are_doubled_from_one_until_neither_variant_serves_more(alone: float, a: float, b: float) -> None:
    services = {"platform": bounded(alone, alone * a), "virtual": bounded(alone, alone * b)}
    measured = doubled(services)
    levels = sorted({point.users for point in measured})
    up_to_32 = [level for level in levels if level <= 32]
    assert up_to_32 == [2**step for step in range(len(up_to_32))]
    assert all(after <= 2 * before for before, after in pairwise(levels))
    assert len(measured) == 2 * len(levels), "no level twice"
    assert levels[-1] == curves.MOST_USERS or levels[-1] >= max(a, b)
    # Of several levels by one call the last is beyond the end at most.
    assert levels[-1] <= max(8, 16 * max(a, b))


def test_levels_that_take_little_come_several_at_once() -> None:
    endless = dict.fromkeys(VARIANTS, bounded(1, math.inf))
    asked, measured = [], []
    while levels := curves.next_users(measured, VARIANTS, WARMED):
        asked.append(levels)
        measured += points(levels, endless)
    assert asked == [[1], [2, 4, 8], [16, 32], *([2**step] for step in range(6, 13))]
    assert asked[-1][-1] == curves.MOST_USERS


@given(rates, growth, growth, st.integers(1, 200))
def test_no_level_has_more_users_than_the_warm_up_or_than_are_chosen_in_the_end(
    alone: float, a: float, b: float, warmed: int
) -> None:
    services = {"platform": bounded(alone, alone * a), "virtual": bounded(alone, alone * b)}
    measured: list[Point] = []
    while levels := curves.next_users(measured, VARIANTS, warmed):
        measured += points(levels, services)
    assert max(point.users for point in measured) <= max(warmed, curves.chosen_users(measured, VARIANTS))


def test_a_service_that_levels_off_slowly_is_loaded_no_more_than_it_will_be() -> None:
    """Ten stations with equal demands serve N / (N + 9) of their most: they never level off clearly."""
    slowly: Mapping[str, Serves] = dict.fromkeys(VARIANTS, lambda users: 100 * users / (users + 9))
    for warmed, levels in ((1, [1, 2, 4, 7, 9, 10]), (50, [1, 2, 4, 8, 16, 32, 50])):
        measured: list[Point] = []
        while asked := curves.next_users(measured, VARIANTS, warmed):
            measured += points(asked, slowly)
        assert sorted({point.users for point in measured}) == levels
        assert max(levels) <= max(warmed, curves.chosen_users(measured, VARIANTS))


def test_one_variant_that_still_serves_more_keeps_the_search_going() -> None:
    measured = points([1, 2, 4, 8, 16], PARTING)
    assert curves.next_users(measured, VARIANTS, WARMED) == [32]
    assert curves.next_users(points([1, 2, 4, 8], dict.fromkeys(VARIANTS, bounded(20, 60))), VARIANTS) == []


def test_nine_per_cent_more_is_levelled_off_and_twelve_is_not() -> None:
    for more, ends in ((1.09, True), (1.12, False)):
        services: dict[str, Serves] = dict.fromkeys(VARIANTS, {1: 10.0, 2: 20.0, 4: 30.0, 8: 30.0 * more}.__getitem__)
        assert (curves.next_users(points([1, 2, 4, 8], services), VARIANTS, WARMED) == []) is ends


def test_a_rise_from_a_low_level_is_none() -> None:
    # Of spring-petclinic, whose windows of 2 s scatter by a tenth.
    rates_of: Serves = {1: 242.0, 2: 272.0, 4: 419.0, 8: 412.0, 16: 469.0, 32: 385.0, 64: 449.0}.__getitem__
    measured = points([1, 2, 4, 8, 16, 32, 64], dict.fromkeys(VARIANTS, rates_of))
    assert curves.next_users(measured, VARIANTS) == []


def test_the_variants_part_where_they_never_agree_again() -> None:
    assert curves.levels_of_parting(points([1, 2, 4, 8, 16], PARTING), VARIANTS) == (4, 8)
    # A level that differs by chance, and one that agrees after it.
    rates_of: Mapping[str, Serves] = {
        "platform": {1: 10.0, 2: 20.0, 4: 40.0, 8: 40.0}.__getitem__,
        "virtual": {1: 10.0, 2: 30.0, 4: 40.0, 8: 80.0}.__getitem__,
    }
    assert curves.levels_of_parting(points([1, 2, 4, 8], rates_of), VARIANTS) == (4, 8)


def test_variants_that_agree_at_the_last_level_or_at_none_do_not_part() -> None:
    same = points([1, 2, 4], dict.fromkeys(VARIANTS, bounded(20, 60)))
    apart = points([1, 2, 4], {"platform": bounded(10, 60), "virtual": bounded(20, 60 * 3)})
    for measured in (same, apart, []):
        assert curves.levels_of_parting(measured, VARIANTS) is None
        assert curves.levels_between(measured, VARIANTS) == []
    assert curves.stretches(curve(same), VARIANTS) == [curves.Stretch(1, 4, None)]
    assert curves.stretches(curve(apart), VARIANTS) == [curves.Stretch(1, 4, "virtual")]
    parted = [curves.Stretch(1, 4, None), curves.Stretch(8, 8, "virtual")]
    assert curves.stretches(curve(points([1, 2, 4, 8], PARTING)), VARIANTS) == parted


def test_what_one_level_shows_alone_is_taken_for_chance() -> None:
    # Of a search on spring-petclinic, under one core.
    platform = {1: 322.5, 2: 383.0, 4: 400.0, 8: 463.0, 16: 431.0, 20: 357.0, 32: 438.0, 64: 361.0, 128: 350.6}
    virtual = {1: 241.5, 2: 272.0, 4: 419.0, 8: 412.0, 16: 469.0, 20: 426.0, 32: 385.0, 64: 449.0, 128: 456.8}
    measured = curve(points(list(platform), {"platform": platform.__getitem__, "virtual": virtual.__getitem__}))
    assert curves.stretches(measured, VARIANTS) == [
        curves.Stretch(1, 2, "platform"),
        curves.Stretch(4, 32, None),
        curves.Stretch(64, 128, "virtual"),
    ]


def test_a_level_at_either_end_has_nobody_to_confirm_it() -> None:
    rates_of: Mapping[str, Serves] = {
        "platform": {1: 10.0, 2: 10.0, 4: 10.0}.__getitem__,
        "virtual": {1: 12.0, 2: 10.0, 4: 12.0}.__getitem__,
    }
    ends = curves.stretches(curve(points([1, 2, 4], rates_of)), VARIANTS)
    assert [stretch.better for stretch in ends] == ["virtual", None, "virtual"]


def test_no_level_that_differs_is_called_alike() -> None:
    # Of a search on spring-petclinic.
    rates_of: Mapping[str, Serves] = {
        "platform": {1: 310.0, 2: 378.0, 4: 439.0, 8: 433.0}.__getitem__,
        "virtual": {1: 210.0, 2: 329.0, 4: 389.0, 8: 397.0}.__getitem__,
    }
    measured = curve(points([1, 2, 4, 8], rates_of))
    assert where_variants_part(measured, VARIANTS) == (
        "Which variant serves more depends on the users: platform with 1, 2 and 4 users; no clear difference at the"
        " other levels."
    )
    turned = points([1, 4], {"platform": bounded(30, 40), "virtual": bounded(20, 60)})
    assert where_variants_part(curve(turned), VARIANTS) == (
        "Which variant serves more depends on the users: platform with 1 user, virtual with 4 users."
    )


def test_one_answer_more_is_no_difference() -> None:
    # Of a service that answers a single user after 200 ms: 9 and 10 answers in two seconds.
    nine, ten = points([1], {"platform": bounded(4.5, 9), "virtual": bounded(5, 9)})
    counted = [nine.model_copy(update={"answers": 9}), ten.model_copy(update={"answers": 10})]
    assert curves.stretches(curve(counted), VARIANTS) == [curves.Stretch(1, 1, None)]
    assert curves.stretches(curve([nine, ten]), VARIANTS) == [curves.Stretch(1, 1, "virtual")]


@given(rates, growth, growth)
def test_every_level_has_its_outcome(alone: float, a: float, b: float) -> None:
    measured = doubled({"platform": bounded(alone, alone * a), "virtual": bounded(alone, alone * b)})
    outcomes = curves.stretches(curve(measured), VARIANTS)
    at = {(point.variant, point.users): point.throughput for point in measured}
    for outcome in outcomes:
        for users in (outcome.low, outcome.high):
            slower, faster = sorted(at[variant, users] for variant in VARIANTS)
            assert (outcome.better is not None) is (faster > (1 + curves.AGREE) * slower)
            assert outcome.better is None or at[outcome.better, users] == faster
    assert all(before.high < after.low and before.better != after.better for before, after in pairwise(outcomes))


@given(rates, growth, growth)
def test_at_most_two_levels_lie_between(alone: float, a: float, b: float) -> None:
    measured = doubled({"platform": bounded(alone, alone * a), "virtual": bounded(alone, alone * b)})
    levels = curves.levels_between(measured, VARIANTS)
    assert len(levels) <= curves.BETWEEN
    if levels:
        low, high = curves.levels_of_parting(measured, VARIANTS) or (0, 0)
        assert all(low < level < high for level in levels)
        assert not {point.users for point in measured} & set(levels)


def test_levels_between_are_even_on_a_logarithmic_scale() -> None:
    services = {"platform": bounded(20, 20 * 130), "virtual": bounded(20, 20 * 500)}
    assert curves.levels_of_parting(measured := doubled(services), VARIANTS) == (128, 256)
    assert curves.levels_between(measured, VARIANTS) == [161, 203]
    two = {"platform": bounded(20, 20), "virtual": bounded(20, 40)}
    assert curves.levels_between(points([1, 2], two), VARIANTS) == [], "no whole number between 1 and 2"


@given(rates, growth, growth)
def test_the_blocks_have_twice_the_larger_knee(alone: float, a: float, b: float) -> None:
    measured = doubled({"platform": bounded(alone, alone * a), "virtual": bounded(alone, alone * b)})
    users, knee = curves.chosen_users(measured, VARIANTS), max(a, b)
    assert users >= 2
    # Rounded up to two digits.
    assert 2 * knee * 0.999 <= users <= max(2, 1.1 * 2 * knee + 1) or users == 2 * curves.MOST_USERS


@given(rates, growth, growth)
def test_no_point_of_a_service_by_its_bounds_lies_beyond_them(alone: float, a: float, b: float) -> None:
    measured = doubled({"platform": bounded(alone, a * alone), "virtual": bounded(alone, b * alone)})
    for variant in VARIANTS:
        (_, first), *rising, (last, most) = curves.bounds(measured, variant)
        assert first == pytest.approx(alone)
        assert most == pytest.approx(max(p.throughput for p in measured if p.variant == variant))
        corner = rising[0][0] if rising else last
        for point in (p for p in measured if p.variant == variant):
            assert point.throughput <= 1.000001 * min(point.users * first, most)
        assert corner * first == pytest.approx(most)


def test_without_an_answer_to_a_single_user_there_are_no_bounds() -> None:
    assert curves.bounds(points([2, 4], PARTING), "virtual") == []


def test_no_more_users_are_chosen_than_twice_those_that_were_tried() -> None:
    early = points([1, 2], {"platform": bounded(20, 100), "virtual": lambda users: 20.0 if users == 1 else 900.0})
    assert curves.chosen_users(early, VARIANTS) == 4


def test_where_the_load_generator_was_at_its_end_the_level_before_it_is_chosen() -> None:
    # Virtual would serve more, and k6 has no CPU left at 64 users.
    measured = points([1, 2, 4, 8, 16, 32, 64], PARTING)
    assert curves.chosen_users(measured, VARIANTS) == 64
    assert curves.chosen_users(measured, VARIANTS, sound=32) == 32


def search_experiment() -> Experiment:
    return recorded.experiment(load={"full": {"users": 64}}, windows={"measure": "30s"}, expected=None)


@pytest.mark.parametrize(
    ("alone", "most", "users", "window", "single"),
    # 100 answers, two rounds of a user, or 5 s: whichever is longest. Of a single user nine rounds, from 6 s to 9 s.
    [
        (20, 640, 64, "5s", "6s"),
        (10, 70, 14, "5s", "6s"),
        (0.1, 6.4, 130, "40.6s", "9s"),
        (0.5, 5, 20, "20s", "9s"),
        (0.01, 0.1, 20, "60s", "9s"),
    ],
)
def test_windows_hold_enough_answers_and_rounds(
    alone: float, most: float, users: int, window: str, single: str
) -> None:
    measured = doubled(dict.fromkeys(VARIANTS, bounded(alone, most)))
    planned = curve_to_load.with_load(search_experiment(), curve(measured))
    assert isinstance(planned.load, ClosedLoad)
    assert planned.load.users == users
    assert (planned.windows.measure, planned.windows.single_user_phase) == (window, single)


@pytest.mark.parametrize(
    ("alone", "most", "longest", "ramp"),
    [
        (20, 640, 0.06, "400ms"),
        (20, 640, 0.3, "600ms"),
        (20, 640, None, "1000ms"),
        (200, 640, 0.01, "250ms"),
        (1, 2, 1, "1000ms"),
    ],
)
def test_the_ramp_up_holds_four_rounds_and_the_longest_answer_twice(
    alone: float, most: float, longest: float | None, ramp: str
) -> None:
    """It lasts a quarter of a second at least, and at most as long as without a search."""
    measured = doubled(dict.fromkeys(VARIANTS, bounded(alone, most)))
    with_longest = [point.model_copy(update={"longest": longest}) for point in measured]
    planned = curve_to_load.with_load(search_experiment(), curve(with_longest))
    assert planned.windows.ramp_up == ramp


def test_the_longest_answers_of_more_users_than_are_chosen_do_not_count() -> None:
    measured = doubled(dict.fromkeys(VARIANTS, bounded(20, 640)))
    with_longest = [point.model_copy(update={"longest": 0.06 if point.users <= 64 else 9.0}) for point in measured]
    assert curve_to_load.with_load(search_experiment(), curve(with_longest)).windows.ramp_up == "400ms"


def test_one_long_answer_that_other_levels_do_not_have_does_not_lengthen_the_ramp_up() -> None:
    measured = doubled(dict.fromkeys(VARIANTS, bounded(20, 640)))
    is_paused = [(p.users, p.variant) == (4, "virtual") for p in measured]
    paused = [
        p.model_copy(update={"longest": 0.49 if pause else 0.06}) for p, pause in zip(measured, is_paused, strict=True)
    ]
    assert curve_to_load.with_load(search_experiment(), curve(paused)).windows.ramp_up == "400ms"
    slow = [p.model_copy(update={"longest": 0.3 if p.users > 1 else 0.06}) for p in measured]
    assert curve_to_load.with_load(search_experiment(), curve(slow)).windows.ramp_up == "600ms"


def test_a_single_user_who_waits_long_lengthens_the_cycles_of_the_warm_up() -> None:
    measured = doubled(dict.fromkeys(VARIANTS, bounded(20, 640)))

    def cycle(alone: float) -> str:
        slower = [p.model_copy(update={"mean": alone if p.users == 1 else 9.0}) for p in measured]
        return curve_to_load.with_load(search_experiment(), curve(slower)).windows.warmup_load

    planned = search_experiment().windows.warmup_load
    assert cycle(0.05) == planned
    assert cycle(5.2) == "10.4s"
    assert cycle(300.0) == "60s"


@given(rates, growth, growth)
def test_a_window_has_a_hundred_answers_or_lasts_a_minute(alone: float, a: float, b: float) -> None:
    measured = doubled({"platform": bounded(alone, alone * a), "virtual": bounded(alone, alone * b)})
    planned = curve_to_load.with_load(search_experiment(), curve(measured))
    seconds = units.seconds(planned.windows.measure)
    assert curve_to_load.WINDOW <= seconds <= curve_to_load.LONGEST
    least = min(alone * a, alone * b)
    assert seconds >= min(curve_to_load.LONGEST, 0.98 * curve_to_load.ANSWERS / least)


def test_what_was_chosen_says_so_and_is_a_complete_experiment() -> None:
    planned = curve_to_load.with_load(search_experiment(), curve(doubled(PARTING)))
    assert planned.description.endswith("; 64 users, chosen by vtlab")
    assert Experiment.model_validate(planned.document()) == planned


def test_where_they_part_is_said_in_a_line() -> None:
    line = "No clear difference up to about 4 users; from about 8 users upward, virtual serves more."
    assert where_variants_part(curve(points([1, 2, 4, 8], PARTING)), VARIANTS) == line
    slower = {"platform": PARTING["virtual"], "virtual": PARTING["platform"]}
    other = line.replace("virtual", "platform")
    assert where_variants_part(curve(points([1, 2, 4, 8], slower)), VARIANTS) == other
    same = curve(points([1, 2, 4], dict.fromkeys(VARIANTS, bounded(20, 60))))
    assert where_variants_part(same, VARIANTS) == "The search saw no clear difference up to 4 users."
    apart = curve(points([1, 2], {"platform": bounded(10, 60), "virtual": bounded(20, 180)}))
    assert where_variants_part(apart, VARIANTS) == "From a single user upward, virtual serves more."
    early = curve(points([1, 2], {"platform": bounded(20, 20), "virtual": bounded(20, 40)}))
    assert where_variants_part(early, VARIANTS) == (
        "No clear difference with a single user; from about 2 users upward, virtual serves more."
    )
    assert where_variants_part(curve([]), VARIANTS) == "No level was measured."


def test_a_difference_is_said_of_the_one_pair_that_had_it() -> None:
    """Seen: "From a single user upward, virtual serves more", where blocks of one service had 1.248, 1.047, 1.095."""
    apart = curve(points([1, 2], {"platform": bounded(10, 60), "virtual": bounded(20, 180)}))
    said = "In the search's one pair of JVMs: from a single user upward, virtual serves more."
    assert curve_sentences.sentences(apart, VARIANTS)[0] == said
    same = curve(points([1, 2, 4], dict.fromkeys(VARIANTS, bounded(20, 60))))
    assert curve_sentences.sentences(same, VARIANTS)[0] == "The search saw no clear difference up to 4 users."


def compiled(measured: Sequence[Point], cold: Mapping[int, float], of: str = "virtual") -> Curve:
    """Returns a curve of these points; the JIT compiler of a variant took a share of the CPU at some levels."""
    shares = [cold.get(point.users, 0.02) if point.variant == of else 0.0 for point in measured]
    return curve([p.model_copy(update={"jit": share}) for p, share in zip(measured, shares, strict=True)])


def test_levels_that_are_not_compiled_tell_nothing() -> None:
    apart = points([1, 2, 4, 8], {"platform": bounded(10, 60), "virtual": bounded(20, 180)})
    assert where_variants_part(compiled(apart, {}), VARIANTS) == "From a single user upward, virtual serves more."
    assert where_variants_part(compiled(apart, {1: 0.53, 2: 0.101, 4: 0.1}), VARIANTS) == (
        "From 4 users upward, virtual serves more. With 1 and 2 users the curve does not show it: the JIT compilers"
        " took up to 53 % of the CPU limit from the requests."
    )
    assert where_variants_part(compiled(apart, dict.fromkeys((1, 2, 4, 8), 0.3), of="platform"), VARIANTS) == (
        "The curve does not show which variant serves more: the JIT compilers took up to 30 % of the CPU limit from the"
        " requests."
    )


def test_a_cold_level_above_the_others_ends_what_is_said() -> None:
    """Seen: "from 4 users upward, virtual serves more", where the level of 8 users was cold and showed none."""
    apart = points([1, 2, 4, 8], {"platform": bounded(10, 60), "virtual": bounded(20, 180)})
    for cold, said in (
        ({1: 0.5, 2: 0.5, 8: 0.5}, "With 4 users, virtual serves more."),
        ({1: 0.5, 8: 0.5}, "From 2 to 4 users, virtual serves more."),
        ({2: 0.5, 4: 0.5, 8: 0.5}, "With a single user, virtual serves more."),
    ):
        assert where_variants_part(compiled(apart, cold), VARIANTS).startswith(f"{said} With ")


def test_what_a_third_variant_compiles_says_nothing_of_the_first_two() -> None:
    services = {"platform": bounded(10, 60), "virtual": bounded(20, 180), "pool-50": bounded(20, 180)}
    third = compiled(points([1, 2], services), {1: 0.5, 2: 0.5}, of="pool-50")
    assert where_variants_part(third, VARIANTS) == "From a single user upward, virtual serves more."


@pytest.mark.parametrize(
    ("ended", "why", "sentence"),
    [
        ("levelled off", "", "The search ended after 41 s: no variant serves more with more users."),
        ("time", "", "The search ended after 41 s: the time for the search was up."),
        ("most users", "", "The search ended after 41 s: 4,096 users are the maximum."),
        ("failed", "virtual: out of heap memory", "41 s: a variant failed: virtual: out of heap memory."),
        ("load generator", "k6: 98 % of a core", "41 s: the load generator could not send more: k6: 98 % of a core."),
    ],
)
def test_why_the_search_ended_is_said(ended: Ended, why: str, sentence: str) -> None:
    assert sentence in curve_sentences.sentences(curve(doubled(PARTING), ended, why), VARIANTS)[1]


def test_the_curve_in_words_as_a_table_and_as_a_picture_is_that_of_the_golden_file() -> None:
    measured = doubled(PARTING)
    # A level at which one variant was not measured, and a percentile.
    shown = curve([*measured[:-1], *points([6], {"virtual": PARTING["virtual"]})])
    shown = shown.model_copy(update={"points": [shown.points[0].model_copy(update={"p99": 0.061}), *shown.points[1:]]})
    table = curve_table(shown, VARIANTS)
    assert {len(row) for row in table.rows} == {len(table.head)}
    rows = [" | ".join(row) for row in (table.head, *table.rows)]
    lines = [*curve_sentences.lines(shown, VARIANTS), "", *rows]
    golden_files.check("curve.txt", "\n".join([*lines, "", str(throughput_over_users(shown, VARIANTS)), ""]))


@given(alone=rates, most=growth)
def test_each_label_of_the_axis_is_where_its_value_is(alone: float, most: float) -> None:
    services = {"platform": bounded(alone, alone * most), "virtual": bounded(alone, alone)}
    drawn = str(throughput_over_users(curve(doubled(services)), VARIANTS))
    labels = re.findall(r'<text x="[\d.]+" y="([\d.]+)" text-anchor="end" class="tick">([\d,.]+)</text>', drawn)
    places = [(float(y), math.log(float(text.replace(",", "")))) for y, text in labels]
    assert len(places) >= 2
    (top, high), (bottom, low) = places[-1], places[0]
    for y, value in places:
        assert y == pytest.approx(bottom + (value - low) / (high - low) * (top - bottom), abs=1)


def test_a_curve_without_an_answer_has_no_picture() -> None:
    silent = [Point(variant=name, users=1, throughput=0, mean=None, p99=None, failed=1) for name in VARIANTS]
    assert throughput_over_users(curve(silent), VARIANTS) == ""
    assert len(curve_table(curve(silent), VARIANTS).rows) == 1


def test_the_report_has_the_range_of_the_curve() -> None:
    run = recorded.run(blocks=3)
    with_curve = replace(run, manifest=run.manifest.model_copy(update={"curve": curve(doubled(PARTING))}))
    line = decision_sentence(recorded.analysed(with_curve))
    assert line == (
        "In the search's one pair of JVMs: no clear difference up to about 4 users; from about 8 users upward, virtual"
        " serves more."
    )
    assert decision_sentence(recorded.analysed(run)) is None
    # There platform served more with many users, in the blocks virtual does.
    other = {"platform": PARTING["virtual"], "virtual": PARTING["platform"]}
    contradicted = replace(run, manifest=run.manifest.model_copy(update={"curve": curve(doubled(other))}))
    said = decision_sentence(recorded.analysed(contradicted))
    assert said is not None
    assert said.endswith("from about 8 users upward, platform serves more. The blocks do not show that at 64 users.")


def test_where_more_users_show_another_outcome_vtlab_knows_how_many_to_measure() -> None:
    run = recorded.run(blocks=3)
    # CPU-bound: a single user keeps it busy. The blocks have 4 users.
    platform = {1: 320.0, 2: 380.0, 4: 460.0, 8: 460.0, 16: 450.0, 32: 350.0, 64: 340.0}
    virtual = {1: 320.0, 2: 380.0, 4: 460.0, 8: 460.0, 16: 450.0, 32: 450.0, 64: 450.0}
    levels = points(list(platform), {"platform": platform.__getitem__, "virtual": virtual.__getitem__})
    with_curve = replace(run, manifest=run.manifest.model_copy(update={"curve": curve(levels)}))
    analysis = recorded.analysed(with_curve)
    assert curve_sentences.users_that_part(analysis) == 32
    assert curve_sentences.users_that_part(recorded.analysed(run)) is None


@pytest.mark.parametrize("ended", ["time", "load generator", "failed", "most users"])
def test_a_search_that_did_not_see_both_level_off_claims_no_knee(ended: Ended) -> None:
    assert "knee" in curve_sentences.sentences(curve(doubled(PARTING)), VARIANTS)[-1]
    assert "knee" not in " ".join(curve_sentences.sentences(curve(doubled(PARTING), ended), VARIANTS))


@pytest.mark.parametrize("chosen", [16, 65, 250])
def test_users_that_no_knee_chose_are_told_beside_the_last_level(chosen: int) -> None:
    searched = curve(doubled(PARTING), "time").model_copy(update={"chosen": chosen})
    ended = f"the search ended at {max(searched.users)}; more users may show more"
    assert curve_sentences.sentences(searched, VARIANTS)[-1] == f"vtlab chose {chosen} users for the blocks: {ended}."

"""Differences between the answers of the variants of a pair."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.support import recorded
from tests.unit.test_outcomes import RUN, changed
from vtlab.model.records import Forms, Trial
from vtlab.model.run import Run


def told(run: Run) -> list[str]:
    (decision,) = recorded.analysed(run).verdict.decisions
    return decision.differences


def with_forms(
    *rows: tuple[int, int, str, int],
    variant: str = "virtual",
    other: tuple[int, int, str, int] = (0, 500, "a1b2c", 1000),
) -> Callable[[Trial], Trial]:
    """Returns a change that gives a variant these forms, and the other one 1,000 answers of 500 bytes."""

    def change(t: Trial) -> Trial:
        assert t.answers is not None
        of_variant = list(rows) if t.variant == variant else [other]
        return t.model_copy(
            update={"answers": t.answers.model_copy(update={"forms": Forms(rows=of_variant, others=0)})}
        )

    return change


def test_answers_that_are_alike_have_no_difference() -> None:
    assert told(RUN) == []
    assert told(changed(RUN, with_forms((0, 500, "a1b2c", 1000)))) == []
    assert told(changed(RUN, with_forms((0, 500, "a1b2c", 992), (0, 80, "00f00", 8)))) == [], "less than a hundredth"


def test_fallbacks_are_told_by_their_form() -> None:
    fallbacks = changed(RUN, with_forms((0, 500, "a1b2c", 250), (0, 80, "00f00", 750)))
    assert told(fallbacks) == [
        "at typical load 75.0 % of the answers had another form (JSON 00f00) under virtual, and 0.0 % under platform"
    ]


def test_shorter_answers_of_one_shape_are_told_by_their_length() -> None:
    shorter = changed(RUN, with_forms((0, 500, "a1b2c", 250), (0, 80, "a1b2c", 750)))
    assert told(shorter) == [
        "at typical load 100.0 % of the answers had 500 characters or more under platform, and 25.0 % under virtual"
    ]


def test_a_few_characters_more_are_no_other_answer() -> None:
    assert told(changed(RUN, with_forms((0, 631, "a1b2c", 1000)))) == [], "the next class"
    assert told(changed(RUN, with_forms((0, 1000, "a1b2c", 1000)))) != []


@pytest.mark.parametrize(("shape", "length", "is_told"), [("a1b2c", 100, False), ("", 100, True), ("a1b2c", 199, True)])
def test_the_name_of_a_thread_is_no_other_answer(shape: str, length: int, is_told: bool) -> None:
    """JSON of 63 and 100 characters, as ``/thread`` answers. Text may be another page."""
    forms = with_forms((0, 63, shape, 1000), other=(0, length, shape, 1000))
    assert bool(told(changed(RUN, forms))) is is_told


def test_what_varies_within_a_variant_is_no_difference() -> None:
    once = changed(RUN, with_forms((0, 500, "a1b2c", 250), (0, 80, "00f00", 750)), blocks=1)
    alike = {2, 3}
    rest = [b for b in changed(RUN, with_forms((0, 500, "a1b2c", 1000))).blocks if b.block in alike]
    mixed = Run(once.manifest, once.experiment, [once.blocks[0], *rest], {})
    assert told(mixed) == []


def test_errors_that_are_allowed_are_told() -> None:
    lenient = RUN.experiment.model_copy(update={"max_errors": 0.5})
    manifest = RUN.manifest.model_copy(update={"experiment": lenient})

    def change(t: Trial) -> Trial:
        return t.model_copy(update={"failed": {"status-503": t.ok // 4}}) if t.variant == "virtual" else t

    run = Run(manifest, lenient, changed(RUN, change).blocks, {})
    assert told(run) == ["at typical load 20.0 % of the answers were errors under virtual, and 0.0 % under platform"]

"""The user's latency objective: ``--slo`` is met or missed, by which variant, at which load, by how much."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.support import recorded
from tests.support.outcomes import BASE, concluded, outcome
from vtlab.errors import BadInput
from vtlab.model import objective as objectives
from vtlab.model.records import Trial
from vtlab.model.run import Analysis
from vtlab.report.words import objective
from vtlab.report.words.verdict_lines import verdict_lines


def wanted(text: str, analysis: Analysis = BASE) -> Analysis:
    manifest = analysis.run.manifest.model_copy(update={"slo": objectives.parse(text)})
    return replace(analysis, run=replace(analysis.run, manifest=manifest))


def test_it_is_met_or_missed_at_each_load_and_by_how_much() -> None:
    text = objective.sentence(wanted("p50=300ms"))
    assert text == (
        "p50 of at most 300 ms: at 29.3/s met by platform (201 ms) and virtual (200 ms); at 20 users met by virtual"
        " (187 ms), missed by platform by 94.3 ms (394 ms)"
    )
    assert verdict_lines(wanted("p50=300ms")).slo == text


def test_a_percentile_with_too_few_answers_is_not_known() -> None:
    assert "at 20 users not known of platform and virtual" in str(objective.sentence(wanted("p99=200ms")))


def test_a_p99_that_misses_by_arrivals_that_k6_sent_late_is_not_known() -> None:
    def late(t: Trial) -> Trial:
        changes = {"late_arrivals": 30, "late_max": 0.3} if t.variant == "virtual" else {}
        return recorded.changed_trial(t, started=5000, answers=None, latency=recorded.latency(5000, 0.2), **changes)

    blocks = [recorded.copied(b, {"typical": [late(t) for t in b.typical]}) for b in BASE.accepted]
    blurred = replace(BASE, accepted=blocks)
    assert "missed by platform by 10.0 ms (210 ms), not known of virtual;" in str(
        objective.sentence(wanted("p99=200ms", blurred))
    )
    assert "met by platform (210 ms) and virtual (210 ms);" in str(objective.sentence(wanted("p99=300ms", blurred)))


def test_an_overloaded_variant_misses_it() -> None:
    base = recorded.changed(BASE, platform={"overloaded_blocks": 3})
    text = str(objective.sentence(wanted("p50=300ms", base)))
    assert "at 29.3/s met by virtual (200 ms), missed by platform (overloaded)" in text


@pytest.mark.parametrize(("failed_blocks", "words"), [(6, "(fails)"), (4, "(fails)"), (3, None)])
def test_a_variant_that_fails_misses_it(failed_blocks: int, words: str | None) -> None:
    """In most blocks, as the decision has it: what a sound block shows is then no answer."""
    assert BASE.verdict.n == 6
    base = recorded.changed(BASE, virtual={"failed_blocks": failed_blocks})
    text = str(objective.sentence(wanted("p50=300ms", base)))
    missed = "at 29.3/s met by platform (201 ms), missed by virtual (fails)"
    assert (missed in text) == (words is not None)


def test_it_changes_no_outcome() -> None:
    plain = concluded(outcome("tail", 0.3))
    assert wanted("p95=1ms", plain).verdict == plain.verdict
    assert objective.sentence(plain) is None


@pytest.mark.parametrize("text", ["p98=200ms", "200ms", "p99", "p99=0s", "p99=fast", "p99<200ms", "max=1s"])
def test_what_is_no_objective_is_refused(text: str) -> None:
    with pytest.raises(BadInput, match="--slo") as error:
        objectives.parse(text)
    assert "p99=200ms" in error.value.fix


def test_a_manifest_keeps_it() -> None:
    manifest = wanted("p95=1.5s").run.manifest
    assert type(manifest).model_validate_json(manifest.model_dump_json()).slo == objectives.parse("p95=1.5s")
    assert "slo" in manifest.model_dump()

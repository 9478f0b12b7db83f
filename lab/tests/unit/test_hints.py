"""The advice that a short or undecided run gives, with the time that more blocks would take."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.support import recorded
from vtlab.model.records import Block, Diagnosis
from vtlab.report.words import hints


def test_a_quick_look_says_so_and_what_a_full_run_costs() -> None:
    quick = hints.quick_look(recorded.analysed(recorded.run(blocks=3)))
    assert quick == "Quick look: 3 blocks instead of the 6 of a full run, which takes about 9 minutes."


def test_the_time_of_a_full_run_has_the_light_load_and_the_trial_with_dumps() -> None:
    run = recorded.run(blocks=3)
    first = run.blocks[0]
    dumps = Diagnosis(dumps=20, threads=1.0, places=[])
    (trial,) = [t for t in first.trials if t.variant == "virtual"][:1]
    light = trial.model_copy(update={"begin": 0, "drained": 300_000, "phase": "light"})
    bare = first.model_copy(update={"light": [], "diagnosis": {}})
    lit = bare.model_copy(update={"light": [light], "diagnosis": {"virtual": dumps}})

    def seconds(block: Block) -> float:
        return hints._extra_seconds(recorded.analysed(replace(run, blocks=[block, *run.blocks[1:]])))

    longest = max(t.drained - t.begin for b in run.blocks for t in b.trials if t.variant == "virtual") / 1000
    others = seconds(bare)
    assert seconds(lit) - others == pytest.approx(300 + longest)
    quick = str(hints.quick_look(recorded.analysed(replace(run, blocks=[lit, *run.blocks[1:]]))))
    assert quick.endswith("of a full run, which takes about 14 minutes.")


def test_what_a_block_was_measured_beside_is_in_no_further_block() -> None:
    """Seen: a second set of trials in the last block, and single users in the first, made further blocks longer."""
    analysis = recorded.analysed(recorded.recorded("petclinic"))
    lengths = [block.repeated_seconds for block in analysis.accepted]
    assert lengths == pytest.approx([159.7, 156.8], abs=0.1)
    once = hints._extra_seconds(analysis)
    assert hints.seconds_of(analysis, 6) == pytest.approx(6 * sum(lengths) / 2 + once)
    (first, *_) = analysis.accepted
    single = (max(t.drained for t in first.single) - min(t.begin for t in first.single)) / 1000
    bare = replace(analysis, accepted=[b.model_copy(update={"single": []}) for b in analysis.accepted])
    assert once - hints._extra_seconds(bare) == pytest.approx(single)


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(0.2, "1 second"), (40, "40 seconds"), (59.8, "1 minute"), (720, "12 minutes"), (9000, "2.5 hours")],
)
def test_durations(seconds: float, text: str) -> None:
    assert hints.time_in_words(seconds) == text

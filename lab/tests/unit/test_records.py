"""Records of what users feel: how large they are, and which windows have typical load."""

from __future__ import annotations

from typing import Any

import pytest

from tests.support import recorded
from vtlab.model.records import (
    Answers,
    Block,
    Forms,
    Halves,
    Histogram,
    Kind,
    Latency,
    Parts,
    Probe,
    Trial,
    typical_trials,
)

#: Bytes of a window's answers and probes in ``trials.jsonl``, at most.
MOST_BYTES = 4096


def latency(count: int) -> Latency:
    return Latency(
        count=count, mean=0.012345, p50=0.01123, p90=0.02234, p95=0.03345, p99=0.05456, p99_9=0.1123, max=0.5432
    )


def answers() -> Answers:
    """Answers of a window of 15 s with 3,000 of five kinds, over one and a half decades."""
    halves = Halves(arrived=(1500, 1500), completed=(1499, 1501))
    return Answers(
        latency=None,
        histogram=Histogram(first=400, counts=[20] * 150, is_exact=True),
        parts=Parts(seconds=0.5, ok=[100] * 30, above={"p50": [50] * 30, "p90": [10] * 30, "p95": [5] * 30}),
        halves=halves,
        kinds=[Kind(name=f"GET /owners/{{id}}/{n}", failed=0, halves=halves, latency=latency(600)) for n in range(5)],
        forms=Forms(rows=[(4, 1000, "a1b2c", 20)] * 24, others=0),
    )


def test_answers_and_probes_of_a_window_are_small() -> None:
    probe = Probe(sent=75, skipped=0, healthy=75, unanswered=0, over_second=0, longest=0.0123, times=[0.0123] * 75)
    assert len(answers().model_dump_json()) + len(probe.model_dump_json()) <= MOST_BYTES


def test_what_k6_writes_of_answers_is_read_back() -> None:
    trial = recorded.trial("virtual").model_copy(update={"phase": "typical", "answers": answers()})
    assert Trial.model_validate_json(trial.model_dump_json()) == trial


@pytest.mark.parametrize(
    ("load", "part"),
    [
        ({"full": {"users": 9}}, "typical"),
        ({"full": {"users": 9}, "typical": {"rate": 3}}, "typical"),
        ({"full": "none", "typical": {"rate": 3}}, "trials"),
    ],
)
def test_trials_have_typical_load_where_it_is_the_only_load(load: dict[str, Any], part: str) -> None:
    trial = recorded.trial("virtual")
    typical = trial.model_copy(update={"phase": "typical"})
    block = Block(block=1, attempt=1, order=["virtual"], trials=[trial], typical=[typical])
    assert typical_trials(block, recorded.experiment(load=load)) == getattr(block, part)

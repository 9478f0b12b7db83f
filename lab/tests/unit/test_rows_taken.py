"""Rows of a workload's data go on from one call of k6 to the next."""

from __future__ import annotations

import json

from tests.support import recorded
from vtlab.k6.rows import RowsTaken
from vtlab.model.k6_documents import K6Document


def document(*started: tuple[str, int]) -> K6Document:
    trials = [recorded.trial(variant, started=count, dropped=0) for variant, count in started]
    return K6Document(
        version=2, experiment="", run_id="", block=1, order=[], agreed=True, warmup=[], single=[], trials=trials
    )


def test_a_call_goes_on_after_the_rows_of_those_before() -> None:
    rows = RowsTaken()
    assert rows.variables() == {}
    rows.count(document(("platform", 300), ("virtual", 400), ("platform", 10)))
    rows.count(document(("virtual", 5)))
    assert json.loads(rows.variables()["ROWS"]) == {"platform": 310, "virtual": 405}

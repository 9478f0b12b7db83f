"""The rows of a workload's data that calls of k6 took: each call goes on after the one before.

A phase that began anew would ask for what the phase before has left in a cache.
"""

from __future__ import annotations

import json
from collections import Counter

from vtlab.model.experiment import Experiment
from vtlab.model.k6_documents import K6Document
from vtlab.model.load import ClosedLoad


def need_calls_of_their_own(experiment: Experiment) -> bool:
    """Tells whether phases with other numbers of users are to be other calls of k6. Users share no state: who joins
    within a call would read the rows that others have read before."""
    return experiment.workload.data is not None and isinstance(experiment.load, ClosedLoad)


class RowsTaken:
    """Rows that the calls of one block took, by variant."""

    def __init__(self) -> None:
        self._taken: Counter[str] = Counter()

    def count(self, document: K6Document) -> None:
        """Counts the requests of a call: each took a row."""
        for phase in document.phases:
            self._taken[phase.variant] += phase.started + phase.dropped

    def variables(self) -> dict[str, str]:
        """Returns the variable of ``k6/block.ts`` for the next call; none before the first."""
        return {"ROWS": json.dumps(self._taken)} if self._taken else {}

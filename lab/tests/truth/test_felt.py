"""Planted cases of what users feel: probes that wait, answers of another shape, a slow kind of request.

The records of a window must say so. (Probes that decide: ``test_criteria``.)
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.support import short_lab
from tests.support.experiments import tiny
from tests.support.foreign import SHOP, built
from tests.support.planted import planted_service
from tests.support.planted_cases import PLATFORM, VIRTUAL, both
from tests.support.privileges import needs_root
from tests.support.short_lab import Jvms, Lab, ShortBlock, windows
from vtlab.analysis.statistics import paired
from vtlab.model.experiment import Experiment
from vtlab.model.records import Answers, Block, Probe, Trial
from vtlab.services.resolve import complete

__all__ = ["planted_service"]

pytestmark = [pytest.mark.timeout(1800), needs_root]

#: Cheap requests for the warm-up, where those of the trial take seconds.
CHEAP = {"warmup_query": {"duration": "50ms"}, "warmup_load": "2s"}
#: Of an interval that a sample falls outside of once in ten thousand times.
CONFIDENCE = 0.9999
OTHER_SHAPE = 0.2


@pytest.fixture
def lab(tmp_path: Path) -> Iterator[Lab]:
    with short_lab.lab(tmp_path) as made:
        yield made


def judged(lab: Lab, jvms: Jvms, planned: Experiment, judge: Any) -> None:
    """Measures one trial of each variant, and has each judged."""

    def judge_trials(block: Block) -> None:
        assert [trial.variant for trial in block.trials] == [PLATFORM, VIRTUAL]
        for trial in block.trials:
            judge(trial)

    lab.judged(ShortBlock(jvms, planned, [PLATFORM, VIRTUAL], single=None), judge_trials)


def probe_of(trial: Trial) -> Probe:
    """Returns the probes of a trial; each arrival of its window was sent or skipped."""
    assert trial.probe is not None
    assert trial.probe.sent + trial.probe.skipped == pytest.approx(5 * trial.window, abs=1)
    return trial.probe


def answers_of(trial: Trial) -> Answers:
    """Returns the answers of a trial; their histogram and their parts count every OK answer."""
    assert trial.answers is not None
    assert sum(trial.answers.histogram.counts) == sum(trial.answers.parts.ok) == trial.ok
    return trial.answers


def test_a_probe_waits_behind_200_busy_threads_on_one_port(lab: Lab, tmp_path: Path) -> None:
    """On a service with one port 200 busy platform threads keep nearly all probes waiting for over a second, and
    virtual threads none."""
    service = {"jar": str(built(SHOP)), "directory": str(tmp_path)}
    requests = [{"path": "/wait", "query": {"duration": "3s"}}]
    # 200 are served, and 200 queue for the 3 s of those before them.
    lengths = windows(400, {PLATFORM: 200 / 3, VIRTUAL: 400 / 3}, 6.0, **CHEAP)
    planned = complete(tiny(service=service, requests=requests, max_response="60s", **lengths))

    def judge(trial: Trial) -> None:
        probe = probe_of(trial)
        slow = probe.over_second / probe.sent
        assert slow >= 0.9 if trial.variant == PLATFORM else slow < 0.05, probe
        assert probe.healthy == 0, "the shop has no actuator: 404 counts"

    judged(lab, Jvms(), planned, judge)


def test_answers_of_another_shape_are_a_share_of_the_sample(lab: Lab, planted_service: dict[str, Any]) -> None:
    """The sample of a window's answers has the planted share of another shape, within its binomial interval."""
    requests = [{"path": "/planted/shape", "query": {"duration": "100ms"}}]
    jvms = Jvms(settings={"LAB_PLANTED_SHAPE": str(OTHER_SHAPE)}, planted=True)
    planned = jvms.experiment(planted_service, requests=requests, **windows(20, both(200), 5.0))

    def judge(trial: Trial) -> None:
        forms = answers_of(trial).forms
        assert forms is not None
        shapes: Counter[str] = Counter()
        for _, _, shape, count in forms.rows:
            shapes[shape] += count
        assert forms.others == 0
        assert len(shapes) == 2, shapes
        assert "" not in shapes
        # One of each user in each half of a second.
        assert shapes.total() >= 150, shapes
        low, high = paired.binomial(min(shapes.values()), shapes.total(), CONFIDENCE)
        assert low <= OTHER_SHAPE <= high, shapes

    judged(lab, jvms, planned, judge)


def test_a_slow_kind_of_request_has_its_own_percentiles(lab: Lab) -> None:
    """The kind of request in a mix that waits ten times as long has ten times the median of the other."""
    requests = [
        {"path": "/thread", "query": {"duration": "20ms"}, "weight": 9},
        {"path": "/pinned", "query": {"duration": "200ms", "lock": "reentrant"}, "weight": 1},
    ]
    planned = tiny(
        requests=requests,
        load={"full": {"users": 8}},
        windows={"warmup_users": 8, "warmup_load": "2s", "measure": "8s"},
    )

    def judge(trial: Trial) -> None:
        fast, slow = answers_of(trial).kinds
        assert (fast.name, slow.name) == ("GET /thread", "GET /pinned")
        assert fast.latency.count + slow.latency.count == trial.ok
        assert fast.latency.p50
        assert slow.latency.p50
        assert slow.latency.p50 / fast.latency.p50 == pytest.approx(10, rel=0.2), (fast, slow)
        assert slow.latency.count / trial.ok == pytest.approx(0.1, abs=0.03)

    judged(lab, Jvms(), planned, judge)

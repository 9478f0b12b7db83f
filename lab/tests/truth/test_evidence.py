"""Planted cases of figures that stand for something else: a script's requests, a mix's rare kind, rows of data.

Whatever a bound says must be of what users do.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.support import short_lab
from tests.support.planted import planted_service
from tests.support.planted_cases import LITTLE_CPU, PLATFORM, POOLS, VIRTUAL, both
from tests.support.planted_names import Named
from tests.support.privileges import needs_root
from tests.support.short_lab import Jvms, Lab, ShortBlock, in_ms, windows
from vtlab.analysis.laws.phases import measured_variant
from vtlab.analysis.laws.single_user import ANSWERS_OF_KIND, estimate_alone, round_alone
from vtlab.model.records import Block

__all__ = ["planted_service"]

pytestmark = [pytest.mark.timeout(1800), needs_root]

#: Five requests an iteration.
SCRIPT = """
import http from 'k6/http';
export default function () {
  for (let i = 0; i < 5; i++) http.get(`${__ENV.BASE_URL}PATH`);
}
"""
#: Rows of data, and those that the planted cache keeps.
ROWS, CACHED = 20_000, 5_000
CACHE = Jvms(settings={"LAB_PLANTED_CACHE": str(CACHED)}, planted=True)


@pytest.fixture(scope="module")
def lab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lab]:
    with short_lab.lab(tmp_path_factory.mktemp("evidence")) as made:
        yield made


@pytest.mark.parametrize(
    ("jvms", "path", "users", "rate", "named"),
    [
        (POOLS, "/stress/sleep?duration=90ms", 17, 7 / 0.45, Named("db-pool", 7, then="load")),
        (POOLS, "/thread?duration=90ms", 97, 43 / 0.45, Named("tomcat-threads", 43, then="load")),
        (LITTLE_CPU, "/cpu?iterations=60000", 5, None, Named("cpu")),
    ],
    ids=["a pool", "threads", "the CPU"],
)
def test_a_script_is_bound_by_what_its_iterations_need(
    lab: Lab,
    planted_service: dict[str, Any],
    tmp_path: Path,
    jvms: Jvms,
    path: str,
    users: int,
    rate: float | None,
    named: Named,
) -> None:
    """A script of five requests is bound by its pool, threads and CPU in iterations a second."""
    script = tmp_path / "five.js"
    script.write_text(SCRIPT.replace("PATH", path), encoding="utf-8")
    lengths = windows(users, both(rate)) if rate else {"load": {"full": {"users": users}}, "windows": {"measure": "8s"}}
    planned = jvms.experiment(planted_service, requests=[], k6=str(script), **lengths)

    def judge(block: Block) -> None:
        measured = measured_variant([block], planned, PLATFORM)
        named.judge(measured)
        if rate:
            assert measured.throughput == pytest.approx(rate, rel=0.1)

    lab.judged(ShortBlock(jvms, planned, [PLATFORM]), judge)


def mean_alone(block: Block, kind: str) -> float:
    """Averages what a kind of request took a single user of virtual threads, over its OK answers."""
    told = [k for phase in block.single if phase.variant == VIRTUAL for k in phase.kinds if k.name == kind and k.mean]
    return sum((k.mean or 0.0) * k.ok for k in told) / max(1, sum(k.ok for k in told))


#: Seconds of the two kinds of a mix, and the share of the slow one.
FAST, SLOW, RARE = 0.010, 0.500, 0.02


def test_a_rare_kind_counts_by_its_weight(lab: Lab) -> None:
    """The response alone of a mix with 2 % slow requests is what was planted, at five seeds; unknown only of few."""
    jvms = Jvms(settings={"SERVER_TOMCAT_THREADS_MAX": "43"})
    requests = [
        {"path": "/thread", "query": {"duration": in_ms(FAST)}, "weight": 1 - RARE},
        {"path": "/mixed", "query": {"duration": in_ms(SLOW), "iterations": "1"}, "weight": RARE},
    ]
    planned = jvms.experiment(None, requests=requests, load={"full": {"users": 5}}, windows={"measure": "2s"})

    def judge(block: Block) -> None:
        alone = estimate_alone(measured_variant([block], planned, VIRTUAL), round_alone)
        phases = [phase for phase in block.single if phase.variant == VIRTUAL]
        # How many a machine answers in the time is its own affair.
        answers = [
            sum(k.ok for p in phases for k in p.kinds if k.name == name) for name in ("GET /thread", "GET /mixed")
        ]
        assert (alone is not None) == (min(answers) >= ANSWERS_OF_KIND), answers
        if alone is None:
            return
        # A slow machine adds to each request; which share is slow it does not change.
        added = mean_alone(block, "GET /thread") - FAST
        # One slow answer more or less in each phase.
        by_counting = SLOW * len(phases) / sum(phase.ok for phase in phases)
        assert alone.seconds == pytest.approx((1 - RARE) * FAST + RARE * SLOW + added, abs=by_counting)

    for _ in range(5):
        # The number of the block is the seed.
        lab.judged(ShortBlock(jvms, planned, [VIRTUAL], single="9s"), judge)


def test_rows_go_on_across_phases(lab: Lab, planted_service: dict[str, Any], tmp_path: Path) -> None:
    """Users who go through 20,000 rows meet none in a cache of a quarter of them."""
    rows = tmp_path / "rows.csv"
    rows.write_text("\n".join(["id", *map(str, range(ROWS))]) + "\n", encoding="utf-8")
    requests = [{"path": "/planted/cache", "query": {"id": "{id}", "duration": "40ms"}}]
    users, alone = 10, 0.04
    planned = CACHE.experiment(
        planted_service, requests=requests, data=str(rows), **windows(users, both(users / alone), warmup_users=users)
    )

    def judge(block: Block) -> None:
        for trial in block.trials:
            assert trial.throughput <= 1.02 * users / alone, "some were cached"

    lab.judged(ShortBlock(CACHE, planned, [PLATFORM, VIRTUAL, VIRTUAL, PLATFORM], single="3s"), judge)

"""The shapes of the publications: one block of each experiment has the bottlenecks and the direction of the published
runs. How large a difference is, and whether it is sure, takes more blocks: ``vtlab lab reproduce-publication``."""

from __future__ import annotations

import json
from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import pytest

from tests.support.lab_call import only, vtlab
from tests.support.privileges import needs_root
from vtlab.analysis import verdict
from vtlab.model.verdict import Bottleneck
from vtlab.planning.shipped_experiments import EXPERIMENTS
from vtlab.runs import store
from vtlab.runs.reproduce import experiments_by_publication

pytestmark = [pytest.mark.calls, pytest.mark.timeout(1200), needs_root]

Direction = Literal["first", "faster", "slower", "alike"]
#: Less than this factor is no difference of kind.
ALIKE = 1.5


@dataclass(frozen=True)
class Shape:
    """The bottleneck of a variant, and how its throughput compares with the first variant's. ``tie``: a resource of
    which there is exactly as much: noise decides whether one of the two is named or both. ``beside``: what the
    bottleneck fills from the beginning of a request to its end, so that it may be named with it. ``most``: requests a
    second that the bottleneck allows; a machine whose CPU allows fewer is limited by that."""

    bottleneck: str
    direction: Direction = "first"
    tie: str = ""
    beside: str = ""
    most: float = 0.0

    def allows(self, bottleneck: Bottleneck, direction: Direction) -> bool:
        names = {bottleneck.resource, *bottleneck.together}
        if names == {"cpu"} and bottleneck.bound is not None and bottleneck.bound < self.most:
            return direction == self.direction
        allowed = {self.bottleneck, self.tie, self.beside}
        return names <= allowed and names != {self.beside} and direction == self.direction


#: Of an experiment with more variants, those whose shape was published.
SHAPES: dict[str, dict[str, Shape]] = {
    "blocking-5s": {"platform": Shape("tomcat-threads"), "virtual": Shape("load", "faster")},
    "compute-13s": {
        "platform": Shape("cpu", beside="load"),
        # A thread that computes pins nothing: its one carrier is full because the CPU is.
        "virtual": Shape("cpu", "alike", beside="load"),
    },
    "db-no-sleep": {"platform": Shape("load"), "virtual": Shape("load", "alike")},
    "db-pool": {
        "pool-10": Shape("db-pool"),
        "pool-50": Shape("db-pool", "faster"),
        "pool-250": Shape("db-pool", "faster", tie="load", most=250),
    },
    "db-slow-query": {
        "platform-jdk21": Shape("db-pool"),
        "virtual-jdk21": Shape("carriers", "slower"),
        "virtual-driver9": Shape("db-pool", "alike"),
        "virtual-jdk25": Shape("db-pool", "alike"),
    },
    "fan-out": {
        "pool-8": Shape("executor", beside="load"),
        "pool-200": Shape("load", "faster"),
        "virtual": Shape("load", "faster"),
    },
    "fan-out-hashes": {"pool-8": Shape("cpu", beside="load"), "virtual": Shape("cpu", "alike", beside="load")},
    "locked-out": {"virtual-jdk21": Shape("load"), "virtual-jdk25": Shape("load", "faster")},
    "one-thread": {"one-thread": Shape("tomcat-threads"), "one-carrier": Shape("load", "faster")},
    "pinning": {
        "lock-jdk21": Shape("load"),
        "monitor-jdk21": Shape("carriers", "slower"),
        "monitor-jdk25": Shape("load", "alike"),
    },
    "reactive": {"virtual": Shape("load"), "reactive": Shape("load", "alike")},
    "run-cpu": {"bounded": Shape("cpu", beside="load"), "unbounded": Shape("cpu", "alike", beside="load")},
    "run-io": {"bounded": Shape("cpu", beside="load"), "unbounded": Shape("cpu", "alike", beside="load")},
}
#: The least and the most of the probes' share that takes over a second, by variant.
SLOW_PROBES = {"compute-13s": {"platform": (0, 0.05), "virtual": (0.9, 1)}}
PUBLISHED = [experiment.name for experiments in experiments_by_publication().values() for experiment in experiments]


def direction(ratio: float | None) -> Direction:
    assert ratio is not None
    if ratio >= ALIKE:
        return "faster"
    return "slower" if ratio <= 1 / ALIKE else "alike"


def only_variants(document: dict[str, Any], variants: Collection[str]) -> dict[str, Any]:
    """Returns an experiment's document without its other variants."""
    full = document["load"]["full"]
    for by_variant in (
        document.get("properties", {}),
        document.get("expected", {}),
        document["windows"].get("measure_by_variant", {}),
        full.get("round", {}),
        full.get("service_time", {}),
    ):
        for name in by_variant.keys() - set(variants):
            del by_variant[name]
    return {**document, "variants": [name for name in document.get("variants", variants) if name in variants]}


@pytest.mark.parametrize("name", PUBLISHED)
def test_an_experiment_has_the_shape_of_its_publication(name: str, tmp_path: Path) -> None:
    """An experiment of a publication has the published direction, the bottlenecks that explain it, and the published
    silence of probes."""
    document = json.loads((EXPERIMENTS / f"{name}.json").read_text(encoding="utf-8"))
    document = only_variants(document, SHAPES[name])
    document["windows"]["trials"] = 1
    planned = tmp_path / f"{name}.json"
    planned.write_text(json.dumps(document), encoding="utf-8")
    root = tmp_path / "results"
    # A block of compute-13s takes eight minutes.
    done = vtlab("run", planned, "--blocks", "1", "--max-rejected", "3", "--results", root, timeout=1150)
    assert done.returncode == 0, done.stdout + done.stderr
    (analysis,) = verdict.analyse_all([store.read(only(root))])
    for variant, (least, most) in SLOW_PROBES.get(name, {}).items():
        probes = [t.probe for block in analysis.accepted for t in block.trials if t.variant == variant and t.probe]
        assert probes
        assert all(least <= probe.over_second / probe.sent <= most for probe in probes), (variant, probes)
    ratios = {o.of: o.ratio for o in analysis.verdict.outcomes if o.key.criterion == "capacity"}
    measured: dict[str, tuple[Bottleneck, Direction]] = {
        variant: (summary.bottleneck, direction(ratios[variant]) if variant in ratios else "first")
        for variant, summary in analysis.verdict.variants.items()
    }
    assert measured.keys() == SHAPES[name].keys()
    assert all(SHAPES[name][variant].allows(*shape) for variant, shape in measured.items()), measured

"""Experiments of vtlab 0.1."""

from __future__ import annotations

from typing import Any

from vtlab.model import earlier, normalised
from vtlab.model.experiment import Experiment
from vtlab.model.publication import Publication

WINDOWS: dict[str, Any] = {
    "warmup_users": 4,
    "warmup_load": "2s",
    "spread": "200ms",
    "measure": "10s",
    "measure_of": {"platform": "50s"},
    "trials": 1,
    "drain": False,
}
STORED: dict[str, Any] = {
    "name": "one-thread",
    "description": "As 0.1 stored it.",
    "publication": {
        "number": "009",
        "title": "t",
        "setting": "s",
        "explanation": "e",
        "sizes": {"load": {"model": "closed", "users": 250}, "windows": {**WINDOWS, "spread": "1s"}},
    },
    "request": {"path": "/thread"},
    "load": {"model": "closed", "users": 100, "think_time": "0s"},
    "primary": "throughput",
    "windows": WINDOWS,
    "max_response": "300s",
    "limits": {"cpu": 1, "memory": "768Mi", "heap": "384m"},
    "variants": ["platform", "virtual"],
    "ideal": {"virtual": 80},
}


def test_has_todays_keys_and_the_same_pacing() -> None:
    document = earlier.experiment(STORED)
    publication = Publication.model_validate(document.pop("publication"))
    today = Experiment.model_validate(document)
    assert today.expected == {"virtual": 80}
    windows = normalised.normalise(today).windows
    assert windows.warmup_cycles == 0, "all of its cycles are judged"
    assert (windows.ramp_up, windows.measure_by_variant, windows.wait_for_answers) == (200, {"platform": 50_000}, False)
    assert normalised.normalise(today).load.model_dump()["round"] == {"virtual": 1250}
    published = normalised.normalise(publication.in_published_size(today))
    assert (published.load.model_dump()["round"], published.windows.ramp_up) == ({"virtual": 3125}, 1000)


def test_open_load_and_no_expectation_stay_as_they_are() -> None:
    load = {"model": "open", "rate": 2, "users": 400}
    windows = {key: value for key, value in WINDOWS.items() if key not in ("drain", "measure_of", "trials")}
    stored = {key: value for key, value in STORED.items() if key not in ("ideal", "publication")}
    today = Experiment.model_validate(earlier.experiment(stored | {"load": load, "windows": windows}))
    assert today.load.model_dump() == load | {"gaps": "even"}
    assert today.expected == {}

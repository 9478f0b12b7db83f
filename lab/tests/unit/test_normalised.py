"""What k6 reads of an experiment."""

from __future__ import annotations

import json
from typing import Any

import pytest

from vtlab.model import experiment_files, normalised
from vtlab.model.experiment import Experiment
from vtlab.planning.shipped_experiments import EXPERIMENTS

LEAST: dict[str, Any] = {
    "name": "mine",
    "service": "sample",
    "requests": [{"path": "/thread", "query": {"duration": "1s"}}],
    "load": {"full": {"users": 10}},
}


def test_defaults_are_filled_in_and_durations_are_milliseconds() -> None:
    assert json.loads(normalised.as_json(Experiment.model_validate(LEAST))) == {
        "normalised": 1,
        "name": "mine",
        "workload": {
            "requests": [
                {
                    "method": "GET",
                    "path": "/thread",
                    "query": {"duration": "1s"},
                    "headers": {},
                    "body": None,
                    "is_json": False,
                    "status": 200,
                    "expected": [],
                    "weight": 1,
                }
            ],
            "has_login": False,
            "is_script": False,
        },
        "load": {
            "model": "closed",
            "users": 10,
            "think_time": 0,
            "is_think_time_exponential": False,
            "round": {},
            "service_time": {},
        },
        "typical": {"rate": None, "gaps": "exponential"},
        "windows": {
            "warmup_users": 50,
            "warmup_query": None,
            "warmup_load": 3000,
            "warmup_cycles": 1,
            "warmup_requests": 3000,
            "single_user_phase": 9000,
            "ramp_up": 1000,
            "measure": 5000,
            "measure_by_variant": {},
            "trials": 2,
            "wait_for_answers": True,
        },
        "max_response": 30_000,
        "variants": ["platform", "virtual"],
    }


def test_an_open_load_has_its_rate_and_an_empty_warm_up_query_stays_empty() -> None:
    changed = LEAST | {"load": {"typical": {"rate": "2.5/s", "users": 40}}}
    changed |= {"windows": {"warmup_query": {}, "warmup_load": "1.5s", "measure": "2m"}, "max_response": "500ms"}
    document = json.loads(normalised.as_json(Experiment.model_validate(changed)))
    assert document["load"] == {"model": "open", "users": 40, "rate": 2.5, "gaps": "exponential"}
    assert document["typical"] is None
    windows = document["windows"]
    assert (windows["warmup_query"], windows["warmup_load"], windows["measure"]) == ({}, 1500, 120_000)
    assert document["max_response"] == 500


def test_a_drawn_think_time_is_its_mean_and_that_it_is_drawn() -> None:
    changed = LEAST | {"load": {"full": {"users": 10, "think_time": "exp(250ms)"}}}
    load = json.loads(normalised.as_json(Experiment.model_validate(changed)))["load"]
    assert (load["think_time"], load["is_think_time_exponential"]) == (250, True)


@pytest.mark.parametrize(
    ("load", "typical"),
    [
        ({"full": {"users": 10}, "typical": "none"}, None),
        ({"full": {"users": 10}, "typical": {"rate": 2.5, "gaps": "even"}}, {"rate": 2.5, "gaps": "even"}),
        # Three tenths of what ten users with rounds of 700 ms can ask for.
        (
            {"full": {"users": 10, "round": {"platform": "700ms"}}, "typical": {"share": 0.3}},
            {"rate": 4.29, "gaps": "exponential"},
        ),
        # Nobody knows what the first variant serves.
        ({"full": {"users": 10, "round": {"virtual": "1s"}}}, {"rate": None, "gaps": "exponential"}),
        ({"full": "auto"}, {"rate": None, "gaps": "exponential"}),
    ],
)
def test_a_block_by_hand_knows_the_rate_of_the_typical_load_where_the_file_tells_it(
    load: dict[str, Any], typical: dict[str, Any] | None
) -> None:
    assert json.loads(normalised.as_json(Experiment.model_validate(LEAST | {"load": load})))["typical"] == typical


def test_what_is_expected_of_a_variant_does_not_change_what_k6_does() -> None:
    blocking = experiment_files.load("blocking", EXPERIMENTS)
    assert blocking.expected
    assert normalised.as_json(blocking.model_copy(update={"expected": {}})) == normalised.as_json(blocking)


@pytest.mark.parametrize("name", experiment_files.names(EXPERIMENTS))
def test_no_experiment_repeats_a_default(name: str) -> None:
    written = json.loads((EXPERIMENTS / f"{name}.json").read_text(encoding="utf-8"))
    loaded = Experiment.model_validate(written)
    least = {"$schema": written["$schema"], **loaded.model_dump(mode="json", by_alias=True, exclude_defaults=True)}
    if "rate" in least["load"].get("typical", {}):
        assert least["load"].pop("full") == "none", "the default beside a rate"
    assert written == least

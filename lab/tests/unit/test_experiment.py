"""Experiment files: what is wrong is named, with the key and the file."""

from __future__ import annotations

import copy
import json
from pathlib import Path
from typing import Any

import pytest

from vtlab import shipped
from vtlab.errors import BadInput
from vtlab.model import experiment_files
from vtlab.model.load import ClosedLoad, OpenLoad
from vtlab.planning.shipped_experiments import EXPERIMENTS

GOOD: dict[str, Any] = json.loads((EXPERIMENTS / "blocking.json").read_text(encoding="utf-8"))


def changed(**paths: Any) -> str:
    data = copy.deepcopy(GOOD)
    for path, value in paths.items():
        *parents, key = path.split("__")
        parent_document = data
        for parent in parents:
            parent_document = parent_document.setdefault(parent, {})
        parent_document[key] = value
    return json.dumps(data)


OLD_WINDOWS = {"warmup_users": 1, "warmup_load": "1s", "spread": "1s", "measure": "1s"}


@pytest.mark.parametrize("name", experiment_files.names(EXPERIMENTS))
def test_every_committed_experiment_is_valid(name: str) -> None:
    assert experiment_files.load(name, EXPERIMENTS).name == name


@pytest.mark.parametrize("folder", ["k6/experiments", "helm/ci"])
def test_no_setting_opens_a_connection_while_the_pool_is_configured(folder: str) -> None:
    # Spring Boot looks for "timeout" in the property "connection" of HikariCP's pool, whose getter opens one. The
    # variable of connection-timeout is …_CONNECTIONTIMEOUT.
    files = [path for path in (shipped.ROOT / folder).iterdir() if path.suffix in (".json", ".yaml")]
    assert files
    assert [path.name for path in files if "HIKARI_CONNECTION_" in path.read_text(encoding="utf-8")] == []


def test_the_experiments_of_the_issue_are_there() -> None:
    wanted = {"blocking", "blocking-5s", "blocking-100ms", "cpu", "mixed", "blocking-open"}
    assert wanted <= set(experiment_files.names(EXPERIMENTS))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{", "not valid JSON"),
        ("[]", "the file"),
        (changed(userz=3), "userz: unknown key"),
        (
            changed(windows__wait_for_answers=False, windows__trials=2),
            "windows.wait_for_answers: false needs windows.trials: 1",
        ),
        (changed(windows__trials=3), "windows.trials: Input should be 1, 2 or 4"),
        (changed(windows__warmup_requests=0), "windows.warmup_requests: Input should be greater than 0"),
        (
            changed(load__service_time={"green": "1s"}),
            "load.service_time names 'green', which is not among the variants",
        ),
        (changed(load__service_time={"platform": "0s"}), "load.service_time.platform must be above 0"),
        (changed(ideal={"platform": 200}), "ideal: its new name is expected, for reports; load.round, which paces"),
        (changed(windows__spread="1s"), "windows.spread: its new name is windows.ramp_up"),
        (changed(windows__measure_of={}), "windows.measure_of: its new name is windows.measure_by_variant"),
        (changed(windows__drain=False), "windows.drain: its new name is windows.wait_for_answers"),
        (changed(windows=OLD_WINDOWS), "windows.spread: its new name is windows.ramp_up"),
        (changed(publication={}), "publication: publications are in lab/publications/NNN.json now"),
        (changed(load__userz=3), "load.userz: unknown key"),
        (changed(load__users=-5), "load.users: Input should be greater than 0"),
        (changed(load__users=0), "load.users: Input should be greater than 0"),
        (changed(load__model="half"), "load"),
        (changed(limits__cpu=0), "limits.cpu: Input should be greater than or equal to 0.01"),
        (changed(limits__cpu=0.005), "limits.cpu: Input should be greater than or equal to 0.01"),
        (changed(limits__cpu=-1), "limits.cpu"),
        (changed(limits__memory="lots"), "limits.memory"),
        (changed(windows__measure="soon"), "windows.measure"),
        (changed(windows__measure="0s"), "windows.measure must be above 0"),
        (changed(windows__measure_by_variant={"green": "5s"}), "windows.measure_by_variant names 'green'"),
        (changed(windows__measure_by_variant={"virtual": "0s"}), "windows.measure_by_variant.virtual must be above 0"),
        (changed(windows__ramp_up="0s"), "windows.ramp_up must be above 0"),
        (changed(windows__warmup_load="0s"), "windows.warmup_load must be above 0"),
        # 100/s for 15 s, and 4 sqrt(1500) = 154.9
        (changed(load={"model": "open", "rate": 100, "users": 1654}), "load.users must be at least 1655"),
        (changed(load={"model": "open", "rate": 1, "users": 99, "gaps": "odd"}), "load.gaps"),
        (changed(load__think_time="exp(1)"), "load.think_time"),
        (changed(load__think_time="exp(1s"), "load.think_time"),
        (changed(load__think_time="uniform(1s)"), "load.think_time"),
        (changed(windows__warmup_cycles=-1), "windows.warmup_cycles"),
        (changed(variants=["platform", "green"]), "unknown variant 'green'"),
        (changed(variants=["platform", "platform"]), "must differ"),
        (changed(variants=["platform"]), "variants"),
        (changed(primary="latency_p99"), "latency needs open load"),
        (changed(expected={"green": 3}), "expected names 'green', which is not among the variants"),
        (changed(expected={"virtual": 0}), "expected.virtual must be above 0"),
        (changed(load__round={"green": "1s"}), "load.round names 'green'"),
        (changed(load__round={"virtual": "0s"}), "load.round.virtual must be above 0"),
        (changed(variants=["platform", "Virtual_21"]), "must be lower case"),
        (changed(properties={"green": {"threads": "virtual"}}), "properties names 'green'"),
        (changed(properties={"virtual": {"threads": "platform"}}), "properties.virtual.threads must be 'virtual'"),
        (changed(properties={"virtual": {"threads": "green"}}), "properties.virtual.threads"),
        (changed(properties={"virtual": {"threads": "virtual", "java": 17}}), "properties.virtual.java"),
        (changed(needs=["a pony"]), "needs"),
    ],
)
def test_what_is_wrong_is_named_with_the_file(text: str, message: str) -> None:
    with pytest.raises(BadInput) as caught:
        experiment_files.parse(text, "some/file.json")
    assert "some/file.json" in caught.value.message
    assert message in caught.value.message


def test_an_open_load_with_just_enough_users_is_valid_and_its_gaps_are_exponential() -> None:
    load = experiment_files.parse(changed(load={"model": "open", "rate": 100, "users": 1655}), "here").load
    assert isinstance(load, OpenLoad)
    assert load.gaps == "exponential"


@pytest.mark.parametrize(
    ("text", "mean", "exponential"), [("0s", 0, False), ("200ms", 0.2, False), ("exp(1.5s)", 1.5, True)]
)
def test_a_think_time_is_constant_or_exponential(text: str, mean: float, exponential: bool) -> None:
    load = experiment_files.parse(changed(load__think_time=text), "here").load
    assert isinstance(load, ClosedLoad)
    assert (load.mean_think_time, load.is_think_time_exponential) == (mean, exponential)


def test_a_file_that_is_no_text_is_named(tmp_path: Path) -> None:
    path = tmp_path / "mine.json"
    path.write_bytes(b'{"name": "\xff"}')
    with pytest.raises(BadInput, match=r"mine\.json: not valid UTF-8 at byte 10"):
        experiment_files.load(str(path), EXPERIMENTS)


def test_an_unknown_name_lists_the_known_ones() -> None:
    with pytest.raises(BadInput) as caught:
        experiment_files.load("bloking", EXPERIMENTS)
    assert "bloking" in caught.value.message
    assert "blocking" in caught.value.fix


def test_a_variants_properties_are_what_makes_it() -> None:
    jdk21 = {"threads": "virtual", "java": 21, "settings": {"LAB_DATABASE_DRIVER": "8.0.33"}}
    variants, properties = ["platform", "virtual-jdk21"], {"virtual-jdk21": jdk21}
    parsed = experiment_files.parse(
        changed(variants=variants, properties=properties, expected={}, load__round={}), "here"
    )
    assert parsed.environment_of("platform") == {"SPRING_THREADS_VIRTUAL_ENABLED": "false"}
    assert parsed.environment_of("virtual-jdk21") == {
        "SPRING_THREADS_VIRTUAL_ENABLED": "true",
        "LAB_DATABASE_DRIVER": "8.0.33",
    }
    assert (parsed.properties_of("virtual-jdk21").java, parsed.properties_of("platform").java) == (21, None)
    assert experiment_files.parse(json.dumps(parsed.document()), "there") == parsed
    with pytest.raises(KeyError):
        parsed.properties_of("green")

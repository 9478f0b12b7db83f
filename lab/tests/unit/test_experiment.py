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
from vtlab.model.experiment import Experiment
from vtlab.model.load import ClosedLoad, Load, OpenLoad, RateLoad, ShareLoad
from vtlab.model.service import Service
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


def of_text(text: str) -> Experiment:
    return experiment_files.of_document(json.loads(text), Path("/some/file.json"))


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
        ("[]", "not keys with values"),
        (changed(userz=3), "userz: unknown key"),
        (
            changed(windows__wait_for_answers=False, windows__trials=2),
            "windows.wait_for_answers: false needs windows.trials: 1",
        ),
        (changed(windows__trials=3), "windows.trials: must be 1, 2 or 4"),
        (changed(windows__warmup_requests=-1), "windows.warmup_requests: must be 0 or more"),
        (
            changed(load__full__service_time={"green": "1s"}),
            "load.full.service_time names 'green', which is not among the variants",
        ),
        (changed(load__full__service_time={"platform": "0s"}), "load.full.service_time.platform must be above 0"),
        (changed(load__userz=3), "load.userz: unknown key"),
        (changed(load__full__users=-5), "load.full.users: must be above 0"),
        (changed(load__full__users=0), "load.full.users: must be above 0"),
        (changed(load__full__users="many"), "load.full.users: not a whole number"),
        (changed(load__full="many"), "load.full: not a load: write auto, none or {users: 200}"),
        (changed(load={"full": "none"}), "load: full and typical are both none: nothing to measure"),
        (changed(load={"full": "none", "typical": {"share": 0.6}}), "load: typical.share is a share of what full load"),
        (changed(load={"typical": "120/s"}), "load.typical: not a load: write none, {rate: 120/s} or"),
        (changed(load={"typical": {"rate": "fast"}}), "load.typical.rate: not a rate: write it as 120 or"),
        (changed(load={"typical": {"rate": -1}}), "load.typical.rate: must be above 0"),
        (
            changed(load={"typical": {"rate": 1500}}),
            "load.typical.rate 1500/s needs 23,100 users where an answer may take",
        ),
        (changed(load={"typical": {"rate": 1500, "users": 30000}}), "load.typical.users: must be 20,000 or less"),
        (changed(limits__cpu=0), "limits.cpu: must be 0.01 or more"),
        (changed(limits__cpu=0.005), "limits.cpu: must be 0.01 or more"),
        (changed(limits__cpu=-1), "limits.cpu"),
        (changed(limits__memory="lots"), "limits.memory: not a memory size: write it as 512Mi or 1Gi"),
        (changed(windows__measure="soon"), "windows.measure: not a duration: write it as 50ms, 5s or 1m"),
        (changed(windows__measure="0s"), "windows.measure must be above 0"),
        (changed(windows__measure_by_variant={"green": "5s"}), "windows.measure_by_variant names 'green'"),
        (changed(windows__measure_by_variant={"virtual": "0s"}), "windows.measure_by_variant.virtual must be above 0"),
        (changed(windows__ramp_up="0s"), "windows.ramp_up must be above 0"),
        (changed(windows__warmup_load="0s"), "windows.warmup_load must be above 0"),
        # 100/s for 15 s, and 4 sqrt(1500) = 154.9
        (changed(load={"typical": {"rate": 100, "users": 1654}}), "load.typical.users must be at least 1655"),
        (changed(load={"typical": {"rate": 1, "users": 99, "gaps": "odd"}}), "load.typical.gaps"),
        (changed(load__full__think_time="exp(1)"), "load.full.think_time: not a duration"),
        (changed(load__full__think_time="exp(1s"), "load.full.think_time"),
        (changed(load__full__think_time="uniform(1s)"), "load.full.think_time"),
        (changed(windows__warmup_cycles=-1), "windows.warmup_cycles"),
        (changed(variants=["platform", "green"]), "unknown variant 'green'"),
        (changed(variants=["platform", "platform"]), "must differ"),
        (changed(variants=["platform"]), "variants"),
        (
            changed(load__typical={"rate": 3, "users": 50}),
            "load.typical.users goes with load.full: none: beside full load vtlab chooses the users",
        ),
        (
            changed(windows__wait_for_answers=False, load__typical={"share": 0.6}),
            "windows.wait_for_answers: false beside load.typical: a variant ends with its trial: write typical: none",
        ),
        (changed(expected={"green": 3}), "expected names 'green', which is not among the variants"),
        (changed(expected={"virtual": 0}), "expected.virtual must be above 0"),
        (changed(load__full__round={"green": "1s"}), "load.full.round names 'green'"),
        (changed(load__full__round={"virtual": "0s"}), "load.full.round.virtual must be above 0"),
        (changed(variants=["platform", "Virtual_21"]), "must be lower case"),
        (changed(properties={"green": {"threads": "virtual"}}), "properties names 'green'"),
        (changed(properties={"virtual": {"threads": "platform"}}), "properties.virtual.threads must be 'virtual'"),
        (changed(properties={"virtual": {"threads": "green"}}), "properties.virtual.threads"),
        (changed(properties={"virtual": {"threads": "virtual", "java": 17}}), "properties.virtual.java"),
        (changed(needs=["a pony"]), "needs"),
        (changed(needs=["postgres", "database"]), "needs: database and postgres exclude each other"),
    ],
)
def test_what_is_wrong_is_named_with_the_file(text: str, message: str, tmp_path: Path) -> None:
    file = tmp_path / "file.json"
    file.write_text(text, encoding="utf-8")
    with pytest.raises(BadInput) as caught:
        experiment_files.load(str(file), tmp_path)
    assert str(file) in caught.value.message
    assert message in caught.value.message


def test_a_rate_with_just_enough_users_is_valid_and_its_gaps_are_exponential() -> None:
    load = of_text(changed(load={"typical": {"rate": "100/s", "users": 1655}})).load
    assert isinstance(load, OpenLoad)
    assert load.gaps == "exponential"


@pytest.mark.parametrize(
    ("text", "mean", "exponential"), [("0s", 0, False), ("200ms", 0.2, False), ("exp(1.5s)", 1.5, True)]
)
def test_a_think_time_is_constant_or_exponential(text: str, mean: float, exponential: bool) -> None:
    load = of_text(changed(load__full__think_time=text)).load
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
    parsed = of_text(changed(variants=variants, properties=properties, expected={}, load={"full": {"users": 9}}))
    assert parsed.environment_of("platform") == {"SPRING_THREADS_VIRTUAL_ENABLED": "false"}
    assert parsed.environment_of("virtual-jdk21") == {
        "SPRING_THREADS_VIRTUAL_ENABLED": "true",
        "LAB_DATABASE_DRIVER": "8.0.33",
    }
    assert (parsed.properties_of("virtual-jdk21").java, parsed.properties_of("platform").java) == (21, None)
    assert experiment_files.of_document(parsed.document(), Path("there")) == parsed
    with pytest.raises(KeyError):
        parsed.properties_of("green")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (changed(workload={}), "workload: write its keys (requests, data, login, k6, origin) at the top level instead"),
        (changed(request={"path": "/"}), "request: write requests, a list, instead"),
        (changed(between="POST /reset"), "between: write reset instead"),
        (changed(**{"with": ["pool=5"]}), "with: write variants instead"),
        (changed(jvm=["-Xmx1g"]), "jvm: write service.jvm_flags instead"),
        (changed(java=21), "java: write service.java instead"),
        (changed(env=["A"]), "env: write service.env instead"),
        (changed(env_file="a"), "env_file: write service.env_file instead"),
        (changed(service_needs={}), "service_needs: write service.started_before instead"),
        (changed(database="mariadb"), "database: write needs: [database] instead"),
        (changed(load={"model": "closed", "users": 10}), "load.model: write load.full for users, load.typical for a"),
        (changed(load={"model": "closed", "users": 10}), "load.users: write load.full.users instead"),
        (changed(load={"rate": 300}), "load.rate: write load.typical.rate instead"),
        (changed(load={"users": "auto", "think": "1s"}), "load.think: write load.full.think_time instead"),
        (changed(load__full__think="1s"), "load.full.think: write load.full.think_time instead"),
        (changed(service={"jar": "a.jar", "environment": {}}), "service.environment: write service.settings instead"),
        (
            changed(service={"jar": "a.jar", "environment_from": []}),
            "service.environment_from: write service.env instead",
        ),
        (
            changed(service={"jar": "a.jar", "variants": {}}),
            "service.variants: write service.settings_by_threads instead",
        ),
        (changed(service="shop.json"), "service: shop.json is not a jar: write the keys of that file under service"),
        ('{"name": "shop", "jar": "shop.jar", "readiness": "/"}', "jar: write service.jar instead"),
        ('{"requests": ["GET /"]}', "service: missing: write the path of a jar, or sample"),
        (changed(ideal={"platform": 200}), "ideal: write expected, for reports, and load.full.round, which paces"),
        (changed(windows__spread="1s"), "windows.spread: write windows.ramp_up instead"),
        (changed(windows__measure_of={}), "windows.measure_of: write windows.measure_by_variant instead"),
        (changed(windows__drain=False), "windows.drain: write windows.wait_for_answers instead"),
        (changed(primary="latency_p99"), "primary: leave it out: vtlab judges every criterion that the loads of the"),
        (changed(publication={}), "publication: publications are in lab/publications/NNN.json now"),
    ],
)
def test_an_old_key_names_what_takes_its_place(text: str, message: str) -> None:
    with pytest.raises(BadInput) as caught:
        of_text(text)
    assert message in caught.value.message
    assert caught.value.fix


@pytest.mark.parametrize(
    ("load", "is_searched", "measured"),
    [
        ({}, True, ClosedLoad(users=100)),
        ({"full": "auto"}, True, ClosedLoad(users=100)),
        ({"full": {"users": "auto", "think_time": "1s"}}, True, ClosedLoad(users=100, think_time="1s")),
        ({"full": {"users": 20}}, False, ClosedLoad(users=20)),
        ({"full": {"users": 20}, "typical": "none"}, False, ClosedLoad(users=20)),
        ({"full": {"users": 20}, "typical": {"rate": 3}}, False, ClosedLoad(users=20)),
        ({"full": "auto", "typical": {"share": 0.5}}, True, ClosedLoad(users=100)),
        # 120/s for 15 s, and 4 sqrt(1800)
        ({"typical": {"rate": "120/s"}}, False, OpenLoad(rate=120, users=1970)),
        ({"full": "none", "typical": {"rate": 120, "users": 2000}}, False, OpenLoad(rate=120, users=2000)),
    ],
)
def test_a_file_has_one_load_of_the_trials(
    load: dict[str, Any], is_searched: bool, measured: ClosedLoad | OpenLoad
) -> None:
    parsed = of_text(changed(load=load))
    assert (parsed.is_searched, parsed.load) == (is_searched, measured)
    again = experiment_files.of_document(parsed.document(), Path("there"))
    assert again == parsed
    with_its_load = parsed.with_load(parsed.load)
    assert (with_its_load.load, with_its_load.typical_beside) == (measured, parsed.typical_beside)


@pytest.mark.parametrize(
    ("load", "beside"),
    [
        ({}, ShareLoad(share=0.6)),
        ({"full": {"users": 9}}, ShareLoad(share=0.6)),
        ({"full": "auto", "typical": {"share": 0.3}}, ShareLoad(share=0.3)),
        # At a rate beside full load vtlab chooses the users.
        ({"full": {"users": 9}, "typical": {"rate": 5000}}, RateLoad(rate=5000)),
        ({"full": {"users": 9}, "typical": "none"}, None),
        ({"typical": {"rate": 3}}, None),
        ({"full": "none", "typical": {"rate": 3}}, None),
    ],
)
def test_typical_load_is_beside_full_load_unless_the_file_has_one_load(
    load: dict[str, Any], beside: RateLoad | ShareLoad | None
) -> None:
    assert of_text(changed(load=load)).typical_beside == beside


def test_the_rate_that_vtlab_chooses_is_written_out() -> None:
    for typical, gaps in (({"share": 0.6}, "exponential"), ({"rate": 9, "gaps": "even"}, "even")):
        planned = of_text(changed(load={"full": {"users": 9}, "typical": typical})).with_typical_rate(29.3)
        assert planned.document()["load"]["typical"] == {"rate": 29.3, "gaps": gaps}
        assert experiment_files.of_document(planned.document(), Path("there")) == planned


def test_a_variant_that_ends_with_its_trial_has_no_typical_load_by_default() -> None:
    load = {"full": {"users": 9}}
    ends = of_text(changed(load=load, windows__wait_for_answers=False))
    assert ends.load_ == Load(full=ClosedLoad(users=9), typical="none")
    assert experiment_files.of_document(ends.document(), Path("there")) == ends


def test_a_service_is_all_that_a_file_needs(tmp_path: Path) -> None:
    path = tmp_path / "vtlab.yaml"
    path.write_text("service: target/shop-1.4.jar\n", encoding="utf-8")
    least = experiment_files.load(str(path), tmp_path)
    assert isinstance(least.service, Service)
    assert (least.name, least.service.jar_path) == ("shop", tmp_path / "target" / "shop-1.4.jar")
    assert (least.variants, least.is_searched) == (["platform", "virtual"], True)
    assert (least.limits.cpu, least.limits.memory, least.limits.heap) == (1, "1Gi", None)
    assert (least.windows.warmup_cycles, least.windows.warmup_requests, least.windows.warmup_load) == (1, 3000, "3s")


def test_a_file_that_is_not_there_is_named() -> None:
    with pytest.raises(BadInput, match=r"there is no file gone\.yaml"):
        experiment_files.load("gone.yaml", EXPERIMENTS)

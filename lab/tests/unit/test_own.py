"""The reader's own service: what its jar tells, and values that no record may hold."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.support import builders, jars
from tests.unit.conftest import JDK
from vtlab import cli, own_service, results, session
from vtlab.errors import BadInput, PrerequisiteMissing
from vtlab.host.processes import Ledger
from vtlab.model.experiment import ClosedLoad, OpenLoad
from vtlab.model.service import Service
from vtlab.planning import plan
from vtlab.services import own, process

SECRET = "hunter2-not-for-records"
LINES = f"""
# of production
export TOKEN={SECRET}
PLAIN = kept
QUOTED="two words"
"""


@pytest.mark.parametrize(
    ("jar", "name"),
    [
        ("shop-1.4.jar", "shop"),
        ("shop.jar", "shop"),
        ("Order_Service-2.0.0-SNAPSHOT.jar", "order-service"),
        ("spring-petclinic-3.5.0-SNAPSHOT.jar", "spring-petclinic"),
        ("3d-shop.jar", "service-3d-shop"),
        ("42.jar", "service-42"),
        ("….jar", "service"),
    ],
)
def test_a_service_is_named_as_its_jar_without_the_version(jar: str, name: str) -> None:
    assert own.name_of(Path(jar)) == name


def test_the_flags_of_production_stay_and_a_jvm_without_memory_ends(tmp_path: Path) -> None:
    jar = jars.service(tmp_path / "shop-1.4.jar")
    assert own.of_jar(jar, JDK).jvm_flags == ["-XX:+ExitOnOutOfMemoryError"]
    with_flags = own.of_jar(jar, JDK, ["-Xmx512m", "-XX:+UseZGC"])
    assert with_flags.jvm_flags == ["-Xmx512m", "-XX:+UseZGC", "-XX:+ExitOnOutOfMemoryError"]
    dumps = ["-XX:+HeapDumpOnOutOfMemoryError"]
    assert own.of_jar(jar, JDK, dumps).jvm_flags == dumps, "it says itself what happens then"


def test_what_a_jar_has_decides_meters_and_readiness(tmp_path: Path) -> None:
    plain = own.of_jar(jars.service(tmp_path / "a.jar"), JDK)
    assert (plain.meters, plain.readiness) == (["jvm", "process", "cgroup", "tomcat"], "/")
    actuator = {"org.springframework.boot:spring-boot-actuator": "3.5.0"}
    jetty = own.of_jar(jars.service(tmp_path / "b.jar", actuator, server=jars.JETTY), JDK)
    assert (jetty.meters, jetty.readiness) == (["jvm", "process", "cgroup"], "/actuator/health/liveness")
    for service in (plain, jetty):
        assert (service.agent, service.directory, service.jar_path) == (
            True,
            str(tmp_path),
            tmp_path / f"{service.name}.jar",
        )


def service(folder: Path, **changes: Any) -> Service:
    document = {"name": "shop", "jar": "shop.jar", "directory": str(folder), "readiness": "/", **changes}
    return Service.model_validate(document)


def test_environment_comes_from_vtlabs_own_and_from_a_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "prod.env").write_text(LINES.replace(" = ", "="), encoding="utf-8")
    monkeypatch.setenv("PLAIN", "of vtlab")
    given = service(tmp_path, environment_from=["PLAIN"], environment_file="prod.env").given_environment()
    assert given == {"TOKEN": SECRET, "PLAIN": "of vtlab", "QUOTED": "two words"}


def test_what_is_missing_or_no_line_is_named_without_a_value(tmp_path: Path) -> None:
    with pytest.raises(PrerequisiteMissing, match="the service shop needs NOT_SET, ALSO_NOT, which vtlab's environ"):
        service(tmp_path, environment_from=["NOT_SET", "ALSO_NOT"]).given_environment()
    with pytest.raises(PrerequisiteMissing, match="cannot read the environment file .*gone.env"):
        service(tmp_path, environment_file="gone.env").given_environment()
    (tmp_path / "prod.env").write_text(f"OK=1\n{SECRET}\n", encoding="utf-8")
    with pytest.raises(BadInput, match=r"prod.env, line 2: not NAME=VALUE") as caught:
        service(tmp_path, environment_file="prod.env").given_environment()
    assert SECRET not in str(caught.value)


def test_no_record_and_no_command_line_has_a_value(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, invented_tools: Path
) -> None:
    (tmp_path / "prod.env").write_text(f"PASSWORD={SECRET}\n", encoding="utf-8")
    monkeypatch.setattr(sys, "argv", ["vtlab", "try", "shop.jar", "GET /", "--env", f"TOKEN={SECRET}", "--rate", "9"])
    monkeypatch.setenv("TOKEN", "")
    asked = own_service.Asked(
        jar=jars.service(tmp_path / "shop.jar"),
        requests=["GET /"],
        rate=9,
        environment_from=cli._exported([f"TOKEN={SECRET}"]),
        environment_file=tmp_path / "prod.env",
    )
    experiment = own_service.experiment_of(asked)
    options = session.Options(blocks=1, seed=1, root=tmp_path / "results", no_cpu_limit=True)
    folder = session.create_runs([plan.PlannedRun("shop", experiment)], options, "shop")
    assert os.environ["TOKEN"] == SECRET
    for file in folder.iterdir():
        assert SECRET not in file.read_text(encoding="utf-8"), file
    assert results.read(folder).manifest.command == "vtlab try shop.jar 'GET /' --env TOKEN --rate 9"
    shop = experiment.service
    assert isinstance(shop, Service)
    with Ledger(tmp_path) as ledger:
        launch = process.Launch(shop, experiment, {"virtual": JDK, "platform": JDK}, ledger, tmp_path, "1-1", False)
        environment = launch.environment("virtual", 1, 2)
        assert (environment["TOKEN"], environment["PASSWORD"]) == (SECRET, SECRET)
        assert SECRET not in repr(launch)
        assert SECRET not in " ".join(launch.command("virtual"))


@pytest.mark.parametrize(
    ("words", "kept"),
    [
        (["--env", "A=secret"], "--env A"),
        (["--env=A=secret"], "--env=A"),
        (["--env", "A"], "--env A"),
        (["--env", "A=secret", "--env", "B=secret=2", "GET /a?b=c"], "--env A --env B 'GET /a?b=c'"),
        (["--users=5"], "--users=5"),
    ],
)
def test_the_call_in_a_manifest_has_no_value_of_a_variable(
    words: list[str], kept: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "argv", ["vtlab", "try", "a.jar", *words])
    assert session._command() == f"vtlab try a.jar {kept}"


def test_a_call_makes_an_experiment(tmp_path: Path, invented_tools: Path) -> None:
    jar = jars.service(tmp_path / "shop-1.4.jar")
    closed = own_service.experiment_of(
        own_service.Asked(jar, ["GET /a", 'POST /b {"c": 1}'], users=40, think_time="1s")
    )
    assert isinstance(closed.load, ClosedLoad)
    assert (closed.name, closed.load.users, closed.load.think_time) == ("shop", 40, "1s")
    assert (closed.limits.cpu, closed.limits.memory, closed.limits.heap) == (1, "1Gi", None)
    assert [request.line for request in closed.workload.requests] == ["GET /a", "POST /b"]
    rated = own_service.experiment_of(own_service.Asked(jar, ["GET /a"], rate=300))
    assert isinstance(rated.load, OpenLoad)
    assert rated.load.users >= rated.load.least_users(rated.max_response)
    more = own_service.experiment_of(own_service.Asked(jar, ["GET /a"], more=["platform-1000"]))
    assert more.variants == ["platform", "virtual", "platform-1000"]


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"requests": []}, "what is to be asked of shop.jar?"),
        ({"script": Path("load.ts")}, "what is to be asked of shop.jar?"),
        ({"requests": ["FETCH /a"]}, "does not begin with a method"),
        ({"requests": ["GET http://localhost:8080/a"]}, "has a whole address"),
        ({"requests": ["GET /owners/{id}"]}, r"uses \{id\}, and the workload has no data"),
        ({"think_time": "soon"}, "think_time"),
        ({"memory": "a lot"}, "memory"),
        ({"users": -1}, "users"),
    ],
)
def test_a_call_that_makes_no_sense_is_bad_input(
    changes: dict[str, Any], words: str, tmp_path: Path, invented_tools: Path
) -> None:
    jar = jars.service(tmp_path / "shop.jar")
    with pytest.raises(BadInput, match=words) as caught:
        own_service.experiment_of(own_service.Asked(**{"jar": jar, "requests": ["GET /a"], **changes}))
    assert caught.value.fix
    assert builders.experiment().name

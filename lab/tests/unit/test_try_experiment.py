"""The reader's own service: what its jar tells, and values that no record may hold."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.support import jars
from tests.support.experiments import STUB_SERVICE
from tests.unit.conftest import JDK
from vtlab.commands.options import variable_names
from vtlab.errors import BadInput, PrerequisiteMissing
from vtlab.host import variables
from vtlab.host.process_ledger import Ledger
from vtlab.model.experiment import Experiment
from vtlab.model.experiment_files import load, parse
from vtlab.model.load import ClosedLoad, OpenLoad
from vtlab.model.service import Service
from vtlab.model.service_file import RequestLines, TryOptions, of_call
from vtlab.planning import planned_runs, try_experiment
from vtlab.runs import facts, store
from vtlab.runs.create import create_runs
from vtlab.runs.options import Options
from vtlab.services import from_jar, process
from vtlab.services.environment import private_environment

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
    assert from_jar.name_of(Path(jar)) == name


def test_the_flags_of_production_stay_and_a_jvm_without_memory_ends(tmp_path: Path) -> None:
    jar = jars.service(tmp_path / "shop-1.4.jar")
    assert from_jar.service_from_jar(jar, JDK).jvm_flags == ["-XX:+ExitOnOutOfMemoryError"]
    with_flags = from_jar.service_from_jar(jar, JDK, ["-Xmx512m", "-XX:+UseZGC"])
    assert with_flags.jvm_flags == ["-Xmx512m", "-XX:+UseZGC", "-XX:+ExitOnOutOfMemoryError"]
    dumps = ["-XX:+HeapDumpOnOutOfMemoryError"]
    assert from_jar.service_from_jar(jar, JDK, dumps).jvm_flags == dumps, "it says itself what happens then"


def test_what_a_jar_has_decides_meters_and_readiness(tmp_path: Path) -> None:
    plain = from_jar.service_from_jar(jars.service(tmp_path / "a.jar"), JDK)
    assert (plain.meters, plain.readiness) == (["jvm", "process", "cgroup", "tomcat"], "/")
    actuator = {"org.springframework.boot:spring-boot-actuator": "3.5.0"}
    jetty = from_jar.service_from_jar(jars.service(tmp_path / "b.jar", actuator, server=jars.JETTY), JDK)
    assert (jetty.meters, jetty.readiness) == (
        ["jvm", "process", "cgroup", "jetty"],
        "/actuator/health/liveness",
    )
    assert plain.environment == {}
    assert jetty.environment == {"MANAGEMENT_ENDPOINT_HEALTH_PROBES_ENABLED": "true"}
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
    given = private_environment(service(tmp_path, environment_from=["PLAIN"], environment_file="prod.env"))
    assert given == {"TOKEN": SECRET, "PLAIN": "of vtlab", "QUOTED": "two words"}


def test_a_value_in_the_call_is_the_services_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(variables, "_by_option", {})
    monkeypatch.setenv("JAVA_HOME", "/of/vtlab")
    assert variable_names(["JAVA_HOME=/of/the/service", "PLAIN"]) == ["JAVA_HOME", "PLAIN"]
    given = private_environment(service(tmp_path, environment_from=["JAVA_HOME"]))
    assert (given, os.environ["JAVA_HOME"]) == ({"JAVA_HOME": "/of/the/service"}, "/of/vtlab")


def test_what_is_missing_or_no_line_is_named_without_a_value(tmp_path: Path) -> None:
    with pytest.raises(PrerequisiteMissing, match="the service shop needs NOT_SET, ALSO_NOT, which vtlab's environ"):
        private_environment(service(tmp_path, environment_from=["NOT_SET", "ALSO_NOT"]))
    with pytest.raises(PrerequisiteMissing, match=r"cannot read the environment file .*gone\.env"):
        private_environment(service(tmp_path, environment_file="gone.env"))
    (tmp_path / "prod.env").write_text(f"OK=1\n{SECRET}\n", encoding="utf-8")
    with pytest.raises(BadInput, match=r"prod.env, line 2: not NAME=VALUE") as caught:
        private_environment(service(tmp_path, environment_file="prod.env"))
    assert SECRET not in str(caught.value)


def test_no_record_and_no_command_line_has_a_value(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, invented_tools: Path
) -> None:
    (tmp_path / "prod.env").write_text(f"PASSWORD={SECRET}\n", encoding="utf-8")
    monkeypatch.setattr(sys, "argv", ["vtlab", "try", "shop.jar", "GET /", "--env", f"TOKEN={SECRET}", "--rate", "9"])
    monkeypatch.setattr(variables, "_by_option", {})
    call = of_call(
        jars.service(tmp_path / "shop.jar"),
        RequestLines(["GET /"]),
        TryOptions(
            rate=9,
            environment_from=variable_names([f"TOKEN={SECRET}"]),
            environment_file=tmp_path / "prod.env",
        ),
    )
    experiment = try_experiment.experiment_of(call)
    options = Options(blocks=1, seed=1, root=tmp_path / "results", no_cpu_limit=True)
    folder = create_runs([planned_runs.PlannedRun("shop", experiment)], options, "shop")
    assert (variables.known()["TOKEN"], os.environ.get("TOKEN")) == (SECRET, None)
    for file in folder.iterdir():
        assert SECRET not in file.read_text(encoding="utf-8"), file
    assert store.read(folder).manifest.command == "vtlab try shop.jar 'GET /' --env TOKEN --rate 9"
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
    assert facts.command() == f"vtlab try a.jar {kept}"


def experiment_of(jar: Path, *requests: str, **options: Any) -> Experiment:
    return try_experiment.experiment_of(of_call(jar, RequestLines(requests), TryOptions(**options)))


def test_a_call_makes_an_experiment(tmp_path: Path, invented_tools: Path) -> None:
    jar = jars.service(tmp_path / "shop-1.4.jar")
    closed = experiment_of(jar, "GET /a", 'POST /b {"c": 1}', users=40, think_time="1s")
    assert isinstance(closed.load, ClosedLoad)
    assert (closed.name, closed.load.users, closed.load.think_time) == ("shop", 40, "1s")
    assert (closed.limits.cpu, closed.limits.memory, closed.limits.heap) == (1, "1Gi", None)
    stored = parse(json.dumps(closed.document()), "there")
    assert stored.limits.heap is None, "the blocks have the heap that the JVM chooses, too"
    assert [request.line for request in closed.workload.requests] == ["GET /a", "POST /b"]
    assert try_experiment.writing_remarks(closed)[0].startswith("POST /b may change what the service stores")
    reset = experiment_of(jar, "POST /b", between="POST /reset")
    assert (reset.between, try_experiment.writing_remarks(reset)) == ("POST /reset", [])
    rated = experiment_of(jar, "GET /a", rate=300)
    assert isinstance(rated.load, OpenLoad)
    assert rated.load.users >= rated.load.least_users(rated.max_response)
    assert try_experiment.writing_remarks(rated) == []
    more = experiment_of(jar, "GET /a", java="25", variants=["platform-1000"])
    assert more.variants == ["platform", "virtual", "platform-1000"]
    assert [more.properties_of(name).java for name in more.variants] == [25, 25, 25]


@pytest.mark.parametrize(
    ("requests", "given", "words"),
    [
        ([], {}, r"what is to be asked of shop\.jar\?"),
        (["FETCH /a"], {}, "does not begin with a method"),
        (["GET http://localhost:8080/a"], {}, "has a whole address"),
        (["GET /owners/{id}"], {}, r"uses \{id\}, and the workload has no data"),
        (["GET /a"], {"think_time": "soon"}, "think_time: "),
        (["GET /a"], {"memory": "a lot"}, "memory: "),
        (["GET /a"], {"users": -1}, "users: "),
        (["GET /a"], {"users": 0}, "users: "),
        (["GET /a"], {"rate": -1.0}, "rate: "),
        (["GET /a"], {"users": 5, "rate": 9.0}, "users and rate exclude each other"),
        (["GET /a"], {"database": True}, "has no driver for MariaDB"),
    ],
)
def test_a_call_that_makes_no_sense_is_bad_input(
    requests: list[str], given: dict[str, Any], words: str, tmp_path: Path, invented_tools: Path
) -> None:
    with pytest.raises(BadInput, match=words) as caught:
        experiment_of(jars.service(tmp_path / "shop.jar"), *requests, **given)
    assert caught.value.fix


FILE = """
service: target/shop-1.4.jar
requests:
  - GET /owners/{id}
  - POST /visits: {body: {pet: "{id}"}, headers: {Authorization: "Bearer {token}"}, expect: {status: 201}, weight: 0.2}
data: owners.csv
login: {POST: /login, body: {user: "{user}", password: "{env.SHOP_PASSWORD}"}, capture: {token: $.token}}
load: {users: auto, think: 500ms}
service_needs: {command: docker compose up db, port: 5432}
between: POST /test/reset
env: {SPRING_PROFILES_ACTIVE: load, API_KEY: hunter2-not-for-records}
limits: {cpu: 2, memory: 2Gi}
jvm: [-Xmx512m]
with: [platform-1000]
"""


def shop(folder: Path, text: str = FILE, **libraries: str) -> Path:
    (folder / "target").mkdir()
    jars.service(folder / "target" / "shop-1.4.jar", {name.replace("__", ":"): v for name, v in libraries.items()})
    (folder / "owners.csv").write_text("id,user\n1,ann\n2,bob\n", encoding="utf-8")
    (folder / "shop.yaml").write_text(text, encoding="utf-8")
    return folder / "shop.yaml"


def of_file(path: Path, **options: Any) -> Experiment:
    return try_experiment.experiment_of(of_call(path, RequestLines(), TryOptions(**options)))


def test_a_small_file_makes_the_experiment_of_the_same_call(tmp_path: Path, invented_tools: Path) -> None:
    file = shop(tmp_path)
    experiment = of_file(file)
    assert of_call(file, RequestLines(), TryOptions()).is_searched
    service = experiment.service
    assert isinstance(service, Service)
    assert (service.jar_path, service.environment_file) == (tmp_path / "target" / "shop-1.4.jar", str(file))
    assert private_environment(service) == {"SPRING_PROFILES_ACTIVE": "load", "API_KEY": SECRET}
    assert service.started_before is not None
    assert service.started_before.port == 5432
    assert "-Xmx512m" in service.jvm_flags
    assert (experiment.workload.data, experiment.workload.login) == (str(tmp_path / "owners.csv"), str(file))
    assert [request.weight for request in experiment.workload.requests] == [1, 0.2]
    assert experiment.variants == ["platform", "virtual", "platform-1000"]
    assert (experiment.limits.cpu, experiment.limits.memory, experiment.between) == (2, "2Gi", "POST /test/reset")
    assert isinstance(experiment.load, ClosedLoad)
    assert experiment.load.think_time == "500ms"


def test_options_of_the_call_go_before_those_of_the_file(tmp_path: Path, invented_tools: Path) -> None:
    file = shop(tmp_path)
    experiment = of_file(file, rate=200.0, cpu=1.0)
    assert (experiment.load.model, experiment.limits.cpu, experiment.limits.memory) == ("open", 1, "2Gi")
    with pytest.raises(BadInput, match="says what is asked of the service"):
        of_call(file, RequestLines(["GET /"]), TryOptions())


def test_flags_variables_and_variants_of_the_call_join_those_of_the_file(
    tmp_path: Path, invented_tools: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DB_PASSWORD", SECRET)
    joined = of_file(shop(tmp_path), environment_from=["DB_PASSWORD"], jvm_flags=["-Xss1m"], variants=["pool=50"])
    service = joined.service
    assert isinstance(service, Service)
    assert private_environment(service).keys() == {"SPRING_PROFILES_ACTIVE", "API_KEY", "DB_PASSWORD"}
    assert service.jvm_flags[:2] == ["-Xmx512m", "-Xss1m"]
    assert joined.variants == ["platform", "virtual", "platform-1000", "virtual-pool50"]


def test_what_is_written_out_is_a_complete_experiment_that_can_be_repeated(
    tmp_path: Path, invented_tools: Path
) -> None:
    planned = of_file(shop(tmp_path))
    folder = tmp_path / "results" / "20261123T000000Z-shop"
    store.create_unmeasured(folder, planned)
    text = (folder / store.EXPERIMENT).read_text(encoding="utf-8")
    assert SECRET not in text
    assert "ann" not in text
    assert load(str(folder / store.EXPERIMENT), tmp_path) == planned
    other = folder / "other.json"
    other.write_text(text, encoding="utf-8")
    with pytest.raises(BadInput, match="name is 'shop', the file's is 'other'"):
        load(str(other), tmp_path)


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("service: target/shop-1.4.jar", "", "service: missing"),
        ("between:", "betwen:", "betwen: unknown key"),
        ("users: auto", "users: many", "load.users: "),
        ("{users: auto, think: 500ms}", "{rate: -3}", "load.rate -3.0 is not above 0"),
        ("{users: auto, think: 500ms}", "{rate: fast}", "could not convert string to float: 'fast'"),
        ("data: owners.csv", "", r"uses \{id\}, and the workload has no data"),
        ("  - GET /owners/{id}", "  - GET /owners/{number}", r"uses \{number\}, and .*owners\.csv has no such column"),
        ("memory: 2Gi", "memory: 2G", "limits.memory: "),
        ("env: {", "env_file: a\nenv: {", "values in env and env_file"),
        ("with: [platform-1000]", "with: [turbo]", "--variant turbo: no such variant"),
    ],
)
def test_a_wrong_file_names_its_key_and_no_value(
    old: str, new: str, words: str, tmp_path: Path, invented_tools: Path
) -> None:
    with pytest.raises(BadInput, match=words) as caught:
        of_file(shop(tmp_path, FILE.replace(old, new)))
    assert SECRET not in str(caught.value)


def test_a_database_of_its_own_is_told_by_the_driver_that_the_jar_has(tmp_path: Path, invented_tools: Path) -> None:
    text = FILE.replace("with: [platform-1000]", "database: mariadb")
    experiment = of_file(shop(tmp_path, text, **{"com.mysql__mysql-connector-j": "9.1.0"}))
    service = experiment.service
    assert isinstance(service, Service)
    assert experiment.needs == ["database"]
    assert service.has_own_databases
    environment = service.companion_environment(
        "database", url="", address="//h:1/lab_virtual", user="lab", password="p"
    )
    assert environment["SPRING_DATASOURCE_URL"] == "jdbc:mysql://h:1/lab_virtual"


def test_a_jdk_is_named_by_its_directory_or_by_its_major_version(tmp_path: Path) -> None:
    """The variants record a version; a directory holds on this machine only."""
    by_directory, by_version = TryOptions(java=str(tmp_path)), TryOptions(java="21")
    assert (by_directory.java_home, by_version.java_home, TryOptions().java_home) == (str(tmp_path), None, None)


def test_a_file_that_describes_a_service_may_be_tried_as_well(tmp_path: Path, invented_tools: Path) -> None:
    experiment = experiment_of(STUB_SERVICE, "GET /thread", users=5)
    service = experiment.service
    assert isinstance(service, Service)
    assert (experiment.name, service.name, service.agent) == ("stub", "stub", False)
    with pytest.raises(BadInput, match="jvm cannot be given beside it"):
        experiment_of(STUB_SERVICE, "GET /thread", jvm_flags=["-Xmx1g"])
    little = tmp_path / "little.json"
    little.write_text('{"name": "shop", "jar": "shop.jar"}', encoding="utf-8")
    assert experiment_of(little, "GET /thread", users=5).name == "shop"


@pytest.mark.parametrize(
    ("settings", "path"),
    [
        ({}, "/actuator/health/liveness"),
        ({"server.servlet.context-path": "/shop"}, "/shop/actuator/health/liveness"),
        ({"server.servlet.contextPath": "/", "management.endpoints.web.base-path": "/ops"}, "/ops/health/liveness"),
        ({"server.servlet.context-path": "${CONTEXT}"}, "/actuator/health/liveness"),
    ],
)
def test_readiness_is_asked_where_the_jars_settings_put_it(settings: dict[str, str], path: str, tmp_path: Path) -> None:
    text = "".join(f"{name}={value}\n" for name, value in settings.items())
    actuator = {"org.springframework.boot:spring-boot-actuator": "3.5.0"}
    jar = jars.service(tmp_path / "shop.jar", actuator, files={"application.properties": text})
    assert from_jar.service_from_jar(jar, JDK).readiness == path

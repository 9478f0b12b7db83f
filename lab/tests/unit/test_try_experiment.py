"""The reader's own service: what its jar tells, and values that no record may hold."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from tests.support import jars
from tests.support.experiments import service_file, stub_service
from tests.unit.conftest import JDK
from vtlab.commands.options import load_options, variable_names
from vtlab.errors import BadInput, PrerequisiteMissing
from vtlab.host import variables
from vtlab.host.process_ledger import Ledger
from vtlab.model.draft import Option
from vtlab.model.experiment import Experiment
from vtlab.model.experiment_files import load, of_document
from vtlab.model.load import ClosedLoad, Load, OpenLoad, RateLoad, SearchedLoad, ShareLoad
from vtlab.model.service import Need, Service
from vtlab.planning import planned_runs, remarks
from vtlab.planning.shipped_experiments import of_service
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


def completed(jar: Path, needs: Sequence[Need] = (), **keys: Any) -> Service:
    """Returns the service of that jar, with what the jar says of it."""
    service = Service.model_validate({"jar": jar.name, "directory": str(jar.parent), **keys})
    return from_jar.completed(service, list(needs), JDK)


def test_the_flags_of_production_stay_and_a_jvm_without_memory_ends(tmp_path: Path) -> None:
    jar = jars.service(tmp_path / "shop-1.4.jar")
    assert completed(jar).jvm_flags == ["-XX:+ExitOnOutOfMemoryError"]
    with_flags = completed(jar, jvm_flags=["-Xmx512m", "-XX:+UseZGC"])
    assert with_flags.jvm_flags == ["-Xmx512m", "-XX:+UseZGC", "-XX:+ExitOnOutOfMemoryError"]
    dumps = ["-XX:+HeapDumpOnOutOfMemoryError"]
    assert completed(jar, jvm_flags=dumps).jvm_flags == dumps, "it says itself what happens then"


def test_what_a_jar_has_decides_meters_and_readiness(tmp_path: Path) -> None:
    plain = completed(jars.service(tmp_path / "a.jar"))
    assert (plain.meters, plain.readiness) == (["jvm", "process", "cgroup", "tomcat"], "/")
    actuator = {"org.springframework.boot:spring-boot-actuator": "3.5.0"}
    jetty = completed(jars.service(tmp_path / "b.jar", actuator, server=jars.JETTY))
    assert (jetty.meters, jetty.readiness) == (
        ["jvm", "process", "cgroup", "jetty"],
        "/actuator/health/liveness",
    )
    assert (plain.settings, plain.liveness) == ({}, None)
    assert jetty.settings == {"MANAGEMENT_ENDPOINT_HEALTH_PROBES_ENABLED": "true"}
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
    given = private_environment(service(tmp_path, env=["PLAIN"], env_file="prod.env"))
    assert given == {"TOKEN": SECRET, "PLAIN": "of vtlab", "QUOTED": "two words"}


def test_a_value_in_the_call_is_the_services_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(variables, "_by_option", {})
    monkeypatch.setenv("JAVA_HOME", "/of/vtlab")
    assert variable_names(["JAVA_HOME=/of/the/service", "PLAIN"]) == ["JAVA_HOME", "PLAIN"]
    given = private_environment(service(tmp_path, env=["JAVA_HOME"]))
    assert (given, os.environ["JAVA_HOME"]) == ({"JAVA_HOME": "/of/the/service"}, "/of/vtlab")


def test_what_is_missing_or_no_line_is_named_without_a_value(tmp_path: Path) -> None:
    with pytest.raises(
        PrerequisiteMissing, match="the service shop needs NOT_SET, ALSO_NOT, which vtlab's environ"
    ) as unset:
        private_environment(service(tmp_path, env=["NOT_SET", "ALSO_NOT"]))
    assert "export NOT_SET=" in unset.value.fix, "run and resume have no --env"
    with pytest.raises(PrerequisiteMissing, match=r"cannot read the environment file .*gone\.env"):
        private_environment(service(tmp_path, env_file="gone.env"))
    (tmp_path / "prod.env").write_text(f"OK=1\n{SECRET}\n", encoding="utf-8")
    with pytest.raises(BadInput, match=r"prod.env, line 2: not NAME=VALUE") as caught:
        private_environment(service(tmp_path, env_file="prod.env"))
    assert SECRET not in str(caught.value)


@pytest.mark.parametrize(
    ("name", "text", "given"),
    [
        # Lines, whatever the file is called.
        ("prod.yaml", f"TOKEN={SECRET}\n", {"TOKEN": SECRET}),
        ("prod.json", f"# of production\nTOKEN={SECRET}\nB='a: b'\n", {"TOKEN": SECRET, "B": "a: b"}),
        # The file of an experiment, which has the values itself.
        ("vtlab.yaml", f"service: {{jar: a.jar, env: {{TOKEN: {SECRET}}}}}\n", {"TOKEN": SECRET}),
    ],
)
def test_a_file_of_variables_has_lines_unless_it_is_the_experiments_own(
    name: str, text: str, given: dict[str, str], tmp_path: Path
) -> None:
    (tmp_path / name).write_text(text, encoding="utf-8")
    assert private_environment(service(tmp_path, env_file=name)) == given


@pytest.mark.parametrize(
    ("name", "text", "words"),
    [
        ("prod.yml", f"env:\n  TOKEN: {SECRET}\n", "prod.yml, line 1: not NAME=VALUE"),
        ("prod.json", f'{{"TOKEN": "{SECRET}"}}', "prod.json, line 1: not NAME=VALUE"),
        ("prod.env", "# TOKEN=1\n\n", "prod.env: no variables"),
        ("vtlab.yaml", "service: {env: {}}\n", "vtlab.yaml: no variables"),
        ("vtlab.yaml", f"service: {{env: {{TOKEN: [{SECRET}]}}}}\n", "service.env.TOKEN: not a variable with a text"),
    ],
)
def test_a_file_that_gives_no_variables_is_bad_input(name: str, text: str, words: str, tmp_path: Path) -> None:
    (tmp_path / name).write_text(text, encoding="utf-8")
    with pytest.raises(BadInput, match=words) as caught:
        private_environment(service(tmp_path, env_file=name))
    assert SECRET not in str(caught.value) + caught.value.fix


def test_no_record_and_no_command_line_has_a_value(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, invented_tools: Path
) -> None:
    (tmp_path / "prod.env").write_text(f"PASSWORD={SECRET}\n", encoding="utf-8")
    monkeypatch.setattr(sys, "argv", ["vtlab", "try", "shop.jar", "GET /", "--env", f"TOKEN={SECRET}", "--rate", "9"])
    monkeypatch.setattr(variables, "_by_option", {})
    jar = jars.service(tmp_path / "shop.jar")
    experiment = experiment_of(
        jar, "GET /", rate=9.0, env=variable_names([f"TOKEN={SECRET}"]), env_file=str(tmp_path / "prod.env")
    )
    options = Options(blocks=1, seed=1, root=tmp_path / "results", no_cpu_limit=True)
    folder = create_runs([planned_runs.PlannedRun("shop", experiment)], options, "shop")
    assert (variables.known()["TOKEN"], os.environ.get("TOKEN")) == (SECRET, None)
    for file in folder.iterdir():
        assert SECRET not in file.read_text(encoding="utf-8"), file
    assert store.read(folder).manifest.command == "vtlab try shop.jar 'GET /' --env TOKEN --rate 9"
    shop = experiment.service
    assert isinstance(shop, Service)
    with Ledger(tmp_path) as ledger:
        launch = process.Launch(
            service=shop,
            experiment=experiment,
            javas={"virtual": JDK, "platform": JDK},
            ledger=ledger,
            logs=tmp_path,
            label="1-1",
            cpu_limited=False,
        )
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


KEYS = {
    "cpu": "limits.cpu",
    "memory": "limits.memory",
    "jvm": "service.jvm_flags",
    "java": "service.java",
    "env": "service.env",
    "env_file": "service.env_file",
    "reset": "reset",
    "needs": "needs",
    "variant": "variants",
    "k6": "k6",
}


def given(*requests: str, **options: Any) -> list[Option]:
    """Returns the options of a call."""
    load = [options.pop(name, None) for name in ("users", "rate", "think")]
    more = [Option(f"--{name}", KEYS[name], value) for name, value in options.items()]
    return [Option("REQUEST", "requests", list(requests)), *load_options(*load), *more]


def experiment_of(service: Path, *requests: str, **options: Any) -> Experiment:
    return of_service(service, given(*requests, **options))


def test_a_call_makes_an_experiment(tmp_path: Path, invented_tools: Path) -> None:
    jar = jars.service(tmp_path / "shop-1.4.jar")
    closed = experiment_of(jar, "GET /a", 'POST /b {"c": 1}', users=40, think="1s")
    assert isinstance(closed.load, ClosedLoad)
    assert (closed.name, closed.load.users, closed.load.think_time) == ("shop", 40, "1s")
    assert closed.description == "shop-1.4.jar: GET /a (weight 1); POST /b (weight 1)"
    assert (closed.limits.cpu, closed.limits.memory, closed.limits.heap) == (1, "1Gi", None)
    stored = of_document(closed.document(), Path("there"))
    assert stored.limits.heap is None, "the blocks have the heap that the JVM chooses, too"
    assert [request.line for request in closed.requests] == ["GET /a", "POST /b"]
    assert remarks.writing_remarks(closed)[0].startswith("POST /b may change the data of the service")
    reset = experiment_of(jar, "POST /b", reset="POST /reset")
    assert (reset.reset, remarks.writing_remarks(reset)) == ("POST /reset", [])
    rated = experiment_of(jar, "GET /a", rate=300.0)
    assert (rated.is_searched, rated.typical_beside) == (True, RateLoad(rate=300))
    assert remarks.writing_remarks(rated) == []
    more = experiment_of(jar, "GET /a", java="25", variant=["platform-1000"])
    assert more.variants == ["platform", "virtual", "platform-1000"]
    assert [more.properties_of(name).java for name in more.variants] == [25, 25, 25]


@pytest.mark.parametrize(
    ("requests", "options", "words"),
    [
        (["FETCH /a"], {}, "^REQUEST: 'FETCH /a' does not begin with a method"),
        (["GET http://localhost:8080/a"], {}, "has a whole address"),
        (["GET /owners/{id}"], {}, r"uses \{id\}, and the workload has no data"),
        (["GET /a"], {"think": "soon"}, "^--think-time: not a duration: write it as 500ms"),
        (["GET /a"], {"memory": "a lot"}, "^--memory: not a memory size"),
        (["GET /a"], {"users": -1}, "^--users: must be above 0"),
        (["GET /a"], {"users": 0}, "^--users: "),
        (["GET /a"], {"rate": -1.0}, "^--rate: "),
        (["GET /a"], {"needs": ["database"]}, "has no driver for MariaDB"),
        (["GET /a"], {"needs": ["postgres"]}, "has no driver for PostgreSQL: no postgresql among its libraries"),
        (["GET /a"], {"needs": ["database", "postgres"]}, "database and postgres exclude each other"),
        (["GET /a"], {"variant": ["turbo"]}, "^--variant: unknown variant 'turbo': known are platform"),
        (["GET /a"], {"variant": ["turbo=1"]}, "variant turbo=1: no such variant"),
        (["GET /a"], {"rate": 1e9}, "^--rate: must be 1,000,000 or less"),
        (["GET /a"], {"rate": float("inf")}, "^--rate: must be a finite number"),
    ],
)
def test_a_call_that_makes_no_sense_is_bad_input(
    requests: list[str], options: dict[str, Any], words: str, tmp_path: Path, invented_tools: Path
) -> None:
    with pytest.raises(BadInput, match=words) as caught:
        experiment_of(jars.service(tmp_path / "shop.jar"), *requests, **options)
    assert caught.value.fix
    assert "schema" not in caught.value.fix, "no file is wrong"


def test_a_call_without_a_request_is_not_measured(tmp_path: Path, invented_tools: Path) -> None:
    jar = jars.service(tmp_path / "shop.jar")
    with pytest.raises(BadInput, match="shop: no request given"):
        experiment_of(jar).refuse_unmeasurable()


FILE = """
service:
  jar: target/shop-1.4.jar
  jvm_flags: [-Xmx512m]
  started_before: {command: docker compose up db, port: 5432}
  env: {SPRING_PROFILES_ACTIVE: load, API_KEY: hunter2-not-for-records}
requests:
  - GET /owners/{id}
  - POST /visits: {body: {pet: "{id}"}, headers: {Authorization: "Bearer {token}"}, expect: {status: 201}, weight: 0.2}
data: owners.csv
login: {POST: /login, body: {user: "{user}", password: "{env.SHOP_PASSWORD}"}, capture: {token: $.token}}
load: {full: {users: auto, think_time: 500ms}}
reset: POST /test/reset
limits: {cpu: 2, memory: 2Gi}
variants: [platform, virtual, platform-1000]
"""


def shop(folder: Path, text: str = FILE, **libraries: str) -> Path:
    (folder / "target").mkdir()
    jars.service(folder / "target" / "shop-1.4.jar", {name.replace("__", ":"): v for name, v in libraries.items()})
    (folder / "owners.csv").write_text("id,user\n1,ann\n2,bob\n", encoding="utf-8")
    (folder / "shop.yaml").write_text(text, encoding="utf-8")
    return folder / "shop.yaml"


def test_a_file_makes_the_experiment_of_the_same_call(tmp_path: Path, invented_tools: Path) -> None:
    file = shop(tmp_path)
    experiment = experiment_of(file)
    assert experiment.is_searched
    service = experiment.service
    assert isinstance(service, Service)
    assert (service.jar_path, service.env_file) == (tmp_path / "target" / "shop-1.4.jar", str(file))
    assert private_environment(service) == {"SPRING_PROFILES_ACTIVE": "load", "API_KEY": SECRET}
    assert SECRET not in repr(experiment)
    assert service.started_before is not None
    assert service.started_before.port == 5432
    assert service.jvm_flags == ["-Xmx512m", "-XX:+ExitOnOutOfMemoryError"]
    assert (experiment.data, experiment.login) == (str(tmp_path / "owners.csv"), str(file))
    assert [request.weight for request in experiment.requests] == [1, 0.2]
    assert experiment.variants == ["platform", "virtual", "platform-1000"]
    assert (experiment.limits.cpu, experiment.limits.memory, experiment.reset) == (2, "2Gi", "POST /test/reset")
    assert isinstance(experiment.load, ClosedLoad)
    assert experiment.load.think_time == "500ms"


def test_options_of_the_call_override_the_file(tmp_path: Path, invented_tools: Path) -> None:
    file = shop(tmp_path)
    experiment = experiment_of(file, rate=200.0, cpu=1.0)
    assert experiment.load_ == Load(full=SearchedLoad(think_time="500ms"), typical=RateLoad(rate=200))
    assert (experiment.limits.cpu, experiment.limits.memory) == (1, "2Gi")
    users = experiment_of(file, users=30)
    assert users.load_ == Load(full=ClosedLoad(users=30, think_time="500ms"), typical=ShareLoad())
    with pytest.raises(BadInput, match=r"values in service\.env, and --env_file"):
        experiment_of(file, env_file="/other.env")


def test_rounds_of_a_file_do_not_hold_with_other_users(tmp_path: Path, invented_tools: Path) -> None:
    text = FILE.replace("{users: auto,", "{users: 200, round: {platform: 5s}, service_time: {platform: 1s},")
    file = shop(tmp_path, text)
    own, other = experiment_of(file).load, experiment_of(file, users=50).load
    assert isinstance(own, ClosedLoad)
    assert own.round == {"platform": "5s"}
    assert other == ClosedLoad(users=50, think_time="500ms")


def test_what_a_file_derives_from_its_load_does_not_hold_for_an_option(tmp_path: Path, invented_tools: Path) -> None:
    full = "{users: 200, think_time: 500ms, round: {platform: 5s}, service_time: {platform: 1s}}"
    file = shop(tmp_path, FILE.replace("{users: auto, think_time: 500ms}", full))
    assert experiment_of(file, think="2s").load == ClosedLoad(
        users=200, think_time="2s", service_time={"platform": "1s"}
    )
    file.write_text(
        FILE.replace("full: {users: auto, think_time: 500ms}", "typical: {rate: 100, users: 4000, gaps: even}"),
        encoding="utf-8",
    )
    # 400/s for 30 s, and 4 sqrt(12000)
    assert experiment_of(file, rate=400.0).load == OpenLoad(rate=400, users=12_439, gaps="even")


@pytest.mark.parametrize(
    ("load", "options", "loads"),
    [
        ("{}", {"rate": 9.0}, Load(full=SearchedLoad(), typical=RateLoad(rate=9))),
        ("{typical: none}", {"rate": 9.0}, Load(full=SearchedLoad(), typical=RateLoad(rate=9))),
        ("{typical: {share: 0.5}}", {"rate": 9.0}, Load(full=SearchedLoad(), typical=RateLoad(rate=9))),
        ("{full: {users: 7}}", {"rate": 9.0}, Load(full=ClosedLoad(users=7), typical=RateLoad(rate=9))),
        ("{}", {"rate": 9.0, "users": 7}, Load(full=ClosedLoad(users=7), typical=RateLoad(rate=9))),
        ("{}", {"rate": 9.0, "think": "1s"}, Load(full=SearchedLoad(think_time="1s"), typical=RateLoad(rate=9))),
        ("{}", {"users": 7}, Load(full=ClosedLoad(users=7), typical=ShareLoad(share=0.6))),
        ("{typical: none}", {"users": 7}, Load(full=ClosedLoad(users=7), typical="none")),
        ("{typical: {rate: 3}}", {"users": 7}, Load(full=ClosedLoad(users=7), typical=RateLoad(rate=3))),
        # A file without full load has none at another rate either.
        ("{typical: {rate: 3}}", {"rate": 9.0}, Load(full="none", typical=OpenLoad(rate=9, users=336))),
        ("{full: none, typical: {rate: 3}}", {"rate": 9.0}, Load(full="none", typical=OpenLoad(rate=9, users=336))),
    ],
)
def test_an_option_of_one_load_leaves_the_other_load_of_the_file(
    load: str, options: dict[str, Any], loads: Load, tmp_path: Path, invented_tools: Path
) -> None:
    file = shop(tmp_path, FILE.replace("{full: {users: auto, think_time: 500ms}}", load))
    assert experiment_of(file, **options).load_ == loads


def test_a_complete_file_can_be_repeated_at_a_higher_rate(tmp_path: Path, invented_tools: Path) -> None:
    file = shop(tmp_path, FILE.replace("full: {users: auto, think_time: 500ms}", "typical: {rate: 9}"))
    folder = tmp_path / "results" / "20261123T000000Z-shop"
    folder.mkdir(parents=True)
    store.write_experiment(folder, experiment_of(file))
    again = experiment_of(folder / store.EXPERIMENT, rate=400.0).load
    assert again == OpenLoad(rate=400, users=12_439)
    with pytest.raises(BadInput, match=r"^--think-time with the rate in load\.typical of the file"):
        experiment_of(folder / store.EXPERIMENT, think="1s")


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"variant": ["turbo"]}, "^--variant: unknown variant 'turbo'"),
        ({"k6": "/load.ts"}, "^--k6: data and login are for requests|^--k6: requests and k6, a script, exclude"),
        ({"rate": 1e7}, "^--rate: must be 1,000,000 or less"),
    ],
)
def test_an_option_that_does_not_go_with_the_file_is_named(
    options: dict[str, Any], words: str, tmp_path: Path, invented_tools: Path
) -> None:
    with pytest.raises(BadInput, match=words) as caught:
        experiment_of(shop(tmp_path), **options)
    assert "schema" not in caught.value.fix


def test_requests_flags_variables_and_variants_of_the_call_join_those_of_the_file(
    tmp_path: Path, invented_tools: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DB_PASSWORD", SECRET)
    joined = experiment_of(shop(tmp_path), "GET /vets", env=["DB_PASSWORD"], jvm=["-Xss1m"], variant=["pool=50"])
    service = joined.service
    assert isinstance(service, Service)
    assert private_environment(service).keys() == {"SPRING_PROFILES_ACTIVE", "API_KEY", "DB_PASSWORD"}
    assert service.jvm_flags[:2] == ["-Xmx512m", "-Xss1m"]
    assert joined.variants == ["platform", "virtual", "platform-1000", "virtual-pool50"]
    assert [request.line for request in joined.requests][-1] == "GET /vets"
    with pytest.raises(BadInput, match=r"shop\.yaml: REQUEST: 'vets' does not begin with a method"):
        experiment_of(tmp_path / "shop.yaml", "vets")


def test_options_of_a_service_are_not_for_the_sample_application(tmp_path: Path) -> None:
    file = tmp_path / "vtlab.yaml"
    file.write_text("service: sample\nrequests: [GET /thread]\n", encoding="utf-8")
    assert experiment_of(file).is_sample
    with pytest.raises(BadInput, match="--jvm changes the service, and the lab's sample application stays as it is"):
        experiment_of(file, jvm=["-Xss1m"])


def test_what_is_written_out_is_a_complete_experiment_that_can_be_repeated(
    tmp_path: Path, invented_tools: Path
) -> None:
    planned = experiment_of(shop(tmp_path))
    folder = tmp_path / "results" / "20261123T000000Z-shop"
    folder.mkdir(parents=True)
    store.write_experiment(folder, planned)
    text = (folder / store.EXPERIMENT).read_text(encoding="utf-8")
    assert SECRET not in text
    assert "ann" not in text
    assert load(str(folder / store.EXPERIMENT), tmp_path) == planned
    assert of_service(folder / store.EXPERIMENT, []) == planned, "nothing is found anew in the jar"


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("  jar: target/shop-1.4.jar", "", "service: one of jar, deployment, image, command is needed"),
        ("reset:", "rset:", "rset: unknown key"),
        ("users: auto", "users: many", "load.full.users: "),
        ("full: {users: auto, think_time: 500ms}", "typical: {rate: -3}", "load.typical.rate: must be above 0"),
        ("data: owners.csv", "", r"uses \{id\}, and the workload has no data"),
        ("  - GET /owners/{id}", "  - GET /owners/{number}", r"uses \{number\}, and .*owners\.csv has no such column"),
        ("memory: 2Gi", "memory: 2G", "limits.memory: not a memory size"),
        ("  env: {", "  env_file: a\n  env: {", r"values in service\.env and service\.env_file"),
        ("load, API_KEY", "5, API_KEY", r"service\.env\.SPRING_PROFILES_ACTIVE: not a variable with a text"),
        ("platform-1000]", "turbo=1]", "variant turbo=1: no such variant"),
    ],
)
def test_a_wrong_file_names_its_key_and_no_value(
    old: str, new: str, words: str, tmp_path: Path, invented_tools: Path
) -> None:
    assert old in FILE
    with pytest.raises(BadInput, match=words) as caught:
        experiment_of(shop(tmp_path, FILE.replace(old, new)))
    assert SECRET not in str(caught.value)
    assert "shop.yaml: " in caught.value.message


def test_a_database_of_its_own_is_told_by_the_driver_that_the_jar_has(tmp_path: Path, invented_tools: Path) -> None:
    file = shop(tmp_path, f"{FILE}needs: [database]\n", **{"com.mysql__mysql-connector-j": "9.1.0"})
    experiment = experiment_of(file, needs=["database"])
    service = experiment.service
    assert isinstance(service, Service)
    assert experiment.needs == ["database"]
    assert service.has_own_databases
    environment = service.companion_environment(
        "database", url="", address="//h:1/lab_virtual", user="lab", password="p"
    )
    assert environment["SPRING_DATASOURCE_URL"] == "jdbc:mysql://h:1/lab_virtual"


def test_a_postgresql_is_told_to_its_driver_and_another_driver_is_refused(tmp_path: Path) -> None:
    jar = jars.service(tmp_path / "shop.jar", {"org.postgresql:postgresql": "42.7.8"})
    service = completed(jar, ["postgres"])
    assert service.has_own_databases
    environment = service.companion_environment("postgres", address="//h:1/lab_virtual", user="lab", password="p")
    assert environment == {
        "SPRING_DATASOURCE_URL": "jdbc:postgresql://h:1/lab_virtual",
        "SPRING_DATASOURCE_USERNAME": "lab",
        "SPRING_DATASOURCE_PASSWORD": "p",
    }
    with pytest.raises(BadInput, match="has no driver for MariaDB: no mariadb-java-client and no mysql") as error:
        completed(jar, ["database"])
    assert error.value.fix == "its driver is for PostgreSQL: --database postgres"
    other = jars.service(tmp_path / "other.jar", {"org.mariadb.jdbc:mariadb-java-client": "3.5.1"})
    with pytest.raises(BadInput, match="has no driver for PostgreSQL") as error:
        completed(other, ["postgres"])
    assert error.value.fix == "its driver is for MariaDB: --database mariadb"


def test_what_a_file_says_of_a_jar_is_not_replaced_by_what_the_jar_says(tmp_path: Path) -> None:
    actuator = {"org.springframework.boot:spring-boot-actuator": "3.5.0", "com.mysql:mysql-connector-j": "9.1.0"}
    jar = jars.service(tmp_path / "shop.jar", actuator)
    companions = {"database": {"DB": "{url}"}}
    mine = completed(jar, ["database"], readiness="/up", metrics="/m", meters=["jvm"], companions=companions)
    assert (mine.agent, mine.readiness, mine.metrics, mine.meters) == (True, "/up", "/m", ["jvm"])
    assert (mine.liveness, mine.companions) == ("/actuator/health/liveness", companions)
    assert mine.settings == {"MANAGEMENT_ENDPOINT_HEALTH_PROBES_ENABLED": "true"}, "for the probe"
    assert completed(jar, readiness="/up", liveness="/alive").settings == {}
    probed = completed(jar, settings={"A": "b"})
    assert probed.settings == {"MANAGEMENT_ENDPOINT_HEALTH_PROBES_ENABLED": "true", "A": "b"}
    again = completed(jar, **probed.model_dump(exclude={"jar", "directory"}, exclude_none=True))
    assert again == probed


@pytest.mark.parametrize("keys", [{"agent": False}, {"management_port": 8081}])
def test_a_jar_that_is_described_by_hand_is_not_looked_into(keys: dict[str, Any], tmp_path: Path) -> None:
    file = service_file(tmp_path, {"jar": "gone.jar", **keys}, requests=["GET /"])
    service = experiment_of(file).service
    assert isinstance(service, Service)
    assert (service.agent, service.readiness) == (False, "/")


def test_a_service_that_is_a_command_may_be_tried_as_well(tmp_path: Path, invented_tools: Path) -> None:
    experiment = experiment_of(service_file(tmp_path, stub_service()), "GET /thread", users=5)
    service = experiment.service
    assert isinstance(service, Service)
    assert (experiment.name, service.name, service.agent) == ("stub", "stub", False)


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
    assert completed(jar).readiness == completed(jar).liveness == path

"""Services: which one an experiment names, what may be said of it, and which build would start."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.support import recorded
from tests.support.experiments import service_file, stub
from vtlab import shipped
from vtlab.errors import BadInput, PrerequisiteMissing
from vtlab.host import tools
from vtlab.host.process_ledger import Ledger
from vtlab.model import experiment_files
from vtlab.model.service import Service
from vtlab.services import builds, probe, process, sample
from vtlab.services.resolve import resolve_service

SAMPLE = sample.service()
LEAST: dict[str, Any] = {"name": "mine", "command": ["./serve"], "readiness": "/ready", "metrics": "/metrics"}


def mine(folder: Path, **changes: Any) -> Service:
    """Returns a service as a file in that folder describes it."""
    return Service.model_validate({**LEAST, **changes}).with_absolute_paths(folder)


def test_an_app_that_is_not_built_is_a_missing_prerequisite(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shipped, "ROOT", tmp_path)
    with pytest.raises(PrerequisiteMissing, match="not built") as error:
        sample.find()
    assert error.value.fix == "make setup"
    jar = tmp_path / "app" / "target" / "extracted" / "app.jar"
    jar.parent.mkdir(parents=True)
    jar.touch()
    (tmp_path / "app" / "pom.xml").write_text(
        "<project><parent><artifactId>p</artifactId>\n<version>4</version></parent>"
        "<artifactId>app</artifactId>\n  <version>1.2.3</version></project>",
        encoding="utf-8",
    )
    assert sample.find() == tools.Tool(jar, "1.2.3")


def test_an_experiment_measures_the_sample_application_unless_it_names_another() -> None:
    plain = recorded.experiment()
    assert resolve_service(plain) == SAMPLE
    assert resolve_service(stub()).name == "stub"


def test_paths_of_a_service_start_at_the_folder_of_its_file(tmp_path: Path) -> None:
    file = service_file(tmp_path, {**LEAST, "directory": "bin", "java": "jdk"})
    loaded = resolve_service(experiment_files.load(str(file), tmp_path))
    assert (loaded.name, loaded.directory, loaded.java) == ("mine", str(tmp_path / "bin"), str(tmp_path / "jdk"))


@pytest.mark.parametrize(
    ("service", "name"),
    [
        ({"jar": "target/shop-1.4.jar"}, "shop"),
        ({"jar": "Order_Service-2.0.0-SNAPSHOT.jar"}, "order-service"),
        ({"jar": "3d-shop.jar"}, "service-3d-shop"),
        ({"jar": "42.jar"}, "service-42"),
        ({"jar": "….jar"}, "service"),
        ({"deployment": "orders.v2"}, "orders-v2"),
        ({"image": "registry:5000/team/cart:2.1@sha256:0"}, "cart"),
        ({"command": ["./bin/serve", "--fast"]}, "serve"),
        ({"name": "till", "jar": "shop.jar"}, "till"),
    ],
)
def test_a_service_without_a_name_has_that_of_what_is_started(service: dict[str, Any], name: str) -> None:
    assert Service.model_validate(service).name == name


@pytest.mark.parametrize(
    ("java", "version", "home"), [(21, 21, None), ("21", 21, None), ("/opt/jdk", None, "/opt/jdk"), (None, None, None)]
)
def test_a_jdk_is_named_by_its_directory_or_by_its_major_version(
    java: int | str | None, version: int | None, home: str | None
) -> None:
    service = Service(name="shop", jar="shop.jar", java=java)
    assert (service.java_version, service.java_home) == (version, home)


@pytest.mark.parametrize(
    ("changes", "wrong"),
    [
        ({"command": None}, "service: one of jar, deployment, image, command is needed"),
        ({"jar": "a.jar"}, "jar and command exclude each other"),
        ({"image": "a:1", "deployment": "a"}, "image and deployment exclude each other"),
        ({"readiness": "ready"}, "service.readiness: not a path: it begins with /"),
        ({"prot": 8080}, "service.prot: unknown key"),
        ({"meters": ["all"]}, "service.meters.0: must be"),
    ],
)
def test_a_wrong_service_is_bad_input(changes: dict[str, Any], wrong: str, tmp_path: Path) -> None:
    with pytest.raises(BadInput, match=wrong):
        experiment_files.load(str(service_file(tmp_path, {**LEAST, **changes})), tmp_path)


@pytest.mark.parametrize(
    ("flags", "of_variant", "expected"),
    [
        ([], [], 1),
        (["-XX:ActiveProcessorCount=4"], [], 4),
        (["-XX:ActiveProcessorCount=4", "-XX:ActiveProcessorCount=3"], [], 3),
        ([], ["-XX:ActiveProcessorCount=2"], 2),
    ],
)
def test_a_jvm_counts_the_processors_of_its_limit_or_of_its_flags(
    flags: list[str], of_variant: list[str], expected: int, tmp_path: Path
) -> None:
    """The last of a JVM's flags holds."""
    properties = {"platform": {"threads": "platform", "jvm_flags": of_variant}}
    planned = recorded.experiment(properties=properties)
    java = tools.Java(tmp_path / "bin" / "java", "25.0.3", "a vendor")
    service = mine(tmp_path, command=None, jar="a.jar", jvm_flags=flags)
    with Ledger(tmp_path) as ledger:
        launched = process.Launch(
            service=service,
            experiment=planned,
            javas={"platform": java},
            ledger=ledger,
            logs=tmp_path,
            label="1-1",
            cpu_limited=True,
        )
        command = launched.command("platform")
        assert launched.processors("platform") == expected
    assert [word for word in command if "ActiveProcessorCount" in word][-1] == f"-XX:ActiveProcessorCount={expected}"
    assert process.jvm_flags(service, None, None, 1.5)[-1] == (flags or ["-XX:ActiveProcessorCount=2"])[-1]


def test_a_service_without_a_way_to_be_told_of_a_companion_is_refused(tmp_path: Path) -> None:
    service = mine(tmp_path, companions={"downstream": {"OTHER": "{url}/api"}})
    assert service.companion_environment("downstream", url="http://h") == {"OTHER": "http://h/api"}
    with pytest.raises(BadInput, match="has no setting for the address of its database"):
        service.companion_environment("database", url="", user="", password="")


@pytest.mark.parametrize("text", ["{adress}", "{", "{0}", "{url.x}"])
def test_a_text_for_a_companion_has_known_braces(text: str) -> None:
    service = Service(jar="a.jar", companions={"downstream": {"URL": text}})
    with pytest.raises(BadInput, match=r"service\.companions\.downstream: a text has other braces than \{url\}"):
        service.companion_environment("downstream", url="http://h")


def test_the_sample_is_told_of_its_companions_as_spring_names_them() -> None:
    told = SAMPLE.companion_environment("database", url="jdbc:mysql://h/lab", user="me", password="secret")
    assert told == {
        "SPRING_DATASOURCE_URL": "jdbc:mysql://h/lab",
        "SPRING_DATASOURCE_USERNAME": "me",
        "SPRING_DATASOURCE_PASSWORD": "secret",
    }
    assert SAMPLE.companion_environment("downstream", url="http://h:1") == {"LAB_DOWNSTREAM_URL": "http://h:1"}


def test_a_service_that_is_called_sample_is_not_the_labs_own(tmp_path: Path) -> None:
    (tmp_path / "sample.jar").write_bytes(b"a user's")
    own = Service(jar="sample.jar", directory=str(tmp_path))
    assert own.name == "sample"
    assert builds.version(own).startswith("sample (")


def test_a_build_is_told_by_its_content(tmp_path: Path) -> None:
    service = mine(tmp_path)
    with_nothing = builds.version(service)
    (tmp_path / "serve").write_text("a", encoding="utf-8")
    built = builds.version(service)
    assert built != with_nothing
    assert built.startswith("mine (")
    jar = service.model_copy(update={"command": None, "jar": "absent.jar"})
    with pytest.raises(PrerequisiteMissing, match="the service mine cannot be read"):
        builds.version(jar)
    image = service.model_copy(update={"command": None, "image": "registry/mine"})
    with pytest.raises(BadInput, match="runs in a cluster only"):
        builds.version(image)


def launch(tmp_path: Path, ledger: Ledger, **changes: Any) -> process.Launch:
    planned = recorded.experiment().model_copy(update={"settings": {"A": "experiment", "SERVER_PORT": "1"}})
    java = tools.Java(tmp_path / "bin" / "java", "25.0.3", "a vendor")
    javas = dict.fromkeys(planned.variants, java)
    return process.Launch(
        service=mine(tmp_path, **changes),
        experiment=planned,
        javas=javas,
        ledger=ledger,
        logs=tmp_path,
        label="1-1",
        cpu_limited=False,
        companions={"URL": "jdbc:"},
    )


def test_the_environment_of_a_variant(tmp_path: Path) -> None:
    """The service's own, then the experiment's, then what makes the variant; ports and companions come last."""
    with Ledger(tmp_path) as ledger:
        by_threads = {"virtual": {"C": "virtual"}}
        made = launch(tmp_path, ledger, settings={"A": "service", "B": "service"}, settings_by_threads=by_threads)
        virtual, platform = (made.environment(name, 5, 6) for name in ("virtual", "platform"))
    assert (virtual["A"], virtual["B"], virtual["C"], virtual["URL"]) == ("experiment", "service", "virtual", "jdbc:")
    assert (virtual["SERVER_PORT"], virtual["MANAGEMENT_SERVER_PORT"]) == ("5", "6")
    assert virtual["SPRING_THREADS_VIRTUAL_ENABLED"] == "true"
    assert platform["SPRING_THREADS_VIRTUAL_ENABLED"] == "false"
    assert "C" not in platform


def test_a_jar_is_started_by_java_and_a_command_as_it_is(tmp_path: Path) -> None:
    with Ledger(tmp_path) as ledger:
        assert launch(tmp_path, ledger).command("platform") == ["./serve"]
        jar = launch(tmp_path, ledger, command=None, jar="mine.jar", jvm_flags=["-XX:+UseSerialGC"])
        heap = jar.experiment.limits.heap
        flags = ["-XX:+UseSerialGC", f"-Xms{heap}", f"-Xmx{heap}"]
        assert jar.command("platform") == [str(tmp_path / "bin" / "java"), *flags, "-jar", str(tmp_path / "mine.jar")]


def test_each_variant_of_a_foreign_service_starts_in_an_empty_folder(tmp_path: Path) -> None:
    """Two copies must not share the files of an embedded database, nor find those of the block before."""
    with Ledger(tmp_path) as ledger:
        command, sample_ = launch(tmp_path, ledger), launch(tmp_path, ledger, command=None, jar="mine.jar")
        foreign = replace(sample_, agent=tmp_path / "agent.jar", logs=tmp_path / "run" / "logs")
        folders = {name: foreign.folder(name) for name in ("platform", "virtual")}
        assert None not in folders.values()
        assert len(set(folders.values())) == 2
        for folder in filter(None, folders.values()):
            (folder / "shop.mv.db").write_bytes(b"rows")
        again = foreign.folder("virtual")
    assert again == folders["virtual"]
    assert [list(folder.iterdir()) for folder in (again,) if folder] == [[]]
    assert (command.folder("virtual"), sample_.folder("virtual")) == (Path(command.service.directory), None)


ON_BOTH_PORTS = {probe.ADDITIONAL_PATHS: "true"}


@pytest.mark.parametrize(
    ("changes", "url"),
    [
        ({}, "http://127.0.0.1:5/actuator/health/liveness"),
        ({"liveness": "/alive"}, "http://127.0.0.1:5/alive"),
        ({"management_port": 8081}, "http://127.0.0.1:6/actuator/health/liveness"),
        ({"management_port": 8081, "liveness": "/alive"}, "http://127.0.0.1:6/alive"),
        ({"management_port": 8081, "settings": ON_BOTH_PORTS}, "http://127.0.0.1:5/livez"),
        ({"management_port": 8081, "settings": ON_BOTH_PORTS, "liveness": "/alive"}, "http://127.0.0.1:6/alive"),
        # Spring Boot adds no path where the management has no port of its own.
        ({"settings": ON_BOTH_PORTS}, "http://127.0.0.1:5/actuator/health/liveness"),
        # Its last port is the agent's.
        ({"command": None, "jar": "a.jar", "agent": True}, "http://127.0.0.1:5/actuator/health/liveness"),
    ],
)
def test_a_probe_asks_where_the_liveness_endpoint_is(changes: dict[str, Any], url: str, tmp_path: Path) -> None:
    with Ledger(tmp_path) as ledger:
        variant = process.VariantProcess("virtual", launch(tmp_path, ledger, **changes), None)
        variant.server.ports = (5, 6)
        assert variant.probe_url == url
        variant.is_tls = True
        # A management port of its own has its own TLS, which vtlab does not expect there.
        is_other = ":6/" in url
        assert variant.probe_url == (url if is_other else url.replace("http:", "https:"))


def test_the_sample_is_probed_on_its_management_port() -> None:
    url = probe.url(SAMPLE, "http://lab-virtual:8080", "http://lab-virtual:8081")
    assert url == "http://lab-virtual:8081/actuator/health/liveness"


def test_a_variant_with_its_liveness_on_the_port_of_the_requests_is_probed_there(tmp_path: Path) -> None:
    experiment = stub(settings=ON_BOTH_PORTS)
    with Ledger(tmp_path) as ledger:
        started = replace(launch(tmp_path, ledger, management_port=8081), experiment=experiment)
        variant = process.VariantProcess("virtual", started, None)
        variant.server.ports = (5, 6)
        assert variant.probe_url == "http://127.0.0.1:5/livez"


def test_a_service_whose_probes_are_on_its_own_port_is_told_of_no_other() -> None:
    assert process.listen_environment(5, 5) == {"SERVER_ADDRESS": "127.0.0.1", "SERVER_PORT": "5"}

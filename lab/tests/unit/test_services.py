"""Services: which one an experiment names, what a file of one may say, and which build would start."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.support import recorded
from tests.support.experiments import stub
from vtlab import shipped
from vtlab.errors import BadInput, PrerequisiteMissing
from vtlab.host import tools
from vtlab.host.process_ledger import Ledger
from vtlab.model import experiment_files, service
from vtlab.services import builds, process, sample
from vtlab.services.resolve import resolve_service

SAMPLE = sample.service()
LEAST: dict[str, Any] = {"name": "mine", "command": ["./serve"], "readiness": "/ready", "metrics": "/metrics"}


def file(folder: Path, **changes: Any) -> Path:
    path = folder / "mine.json"
    path.write_text(json.dumps({k: v for k, v in {**LEAST, **changes}.items() if v is not None}), encoding="utf-8")
    return path


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
    assert resolve_service(plain.model_copy(update={"service": "sample"})) == SAMPLE
    assert resolve_service(stub()).name == "stub"
    with pytest.raises(BadInput, match="unknown service 'other'"):
        resolve_service(plain.model_copy(update={"service": "other"}))


def test_the_file_of_a_service_is_relative_to_that_of_its_experiment(tmp_path: Path) -> None:
    file(tmp_path, directory="bin")
    named = tmp_path / "e.json"
    document = recorded.experiment().document() | {"name": "e", "service": "mine.json"}
    named.write_text(json.dumps(document), encoding="utf-8")
    loaded = resolve_service(experiment_files.load(str(named), tmp_path))
    assert (loaded.name, loaded.directory) == ("mine", str(tmp_path / "bin"))


@pytest.mark.parametrize(
    ("changes", "wrong"),
    [
        ({"command": None}, "one of jar, command, image, deployment is needed"),
        ({"jar": "a.jar"}, "jar and command exclude each other"),
        ({"image": "a:1", "deployment": "a"}, "image and deployment exclude each other"),
        ({"readiness": "ready"}, "readiness: String should match"),
        ({"prot": 8080}, "prot: Extra inputs are not permitted"),
        ({"meters": ["all"]}, "meters.0: Input should be"),
    ],
)
def test_a_wrong_file_of_a_service_is_bad_input(changes: dict[str, Any], wrong: str, tmp_path: Path) -> None:
    with pytest.raises(BadInput, match=wrong):
        service.load(file(tmp_path, **changes))


def test_a_service_may_be_described_in_yaml(tmp_path: Path) -> None:
    path = tmp_path / "shop.yaml"
    path.write_text("name: shop\ndeployment: shop\nreadiness: /\nmetrics: /metrics\n", encoding="utf-8")
    assert service.load(path).deployment == "shop"
    path.write_text("name: [\n", encoding="utf-8")
    with pytest.raises(BadInput, match=r"shop\.yaml: not valid YAML: .* at line 2"):
        service.load(path)


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
    mine = service.load(file(tmp_path, command=None, jar="a.jar", jvm_flags=flags))
    with Ledger(tmp_path) as ledger:
        launched = process.Launch(mine, planned, {"platform": java}, ledger, tmp_path, "1-1", True)
        command = launched.command("platform")
        assert launched.processors("platform") == expected
    assert [word for word in command if "ActiveProcessorCount" in word][-1] == f"-XX:ActiveProcessorCount={expected}"
    assert process.jvm_flags(mine, None, None, 1.5)[-1] == (flags or ["-XX:ActiveProcessorCount=2"])[-1]


def test_a_service_without_a_way_to_be_told_of_a_companion_is_refused(tmp_path: Path) -> None:
    mine = service.load(file(tmp_path, companions={"downstream": {"OTHER": "{url}/api"}}))
    assert mine.companion_environment("downstream", url="http://h") == {"OTHER": "http://h/api"}
    with pytest.raises(BadInput, match="does not say how a variant is told where its database is"):
        mine.companion_environment("database", url="", user="", password="")


def test_the_sample_is_told_of_its_companions_as_spring_names_them() -> None:
    told = SAMPLE.companion_environment("database", url="jdbc:mysql://h/lab", user="me", password="secret")
    assert told == {
        "SPRING_DATASOURCE_URL": "jdbc:mysql://h/lab",
        "SPRING_DATASOURCE_USERNAME": "me",
        "SPRING_DATASOURCE_PASSWORD": "secret",
    }
    assert SAMPLE.companion_environment("downstream", url="http://h:1") == {"LAB_DOWNSTREAM_URL": "http://h:1"}


def test_a_build_is_told_by_its_content(tmp_path: Path) -> None:
    mine = service.load(file(tmp_path))
    with_nothing = builds.version(mine)
    (tmp_path / "serve").write_text("a", encoding="utf-8")
    built = builds.version(mine)
    assert built != with_nothing
    assert built.startswith("mine (")
    jar = mine.model_copy(update={"command": None, "jar": "absent.jar"})
    with pytest.raises(PrerequisiteMissing, match="the service mine cannot be read"):
        builds.version(jar)
    image = mine.model_copy(update={"command": None, "image": "registry/mine"})
    with pytest.raises(BadInput, match="runs in a cluster only"):
        builds.version(image)


def launch(tmp_path: Path, ledger: Ledger, **changes: Any) -> process.Launch:
    planned = recorded.experiment().model_copy(update={"settings": {"A": "experiment", "SERVER_PORT": "1"}})
    java = tools.Java(tmp_path / "bin" / "java", "25.0.3", "a vendor")
    javas = dict.fromkeys(planned.variants, java)
    mine = service.load(file(tmp_path, **changes))
    return process.Launch(mine, planned, javas, ledger, tmp_path, "1-1", False, companions={"URL": "jdbc:"})


def test_the_environment_of_a_variant(tmp_path: Path) -> None:
    """The service's own, then the experiment's, then what makes the variant; ports and companions come last."""
    with Ledger(tmp_path) as ledger:
        made = launch(
            tmp_path, ledger, environment={"A": "service", "B": "service"}, variants={"virtual": {"C": "virtual"}}
        )
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


def test_a_service_whose_probes_are_on_its_own_port_is_told_of_no_other() -> None:
    assert process.listen_environment(5, 5) == {"SERVER_ADDRESS": "127.0.0.1", "SERVER_PORT": "5"}

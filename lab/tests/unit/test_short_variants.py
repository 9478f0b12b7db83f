"""Short forms of variants: another build of the service, threads, a JDK, a pool or a setting as one more variant."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from tests.support import recorded
from tests.support.cli_call import call
from tests.support.experiments import STUB, stub_service
from tests.support.experiments import document as stub_document
from vtlab.analysis import asserts
from vtlab.errors import BadInput, PrerequisiteMissing
from vtlab.host import archives, tools
from vtlab.host.process_ledger import Ledger
from vtlab.host.tools import Java
from vtlab.model import experiment_files, short_variants
from vtlab.model.experiment import Experiment
from vtlab.model.load import ClosedLoad
from vtlab.model.service import Service
from vtlab.planning import planned_runs
from vtlab.runs import store
from vtlab.runs.create import create_runs
from vtlab.runs.options import Options
from vtlab.services import builds, process
from vtlab.services.resolve import resolve_service
from vtlab.targets.kubernetes.api.release_ref import ReleaseRef

SERVICE = Service(name="mine", jar="new.jar", directory="/srv", readiness="/ready", metrics="/metrics")


@pytest.fixture
def old(tmp_path: Path) -> Path:
    jar = tmp_path / "old.jar"
    jar.write_bytes(b"another jar")
    return jar


def with_variants(exp: Experiment, *texts: str, folder: Path = Path("/")) -> Experiment:
    """Returns the experiment of a file in that folder, which has these variants besides."""
    document = {**exp.document(), "variants": [*exp.variants, *texts]}
    return experiment_files.of_document(document, folder / "file.json")


def added(old: Path, exp: Experiment | None = None) -> Experiment:
    return with_variants(exp or recorded.experiment(), f"jar={old.name}", folder=old.parent)


def test_it_is_the_first_variant_from_another_jar_and_compared_with_it(old: Path) -> None:
    exp = recorded.experiment(
        load={"full": {"users": 1000, "round": {"platform": "5s"}}},
        windows={"measure": "5s", "measure_by_variant": {"platform": "20s"}},
        properties={"platform": {"threads": "platform", "settings": {"A": "1"}}},
    )
    more = added(old, exp)
    assert more.variants == ["platform", "virtual", "platform-old"]
    assert more.environment_of("platform-old") == more.environment_of("platform")
    assert (more.properties_of("platform-old").jar, more.properties_of("platform").jar) == (str(old), None)
    assert more.window_of("platform-old") == "20s"
    assert isinstance(more.load, ClosedLoad)
    assert more.load.round == {"platform": "5s", "platform-old": "5s"}
    asserts.refuse_unknown([asserts.parse("capacity(platform-old/platform) <= 1.05")], [more])


def test_another_jar_is_compared_with_the_variant_that_stands_first(old: Path) -> None:
    document = {**stub_document(STUB, load={}), "variants": ["platform-1000", "virtual", f"jar={old}"]}
    more = experiment_files.of_document(document, STUB)
    assert more.variants == ["platform-1000", "virtual", "platform-1000-old"]
    threads = {"SERVER_TOMCAT_THREADS_MAX": "1000", "SERVER_JETTY_THREADS_MAX": "1000"}
    assert more.properties_of("platform-1000-old").settings == threads
    assert more.properties_of("platform-1000-old").jar == str(old)
    document["variants"] = [f"jar={old}", "virtual"]
    with pytest.raises(BadInput, match="it is the first variant from another jar, and stands first itself"):
        experiment_files.of_document(document, STUB)


@pytest.mark.parametrize(
    ("properties", "wrong"),
    [
        (["x"], "^properties: not keys with values"),
        ({"virtual": ["x"]}, "^properties.virtual: not keys with values"),
        ({"virtual": {"threads": "virtual", "settings": ["A"]}}, "^properties.virtual.settings: not keys with values"),
    ],
)
@pytest.mark.parametrize("variant", ["platform-50", "pool=5"])
def test_properties_that_are_none_are_named_beside_short_forms(properties: object, wrong: str, variant: str) -> None:
    document = {**stub_document(STUB, load={}), "variants": ["platform", "virtual", variant], "properties": properties}
    with pytest.raises(BadInput, match=wrong):
        experiment_files.of_document(document, STUB)


@pytest.mark.parametrize(
    ("jar", "name"),
    [
        ("Orders 1.4.2.jar", "platform-orders-1-4-2"),
        (".jar", "platform-jar"),
        ("orders-service-with-a-long-name-1.4.2.jar", "platform-with-a-long-name-1-4-2"),
    ],
)
def test_its_name_is_that_of_the_jar(tmp_path: Path, jar: str, name: str) -> None:
    (tmp_path / jar).touch()
    more = added(tmp_path / jar)
    assert more.variants[-1] == name


@pytest.mark.parametrize("jar", ["a.jar", "….jar"])
def test_a_jar_without_a_name_of_its_own_is_refused(tmp_path: Path, jar: str) -> None:
    # platform-a is what vtlab lab aa calls a variant.
    (tmp_path / jar).touch()
    with pytest.raises(BadInput, match="is taken or reserved"):
        added(tmp_path / jar)


def test_anything_else_is_refused(old: Path) -> None:
    exp = recorded.experiment()
    for text, words in (
        ("old.jar", "must be lower case"),
        ("jar=", "no such variant"),
        ("jar=x", "there is no file /x"),
    ):
        with pytest.raises(BadInput, match=words):
            with_variants(exp, text)
    with pytest.raises(BadInput, match="is taken or reserved"):
        with_variants(exp, f"jar={old}", f"jar={old}")


def test_each_variant_starts_from_its_jar_and_none_has_a_cache_of_one_alone(tmp_path: Path, old: Path) -> None:
    java = Java(tmp_path / "java", "25.0.1", "a vendor")
    new = tmp_path / "new.jar"
    new.touch()
    (tmp_path / "made").touch()
    archives.put(tmp_path / "made", new, java)
    service = SERVICE.model_copy(update={"directory": str(tmp_path)})
    exp = recorded.experiment()
    cached = f"-XX:AOTCache={tmp_path / 'new.aot'}"
    with Ledger(tmp_path) as ledger:

        def commands(of: Experiment) -> dict[str, list[str]]:
            launch = process.Launch(
                service=service,
                experiment=of,
                javas=dict.fromkeys(of.variants, java),
                ledger=ledger,
                logs=tmp_path,
                label="1-1",
                cpu_limited=False,
            )
            return {name: launch.command(name) for name in of.variants}

        alone, with_old = commands(exp), commands(added(old, exp))
    assert {name: command[-1] for name, command in with_old.items()} == {
        "platform": str(new),
        "virtual": str(new),
        "platform-old": str(old),
    }
    assert all(cached in command for command in alone.values())
    assert not any(cached in command for command in with_old.values())
    assert cached in process.common_jvm_flags(service, exp, dict.fromkeys(exp.variants, java), True)
    more = added(old, exp)
    assert cached not in process.common_jvm_flags(service, more, dict.fromkeys(more.variants, java), True)
    other = replace(java, version="26.0.1")
    assert cached not in process.common_jvm_flags(service, exp, {"platform": java, "virtual": other}, True)


def test_the_manifest_names_the_build_and_a_resumed_run_needs_the_same(
    old: Path, tmp_path: Path, invented_tools: Path
) -> None:
    options = Options(blocks=3, seed=7, root=tmp_path, no_cpu_limit=False)
    folder = create_runs(planned_runs.runs([added(old)], []), options, "x")
    before = store.read(folder).manifest.versions["app of platform-old"]
    assert before.startswith("old.jar (")
    old.write_bytes(b"changed")
    done = call("resume", folder)
    assert (done.code, f"app of platform-old was {before}" in done.err) == (2, True), done
    assert "VTLAB_JAVA_HOME" not in done.err


def test_a_run_that_began_with_another_jdk_says_how_to_name_that(
    tmp_path: Path, invented_tools: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    options = Options(blocks=3, seed=7, root=tmp_path, no_cpu_limit=False)
    folder = create_runs(planned_runs.runs([recorded.experiment()], []), options, "x")
    monkeypatch.setattr(tools, "find_java", lambda *_, **__: tools.Java(Path("/jdk/bin/java"), "21.0.8", "a vendor"))
    done = call("resume", folder)
    assert (done.code, "java was 25.0.4" in done.err) == (2, True), done
    assert "or name that JDK: VTLAB_JAVA_HOME=" in done.err


def test_a_service_without_a_jar_and_a_cluster_refuse_it(old: Path, tmp_path: Path, invented_tools: Path) -> None:
    stub = added(old, recorded.experiment(service=stub_service()))
    with pytest.raises(BadInput, match="the service stub does not run from a jar"):
        builds.other_builds(stub, resolve_service(stub))
    assert builds.other_builds(recorded.experiment(), resolve_service(stub)) == {}
    gone = added(old)
    old.unlink()
    with pytest.raises(PrerequisiteMissing, match="cannot be read"):
        builds.other_builds(gone, SERVICE)
    options = Options(3, 7, tmp_path, False, cluster=ReleaseRef("a", "b", "c"))
    with pytest.raises(BadInput, match="a cluster starts no jar"):
        create_runs(planned_runs.runs([stub.model_copy(update={"service": "sample"})], []), options, "x")


def test_the_command_line_takes_it(old: Path, tmp_path: Path, invented_tools: Path) -> None:
    done = call("run", STUB, "--variant", f"jar={old}", "--results", tmp_path / "results")
    assert (done.code, "the service stub does not run from a jar" in done.err) == (2, True), done
    assert not (tmp_path / "results").exists()


@pytest.mark.parametrize(
    ("addition", "name", "threads", "java", "settings"),
    [
        (
            "platform-1000",
            "platform-1000",
            "platform",
            None,
            {"SERVER_TOMCAT_THREADS_MAX": "1000", "SERVER_JETTY_THREADS_MAX": "1000"},
        ),
        ("java=21", "virtual-jdk21", "virtual", 21, {}),
        ("pool=50", "virtual-pool50", "virtual", None, {"SPRING_DATASOURCE_HIKARI_MAXIMUM_POOL_SIZE": "50"}),
        ("env:A_B=x=y", "virtual-a-b-x-y", "virtual", None, {"A_B": "x=y"}),
    ],
)
def test_each_kind_of_addition_is_a_variant_compared_with_the_first(
    addition: str, name: str, threads: str, java: int | None, settings: dict[str, str]
) -> None:
    exp = recorded.experiment(
        load={"full": {"users": 1000, "round": {"platform": "5s", "virtual": "1s"}}},
        expected=None,
        windows={"measure": "5s", "measure_by_variant": {"virtual": "10s"}},
    )
    more = with_variants(exp, addition)
    properties = more.properties_of(name)
    assert (more.variants, properties.threads) == (["platform", "virtual", name], threads)
    assert (properties.java, properties.settings) == (java, settings)
    assert more.environment_of(name).items() >= settings.items()
    # Another limit gives it another round: nothing is known of that.
    assert isinstance(more.load, ClosedLoad)
    assert (name in more.load.round, name in more.windows.measure_by_variant) == (False, False)
    assert Experiment.model_validate(more.document()) == more


def test_an_addition_keeps_what_its_base_has() -> None:
    of_base = {"threads": "virtual", "java": 25, "settings": {"A": "1"}, "jvm_flags": ["-XX:+UseZGC"]}
    exp = recorded.experiment(properties={"virtual": of_base})
    more = with_variants(exp, "env:B=2", "java=21")
    with_b, on_21 = more.properties_of("virtual-b-2"), more.properties_of("virtual-jdk21")
    assert (with_b.java, with_b.settings, with_b.jvm_flags) == (25, {"A": "1", "B": "2"}, ["-XX:+UseZGC"])
    assert (on_21.java, on_21.settings) == (21, {"A": "1"})


@pytest.mark.parametrize(
    "addition", ["platform-0", "platform-many", "java=old", "pool=0", "env:=1", "env:A B=1", "reactive-5"]
)
def test_what_is_no_addition_names_those_that_are(addition: str) -> None:
    with pytest.raises(BadInput) as caught:
        with_variants(recorded.experiment(), addition)
    assert addition in caught.value.message
    assert short_variants.KINDS in caught.value.message + caught.value.fix


def test_what_is_wrong_with_an_addition_is_said_of_that() -> None:
    with pytest.raises(BadInput, match=r"^variant java=17: must be 21 or more$"):
        with_variants(recorded.experiment(), "java=17")


def test_a_variant_that_properties_describe_keeps_its_name() -> None:
    """The complete experiment of a results directory is not expanded anew."""
    more = with_variants(recorded.experiment(), "platform-1000", "pool=50")
    assert with_variants(more) == more
    slow = {"platform-5": {"threads": "platform", "settings": {"A": "1"}}}
    assert with_variants(recorded.experiment(), "platform-5").properties != slow
    document = {**recorded.experiment().document(), "variants": ["platform", "platform-5"], "properties": slow}
    described = experiment_files.of_document({**document, "expected": {}, "load": {"full": "auto"}}, Path("/e.json"))
    assert described.environment_of("platform-5")["A"] == "1"


def test_a_jdk_of_the_service_holds_for_variants_that_name_none() -> None:
    shop = recorded.experiment(service={"jar": "shop.jar", "java": 25})
    more = with_variants(shop, "java=21")
    assert [more.properties_of(name).java for name in more.variants] == [25, 25, 21]

"""The beginning of a run: what is searched, what is refused before. (A whole call: tests/contract/test_try.py.)"""

from __future__ import annotations

import io
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from tests.support import recorded
from tests.support.cli_call import call
from tests.support.experiments import service_file, stub_service
from vtlab.commands import run as run_command
from vtlab.commands import try_
from vtlab.commands.options import Place
from vtlab.errors import BadInput, Interrupted, PrerequisiteMissing
from vtlab.measuring.progress import Progress
from vtlab.measuring.searched_pair import refuse_without_levels
from vtlab.model.curve import Curve, Ended, Point
from vtlab.model.manifest import RunFacts
from vtlab.model.service import Service
from vtlab.planning.planned_runs import PlannedRun
from vtlab.runs import begin, store
from vtlab.runs.create import Prepared, create_runs, prepare
from vtlab.runs.options import Options
from vtlab.targets.kubernetes.api.release_ref import ReleaseRef

EXPERIMENT = recorded.experiment()
#: The experiment, whose load vtlab has to search.
SEARCHED = recorded.experiment(load={"full": "auto"})
QUIET = Progress(Console(quiet=True))
FACTS = RunFacts(versions={}, jvm_flags=["-Xss1m"], machine={})


def curve(ended: Ended, why: str, *points: tuple[str, int, float, float]) -> Curve:
    """Points are variant, users, throughput and share of errors."""
    of = [Point(variant=v, users=n, throughput=x, mean=0.1, p99=None, failed=failed) for v, n, x, failed in points]
    return Curve(points=of, ended=ended, why=why, seconds=30, chosen=2)


def test_a_variant_that_breaks_in_the_warm_up_is_named_with_how_and_with_fewer_users() -> None:
    with pytest.raises(PrerequisiteMissing) as error:
        refuse_without_levels(curve("failed", "virtual: out of heap memory"), EXPERIMENT)
    assert error.value.message == "virtual: out of heap memory, after a warm-up with at most 20 users"
    assert "--users 5" in error.value.fix


def test_a_service_that_answers_nothing_as_expected_is_told_how_to_expect_it() -> None:
    silent = curve("levelled off", "", ("platform", 1, 0, 1), ("virtual", 1, 0, 1))
    with pytest.raises(BadInput, match="no request was answered as expected: there was no answer"):
        refuse_without_levels(silent, EXPERIMENT)


def test_errors_of_all_variants_are_the_services_and_those_of_one_are_a_result() -> None:
    both = curve("failed", "platform: 2 %", ("platform", 8, 90, 0.02), ("virtual", 8, 90, 0.03))
    with pytest.raises(BadInput) as error:
        refuse_without_levels(both, EXPERIMENT)
    assert error.value.message == "answers are errors at 8 users: 2.0 % by platform and 3.0 % by virtual"
    assert "max_errors" in error.value.fix
    one = curve("failed", "virtual: 3 %", ("platform", 8, 90, 0), ("virtual", 8, 90, 0.03))
    refuse_without_levels(one, EXPERIMENT)


def test_a_run_whose_load_is_to_be_searched_is_stored_before_anything_is_started(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(begin, "prepare_runs", lambda *_: [Prepared(FACTS, None)])
    options = Options(blocks=2, seed=1, root=tmp_path, no_cpu_limit=True)
    folder = begin.begin_runs([PlannedRun(SEARCHED.name, SEARCHED)], options, QUIET)
    stored = store.read(folder)
    assert (stored.experiment, stored.manifest.curve, stored.blocks) == (SEARCHED, None, [])
    assert stored.experiment.is_searched


def test_a_call_that_is_interrupted_before_its_run_is_stored_leaves_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without a manifest nothing could resume it."""

    def interrupted(*rest: Any) -> None:
        rest[-2].mkdir()
        raise Interrupted("interrupted by SIGINT")

    monkeypatch.setattr(begin, "prepare_runs", lambda *_: [Prepared(FACTS, None)])
    monkeypatch.setattr(begin, "store_runs", interrupted)
    options = Options(blocks=2, seed=1, root=tmp_path, no_cpu_limit=True)
    with pytest.raises(Interrupted, match="before the blocks; nothing was kept") as error:
        begin.begin_runs([PlannedRun("shop", SEARCHED)], options, QUIET)
    assert error.value.fix == "give the same command again"
    assert list(tmp_path.iterdir()) == []


def test_the_id_of_a_run_is_the_name_of_its_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Seen: facts of a cluster take seconds, and Grafana listed the run by a later second than its folder has."""

    def slowly(*_: Any) -> list[Prepared]:
        time.sleep(1.1)
        return [Prepared(FACTS, None)]

    monkeypatch.setattr(begin, "prepare_runs", slowly)
    options = Options(blocks=2, seed=1, root=tmp_path, no_cpu_limit=True)
    folder = begin.begin_runs([PlannedRun(SEARCHED.name, SEARCHED)], options, QUIET)
    assert store.read(folder).manifest.run_id == folder.name


def test_a_load_is_searched_for_one_run_of_a_call(tmp_path: Path) -> None:
    auto, fixed = (recorded.experiment(load={"full": load}) for load in ("auto", {"users": 9}))
    options = Options(blocks=2, seed=1, root=tmp_path, no_cpu_limit=True)
    planned = [PlannedRun("a", auto), PlannedRun("b", fixed)]
    for begins in (lambda: begin.begin_runs(planned, options, QUIET), lambda: create_runs(planned, options, "a")):
        with pytest.raises(BadInput, match="a: vtlab searches a load for one run of a call"):
            begins()


def test_the_time_of_a_call_is_that_of_all_that_it_does(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A run's blocks have what its preparation left of --max-time; of several runs each has its share."""
    now = [100.0]

    def prepared(planned: Sequence[PlannedRun], _: object) -> list[Prepared]:
        now[0] += 30
        return [Prepared(FACTS, None) for _ in planned]

    monkeypatch.setattr(begin, "prepare_runs", prepared)
    options = Options(blocks=None, seed=1, root=tmp_path, no_cpu_limit=True, within=60)
    for names, left in (("a",), 60 - 30 - 5), (("b", "c"), (120 - 30 - 5) / 2):
        progress = Progress(Console(quiet=True), clock=lambda: now[0])
        now[0] += 5
        planned = [PlannedRun(name, EXPERIMENT.model_copy(update={"name": name})) for name in names]
        folder = begin.begin_runs(planned, options, progress)
        rules = [store.read(run).manifest.rule for run in store.runs_in(folder)]
        assert [rule and rule.within for rule in rules] == [left] * len(names)


def test_a_load_that_is_named_has_the_same_notes_as_one_that_is_searched(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each once: two CPU limits make two runs."""
    monkeypatch.setattr(begin, "prepare_runs", lambda planned, _: [Prepared(FACTS, None) for _ in planned])
    writing = recorded.experiment(requests=["POST /orders"], load={"full": {"users": 9}})
    output = io.StringIO()
    planned = [PlannedRun("a", writing), PlannedRun("b", writing)]
    options = Options(blocks=2, seed=1, root=tmp_path, no_cpu_limit=True)
    begin.begin_runs(planned, options, Progress(Console(file=output, width=500)))
    assert output.getvalue().count("note: POST /orders may change the data") == 1


def test_run_and_try_look_into_a_jar_on_this_machine_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, invented_tools: Path
) -> None:
    """A file with a jar and a Deployment is measured here by its jar, in a cluster without a look at it."""
    begun: list[tuple[Sequence[PlannedRun], Options]] = []

    def began(planned: Sequence[PlannedRun], options: Options, _: object) -> Path:
        begun.append((planned, options))
        raise BadInput("enough")

    for command in (try_, run_command):
        monkeypatch.setattr(command, "begin_runs", began)
    file = service_file(tmp_path, {"jar": "gone.jar", "deployment": "shop"}, requests=["GET /"])
    for words in (("--deployment", "other"), ("--target", "kubernetes"), ("--target", "local"), ()):
        for command_name in ("try", "run"):
            assert call(command_name, file, *words).err == "vtlab: enough\n"
    services = [planned[0].experiment.service for planned, _ in begun]
    assert all(isinstance(service, Service) and service.jvm_flags == [] for service in services)
    deployments = [service.deployment for service in services if isinstance(service, Service)]
    assert deployments == ["other"] * 2 + ["shop"] * 6
    assert [options.cluster is not None for _, options in begun] == [True] * 4 + [False] * 4
    monkeypatch.undo()
    (planned, options), *_ = begun
    monkeypatch.setattr(ReleaseRef, "with_context", lambda ref: ref)

    def prepared(*_: object) -> list[Prepared]:
        raise BadInput("the jar is not there, and the run is prepared")

    monkeypatch.setattr(begin, "prepare_runs", prepared)
    with pytest.raises(BadInput, match="the run is prepared"):
        begin.begin_runs(planned, options, QUIET)
    with pytest.raises(BadInput, match=r"gone\.jar"):
        begin.begin_runs(planned, replace(options, cluster=None), QUIET)


def test_run_searches_the_load_of_a_file_that_names_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    begun: list[PlannedRun] = []

    def began(planned: Sequence[PlannedRun], *_: object) -> Path:
        begun.extend(planned)
        return tmp_path / "results" / "shop"

    measured: list[Path] = []
    monkeypatch.setattr(run_command, "begin_runs", began)
    monkeypatch.setattr(run_command, "measure_and_report", lambda folder, *_: measured.append(folder))
    file = service_file(tmp_path, stub_service(), requests=["GET /thread"])
    done = call("run", file, "--results", tmp_path / "results")
    assert (done.code, measured) == (0, [tmp_path / "results" / "shop"]), done
    (planned,) = begun
    assert (planned.name, planned.experiment.is_searched) == ("stub", True)


@pytest.mark.parametrize(
    ("service", "is_implied"),
    [
        ({"deployment": "shop"}, True),
        ({"image": "shop:1"}, True),
        ({"deployment": "shop", "jar": "shop.jar"}, False),
        ({"jar": "shop.jar"}, False),
        ("sample", False),
    ],
)
def test_a_deployment_or_an_image_alone_needs_a_cluster(service: Any, is_implied: bool) -> None:
    assert recorded.experiment(service=service).needs_cluster == is_implied


def test_a_deployment_implies_the_cluster() -> None:
    shops = ReleaseRef(None, "shops", "")
    assert Place(None, None, "shops", deployment="shop").cluster() == shops
    copied, jar = (recorded.experiment(service=service) for service in ({"image": "shop:1"}, {"jar": "shop.jar"}))
    assert Place(None, None, "shops").cluster([copied]) == shops
    assert Place(None, None, "shops").cluster([copied, jar]) is None
    assert Place("local", None, "shops").cluster([copied]) is None
    assert Place("kubernetes", "kind", "lab", "lab").cluster() == ReleaseRef("kind", "lab", "lab")
    assert Place(None, None, "lab", "lab").cluster() is None


def test_a_deployment_takes_the_place_of_the_service() -> None:
    experiment = try_._experiment("GET /orders//17", ["GET /"], "shop", [])
    assert isinstance(experiment.service, Service)
    assert (experiment.name, experiment.service.deployment) == ("shop", "shop")
    assert [request.line for request in experiment.requests] == ["GET /orders//17", "GET /"]
    assert try_._experiment(None, [], "shop", []).workload.is_empty
    dotted = try_._experiment("GET /orders/17.json", [], "shop", [])
    assert [request.line for request in dotted.requests] == ["GET /orders/17.json"]
    with pytest.raises(BadInput, match=r"^--deployment: not the name of a Deployment"):
        try_._experiment(None, [], "Shop!", [])
    with pytest.raises(BadInput, match=r"^REQUEST: '/orders' does not begin with a method"):
        try_._experiment("/orders", [], "shop", [])
    with pytest.raises(BadInput, match=r"^try: shop\.jar and --deployment shop are two services"):
        try_._experiment("shop.jar", [], "shop", [])
    with pytest.raises(BadInput, match=r"^try: SERVICE is missing"):
        try_._experiment("GET /orders", [], None, [])


def test_an_assertion_that_nothing_answers_is_refused_before_the_search(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And before vtlab starts the service to ask for its requests."""
    for step in ("complete", "with_found_requests", "prepare_runs"):
        monkeypatch.setattr(begin, step, lambda *_: pytest.fail("nothing is prepared"))
    options = Options(
        blocks=2, seed=1, root=tmp_path, no_cpu_limit=True, asserts=["capacity(virtual-jdk21/platform) >= 1"]
    )
    silent = recorded.experiment(requests=[], load={"full": "auto"})
    for experiment, call_options in ((SEARCHED, options), (silent, replace(options, finds_requests=True))):
        with pytest.raises(BadInput, match="does not compare virtual-jdk21 with platform"):
            begin.begin_runs([PlannedRun("shop", experiment)], call_options, QUIET)


def test_nothing_is_prepared_for_what_cannot_be_measured(tmp_path: Path) -> None:
    options = Options(blocks=2, seed=1, root=tmp_path, no_cpu_limit=True)
    experiment, words = recorded.experiment(requests=[]), "no request given"
    with pytest.raises(BadInput, match=words):
        prepare(experiment, options)
    with pytest.raises(BadInput, match=words):
        create_runs([PlannedRun("a", experiment)], options, "a")
    with pytest.raises(BadInput, match=words):
        begin.begin_runs([PlannedRun("a", experiment)], options, QUIET)
    assert list(tmp_path.iterdir()) == []

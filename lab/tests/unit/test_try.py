"""``vtlab try``: of which searches there is nothing to measure further. (A whole call: tests/contract/test_try.py.)"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.support import recorded
from vtlab.commands import try_
from vtlab.commands.options import Place
from vtlab.commands.output import Output
from vtlab.errors import BadInput, Interrupted, PrerequisiteMissing
from vtlab.measuring.progress import Progress
from vtlab.model.curve import Curve, Ended, Point
from vtlab.model.manifest import RunFacts
from vtlab.model.service import Service
from vtlab.model.service_file import RequestLines, TryInput
from vtlab.planning import try_experiment
from vtlab.runs import facts, store
from vtlab.runs.create import Prepared, Searched, create_searched_run, prepare
from vtlab.runs.load_curve import refuse_without_levels
from vtlab.runs.measure import TargetSite
from vtlab.runs.options import Options
from vtlab.targets.kubernetes.api.release_ref import ReleaseRef

EXPERIMENT = recorded.experiment()
CALL, QUIET = TryInput(Path("shop.jar"), RequestLines()), Output(is_quiet=True)
FACTS = RunFacts(versions={}, jvm_flags=["-Xss1m"], machine={})


def curve(ended: Ended, why: str, *points: tuple[str, int, float, float]) -> Curve:
    """Points are variant, users, throughput and share of errors."""
    of = [Point(variant=v, users=n, throughput=x, mean=0.1, p99=None, failed=failed) for v, n, x, failed in points]
    return Curve(points=of, ended=ended, why=why, seconds=30, chosen=2)


def test_a_variant_that_breaks_in_the_warm_up_is_named_with_how_and_with_fewer_users() -> None:
    with pytest.raises(PrerequisiteMissing) as error:
        refuse_without_levels(curve("failed", "virtual: out of heap memory"), EXPERIMENT, "logs")
    assert error.value.message == "virtual: out of heap memory, after a warm-up with at most 64 users"
    assert "--users 16" in error.value.fix


def test_a_service_that_answers_nothing_as_expected_is_told_how_to_expect_it() -> None:
    silent = curve("levelled off", "", ("platform", 1, 0, 1), ("virtual", 1, 0, 1))
    with pytest.raises(BadInput, match="no request was answered as expected: there was no answer"):
        refuse_without_levels(silent, EXPERIMENT, "logs")


def test_errors_of_all_variants_are_the_services_and_those_of_one_are_a_result() -> None:
    both = curve("failed", "platform: 2 %", ("platform", 8, 90, 0.02), ("virtual", 8, 90, 0.03))
    with pytest.raises(BadInput) as error:
        refuse_without_levels(both, EXPERIMENT, "logs")
    assert error.value.message == "answers are errors at 8 users: 2.0 % by platform and 3.0 % by virtual"
    assert "max_errors" in error.value.fix
    one = curve("failed", "virtual: 3 %", ("platform", 8, 90, 0), ("virtual", 8, 90, 0.03))
    refuse_without_levels(one, EXPERIMENT, "logs")


def test_what_a_search_found_out_is_not_collected_again_for_its_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[str | None] = []

    def collect(_: object, __: object, ___: object, java_home: str | None) -> RunFacts:
        asked.append(java_home)
        return FACTS

    monkeypatch.setattr(facts, "collect", collect)
    options = Options(blocks=2, seed=1, root=tmp_path, no_cpu_limit=True, java_home="/opt/jdk")
    prepared = prepare(EXPERIMENT, options)
    found = curve("levelled off", "", ("platform", 1, 9, 0), ("virtual", 1, 9, 0))
    create_searched_run(EXPERIMENT, options, Searched(tmp_path / "shop", found, prepared))
    manifest = store.read(tmp_path / "shop").manifest
    assert (asked, manifest.curve, manifest.jvm_flags) == (["/opt/jdk"], found, FACTS.jvm_flags)


def test_a_call_that_is_interrupted_between_its_search_and_its_blocks_leaves_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without a manifest nothing could resume it."""
    made: list[Path] = []

    def searched(_: object, site: TargetSite, *__: object) -> Curve:
        site.folder.mkdir()
        made.append(site.folder)
        return curve("levelled off", "", *((v, n, 9.0 * n, 0) for v in EXPERIMENT.variants for n in (1, 2)))

    def interrupted(*_: Any, **__: Any) -> Path:
        raise Interrupted("interrupted by SIGINT")

    monkeypatch.setattr(try_experiment, "experiment_of", lambda _: EXPERIMENT)
    monkeypatch.setattr(try_, "prepare", lambda *_: Prepared(FACTS, None))
    monkeypatch.setattr(try_, "measure_curve", searched)
    monkeypatch.setattr(try_, "create_searched_run", interrupted)
    options = Options(blocks=2, seed=1, root=tmp_path, no_cpu_limit=True)
    with pytest.raises(Interrupted, match="before the blocks; nothing was kept") as error:
        try_.measure_service(CALL, options, QUIET, Progress(QUIET.progress))
    assert error.value.fix == "give the same command again"
    assert made
    assert not made[0].exists()


def test_an_assertion_that_nothing_answers_is_refused_before_the_search(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(try_experiment, "experiment_of", lambda _: EXPERIMENT)
    monkeypatch.setattr(try_, "prepare", lambda *_: pytest.fail("nothing is prepared"))
    options = Options(
        blocks=2, seed=1, root=tmp_path, no_cpu_limit=True, asserts=["capacity(virtual-jdk21/platform) >= 1"]
    )
    with pytest.raises(BadInput, match="does not compare virtual-jdk21 with platform"):
        try_.measure_service(CALL, options, QUIET, Progress(QUIET.progress))


def test_a_deployment_takes_the_place_of_the_service() -> None:
    service, requests = try_.measured_service("GET /orders//17", ["GET /"], "shop")
    assert isinstance(service, Service)
    assert (service.name, service.deployment, requests) == ("shop", "shop", ["GET /orders//17", "GET /"])
    assert try_.measured_service(None, [], "shop") == (service, [])
    assert try_.measured_service("app.jar", ["GET /"], None) == (Path("app.jar"), ["GET /"])


def test_a_deployment_implies_the_cluster() -> None:
    assert Place(None, None, "shops", deployment="shop").cluster() == ReleaseRef(None, "shops", "")
    assert Place("kubernetes", "kind", "lab", "lab").cluster() == ReleaseRef("kind", "lab", "lab")
    assert Place(None, None, "lab", "lab").cluster() is None

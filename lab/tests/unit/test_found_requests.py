"""``vtlab try`` without a request: which of the service's own it takes. (What is asked for them: test_init.)"""

from __future__ import annotations

import io
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from rich.console import Console

from tests.support import jars
from tests.support.experiments import service_file, stub_service
from vtlab.errors import BadInput
from vtlab.measuring.progress import Progress
from vtlab.model.draft import Option
from vtlab.model.endpoints import Endpoint
from vtlab.model.experiment import Experiment
from vtlab.planning.planned_runs import PlannedRun
from vtlab.planning.shipped_experiments import load_deployment, of_service
from vtlab.runs import found_requests
from vtlab.runs.begin import begin_runs
from vtlab.runs.options import Options
from vtlab.services import discovery
from vtlab.services.environment import variant_environment
from vtlab.services.resolve import resolve_service
from vtlab.targets.kubernetes.api.release_ref import ReleaseRef

pytestmark = pytest.mark.usefixtures("invented_tools")

FOUND = [Endpoint("/owners"), Endpoint("/owners/{id}", ("id",)), Endpoint("/admin"), Endpoint("/vets")]


class Asked:
    """A service that lists these requests and refuses one; it notes how it was started."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, endpoints: list[Endpoint]) -> None:
        self.started: list[Experiment] = []

        @contextmanager
        def started(experiment: Experiment, *_: object) -> Iterator[Any]:
            self.started.append(experiment)
            yield SimpleNamespace()

        def tried(_: object, endpoint: Endpoint) -> Endpoint:
            return Endpoint(endpoint.path, refused="answered 401") if endpoint.path == "/admin" else endpoint

        monkeypatch.setattr(found_requests, "started", started)
        monkeypatch.setattr(discovery, "discover", lambda *_: (endpoints, "/v3/api-docs"))
        monkeypatch.setattr(discovery, "try_once", tried)


def found(experiment: Experiment, folder: Path) -> tuple[Experiment, str]:
    """Returns the experiment with requests, and what was printed."""
    output = io.StringIO()
    progress = Progress(Console(file=output, width=200))
    options = Options(None, None, folder, False, finds_requests=True)
    return found_requests.with_found_requests(experiment, options, progress), output.getvalue()


def test_what_answers_200_and_needs_no_value_is_taken_and_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = Asked(monkeypatch, FOUND)
    without = of_service(jars.service(tmp_path / "shop-1.4.jar"), [])
    experiment, said = found(without, tmp_path)
    assert [request.line for request in experiment.requests] == ["GET /owners", "GET /vets"]
    assert experiment.description == "shop-1.4.jar: GET /owners (weight 1); GET /vets (weight 1)"
    assert experiment.model_copy(update={"requests": [], "description": ""}) == without
    taken = [line.partition("request: ")[2] for line in said.splitlines() if "request: " in line]
    assert taken == ["GET /owners", "GET /vets"]
    assert "left out: 2 more of /v3/api-docs" in said
    (started,) = asked.started
    environment = variant_environment(resolve_service(started), started, "platform")
    assert environment["MANAGEMENT_ENDPOINTS_WEB_EXPOSURE_INCLUDE"] == "health,mappings"


@pytest.mark.parametrize(
    ("endpoints", "words"),
    [([], "/v3/api-docs lists no GET request"), (FOUND[1:3], "no GET request of /v3/api-docs answers 200 without")],
)
def test_where_none_is_found_a_file_is_the_way(
    endpoints: list[Endpoint], words: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    Asked(monkeypatch, endpoints)
    (tmp_path / "my target").mkdir()
    jar = jars.service(tmp_path / "my target" / "shop.jar")
    with pytest.raises(BadInput, match=words) as refused:
        found(of_service(jar, []), tmp_path)
    assert refused.value.fix.startswith(f"vtlab init '{jar}' ")
    monkeypatch.chdir(tmp_path)
    with pytest.raises(BadInput, match=words) as refused:
        found(of_service(Path("my target/shop.jar"), []), tmp_path)
    assert refused.value.fix.startswith("vtlab init 'my target/shop.jar' ")


def test_only_a_jar_on_this_machine_is_asked_for_its_requests(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="stub: no request given") as refused:
        found(of_service(service_file(tmp_path, stub_service()), []), tmp_path)
    only = "vtlab discovers requests only for a Spring Boot jar on this machine; name one: 'GET /orders/17'"
    assert refused.value.fix == only
    in_cluster = Options(None, None, tmp_path, False, cluster=ReleaseRef(None, "shops", ""), finds_requests=True)
    deployment = load_deployment([Option("--deployment", "service.deployment", "shop")])
    with pytest.raises(BadInput, match="shop: no request given") as refused:
        begin_runs([PlannedRun("shop", deployment)], in_cluster, Progress(Console(quiet=True)))
    assert refused.value.fix == only

"""``vtlab init``: the requests of a service, by its OpenAPI document or its mappings, as a file of ``vtlab try``."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from tests.support import jars
from tests.support.cli_call import call
from vtlab import shipped
from vtlab.model import documents, experiment_files
from vtlab.model.endpoints import Endpoint, FileService, file_text, from_mappings, from_openapi
from vtlab.model.service import Service

OPENAPI: dict[str, Any] = {
    "openapi": "3.0.1",
    "servers": [{"url": "http://localhost:9966/petclinic"}],
    "paths": {
        "/api/owners/{ownerId}": {
            "parameters": [{"$ref": "#/components/parameters/Owner"}],
            "get": {},
            "delete": {},
        },
        "/api/pets/{petId}": {"get": {"parameters": [{"name": "petId", "in": "path", "schema": {"type": "integer"}}]}},
        "/api/vets": {"get": {}},
        "/api/visits": {"post": {}},
        "/api/old": {"get": {"deprecated": True}},
        "/api/search": {
            "get": {
                "parameters": [
                    {"name": "q", "in": "query", "required": True, "example": "a b"},
                    {"name": "sort", "in": "query", "required": True, "schema": {"$ref": "#/components/schemas/Sort"}},
                    {"name": "page", "in": "query"},
                ]
            }
        },
        "/api/report": {"get": {"parameters": [{"name": "year", "in": "query", "required": True}]}},
    },
    "components": {
        "parameters": {"Owner": {"name": "ownerId", "in": "path", "schema": {"type": "integer", "example": 7}}},
        "schemas": {"Sort": {"type": "string", "enum": ["name", "city"]}},
    },
}
MAPPINGS: dict[str, Any] = {
    "contexts": {
        "application": {
            "mappings": {
                "dispatcherServlets": {
                    "dispatcherServlet": [
                        {"details": {"requestMappingConditions": {"methods": methods, "patterns": patterns}}}
                        for methods, patterns in (
                            (["GET"], ["/orders/{id:[0-9]+}", "/orders/by-id/{id}"]),
                            (["POST"], ["/orders"]),
                            ([], ["/home"]),
                            ([], ["/error"]),
                            (["GET"], ["/webjars/**"]),
                            (["GET"], ["/actuator/health"]),
                        )
                    ]
                    + [{"predicate": "ResourceHttpRequestHandler", "details": None}]
                }
            }
        }
    }
}


def test_openapi_tells_get_requests_with_its_examples() -> None:
    assert from_openapi(OPENAPI) == [
        Endpoint("/petclinic/api/owners/7"),
        Endpoint("/petclinic/api/pets/{petId}", ("petId",)),
        Endpoint("/petclinic/api/report?year={year}", ("year",)),
        Endpoint("/petclinic/api/search?q=a+b&sort=name"),
        Endpoint("/petclinic/api/vets"),
    ]


def test_mappings_tell_the_get_requests_of_the_service_alone() -> None:
    assert from_mappings(MAPPINGS, "/shop") == [
        Endpoint("/shop/home"),
        Endpoint("/shop/orders/by-id/{id}", ("id",)),
        Endpoint("/shop/orders/{id}", ("id",)),
    ]


@pytest.mark.parametrize("document", [None, [], "text", {}, {"paths": []}, {"paths": {"/a": None}}, {"contexts": 1}])
def test_anything_else_tells_none(document: Any) -> None:
    assert from_openapi(document) == []
    assert from_mappings(document) == []


@pytest.mark.parametrize("endpoints", [from_openapi(OPENAPI), from_mappings(MAPPINGS), []])
def test_the_file_is_one_that_can_be_tried(endpoints: list[Endpoint], tmp_path: Path) -> None:
    path = tmp_path / "shop.yaml"
    path.write_text(file_text(FileService('a "jar".jar'), endpoints, "its mappings"), encoding="utf-8")
    file = experiment_files.load(str(path), tmp_path)
    assert isinstance(file.service, Service)
    assert file.service.jar == 'a "jar".jar'
    ready = [endpoint.line for endpoint in endpoints if not endpoint.unknown]
    assert [request.line for request in file.requests] == (ready or ["GET /"])


def test_every_key_that_the_file_comments_on_may_be_uncommented(tmp_path: Path) -> None:
    head, schema, *lines = file_text(FileService("shop.jar"), from_mappings(MAPPINGS), "its mappings").splitlines()
    assert head == f"# yaml-language-server: $schema={shipped.ROOT / documents.SCHEMA}"
    assert schema.startswith("# vtlab try measures it.")
    written = [re.sub("^( *)# (?!These)", r"\1", line) for line in lines]
    path = tmp_path / "shop.yaml"
    path.write_text("\n".join(written), encoding="utf-8")
    (tmp_path / "owners.csv").write_text("id,pet,key,user\n1,2,3,4\n", encoding="utf-8")
    (tmp_path / "other.jar").touch()
    file = experiment_files.load(str(path), tmp_path)
    assert file.data == str(tmp_path / "owners.csv")
    assert (file.reset, file.needs, file.is_searched) == ("POST /test/reset", ["database"], True)
    assert file.variants == ["platform", "virtual", "platform-1000"]
    service = file.service
    assert isinstance(service, Service)
    assert (service.java, service.jvm_flags, service.env) == (21, ["-Xmx512m"], ["SPRING_PROFILES_ACTIVE"])
    assert service.started_before is not None
    assert [request.line for request in file.requests][-1] == "POST /visits"


def test_a_file_is_written_from_an_openapi_document(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, invented_tools: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "target").mkdir()
    jar = jars.service(tmp_path / "target" / "shop-1.4.jar")
    (tmp_path / "api.json").write_text(json.dumps(OPENAPI), encoding="utf-8")
    done = call("init", jar.relative_to(tmp_path), "--openapi", "api.json")
    assert done.code == 0, done
    assert "shop.yaml: 3 requests by api.json" in done.out
    file = experiment_files.load(str(tmp_path / "shop.yaml"), tmp_path)
    assert isinstance(file.service, Service)
    assert (file.service.jar, len(file.requests)) == ("target/shop-1.4.jar", 3)
    assert call("init", jar, "--openapi", tmp_path / "api.json", "--output", "target/b.yaml").code == 0
    _, header, *_ = (tmp_path / "target" / "b.yaml").read_text(encoding="utf-8").splitlines()
    assert "The requests are of ../api.json;" in header, "no path of this machine"
    again = call("init", jar, "--openapi", "api.json")
    assert (again.code, "shop.yaml is there already" in again.err) == (2, True)
    (tmp_path / "empty.json").write_text("{}", encoding="utf-8")
    empty = call("init", jar, "--openapi", "empty.json", "--output", "b.yaml")
    assert (empty.code, "empty.json has no GET request" in empty.err) == (2, True)

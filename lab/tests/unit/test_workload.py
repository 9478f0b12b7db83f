"""The workload of an experiment: how it may be written, what is refused, and where its secrets stay."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from pydantic import ValidationError

from vtlab import shipped
from vtlab.errors import BadInput
from vtlab.model import documents, experiment_files, normalised, workload_files
from vtlab.model.experiment import Experiment
from vtlab.model.workload import Request, Workload, parse_line

REST: dict[str, Any] = {"name": "mine", "service": "sample", "load": {"full": {"users": 10}}}
YAML = """
name: shop
service: sample
requests:
  - GET /owners/{id}
  - 'POST /visits {"pet": "{id}"}'
  - POST /visits:
      body: {pet: "{id}", note: null}
      headers: {Authorization: "Bearer {token}", X-Key: "{env.SHOP_KEY}"}
      expect: {status: 201, json: {$.id: exists, "$.pets[0]['first name']": Leo}}
      weight: 0.2
data: owners.csv
login: {POST: /login, body: {user: "{user}", password: a-secret-word}, capture: {token: $.auth.token}}
load: {full: {users: 10}}
"""
CSV = 'id,user\n1,anna\n2,"ben, the 2nd"\n'


def shop(folder: Path, text: str = YAML, csv: str = CSV) -> Path:
    (folder / "owners.csv").write_text(csv, encoding="utf-8")
    path = folder / "shop.yaml"
    path.write_text(text, encoding="utf-8")
    return path


@pytest.mark.parametrize(
    ("line", "fields"),
    [
        ("GET /owners/{id}", {"method": "GET", "path": "/owners/{id}"}),
        (" DELETE  /owners?all=1 ", {"method": "DELETE", "path": "/owners?all=1"}),
        ('POST /visits {"pet": "{id}"}', {"method": "POST", "path": "/visits", "body": {"pet": "{id}"}}),
        ("PUT /visits/1 {pet: {id}} x", {"method": "PUT", "path": "/visits/1", "body": "{pet: {id}} x"}),
    ],
)
def test_a_line_is_a_method_a_path_and_a_body(line: str, fields: dict[str, Any]) -> None:
    assert parse_line(line) == fields
    assert Workload.model_validate({"requests": [line]}).requests == [Request.model_validate(fields)]


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("/owners", "does not begin with a method"),
        ("FETCH /owners", "does not begin with a method"),
        ("GET owners", "has no path"),
        ("GET", "has no path"),
        ("GET http://localhost:8080/owners", "has a whole address: write the path alone"),
        ("GET /owners {}", "GET has no body"),
    ],
)
def test_a_line_that_is_no_request_is_refused(line: str, message: str) -> None:
    with pytest.raises(ValidationError, match=message):
        Workload.model_validate({"requests": [line]})


@pytest.mark.parametrize(
    ("keys", "is_valid"),
    [
        ({"requests": ["GET /a", {"POST": "/b", "status": 201, "body": {"c": 1}}, {"path": "/c", "weight": 2}]}, True),
        ({"requests": [{"POST /b": {"body": {"c": 1}, "expect": {"status": 201}, "weight": 2}}]}, True),
        ({"login": {"POST": "/login", "status": 204, "capture": {"token": "$.token"}}}, True),
        ({"login": "login.yaml"}, True),
        ({"requests": ["FETCH /a"]}, False),
        ({"requests": [{"POTS": "/b"}]}, False),
        ({"requests": [{"POST": "/b", "wieght": 2}]}, False),
        ({"requests": [{"POST /b": {"wieght": 2}}]}, False),
        ({"requests": [{"POST /b": {}, "GET /c": {}}]}, False),
        ({"login": {"POST": "/login", "captures": {}}}, False),
    ],
)
def test_an_editor_flags_what_vtlab_refuses(keys: dict[str, Any], is_valid: bool) -> None:
    schema = json.loads((shipped.ROOT / documents.SCHEMA).read_text(encoding="utf-8"))
    document = {"service": "shop.jar", **keys}
    assert jsonschema.Draft202012Validator(schema).is_valid(document) == is_valid
    if is_valid:
        Experiment.model_validate(document)
    else:
        with pytest.raises(ValidationError):
            Experiment.model_validate(document)


def test_a_single_request_is_a_workload_of_one() -> None:
    short = Experiment.model_validate({**REST, "requests": [{"path": "/thread", "status": 204}]})
    assert short.only_request is not None
    assert short.only_request.expect.status == 204
    assert short.workload == Workload(requests=[short.only_request])
    assert short.description == "mine: GET /thread"
    assert Experiment.model_validate(short.document()) == short


def test_a_file_may_leave_its_requests_to_be_found_and_is_not_measured_so() -> None:
    without = Experiment.model_validate(REST)
    assert without.workload.is_empty
    assert Experiment.model_validate(without.document()) == without
    with pytest.raises(BadInput, match="mine: no request given"):
        without.refuse_unmeasurable()
    found = Experiment.model_validate({**without.document(), "requests": ["GET /a"]})
    assert found.description == "mine: GET /a"
    found.refuse_unmeasurable()


def test_a_file_in_yaml_has_requests_in_every_form(tmp_path: Path) -> None:
    loaded = experiment_files.load(str(shop(tmp_path)), tmp_path)
    assert [request.line for request in loaded.workload.requests] == [
        "GET /owners/{id}",
        "POST /visits",
        "POST /visits",
    ]
    assert loaded.workload.data == str(tmp_path / "owners.csv")
    assert loaded.workload.is_writing
    assert loaded.workload.title.endswith("POST /visits (weight 0.2)")
    requests = json.loads(normalised.as_json(loaded))["workload"]["requests"]
    assert [request["is_json"] for request in requests] == [False, True, True]
    assert json.loads(requests[2]["body"]) == {"pet": "{id}", "note": None}
    assert (requests[2]["status"], requests[2]["weight"]) == (201, 0.2)
    assert requests[2]["expected"] == [
        {"steps": ["id"], "value": None},
        {"steps": ["pets", "0", "first name"], "value": '"Leo"'},
    ]


def test_secrets_are_for_k6_alone(tmp_path: Path) -> None:
    path = shop(tmp_path)
    loaded = experiment_files.load(str(path), tmp_path)
    # What is stored names the file that has the login.
    assert loaded.workload.login == str(path)
    for stored in (json.dumps(loaded.document()), normalised.as_json(loaded), repr(loaded)):
        assert "a-secret-word" not in stored
        assert "anna" not in stored
    again = Experiment.model_validate(loaded.document())
    private = workload_files.private_values(again.workload, {"SHOP_KEY": "k-1"})
    assert private["rows"] == [["1", "anna"], ["2", "ben, the 2nd"]]
    assert private["columns"] == ["id", "user"]
    assert private["values"] == {"env.SHOP_KEY": "k-1"}
    assert json.loads(private["login"]["body"]) == {"user": "{user}", "password": "a-secret-word"}
    assert private["login"]["capture"] == {"token": ["auth", "token"]}
    with pytest.raises(BadInput, match=r"uses \{env.SHOP_KEY\}, and that variable is not set"):
        workload_files.private_values(again.workload, {})


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        (
            "GET /owners/{id}",
            "GET /owners/{ident}",
            r"requests.0 \(GET /owners/\{ident\}\) uses \{ident\}.*owners\.csv has no",
        ),
        ('"{user}"', '"{name}"', r"login \(POST /login\) uses \{name\}, and .*owners\.csv has no such column"),
        ("data: owners.csv\n", "", r"requests.0 \(GET /owners/\{id\}\) uses \{id\}, and the workload has no data"),
        ("capture: {token:", "capture: {id:", r"login.capture and .*owners\.csv both have the name id"),
        ("owners.csv", "gone.csv", r"cannot read .*gone\.csv"),
        ("$.auth.token", "auth.token", r"login\..*"),
        ("$.id: exists", "id: exists", r"requests\.2.*"),
        ("GET /owners/{id}", "GET owners", r"requests\.0.*has no path"),
        ("weight: 0.2", "weight: 0", r"weight: must be above 0"),
        ("weight: 0.2", "wait: 0.2", r"wait: unknown key"),
        ("login:", " login:", r"not valid YAML.* at line \d+"),
        ("load: {", "k6: load.ts\nload: {", "requests and k6, a script, exclude each other"),
        ("load: {", "windows: {warmup_query: {}}\nload: {", "warmup_query goes with a workload of one request"),
    ],
)
def test_what_is_wrong_with_a_workload_is_named_without_its_secrets(
    tmp_path: Path, old: str, new: str, message: str
) -> None:
    assert old in YAML
    path = shop(tmp_path, YAML.replace(old, new))
    with pytest.raises(BadInput, match=message) as caught:
        experiment_files.load(str(path), tmp_path)
    assert "secret" not in caught.value.message + caught.value.fix


@pytest.mark.parametrize(
    ("csv", "message"),
    [
        ("id,user\n", "has no rows"),
        ("", "has no rows"),
        ("id,id\n1,2\n", "names the column id twice"),
        ("id,\n1,2\n", "has a column without a name"),
        ("id,user\n1,anna\n\n2\n", "line 4 has 1 values for 2 columns"),
        ('id,user\n1,"anna\n', "not valid CSV"),
    ],
)
def test_a_csv_file_that_cannot_be_dealt_is_refused(tmp_path: Path, csv: str, message: str) -> None:
    with pytest.raises(BadInput, match=message) as caught:
        experiment_files.load(str(shop(tmp_path, csv=csv)), tmp_path)
    assert "anna" not in caught.value.message


@pytest.mark.parametrize(
    ("workload", "message"),
    [
        ({"requests": ["GET /"], "k6": "load.ts"}, "requests and k6, a script, exclude each other"),
        ({"k6": "load.ts", "data": "owners.csv"}, "data and login are for requests"),
        ({"requests": ["GET /"], "origin": "https://shop.example"}, "origin is for a k6 script"),
        ({"k6": "load.ts", "origin": "https://shop.example/path"}, "origin"),
        ({"requests": [{"HEAD": "/", "expect": {"json": {"$.id": "exists"}}}]}, "an answer to HEAD has no body"),
    ],
)
def test_a_workload_that_is_not_one_thing_is_refused(workload: dict[str, Any], message: str) -> None:
    with pytest.raises(ValidationError, match=message):
        Workload.model_validate(workload)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"windows": {"wait_for_answers": False, "trials": 1}}, "a script's iteration is not given up"),
        ({"load": {"full": {"users": 3, "think_time": "1s"}}}, "a script has its own sleep"),
    ],
)
def test_a_script_has_its_own_pauses_and_is_waited_for(change: dict[str, Any], message: str) -> None:
    with pytest.raises(ValidationError, match=message):
        Experiment.model_validate({**REST, "k6": "load.ts", **change})


@pytest.mark.parametrize(
    ("name", "message"), [("gone.ts", "there is no k6 script"), ("owners.csv", "is not a k6 script")]
)
def test_a_script_that_is_none_is_refused(tmp_path: Path, name: str, message: str) -> None:
    path = shop(tmp_path)
    path.write_text(json.dumps({**REST, "name": "shop", "k6": name}), encoding="utf-8")
    with pytest.raises(BadInput, match=message):
        experiment_files.load(str(path), tmp_path)


def test_a_resumed_run_is_told_another_script_and_other_data(tmp_path: Path) -> None:
    workload = experiment_files.load(str(shop(tmp_path)), tmp_path).workload
    assert workload_files.versions(workload) == {"data": "2 rows of id, user"}
    (tmp_path / "load.js").write_text("export default () => {}", encoding="utf-8")
    script = Workload.model_validate({"k6": str(tmp_path / "load.js")})
    before = workload_files.versions(script)
    assert workload_files.versions(script) == before
    (tmp_path / "load.js").write_text("export default () => 1", encoding="utf-8")
    assert workload_files.versions(script) != before

"""The workload: what users do. One request, a weighted mix of requests, or the user's own k6 script.

The shortest form of a request is a line: ``GET /owners/{id}``, ``POST /visits {"pet": "{id}"}``. A name in braces is a
column of ``data``, what ``login`` captured, or, as ``{env.NAME}``, a variable of vtlab's environment. Their values are
never printed or stored: an experiment that is written out has the names.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Annotated, Any, Literal, get_args

from pydantic import BaseModel, BeforeValidator, ConfigDict, Discriminator, Field, JsonValue, Tag, model_validator

from vtlab.errors import BadInput
from vtlab.model.validation import FilePath, WrongKey

Method = Literal["GET", "POST", "PUT", "PATCH", "DELETE", "HEAD"]
METHODS: tuple[str, ...] = get_args(Method)
#: Methods that change nothing in the service.
READING = ("GET", "HEAD")
#: In an expectation: whatever the value is.
EXISTS = "exists"
#: Names a variable of vtlab's own environment.
ENVIRONMENT = "env."

_LINE = rf"^({'|'.join(METHODS)}) /"
_NAME = r"[A-Za-z_][A-Za-z0-9_-]*"
_PLACEHOLDER = re.compile(rf"\{{((?:env\.)?{_NAME})\}}")
_JSON_PATH = r"^\$(\.[A-Za-z_][A-Za-z0-9_-]*|\[\d+\]|\['[^']+'\])*$"
_STEP = re.compile(r"\.([A-Za-z_][A-Za-z0-9_-]*)|\[(\d+)\]|\['([^']+)'\]")

JsonPath = Annotated[str, Field(pattern=_JSON_PATH, description="$.id, $.items[0].name, $['a b']")]
Name = Annotated[str, Field(pattern=f"^{_NAME}$")]


class _Strict(BaseModel):
    model_config = ConfigDict(
        extra="forbid", frozen=True, populate_by_name=True, serialize_by_alias=True, allow_inf_nan=False
    )


class Expect(_Strict):
    """Expected answer; a request with any other has failed."""

    status: Annotated[int, Field(ge=100, le=599)] = 200
    json_: Annotated[
        dict[JsonPath, JsonValue],
        Field(alias="json", description="expected values in the answer's body, by JSON path; exists for any value"),
    ] = {}


def _schema_in_short(schema: dict[str, Any]) -> None:
    """Allows ``{POST: /visits}`` beside method and path, and ``status``, of which the model itself has no fields."""
    schema["required"] = [name for name in schema.get("required", []) if name != "path"]
    schema["patternProperties"] = {f"^({'|'.join(METHODS)})$": {"type": "string", "pattern": "^/"}}
    schema["properties"]["status"] = {
        "type": "integer",
        "minimum": 100,
        "maximum": 599,
        "description": "short for expect: {status: 201}",
    }


class Call(_Strict):
    """Request as it is sent. Texts may hold names in braces."""

    model_config = ConfigDict(json_schema_extra=_schema_in_short)

    method: Annotated[Method, Field(description="method of the request")] = "GET"
    path: Annotated[
        str, Field(pattern=r"^/", description="required, begins with /; {POST: /path} is short for method and path")
    ]
    query: Annotated[dict[str, str], Field(description="parameters of its query")] = {}
    headers: Annotated[dict[str, str], Field(description="its headers")] = {}
    body: Annotated[
        JsonValue, Field(description="a JSON value, or text that is sent as it is; application/json where it is JSON")
    ] = None
    expect: Expect = Expect()

    @model_validator(mode="before")
    @classmethod
    def _in_short(cls, value: Any) -> Any:
        """Accepts also ``{POST: /visits, …}``, and ``status`` for ``expect.status``."""
        if not isinstance(value, Mapping):
            return value
        written = dict(value)
        method = next((key for key in written if key in METHODS), None)
        if method and "path" not in written:
            written |= {"method": method, "path": written.pop(method)}
        if "status" in written and "expect" not in written:
            written["expect"] = {"status": written.pop("status")}
        return written

    @model_validator(mode="after")
    def _can_have_a_body(self) -> Call:
        if self.method in READING and self.body is not None:
            raise ValueError(f"{self.method} has no body")
        if self.method == "HEAD" and self.expect.json_:
            raise ValueError("an answer to HEAD has no body, so expect.json cannot hold")
        return self

    @property
    def line(self) -> str:
        """The method and the path, for messages."""
        return f"{self.method} {self.path}"

    @property
    def names(self) -> set[str]:
        """The names in braces."""
        return set(_names([self.path, *self.query.values(), *self.headers.values(), body_text(self.body) or ""]))


class Request(Call):
    """One request of a workload."""

    weight: Annotated[float, Field(gt=0, description="share of the requests, in relation to the other weights")] = 1


class Login(Call):
    """Request that a user sends once, before all others and outside every window."""

    capture: Annotated[
        dict[Name, JsonPath], Field(description="names for parts of the answer, by JSON path; {token} in requests")
    ] = {}


def _from_line(value: Any) -> Any:
    """Expands a line, and ``{"POST /visits": {…}}``, into what they stand for."""
    if isinstance(value, str):
        return parse_line(value)
    if isinstance(value, Mapping) and len(value) == 1:
        (line, rest), *_ = value.items()
        if isinstance(line, str) and re.match(_LINE, line) and isinstance(rest, Mapping):
            method, _, path = line.partition(" ")
            return {"method": method, "path": path, **rest}
    return value


_Line = Annotated[str, Field(pattern=_LINE, description='GET /owners/{id}, or POST /visits {"pet": "{id}"}')]
#: ``{"POST /visits": {…}}``
_LineWithKeys = Annotated[
    dict[_Line, Request], Field(min_length=1, max_length=1, json_schema_extra={"additionalProperties": False})
]
#: A request as a user may write it.
WrittenRequest = Annotated[Request, BeforeValidator(_from_line, json_schema_input_type=_Line | Request | _LineWithKeys)]


def _login_kind(value: Any) -> str:
    return "(file)" if isinstance(value, str) else "(keys)"


Requests = Annotated[
    list[WrittenRequest], Field(description="lines such as GET /owners/{id}, or the keys below; drawn by their weights")
]
DataFile = Annotated[
    FilePath | None,
    Field(
        description="a CSV file, whose columns are {names} in requests; the users take its rows in turn. If the login"
        " uses a column, each user keeps its row"
    ),
]
WrittenLogin = Annotated[
    Annotated[Annotated[Login, Tag("(keys)")] | Annotated[FilePath, Tag("(file)")], Discriminator(_login_kind)] | None,
    Field(description="what each user sends first: the keys below, or a file with them"),
]
Script = Annotated[
    FilePath | None,
    Field(description="a k6 script, in place of requests; one call of its default function is one iteration"),
]
Origin = Annotated[
    str | None,
    Field(
        pattern=r"^https?://[^/]+$",
        description="address in a k6 script that stands for the variant, where the script asks several fixed addresses",
    ),
]


class Workload(_Strict):
    """Requests, or a k6 script; neither where a file leaves them to be found."""

    requests: Requests = []
    data: DataFile = None
    login: WrittenLogin = None
    k6: Script = None
    origin: Origin = None

    @model_validator(mode="after")
    def _is_one_thing(self) -> Workload:
        self.refuse_contradictions()
        return self

    def refuse_contradictions(self) -> None:
        """Raises ValueError where keys exclude each other."""
        if self.requests and self.k6:
            raise WrongKey("requests and k6, a script, exclude each other", "k6", "requests")
        if self.k6 and (self.data or self.login):
            raise WrongKey(
                "data and login are for requests: the script reads its own data, and logs in itself", "k6", "data"
            )
        if self.origin and not self.k6:
            raise WrongKey("origin is for a k6 script: a request has a path only", "origin")

    @property
    def is_empty(self) -> bool:
        """Tells whether nothing is asked of the service."""
        return not self.requests and self.k6 is None

    @property
    def is_writing(self) -> bool:
        """Tells whether a request changes something in the service; a script may."""
        return self.k6 is not None or any(request.method not in READING for request in self.requests)

    @property
    def uses_environment(self) -> bool:
        """Tells whether a request names a variable of vtlab's environment."""
        return any(name.startswith(ENVIRONMENT) for request in self.requests for name in request.names)

    @property
    def title(self) -> str:
        """The workload in a line, for reports."""
        if self.k6:
            return f"k6 script {self.k6}"
        return "; ".join(
            f"{request.line}{_query(request)}" + (f" (weight {request.weight:g})" if len(self.requests) > 1 else "")
            for request in self.requests
        )


def parse_line(line: str) -> dict[str, Any]:
    """Parses ``GET /owners/{id}`` or ``POST /visits {"pet": "{id}"}`` as the fields of a request; ValueError where it
    is neither. A body that is JSON stays JSON, any other is text. No error repeats a body or an address, which may hold
    a password."""
    method, _, rest = line.strip().partition(" ")
    path, _, body = rest.strip().partition(" ")
    if method not in METHODS:
        begin = f"{method} {path}".strip()
        raise ValueError(f"'{begin}' does not begin with a method: write {', '.join(METHODS)}, then the path")
    if re.match("https?://", path):
        raise ValueError(f"{method} has a whole address: write the path alone, vtlab knows where each variant is")
    if not path.startswith("/"):
        raise ValueError(f"'{method} {path}' has no path: write it with a slash before it, as in GET /owners/{{id}}")
    fields: dict[str, Any] = {"method": method, "path": path}
    if body.strip():
        fields["body"] = _json_or_text(body.strip())
    return fields


def _json_or_text(text: str) -> JsonValue:
    try:
        value: JsonValue = json.loads(text)
    except json.JSONDecodeError:
        return text
    return value


def body_text(body: JsonValue) -> str | None:
    """Returns a body as it is sent, with its names in braces; None where there is none."""
    return body if body is None or isinstance(body, str) else json.dumps(body, ensure_ascii=False)


def is_json(body: JsonValue) -> bool:
    """Tells whether a body is sent as JSON: a JSON value, or text that begins as an object or an array does."""
    return body is not None and (not isinstance(body, str) or body.lstrip().startswith(("{", "[")))


def steps(path: str) -> list[str]:
    """Returns the keys and positions that a JSON path names, from the outside to the inside."""
    return [next(part for part in match.groups() if part is not None) for match in _STEP.finditer(path)]


def filled(text: str, values: Mapping[str, str]) -> str:
    """Replaces these names in a text; others stay."""
    return _PLACEHOLDER.sub(lambda match: values.get(match[1], match[0]), text)


def _names(texts: Iterable[str]) -> Iterator[str]:
    for text in texts:
        yield from _PLACEHOLDER.findall(text)


def _query(request: Request) -> str:
    return "?" + "&".join(f"{key}={value}" for key, value in request.query.items()) if request.query else ""


def variables(workload: Workload, login: Login | None) -> list[str]:
    """Returns the variables of vtlab's environment that requests and login name, without ``env.``."""
    calls: list[Call] = [*workload.requests, *([login] if login else [])]
    named = {name for call in calls for name in call.names if name.startswith(ENVIRONMENT)}
    return sorted(name.removeprefix(ENVIRONMENT) for name in named)


def refuse_unknown_names(workload: Workload, login: Login | None, columns: Sequence[str] | None) -> None:
    """Raises BadInput where a request or the login uses a name that is no column of the data (``columns``; None: no
    data) and that nothing captures."""
    captured = login.capture if login else {}
    clash = sorted(set(columns or []) & set(captured))
    if clash:
        raise BadInput(
            f"login.capture and {workload.data} both have the name {clash[0]}", "rename it in one of the two"
        )
    for index, request in enumerate(workload.requests):
        _refuse_unknown(f"requests.{index} ({request.line})", request, columns, [*captured], workload.data)
    if login:
        _refuse_unknown(f"login ({login.line})", login, columns, [], workload.data)


def _refuse_unknown(
    where: str, call: Call, columns: Sequence[str] | None, captured: Sequence[str], data: str | None
) -> None:
    unknown = {name for name in call.names if not name.startswith(ENVIRONMENT)} - {*(columns or []), *captured}
    if not unknown:
        return
    names = ", ".join(f"{{{name}}}" for name in sorted(unknown))
    if columns is None:
        raise BadInput(
            f"{where} uses {names}, and the workload has no data", "name a CSV file in data, with that column"
        )
    raise BadInput(
        f"{where} uses {names}, and {data} has no such column",
        f"its columns are: {', '.join(columns)}; add the column, or correct the name",
    )

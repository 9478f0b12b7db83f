"""Documents of any content: each is an experiment, or bad input."""

from __future__ import annotations

import contextlib
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vtlab.errors import BadInput
from vtlab.model import experiment_files
from vtlab.model.draft import Option
from vtlab.model.experiment import Experiment
from vtlab.model.load import ClosedLoad, RateLoad
from vtlab.model.service import Service
from vtlab.model.workload import Login

KEYS = [
    *Experiment.model_fields,
    *Service.model_fields,
    *ClosedLoad.model_fields,
    *RateLoad.model_fields,
    *Login.model_fields,
    *("load", "full", "typical", "share", "platform", "virtual", "GET /a", "POST", "status", "threads", "", "x"),
]
TEXTS = st.sampled_from(
    [
        *KEYS,
        *("sample", "auto", "none", "a.jar", "GET /{id}", "GET /"),
        *("jar=a.jar", "jar=\0", "java=21", "pool=5", "env:A=b", "platform-50"),
        *("5s", "exp(1s)", "999999999h", "1Gi", "9g", "120/s", "inf", "nan/s", "/", "\0", "a" * 5000),
    ]
)
SCALARS = st.one_of(st.none(), st.booleans(), st.integers(), st.floats(), st.dates(), TEXTS, st.text(max_size=5))
VALUES: st.SearchStrategy[Any] = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(KEYS) | SCALARS, inner, max_size=3),
    max_leaves=8,
)
RATES = st.fixed_dictionaries({"rate": SCALARS}, optional={"users": SCALARS})
LOADS = st.fixed_dictionaries({}, optional={"full": VALUES, "typical": RATES})
SERVICES = st.fixed_dictionaries({"jar": TEXTS}, optional={"java": VALUES, "directory": TEXTS, "env": VALUES})
#: Keys that a file may have, each with what is nearly right or with anything.
DOCUMENTS = st.fixed_dictionaries(
    {"service": st.sampled_from(["sample", "a.jar"]) | SERVICES},
    optional={
        "variants": st.lists(TEXTS, min_size=2, max_size=3) | VALUES,
        "load": LOADS | VALUES,
        "max_response": TEXTS,
        **dict.fromkeys(("requests", "k6", "data", "login", "properties", "windows", "limits", "expected"), VALUES),
    },
)
OPTIONS = st.lists(
    st.builds(
        Option,
        st.just("--option"),
        st.sampled_from(["load.full.users", "load.full.think_time", "load.typical.rate", "service.java", "limits.cpu"]),
        SCALARS,
    ),
    max_size=2,
)


@given(document=VALUES | DOCUMENTS, options=OPTIONS)
def test_any_document_is_an_experiment_or_bad_input(document: Any, options: list[Option]) -> None:
    with contextlib.suppress(BadInput):
        experiment_files.of_document(document, Path("/there/vtlab.yaml"), options).document()


SHOP: dict[str, Any] = {"service": "shop.jar", "requests": ["GET /"]}


@pytest.mark.parametrize(
    ("document", "message"),
    [
        (None, "empty"),
        ("text", "not keys with values"),
        ({**SHOP, "load": {"full": 200}}, "load.full: not a load: write auto, none or {users: 200}"),
        ({**SHOP, "load": {"typical": [5]}}, "load.typical: not a load: write none, {rate: 120/s} or {share: 0.6}"),
        ({**SHOP, "load": {"typical": {"rate": "inf/s"}}}, "load.typical.rate: must be a finite number"),
        ({**SHOP, "limits": {"cpu": float("nan")}}, "limits.cpu: must be a finite number"),
        ({**SHOP, "load": 5}, "load: not keys with values: write key: value"),
        ({**SHOP, "variants": ["virtual"]}, "variants: must have 2 entries or more"),
        ({**SHOP, "variants": "virtual"}, "variants: not a list: write [one, two]"),
        ({**SHOP, "settings": {"A": 5}}, "settings.A: not a text: put it in quotes"),
        ({**SHOP, "description": ""}, "description: empty: write a text, or leave the key out"),
        ({**SHOP, "name": "My Shop"}, "name: not a name: write lower case letters"),
        ({**SHOP, "login": 5}, "login: not keys with values"),
        ({**SHOP, "data": "a\0b"}, "data: not a path: a character of it is NUL"),
        (
            {**SHOP, "login": {"POST": "/login", "capture": {"a b": "$.id"}}},
            "login.capture.a b: must match",
        ),
        (
            {"service": {"jar": "a.jar", "java": [21]}},
            "service.java: not a JDK: write its major version, 21, or its directory",
        ),
        (
            {"service": {"jar": "a.jar", "env": ["A=hunter2"]}},
            'service.env: not names alone: write [NAME], or {NAME: "value"} to give values',
        ),
        (
            {**SHOP, "requests": ['POTS /login {"password": "hunter2"}']},
            "requests.0: 'POTS /login' does not begin with a method",
        ),
        ({**SHOP, "requests": ["GET http://me:hunter2@h/"]}, "requests.0: GET has a whole address: write the path"),
        ({"jar": "a.jar", "environment": {"A": "b"}}, "environment: write service.settings instead"),
        ({"jar": "a.jar", "environment_from": ["A"]}, "environment_from: write service.env instead"),
        ({"jar": "a.jar", "environment_file": "a"}, "environment_file: write service.env_file instead"),
        ({"jar": "a.jar", "variants": {"virtual": {}}}, "variants: not a list of names: write service.settings_by_thr"),
    ],
)
def test_what_is_wrong_is_said_in_plain_words(document: Any, message: str) -> None:
    with pytest.raises(BadInput) as caught:
        experiment_files.of_document(document, Path("/there/vtlab.yaml"))
    assert message in caught.value.message
    assert "hunter2" not in str(caught.value)
    assert "Input should" not in caught.value.message
    assert caught.value.fix

"""The reference pages say all there is of what they are made from."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import pytest
import yaml

from maintain.reference import catalogue, commands, schemas, values
from tests.support.versions import REPOSITORY
from vtlab import errors
from vtlab.catalogue.metrics import METRICS
from vtlab.commands import app
from vtlab.host import program


def leaves(document: dict[str, Any], path: str = "") -> Iterator[str]:
    for key, value in document.items():
        if isinstance(value, dict) and value:
            yield from leaves(value, f"{path}{key}.")
        else:
            yield path + key


def test_every_value_of_the_chart_is_there() -> None:
    text = (REPOSITORY / "helm/values.yaml").read_text(encoding="utf-8")
    page = values.text(REPOSITORY)
    paths = {value.path: value.default for value in values.read(text)}
    # A map in one line is one value.
    missing = [
        leaf
        for leaf in leaves(yaml.safe_load(text))
        if not any(leaf == path or (value and leaf.startswith(f"{path}.")) for path, value in paths.items())
    ]
    assert missing == []
    assert '| `limits.cpu` | `"1"` | The quota that makes the comparison. |' in page


def test_a_line_that_is_neither_a_key_nor_a_comment_is_refused() -> None:
    with pytest.raises(ValueError, match="line 2"):
        list(values.read("a: 1\n- b\n"))


def test_every_command_and_exit_code_is_there() -> None:
    page = commands.text()
    names = [*program.COMMANDS, *(f"lab {name}" for name in app.LAB_COMMANDS)]
    assert re.findall(r"^## vtlab ?(.*)$", page, re.M) == ["", *names]
    kinds = [kind for kind in vars(errors).values() if isinstance(kind, type) and issubclass(kind, errors.LabError)]
    assert {kind.exit_code for kind in kinds} < {code for code, _ in commands.EXIT_CODES}


def test_every_key_of_an_experiment_has_a_type() -> None:
    page = schemas.text()
    assert "| `users` | whole number, above 0, at most 20000 | required |" in page
    assert "| `full` | `auto` or `none` or see below | `auto` |" in page
    assert "| `warmup_load` | duration | `3s` |" in page
    assert "## `load.typical`, a rate" in page
    assert "## `service.started_before`" in page
    assert "|  |  |" not in page


def test_every_metric_is_there_once() -> None:
    page, _, _ = catalogue.metrics_page().partition("## Published verdicts")
    of_resources = ("utilization_", "capacity_", "demand_")
    names = [name for name in METRICS if not name.startswith(of_resources)]
    assert [name for name in names if page.count(f"\n| `{name}` |") != 1] == []
    assert "`vtlab:throughput:rate`" in page

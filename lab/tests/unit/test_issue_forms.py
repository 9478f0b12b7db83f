"""The forms of ``.github/ISSUE_TEMPLATE``: the platform drops a form without a word where it is not as it should be."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.support.versions import REPOSITORY

FOLDER = REPOSITORY / ".github" / "ISSUE_TEMPLATE"
FORMS = sorted(file for file in FOLDER.glob("*.yml") if file.name != "config.yml")


def read(file: Path) -> dict[str, Any]:
    form: dict[str, Any] = yaml.safe_load(file.read_text(encoding="utf-8"))
    return form


def test_there_is_a_form_for_each_kind_of_report() -> None:
    assert [file.stem for file in FORMS] == ["bug", "question", "wrong-decision"]


@pytest.mark.parametrize("file", FORMS, ids=lambda file: file.stem)
def test_a_form_has_what_the_platform_asks_for(file: Path) -> None:
    form = read(file)
    assert {"name", "description", "body"} <= form.keys() <= {"name", "description", "labels", "body"}
    fields = [field for field in form["body"] if field["type"] != "markdown"]
    assert {field["type"] for field in fields} == {"textarea"}
    names = [field["id"] for field in fields]
    assert len(names) == len(set(names))
    assert all(field["attributes"]["label"] for field in fields)
    assert any(field.get("validations", {}).get("required") for field in fields)


def test_the_commands_that_a_form_asks_for_exist() -> None:
    text = "".join(file.read_text(encoding="utf-8") for file in FORMS)
    assert "`vtlab --version`" in text
    assert "`vtlab doctor`" in text

"""The data file of findings: every row has its test, its schema, and a command that can be typed."""

from __future__ import annotations

import json
import re
from typing import Any

import jsonschema
import pytest
from pydantic import ValidationError

from maintain.reference import findings as reference
from tests.unit import test_measured_findings, test_static_findings
from vtlab.analysis.findings import measured
from vtlab.catalogue import findings
from vtlab.catalogue.findings import Row

#: What ``--variant`` takes.
THIRD_VARIANT = re.compile(r"java=\d+|pool=\d+|platform-\d+|env:[A-Z][A-Z_]*=\S+")


def of_kind(kind: str) -> set[str]:
    return {row.id for row in findings.rows() if row.kind == kind}


def test_a_row_without_a_test_is_left_out() -> None:
    assert of_kind("static") == set(test_static_findings.CASES)
    assert of_kind("measured") == set(test_measured_findings.CASES) == set(measured.DETECTORS)


def test_every_command_tries_a_third_variant_or_another_jar() -> None:
    for row in findings.rows():
        command = row.command_for("app.jar")
        assert re.search(r"vtlab try \S*app\.jar\b", command), command
        _, has_third, third = command.partition(" --variant ")
        # The nodes are not those of the variant, but of the place: there is one on this machine.
        # Virtual threads, which the run has, are the cure of throttled-platform-threads.
        is_elsewhere = "extracted/" in command or row.id in ("different-nodes", "throttled-platform-threads")
        assert bool(has_third) != is_elsewhere, command
        assert not has_third or THIRD_VARIANT.fullmatch(third), command


def test_the_file_has_the_form_that_its_schema_says() -> None:
    document = json.loads(findings.FILE.read_bytes())
    jsonschema.validate(document, json.loads(findings.schema()))
    assert document["$schema"] == f"./{findings.FILE.stem}.schema.json"


ROW: dict[str, Any] = {
    "id": "a-row", "title": "t", "kind": "static", "libraries": {"g:a": "[1,2)"}, "symptom": "s", "cause": "c",
    "source": "https://example.org/1", "cure": "c", "command": "vtlab try {jar}",
}  # fmt: skip


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"libraries": {"g:a": "1.0"}}, "not a range of versions"),
        ({"jdk": "21"}, "not a range of versions"),
        ({"libraries": {}}, "needs libraries, boot, settings, jvm_flags or jdk"),
        ({"source": "issue 12"}, "source"),
        ({"command": "try it"}, "command"),
        ({"cures": "c"}, "cures"),
    ],
)
def test_a_wrong_row_is_refused(change: dict[str, Any], words: str) -> None:
    Row.model_validate(ROW)
    with pytest.raises(ValidationError, match=words):
        Row.model_validate({**ROW, **change})


def test_the_page_has_every_row_with_its_conditions() -> None:
    page = reference.text()
    assert [row.id for row in findings.rows() if f"\n`{row.id}`" not in page] == []
    assert "`com.zaxxer:HikariCP` before 7.1.0" in page
    assert "`com.github.ben-manes.caffeine:caffeine` in every version · JDK from 21 to before 24" in page
    assert "server: tomcat · set: `server.tomcat.threads.max` · below 200" in page

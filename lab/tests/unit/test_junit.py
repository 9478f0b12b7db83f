"""junit.xml: what passes, fails, is an error or skipped, and that readers of JUnit XML take it."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import pytest

from tests.support import golden_files, recorded
from tests.support.cli_call import call
from tests.unit.test_report_html import NASTY, RUNS
from vtlab.analysis import verdict
from vtlab.model.records import Failure
from vtlab.model.run import Run
from vtlab.report.pages import junit, markdown
from vtlab.runs import store
from vtlab.runs.report import write_files

HOLDS, BROKEN = "capacity(virtual/platform) >= 1.9", "capacity(virtual/platform) >= 2.5"
#: Of Ant's schema: the attributes that an element must have, and those that it may have.
MUST = {
    "testsuites": set[str](),
    "testsuite": {"name", "package", "id", "timestamp", "hostname", "tests", "failures", "errors", "time"},
    "property": {"name", "value"},
    "testcase": {"name", "classname", "time"},
    "failure": {"type"},
    "error": {"type"},
}
MAY = {"testsuite": {"skipped"}, "failure": {"message"}, "error": {"message"}}
#: The children of an element, in this order.
CHILDREN = {
    "testsuites": r"(testsuite )*",
    "testsuite": r"properties (testcase )*system-out system-err ",
    "properties": r"(property )+",
    "testcase": r"(skipped |error |failure )?",
}
PATTERNS = {
    "timestamp": r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d",
    "time": r"\d+\.\d+",
    **dict.fromkeys(("tests", "failures", "errors", "skipped", "id"), r"\d+"),
    **dict.fromkeys(("name", "classname", "package", "hostname"), r"\S+( \S+)*"),
}


def check_schema(element: ET.Element) -> None:
    """Checks an element and its children against the schemas of Ant and of Jenkins' xUnit (junit-10)."""
    names, must = set(element.attrib), MUST.get(element.tag, set())
    assert must <= names <= must | MAY.get(element.tag, set()), element.tag
    children = "".join(f"{child.tag} " for child in element)
    assert re.fullmatch(CHILDREN.get(element.tag, ""), children), (element.tag, children)
    if element.tag != "property":
        for name, value in element.attrib.items():
            assert re.fullmatch(PATTERNS.get(name, r"(?s).*"), value), (element.tag, name, value)
    for child in element:
        check_schema(child)


def document(*runs: Run) -> ET.Element:
    return ET.fromstring(junit.render(verdict.analyse_all(runs)))


def outcomes(suite: ET.Element) -> dict[str, str]:
    """Returns the outcome of each test case."""
    return {case.attrib["name"]: case[0].tag if len(case) else "passed" for case in suite.iter("testcase")}


def asserting(*texts: str, **changes: Any) -> Run:
    return recorded.run(**{"blocks": 3, "asserts": list(texts), **changes})


def test_it_is_that_of_the_golden_file() -> None:
    runs = [asserting(HOLDS, BROKEN), recorded.run("pool", blocks=3, planned=4, rejected={2: "steal"})]
    golden_files.check("junit.xml", junit.render(verdict.analyse_all(runs)))


def test_every_kind_of_run_is_valid_by_both_schemas_and_the_same_again() -> None:
    analyses = verdict.analyse_all(list(RUNS.values()))
    text = junit.render(analyses)
    suites = ET.fromstring(text)
    check_schema(suites)
    assert [suite.attrib["id"] for suite in suites] == [str(n) for n in range(len(RUNS))]
    assert text == junit.render(analyses)


def test_an_assertion_passes_or_fails_as_the_call_does() -> None:
    (suite,) = document(asserting(HOLDS, BROKEN))
    assert outcomes(suite) == {
        "validity checks": "passed",
        "outcome capacity(virtual/platform)": "passed",
        "outcome median.full(virtual/platform)": "passed",
        "outcome tail.full(virtual/platform)": "skipped",
        "outcome memory(virtual/platform)": "skipped",
        "outcome probe(virtual/platform)": "skipped",
        f"assert {HOLDS}": "passed",
        f"assert {BROKEN}": "failure",
    }
    assert (suite.attrib["tests"], suite.attrib["failures"], suite.attrib["errors"]) == ("8", "1", "0")
    failure = suite.find("testcase/failure")
    assert failure is not None
    assert failure.attrib["type"] == "AssertionFailed"
    assert re.search(r"does not hold: 2\S* \(95 % interval", failure.attrib["message"])


def test_missing_blocks_are_an_error_and_nothing_is_asserted_of_them() -> None:
    (suite,) = document(asserting(BROKEN, planned=6))
    assert outcomes(suite) == {
        "validity checks": "error",
        "outcome capacity(virtual/platform)": "skipped",
        "outcome median.full(virtual/platform)": "skipped",
        "outcome tail.full(virtual/platform)": "skipped",
        "outcome memory(virtual/platform)": "skipped",
        "outcome probe(virtual/platform)": "skipped",
        f"assert {BROKEN}": "skipped",
    }
    assert (suite.attrib["errors"], suite.attrib["failures"], suite.attrib["skipped"]) == ("1", "0", "6")


def test_undecided_is_skipped_and_failing_passes_unless_something_is_asserted() -> None:
    wide = recorded.with_ratio(recorded.run(), 1.1, 0.15)
    failing = asserting(HOLDS, failing=dict.fromkeys((1, 2, 3), "oom"))
    skipped, failed = document(wide, failing)
    name = "outcome capacity(virtual/platform)"
    assert outcomes(skipped)[name] == "skipped"
    (why,) = (case.findtext("skipped") for case in skipped.iter("testcase") if case.attrib["name"] == name)
    assert re.fullmatch(r"undecided: \S+ % \(.*\)", str(why))
    passed = outcomes(failed)
    assert (passed["validity checks"], passed[name], passed[f"assert {HOLDS}"]) == ("passed", "passed", "failure")
    said = failed.findtext("system-out") or ""
    assert "virtual fails at 20 users" in said
    assert "capacity at 20 users: fails: virtual failed in 3 of 3 blocks" in said


@pytest.mark.parametrize(("ratio", "judgement"), [(2.0, "better"), (1.0, "same"), (0.5, "worse")])
def test_a_settled_outcome_passes_whatever_it_is(ratio: float, judgement: str) -> None:
    (analysis,) = verdict.analyse_all([recorded.with_ratio(recorded.run(), ratio, 0.002)])
    assert [o.judgement for o in analysis.verdict.outcomes if str(o.key) == "capacity"] == [judgement]
    (suite,) = ET.fromstring(junit.render([analysis]))
    assert outcomes(suite)["outcome capacity(virtual/platform)"] == "passed"
    assert (suite.attrib["failures"], suite.attrib["errors"]) == ("0", "0")


def test_a_criterion_without_outcome_is_skipped_with_the_reason() -> None:
    (suite,) = document(asserting())
    why = {case.attrib["name"]: case.findtext("skipped") for case in suite.iter("testcase")}
    assert why["outcome tail.full(virtual/platform)"] == "no outcome: the windows have too few answers for a p90"
    (short,) = document(asserting(planned=6))
    assert {case.findtext("skipped") for case in short.iter("testcase")} == {None, junit.NOT_VALID}


def test_each_of_several_variants_has_its_outcomes_and_its_assertions() -> None:
    other = "capacity(virtual-b/platform) >= 1"
    (suite,) = document(recorded.with_variant(recorded.run(blocks=2, asserts=[HOLDS, other]), "virtual-b"))
    names = ("capacity", "median.full", "tail.full", "memory", "probe")
    assert list(outcomes(suite)) == [
        "validity checks",
        *(f"outcome {name}(virtual/platform)" for name in names),
        *(f"outcome {name}(virtual-b/platform)" for name in names),
        f"assert {HOLDS}",
        f"assert {other}",
    ]


def test_what_others_wrote_stays_xml() -> None:
    reason = f"{NASTY} \x1b[31m\x00 ]]>"
    failures = [Failure(variant="virtual", reason=reason, moment="trial 2")] * 3
    analysis = recorded.changed(
        recorded.analysed(asserting(HOLDS, command=reason)),
        virtual={"failed_blocks": 3, "failures": failures},
    )
    suites = ET.fromstring(junit.render([analysis]))
    check_schema(suites)
    failure = suites.find("testsuite/testcase/failure")
    assert failure is not None
    assert "\ufffd[31m\ufffd ]]>" in failure.attrib["message"]


def test_report_rebuilds_it_byte_for_byte(tmp_path: Path) -> None:
    run = asserting(HOLDS, BROKEN)
    folder = store.create(tmp_path / "run", run.manifest)
    for block in run.blocks:
        store.append_block(folder, block)
    write_files(folder, verdict.analyse_all([store.read(folder)]))
    before = (folder / "junit.xml").read_bytes()
    (folder / "junit.xml").unlink()
    assert call("report", folder).code == 0
    assert (folder / "junit.xml").read_bytes() == before


@pytest.mark.parametrize(("text", "line"), [(HOLDS, "- ✓ threads: {} holds: "), (BROKEN, "- ✗ threads: {} does not")])
def test_the_summary_has_each_assertion_before_the_details(text: str, line: str) -> None:
    summary = markdown.render(verdict.analyse_all([asserting(text)]))
    shown = markdown.escaped(line.format(text))
    assert shown.removeprefix("\\") in summary[: summary.index("## ")]

"""``junit.xml``: a run as a test suite, for what shows test results in a pipeline.

A suite for each run; in it a test case for the validity checks, one for each criterion of each pair of variants and one
for each assertion:

- validity checks: an **error** where blocks are missing, for then there is no verdict (exit code 4);
- criterion, named as assertions name it (``outcome tail.full(virtual/platform)``): **skipped** where it is undecided or
  has no outcome, with the reason, else passed. ``worse`` and ``fails`` pass, too: an outcome is a result, and what a
  pipeline demands of it is an assertion (exit code 0). All are skipped where the run is not valid;
- assertion: a **failure** where it does not hold (exit code 1), skipped where the run is not valid.

The output of the suite has the decision and every outcome in words, with the reason of one that fails.

Written so that both schemas that are in use take it: Ant's (windyroad/JUnit-Schema), and junit-10 of Jenkins' xUnit.
Hence no attributes on ``skipped``, and the output at the end of the suite.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import UTC, datetime
from xml.etree import ElementTree as ET

from vtlab.analysis import asserts
from vtlab.analysis.verdict import split_by_pair
from vtlab.model.run import Analysis, Run
from vtlab.report.words import block_counts, bottlenecks, hints, labels, outcome_rows
from vtlab.report.words.outcome_rows import OutcomeRow
from vtlab.report.words.verdict_lines import verdict_lines

#: Why nothing is said of a run that lacks blocks.
NOT_VALID = "the run is not valid"
#: What XML 1.0 does not allow: a log's last line may have it.
_FORBIDDEN = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def render(analyses: Sequence[Analysis]) -> str:
    """Renders the runs of one report as JUnit XML; the same analyses give the same bytes."""
    suites = ET.Element("testsuites")
    for number, analysis in enumerate(analyses):
        suites.append(_suite(analysis, number))
    ET.indent(suites)
    return '<?xml version="1.0" encoding="UTF-8"?>\n' + ET.tostring(suites, encoding="unicode") + "\n"


def _suite(analysis: Analysis, number: int) -> ET.Element:
    run, pairs = analysis.run, split_by_pair(analysis)
    seconds = _seconds(run)
    cases = [_validity(analysis, seconds)]
    cases += [_outcome(pair, row) for pair in pairs for row in outcome_rows.rows(pair)]
    cases += [case for pair in pairs for case in _assertions(pair)]
    suite = ET.Element("testsuite")
    properties = ET.SubElement(suite, "properties")
    for name, value in _properties(analysis).items():
        ET.SubElement(properties, "property", name=name, value=_clean(value))
    suite.extend(cases)
    ET.SubElement(suite, "system-out").text = _clean("\n".join(line for pair in pairs for line in _in_words(pair)))
    ET.SubElement(suite, "system-err")
    counted = {kind: sum(case.find(kind) is not None for case in cases) for kind in ("failure", "error", "skipped")}
    suite.attrib = {
        "name": run.name,
        "package": "vtlab",
        "id": str(number),
        "timestamp": _timestamp(run.manifest.started),
        "hostname": "localhost",
        "tests": str(len(cases)),
        "failures": str(counted["failure"]),
        "errors": str(counted["error"]),
        "skipped": str(counted["skipped"]),
        "time": seconds,
    }
    return suite


def _properties(analysis: Analysis) -> dict[str, str]:
    m = analysis.run.manifest
    return {"run": m.run_id, "limits": labels.limits(analysis), "command": m.command, "commit": m.commit}


def _validity(analysis: Analysis, seconds: str) -> ET.Element:
    case = _case(analysis, "validity checks", seconds)
    if invalid := block_counts.why_invalid(analysis):
        rejected = (f"block {r.block}, attempt {r.attempt}: {'; '.join(r.reasons)}" for r in analysis.verdict.rejected)
        _add(case, "error", invalid, "\n".join(rejected))
    return case


def _outcome(pair: Analysis, row: OutcomeRow) -> ET.Element:
    outcome = row.outcome
    case = _case(pair, f"outcome {outcome.key}({outcome.of}/{outcome.over})")
    if not pair.verdict.valid:
        ET.SubElement(case, "skipped").text = NOT_VALID
    elif outcome.judgement in (None, "undecided"):
        why = outcome.reason or row.change
        ET.SubElement(case, "skipped").text = _clean(f"{row.judgement}: {why}" if why else row.judgement)
    return case


def _assertions(pair: Analysis) -> list[ET.Element]:
    cases = []
    for outcome in asserts.judge(pair.run.manifest.asserts, pair.verdict):
        case = _case(pair, f"assert {outcome.text}")
        if not pair.verdict.valid:
            ET.SubElement(case, "skipped").text = NOT_VALID
        elif outcome.broken:
            _add(case, "failure", f"{outcome.text} does not hold: {outcome.broken}", "\n".join(_in_words(pair)))
        cases.append(case)
    return cases


def _case(analysis: Analysis, name: str, seconds: str = "0.000") -> ET.Element:
    # Schemas have a token here: no white space but single spaces.
    return ET.Element("testcase", name=" ".join(_clean(name).split()), classname=analysis.run.name, time=seconds)


def _add(case: ET.Element, kind: str, message: str, details: str) -> None:
    types = {"error": "InvalidRun", "failure": "AssertionFailed"}
    ET.SubElement(case, kind, message=_clean(message), type=types[kind]).text = _clean(details)


def _in_words(pair: Analysis) -> list[str]:
    """Describes the decision and the outcomes as the terminal does."""
    lines = [labels.header(pair)]
    lines += filter(None, [block_counts.why_invalid(pair)])
    lines += [f"{label:<9}{text}" for label, text in verdict_lines(pair).labelled]
    if pair.verdict.n:
        lines += [row.in_words for row in outcome_rows.rows(pair)]
        lines += filter(None, [outcome_rows.margins(pair), hints.quick_look(pair)])
        lines += [bottlenecks.line(pair, name) for name in labels.variant_names(pair)]
    return lines


def _seconds(run: Run) -> str:
    """Adds up how long the attempts at its blocks took."""
    return f"{sum(block.seconds or 0.0 for block in run.blocks):.3f}"


def _timestamp(started: str) -> str:
    """Writes the manifest's time in UTC, without the zone, which schemas forbid."""
    try:
        return datetime.fromisoformat(started).astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%S")
    except ValueError:
        return "1970-01-01T00:00:00"


def _clean(text: str) -> str:
    return _FORBIDDEN.sub("\ufffd", text)

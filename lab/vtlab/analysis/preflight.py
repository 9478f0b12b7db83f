"""Judgement of the pre-flight: whether every request is answered as expected, and whether a script asks its variant."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from vtlab.errors import BadInput
from vtlab.model import units
from vtlab.model.experiment import Experiment
from vtlab.model.k6_documents import Answer, VariantPreflight
from vtlab.model.records import ALL_VARIANTS
from vtlab.model.workload import Workload

#: Seconds for k6 to come up and end.
_BESIDE = 90.0
#: In place of an origin where none stands for the variant.
NO_ORIGIN = "none"


@dataclass(frozen=True)
class PreflightResult:
    """Result of a pre-flight."""

    #: In a script, which stands for the variant.
    origin: str | None
    #: What is to be said before a run, and what differs between the variants, in sentences.
    remarks: list[str]
    differences: list[str]


def check(
    workload: Workload,
    bases: Mapping[str, str],
    ask: Callable[[str | None], Mapping[str, VariantPreflight]],
    log: str = "see the service's log in the folder logs/ of the results",
) -> PreflightResult:
    """Judges what comes of ``ask``, which sends each request, or runs each task of a script, once for each variant; of
    a script twice: with the origin that stands for the variant, once that is known. What differs between the variants
    is asked again, and told as far as no variant differs from itself. BadInput where the workload does
    not fit the service. ``log``: says where to see why."""
    first = ask(None)
    if workload.k6 is None:
        differences = check_answers(first, log)
        # One answer may be another each time, also of one variant.
        return PreflightResult(None, [], check_answers(stable(first, ask(None)), log) if differences else [])
    chosen, remarks = find_origin(first, bases, workload.origin)
    findings = ask(chosen)
    script_remarks, differences = check_script(findings, bases)
    if differences:
        script_remarks, differences = check_script(stable(findings, ask(chosen)), bases)
    return PreflightResult(chosen, [*remarks, *script_remarks], differences)


def stable(first: Mapping[str, VariantPreflight], again: Mapping[str, VariantPreflight]) -> dict[str, VariantPreflight]:
    """Returns the findings that were the same both times, of variants that were asked twice: a request that a variant
    answered in two ways is answered alike by all, one that failed once has not failed, and likewise for a script."""
    both = {name: (finding, again[name]) for name, finding in first.items() if name in again}
    positions = range(min((len(finding.answers) for pair in both.values() for finding in pair), default=0))
    unstable = {i for i in positions if any(one.answers[i].shape != two.answers[i].shape for one, two in both.values())}

    def answer(i: int, one: Answer, two: Answer) -> Answer:
        kept = one if two.reason else two
        return kept.model_copy(update={"shape": None}) if i in unstable else kept

    return {
        name: one.model_copy(
            update={
                "answers": [answer(i, one.answers[i], two.answers[i]) for i in positions],
                "error": one.error if two.error else None,
                "checks": min(one.checks, two.checks, key=lambda counts: counts.failed),
            }
        )
        for name, (one, two) in both.items()
    }


def longest_seconds(experiment: Experiment, variants: int) -> float:
    """Computes the longest time that a pre-flight of these variants takes: the service's, and that of k6 to start and
    end."""
    return _BESIDE + 2 * variants * units.seconds(experiment.max_response)


def check_answers(findings: Mapping[str, VariantPreflight], log: str) -> list[str]:
    """Says what differs between the variants, in sentences. BadInput where a request fails on all of them; ``log`` says
    where to see why."""
    remarks = []
    variants = list(findings)
    for position, first in enumerate(findings[variants[0]].answers):
        by_variant = {
            name: finding.answers[position] for name, finding in findings.items() if position < len(finding.answers)
        }
        failing = {name: answer for name, answer in by_variant.items() if answer.reason}
        if len(failing) == len(variants):
            raise BadInput(f"{first.request}: every variant {_reason(first)}", _fix(first, log))
        remarks += [f"{name} {_reason(answer)} to {answer.request}" for name, answer in failing.items()]
        shapes = {json.dumps(answer.shape, sort_keys=True) for answer in by_variant.values() if not answer.reason}
        if len(shapes) > 1:
            remarks.append(f"{ALL_VARIANTS} answer {first.request} differently: {' or '.join(sorted(shapes))}")
    return remarks


def _reason(answer: Answer) -> str:
    match answer.reason:
        case "body":
            return f"answered {answer.status} without the JSON that expect.json requires"
        case "login":
            return (
                f"answered {answer.status} without the value that login captures" if answer.status else "gave no answer"
            )
        case "timeout" | "connection" | "other":
            return "gave no answer"
        case _:
            return f"answered {answer.status}"


def _fix(answer: Answer, log: str) -> str:
    if answer.reason in ("timeout", "connection", "other"):
        return log
    if answer.reason == "body":
        return "correct expect.json of the request"
    if answer.reason == "login":
        return "correct the login: its path, its body, expect.status or capture"
    if answer.status in (301, 302, 303, 307, 308):
        return "use the path that it redirects to, or set expect.status; without a login services redirect, too"
    if answer.status in (401, 403):
        return "add a login, or a header such as Authorization: Bearer {env.TOKEN}"
    if answer.status == 404:
        return "correct the path; it includes the context path, if the service has one (server.servlet.context-path)"
    if answer.status is not None and answer.status >= 500:
        return f"{log}: a setting may be missing, or a service that it calls (env, database)"
    return "correct the path, the body, or expect.status of the request"


def find_origin(
    findings: Mapping[str, VariantPreflight], bases: Mapping[str, str], origin: str | None
) -> tuple[str, list[str]]:
    """Finds the origin in a script that stands for the variant, or ``none``, with remarks about it.

    ``findings`` are of a pre-flight in which every origin was taken for the variant's. ``origin``: what the experiment
    says. BadInput where several could be it.
    """
    others = sorted({name for variant, finding in findings.items() for name in finding.asked if name != bases[variant]})
    asks_base = all(finding.asked.get(bases[variant]) for variant, finding in findings.items())
    if origin:
        other_origins = [name for name in others if name != origin]
        return origin, [_rewritten(origin), *_elsewhere(other_origins)]
    if asks_base or not others:
        return NO_ORIGIN, _elsewhere(others)
    if len(others) > 1:
        raise BadInput(
            f"the script calls {', '.join(others)} and never __ENV.BASE_URL: vtlab does not know which is the service",
            "name the service in origin, or use __ENV.BASE_URL in the script",
        )
    return others[0], [_rewritten(others[0])]


def _rewritten(name: str) -> str:
    return f"the script has the fixed address {name}: vtlab replaces it with that of each variant"


def _elsewhere(origins: Sequence[str]) -> list[str]:
    return [f"the script also calls {', '.join(origins)}, which is the same for every variant"] if origins else []


def check_script(findings: Mapping[str, VariantPreflight], bases: Mapping[str, str]) -> tuple[list[str], list[str]]:
    """Judges one iteration of a script: remarks, and what differs between the variants, in sentences.

    BadInput where it ends with an error for all of them, and where its requests do not come to the variant, and to no
    other.
    """
    errors = {name: finding.error for name, finding in findings.items() if finding.error}
    if len(errors) == len(findings):
        raise BadInput(f"the script throws: {next(iter(errors.values()))}", "correct it: k6 run shows the same error")
    differences = [f"for {name} the script throws: {error}" for name, error in errors.items()]
    remarks = []
    for name, finding in findings.items():
        wrong = [other for other, base in bases.items() if other != name and finding.answered.get(base)]
        if wrong:
            raise BadInput(
                f"the script's requests for {name} reach {wrong[0]}",
                "use __ENV.BASE_URL only",
            )
        if name not in errors and finding.asked and not finding.answered.get(bases[name]):
            raise BadInput(
                f"{name} answered no request of the script, which calls {', '.join(sorted(finding.asked))}",
                "use __ENV.BASE_URL in the script, or name the service's address in origin",
            )
    unproven = [name for name, finding in findings.items() if not finding.asked and name not in errors]
    if unproven:
        remarks.append("the script sends nothing by k6/http, so vtlab could not check that it calls the right variant")
    checks = {name: finding.checks for name, finding in findings.items()}
    failing = [
        f"{counts.failed} of the script's {counts.passed + counts.failed} checks fail for {name}"
        for name, counts in checks.items()
        if counts.failed
    ]
    if len({counts.failed for counts in checks.values()}) > 1:
        differences += failing
    else:
        remarks += failing
    return remarks, differences

"""docs/how-to/ci.md and argo-rollouts.md: their YAML is YAML, and the CLI takes each command of vtlab in them."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from typing import Any

import pytest
import typer
import yaml

from tests.support.versions import REPOSITORY
from vtlab.analysis import asserts
from vtlab.commands import app as cli

HOW_TO = REPOSITORY / "docs" / "how-to"
PAGE = "\n".join((HOW_TO / name).read_text(encoding="utf-8") for name in ("ci.md", "argo-rollouts.md"))


def blocks(language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```$", PAGE, re.M | re.S)


DOCUMENTS = [document for block in blocks("yaml") for document in yaml.safe_load_all(block)]


def of_kind(kind: str) -> Any:
    (document,) = [document for document in DOCUMENTS if document.get("kind") == kind]
    return document


def commands(value: Any) -> Iterator[list[str]]:
    """The words of every command of vtlab: in a line of a script, or as the list of a container's command."""
    if isinstance(value, dict):
        for inner in value.values():
            yield from commands(inner)
    elif isinstance(value, list):
        if value and value[0] == "vtlab":
            yield list(map(str, value))
            return
        for inner in value:
            yield from commands(inner)
    elif isinstance(value, str):
        for line in value.replace("\\\n", " ").splitlines():
            if re.match(r"\S*\bvtlab ", line) and "${{" not in line:
                yield shlex.split(line)


COMMANDS = list(commands([*DOCUMENTS, *blocks("sh")]))


def test_the_page_has_each_command_of_a_pipeline() -> None:
    assert [words[1] for words in COMMANDS] == ["try", "try", "try", "compare", "run", "try"]
    assert {words[0] for words in COMMANDS} == {"vtlab", "vtlab/.venv/bin/vtlab"}


@pytest.mark.parametrize("words", COMMANDS, ids=" ".join)
def test_the_command_line_takes_it(words: list[str]) -> None:
    group: Any = typer.main.get_command(cli.app)
    command = group.commands[words[1]]
    context = command.make_context(words[1], words[2:])
    for text in context.params.get("demand") or []:
        asserts.parse(text)


def test_the_github_workflow_builds_measures_and_keeps_what_failed() -> None:
    (workflow,) = [document for document in DOCUMENTS if "jobs" in document]
    # YAML 1.1 reads the key on as true.
    assert workflow[True] == "pull_request"
    steps = workflow["jobs"]["compare"]["steps"]
    assert all(("uses" in step) != ("run" in step) for step in steps)
    shown = [step for step in steps if step.get("if") == "always()"]
    assert "report.md" in shown[0]["run"]
    assert shown[1]["uses"].startswith("actions/upload-artifact@")


def test_the_gitlab_jobs_show_the_test_results() -> None:
    (pipeline,) = [document for document in DOCUMENTS if ".lab" in document]
    assert pipeline[".lab"]["artifacts"]["reports"] == {"junit": "results/*/junit.xml"}
    jobs = [job for name, job in pipeline.items() if not name.startswith(".")]
    assert all(job["extends"] == ".lab" and job["script"] for job in jobs)


def test_the_gitlab_jobs_show_the_words_of_the_report() -> None:
    """A passed case of GitLab's test report has no words: better and worse look alike."""
    (pipeline,) = [document for document in DOCUMENTS if ".lab" in document]
    lab = pipeline[".lab"]
    # after_script runs after a script that failed, too.
    assert lab["after_script"] == ["cat results/*/report.md | tee report.md"]
    artifacts = lab["artifacts"]
    assert artifacts["when"] == "always"
    assert artifacts["paths"][0] == "report.md"
    assert re.fullmatch(r"[\w -]{1,100}", artifacts["expose_as"])
    # GitLab exposes no path with a pattern or a variable, and no folder without its last slash.
    folders = artifacts["paths"][1:]
    assert all(re.fullmatch(r"[a-z]+/", folder) for folder in folders)


def test_the_analysis_mounts_what_its_job_reads() -> None:
    spec = of_kind("AnalysisTemplate")["spec"]["metrics"][0]["provider"]["job"]["spec"]
    pod = spec["template"]["spec"]
    (container,) = pod["containers"]
    assert spec["backoffLimit"] == 0
    assert pod["restartPolicy"] == "Never"
    assert {mount["name"] for mount in container["volumeMounts"]} == {volume["name"] for volume in pod["volumes"]}
    folders = {mount["name"]: mount["mountPath"] for mount in container["volumeMounts"]}
    assert folders["results"] in container["command"]


def test_the_analysis_may_run_where_restricted_pods_alone_may() -> None:
    """The namespace of the lab enforces that level of the Pod Security Standards."""
    pod = of_kind("AnalysisTemplate")["spec"]["metrics"][0]["provider"]["job"]["spec"]["template"]["spec"]
    (container,) = pod["containers"]
    assert pod["securityContext"]["runAsNonRoot"] is True
    assert pod["securityContext"]["seccompProfile"] == {"type": "RuntimeDefault"}
    assert container["securityContext"] == {
        "allowPrivilegeEscalation": False,
        "readOnlyRootFilesystem": True,
        "capabilities": {"drop": ["ALL"]},
    }


def test_the_build_to_compare_with_is_checked_out_again_by_the_next_job() -> None:
    """Of a checkout that was cleaned, git remembers the work tree: without --force the second job fails."""
    commands = [line.strip(" -") for line in PAGE.splitlines() if "git worktree add" in line]
    assert len(commands) == 2
    assert all(line.startswith("git worktree add --force base ") for line in commands)

"""The workflows of GitHub: actionlint accepts them, what they use is pinned, and they get no rights that they do not
need. None of them was run here (docs/maintainers/workflows.md)."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.support.versions import REPOSITORY

WORKFLOWS = sorted((REPOSITORY / ".github" / "workflows").glob("*.yml"))
#: What a job may have beyond reading the code.
RIGHTS = {
    ("release", "github"): {"contents": "write"},
    ("release", "packages"): {"contents": "write", "packages": "write"},
    ("release", "registry"): {"contents": "read", "packages": "write"},
    ("release", "pypi"): {"contents": "write", "id-token": "write"},
}
PINNED = re.compile(r"^[\w-]+/[\w-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+$")

for_each_workflow = pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.stem)


def read(path: Path) -> Any:
    # BaseLoader: YAML 1.1 takes the key `on` for true.
    return yaml.load(path.read_text(encoding="utf-8"), Loader=yaml.BaseLoader)


def steps_of(path: Path) -> list[Any]:
    return [step for job in read(path)["jobs"].values() for step in job.get("steps", [])]


def is_of_this_commit(use: str) -> bool:
    """Whether it is another workflow of the repository."""
    return use.startswith("./.github/workflows/") and (REPOSITORY / use).is_file()


def lint(path: Path) -> subprocess.CompletedProcess[str]:
    """Without shellcheck and pyflakes, which a machine may have or not."""
    tools = f"{REPOSITORY / '.tools' / 'bin'}{os.pathsep}{os.environ.get('PATH', '')}"
    program = shutil.which("actionlint", path=tools)
    assert program, "actionlint is missing: make setup-test"
    command = [program, "-no-color", "-shellcheck=", "-pyflakes=", path]
    return subprocess.run(command, capture_output=True, text=True, check=False)


@for_each_workflow
def test_actionlint_accepts_it(path: Path) -> None:
    done = lint(path)
    assert (done.returncode, done.stdout) == (0, "")


@pytest.mark.parametrize(
    ("right", "wrong", "message"),
    [
        ("runs-on:", "run-on:", 'unexpected key "run-on"'),
        ("github.ref", "github.reff", 'property "reff" is not defined'),
        ("contents: read", "contents: reed", '"reed" is invalid'),
    ],
)
def test_a_wrong_workflow_is_named(tmp_path: Path, right: str, wrong: str, message: str) -> None:
    text = (REPOSITORY / ".github" / "workflows" / "ci.yml").read_text(encoding="utf-8")
    assert right in text
    copy = tmp_path / "ci.yml"
    copy.write_text(text.replace(right, wrong), encoding="utf-8")
    done = lint(copy)
    assert done.returncode == 1
    assert message in done.stdout


@for_each_workflow
def test_actions_are_pinned_and_keep_no_token(path: Path) -> None:
    uses = re.findall(r"uses: (.+)", path.read_text(encoding="utf-8"))
    assert uses
    assert [use for use in uses if not PINNED.match(use) and not is_of_this_commit(use)] == []
    steps = steps_of(path)
    checkouts = [step for step in steps if step.get("uses", "").startswith("actions/checkout@")]
    assert {step["with"]["persist-credentials"] for step in checkouts} == {"false"}


def test_an_action_has_one_version() -> None:
    named = {use for path in WORKFLOWS for use in re.findall(r"uses: (.+)", path.read_text(encoding="utf-8"))}
    uses = {use for use in named if not is_of_this_commit(use)}
    assert len({use.partition("@")[0] for use in uses}) == len(uses)


@for_each_workflow
def test_a_job_has_the_rights_that_it_needs_and_a_limit_of_time(path: Path) -> None:
    workflow = read(path)
    assert workflow["permissions"] == {"contents": "read"}
    for name, job in workflow["jobs"].items():
        assert job.get("permissions", {}) == RIGHTS.get((path.stem, name), {}), name
        # The jobs of another workflow have limits there.
        assert "uses" in job or int(job["timeout-minutes"]) <= 180


@for_each_workflow
def test_what_it_calls_is_there(path: Path) -> None:
    """Every target of make, and every script of the repository."""
    targets = set(re.findall(r"(?m)^([a-z0-9-]+):", (REPOSITORY / "Makefile").read_text(encoding="utf-8")))
    commands = "\n".join(step.get("run", "") for step in steps_of(path))
    called = set(re.findall(r"\bmake ([a-z0-9-]+)", commands))
    assert called
    assert called <= targets


def test_a_change_is_held_to_what_the_integration_asks_for() -> None:
    """ci.yml leaves out of .ci/run only what takes real load, which nightly.yml has."""
    asked = set(re.findall(r"(?m)^make (\S+)", (REPOSITORY / ".ci" / "run").read_text(encoding="utf-8")))
    assert asked == {"test", "prose", "truth", "e2e"}
    ci, nightly = (
        (REPOSITORY / ".github" / "workflows" / f"{name}.yml").read_text(encoding="utf-8") for name in ("ci", "nightly")
    )
    # make test is unit and contract.
    assert {"prose", "unit", "contract", "e2e"} <= set(re.findall(r"\bmake ([a-z0-9-]+)", ci))
    assert {"truth", "e2e-all"} <= set(re.findall(r"\bmake ([a-z0-9-]+)", nightly))


def test_nothing_is_released_before_the_tests_of_a_change_pass() -> None:
    jobs = read(REPOSITORY / ".github" / "workflows" / "release.yml")["jobs"]
    assert jobs.pop("test") == {"uses": "./.github/workflows/ci.yml"}
    # Each waits for one that waits for the tests, and none goes on after a failure.
    waits = {"github": "test", "packages": "github", "registry": "packages", "pypi": "packages"}
    assert {name: job["needs"] for name, job in jobs.items()} == waits
    assert not [name for name, job in jobs.items() if "if" in job]
    assert "workflow_call" in read(REPOSITORY / ".github" / "workflows" / "ci.yml")["on"]

"""lab/setup: its errors where something is missing, what it skips, and its lock files. A short PATH stands in for a
bare machine."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import time
import tomllib
from pathlib import Path

import pytest

from tests.support.versions import REPOSITORY, VERSIONS

BASICS = ("cat", "dirname", "find", "grep", "head", "id", "mkdir", "rm", "sort", "touch", "uname")
#: Services that tests measure.
FOREIGN = ("lab/tests/foreign/kiosk", "lab/tests/foreign/shop")
INPUTS = (
    "versions.env",
    "lab/setup",
    "lab/requirements.txt",
    "lab/uv.txt",
    "lab/pyproject.toml",
    "agent/pom.xml",
    "app/pom.xml",
    "app/jvm.options",
    *(f"{folder}/pom.xml" for folder in FOREIGN),
)
#: Steps that bring a program, which may be on PATH already.
TOOLS = ("helm", "vale", "actionlint", "browser")
BASH = shutil.which("bash") or "/bin/bash"
BUILT = ("agent", "app", *FOREIGN)
STAMPS = (
    ".venv/.stamp",
    "k6/node_modules/.stamp",
    "app/target/.jmh.stamp",
    *(f"{folder}/target/.stamp" for folder in BUILT),
)


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """Enough of a checkout for lab/setup, with a PATH in bin/ that has nothing but the basics."""
    for name in INPUTS:
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(REPOSITORY / name, tmp_path / name)
    for folder in BUILT:
        (tmp_path / folder / "src/main").mkdir(parents=True)
    (tmp_path / "agent/src/shared-test").mkdir()
    (tmp_path / "k6").mkdir()
    (tmp_path / "k6/package-lock.json").write_text("{}", encoding="utf-8")
    (tmp_path / "bin").mkdir()
    for name in BASICS:
        path = shutil.which(name)
        assert path, name
        (tmp_path / "bin" / name).symlink_to(path)
    return tmp_path


@pytest.mark.parametrize("step", ["everything", "", "say"])
def test_an_unknown_step_is_refused_with_the_known_ones(checkout: Path, step: str) -> None:
    result = setup(checkout, step)
    assert result.returncode == 2
    assert result.stderr.startswith("usage: lab/setup STEP, or java COMMAND...; the steps: vtlab agent app jmh")


def test_make_runs_every_step_that_the_tests_need(checkout: Path) -> None:
    """Each step of the Makefile is one of ``lab/setup``."""
    makefile = (REPOSITORY / "Makefile").read_text(encoding="utf-8")
    (steps,) = re.findall(r"(?m)^STEPS := (.*)$", makefile)
    known = setup(checkout, "").stderr.rpartition("the steps: ")[2].split()
    assert set(steps.split()) == set(known) - {"vtlab", "vale", "wheel", "chart", "lock", "helm3"}


def test_no_uv_and_no_python(checkout: Path) -> None:
    refused(setup(checkout, "vtlab"), "no uv, and no Python 3 with its venv module", "apt-get install python3")


def test_uv_finds_no_python_that_is_new_enough(checkout: Path) -> None:
    program(checkout / "bin/uv", "exit 2")
    refused(setup(checkout, "vtlab"), "no Python 3.11 or newer", "UV_PYTHON=/path/to/python3")


def test_an_environment_that_is_not_complete_is_made_again(checkout: Path) -> None:
    program(checkout / "bin/uv", '[ "$1 $2" != "pip sync" ] && mkdir -p .venv')
    for _ in range(2):
        refused(setup(checkout, "vtlab"), "the locked requirements were not installed", "UV_DEFAULT_INDEX")


def test_the_environment_is_made_once_by_the_locked_requirements_alone(checkout: Path) -> None:
    program(checkout / "bin/uv", 'echo "$*" >>calls; mkdir -p .venv')
    for _ in range(2):
        assert setup(checkout, "vtlab").returncode == 0
    assert (checkout / "calls").read_text(encoding="utf-8").splitlines() == [
        "venv -q --clear --no-python-downloads --python >=3.11 .venv",
        "pip sync -q --python .venv --require-hashes lab/requirements.txt",
        "pip install -q --python .venv --offline --no-deps --no-build-isolation --editable lab",
    ]


def test_no_maven(checkout: Path) -> None:
    finish(checkout)
    (checkout / "app/target/.stamp").unlink()
    refused(setup(checkout, "app"), "no Maven", "apt-get install maven")


@pytest.mark.parametrize(("go", "version"), [("", "none"), ("echo go1.20.14", "1.20")])
def test_no_k6_and_no_go_to_build_it(checkout: Path, go: str, version: str) -> None:
    finish(checkout, tools="3")
    if go:
        program(checkout / "bin/go", go)
    refused(
        setup(checkout, "k6"), f"no k6 that is new enough, and no Go 1.21 to build it (found: {version})", "Go 1.21"
    )


def test_no_go_to_build_the_programs_of_the_wheel(checkout: Path) -> None:
    finish(checkout)
    refused(setup(checkout, "wheel"), "no Go, which builds the k6 and the Prometheus of the wheel", "Go 1.21")


def test_the_wheel_takes_programs_of_the_fixed_versions_and_leaves_none_of_an_older_wheel(checkout: Path) -> None:
    finish(checkout)
    version = VERSIONS["LAB_VERSION"]
    program(checkout / ".tools/bin/k6", f'echo "k6 v{VERSIONS["K6_VERSION"]} (go1.26.8, linux/amd64)"')
    program(checkout / ".tools/bin/prometheus", 'echo "prometheus, version 3.0.0 (branch: , revision: unknown)"')
    program(checkout / "bin/go", '[ "$1" = env ] && echo go1.26.8 || echo "$*" >>calls')
    (checkout / "bin/sed").symlink_to(shutil.which("sed") or "")
    (checkout / "dist").mkdir()
    for name in (f"vtlab-{version}-py3-none-any.whl", "vtlab-0.0.1-py3-none-any.whl"):
        (checkout / "dist" / name).touch()
    result = setup(checkout, "wheel")
    assert result.returncode == 0, result.stderr
    (built,) = (checkout / "calls").read_text(encoding="utf-8").splitlines()
    assert built.startswith("build -C lab/tools/prometheus ")
    assert [path.name for path in (checkout / "dist").iterdir()] == ["vtlab-0.0.1-py3-none-any.whl"]


@pytest.mark.parametrize("on_path", ["", "echo v3.22"])
def test_helm_4_is_built_beside_an_older_one(checkout: Path, on_path: str) -> None:
    finish(checkout)
    program(checkout / "bin/go", '[ "$1" = env ] && echo go1.26.8 || echo "${GOBIN#$PWD/} $*" >>calls')
    if on_path:
        program(checkout / "bin/helm", on_path)
    assert setup(checkout, "helm").returncode == 0
    (checkout / ".tools/helm3/helm").unlink()
    assert setup(checkout, "helm3").returncode == 0
    for built, folder, version in zip(
        (checkout / "calls").read_text(encoding="utf-8").splitlines(),
        (".tools/bin", ".tools/helm3"),
        (VERSIONS["HELM_VERSION"], VERSIONS["HELM3_VERSION"]),
        strict=True,
    ):
        assert built == f"{folder} install -trimpath -ldflags -s -w helm.sh/helm/v{version[0]}/cmd/helm@v{version}"


def test_no_vale_and_no_c_compiler_to_build_it(checkout: Path) -> None:
    refused(setup(checkout, "vale"), "no Vale, and no C compiler (gcc)", "apt-get install gcc")


@pytest.mark.parametrize(
    "step",
    [
        "vtlab",
        "agent",
        "app",
        "jmh",
        "foreign",
        "mariadb",
        "postgres",
        "k6",
        "prometheus",
        "promtool",
        "modules",
        "helm3",
        *TOOLS,
    ],
)
def test_a_step_that_is_done_does_nothing(checkout: Path, step: str) -> None:
    finish(checkout)
    for name in (*TOOLS[1:-1], "chromium"):
        program(checkout / "bin" / name, "exit 1")
    program(checkout / "bin/helm", "echo v4.0.0")
    result = setup(checkout, step)
    assert (result.returncode, result.stdout, result.stderr) == (0, "", "")


def test_a_cache_that_cannot_be_made_ends_the_set_up(checkout: Path) -> None:
    finish(checkout)
    script = '[ "$*" = "-m vtlab.services.aot_cache" ] || exit 0; echo "setup: why" >&2; exit 3'
    program(checkout / ".venv/bin/python", script)
    result = setup(checkout, "app")
    assert (result.returncode, result.stderr) == (3, "setup: why\n")


@pytest.mark.parametrize("file", ["requirements.txt", "runtime.txt", "uv.txt"])
def test_a_lock_file_has_versions_and_hashes_and_no_host(file: str) -> None:
    lines = (REPOSITORY / "lab" / file).read_text(encoding="utf-8").splitlines()
    assert not [line for line in lines if "://" in line or re.match(r"\s*-(?!-hash=sha256:)", line)]
    packages = [number for number, line in enumerate(lines) if re.match(r"\w", line)]
    assert packages
    for number in packages:
        assert re.match(r"[\w.-]+==\S+ (?:; .+ )?\\$", lines[number]), lines[number]
        assert "--hash=sha256:" in lines[number + 1], lines[number]


def test_what_the_package_needs_is_locked() -> None:
    """Also what builds it: it is installed without an index."""
    project = tomllib.loads((REPOSITORY / "lab/pyproject.toml").read_text(encoding="utf-8"))
    needed = {*project["project"]["dependencies"], *project["build-system"]["requires"]}
    for file in ("requirements.in", "requirements.txt"):
        text = (REPOSITORY / "lab" / file).read_text(encoding="utf-8")
        names = set(re.findall(r"(?m)^[\w.-]+", text))
        assert {re.split(r"[<>=]", need)[0] for need in needed} <= names, file


def test_the_image_of_vtlab_has_what_the_package_needs_in_the_locked_versions() -> None:
    versions = [
        dict(re.findall(r"(?m)^([\w.-]+)==(\S+)", (REPOSITORY / "lab" / file).read_text(encoding="utf-8")))
        for file in ("requirements.txt", "runtime.txt")
    ]
    locked, runtime = versions
    project = tomllib.loads((REPOSITORY / "lab/pyproject.toml").read_text(encoding="utf-8"))
    assert {re.split(r"[<>=]", need)[0] for need in project["project"]["dependencies"]} <= runtime.keys()
    assert {name: locked.get(name) for name in runtime} == runtime


def program(path: Path, script: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!{BASH}\n{script}\n", encoding="utf-8")
    path.chmod(0o755)


def finish(checkout: Path, tools: str = "0") -> None:
    """Marks every step as done. ``tools``: the exit code of vtlab where it is asked for k6 and Prometheus."""
    program(checkout / ".venv/bin/python", f'case "$*" in *vtlab.services.aot_cache) exit 0 ;; esac; exit {tools}')
    program(checkout / ".tools/helm3/helm", "exit 1")
    later = time.time() + 60
    for name in STAMPS:
        (checkout / name).parent.mkdir(parents=True, exist_ok=True)
        (checkout / name).touch()
        os.utime(checkout / name, (later, later))


def setup(checkout: Path, step: str) -> subprocess.CompletedProcess[str]:
    environment = {"PATH": str(checkout / "bin"), "HOME": str(checkout)}
    return subprocess.run(
        [BASH, "lab/setup", step], cwd=checkout, env=environment, capture_output=True, text=True, check=False
    )


def refused(result: subprocess.CompletedProcess[str], message: str, fix: str) -> None:
    assert result.returncode == 3, result.stderr
    *_, last, remedy = result.stderr.splitlines()
    assert message in last
    assert remedy.startswith("setup:   fix: ")
    assert fix in remedy

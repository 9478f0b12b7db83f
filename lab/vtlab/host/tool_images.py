"""k6 and Prometheus out of their container images, for a machine with a container engine and neither program.

Once copied, they start like programs on PATH: vtlab must see their processes to watch and end them, which it could not
inside a container.
"""

from __future__ import annotations

import contextlib
import os
import platform
import shutil
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from vtlab.errors import PrerequisiteMissing
from vtlab.host import tools
from vtlab.host.tools import Tool

#: Container engines with the command line of Docker.
ENGINES = ("docker", "podman")
_BY_HAND = "put k6 and Prometheus on PATH: both have archives with a single program"


@dataclass(frozen=True)
class ToolImage:
    """A program and the image that contains it."""

    program: str
    image: str
    path: str


IMAGES = (
    ToolImage("k6", "docker.io/grafana/k6:1.8.1", "/usr/bin/k6"),
    ToolImage("prometheus", "quay.io/prometheus/prometheus:v3.15.0", "/bin/prometheus"),
)


def copy(engine: str, folder: Path) -> list[Tool]:
    """Copies the programs into the folder, with an engine of ``ENGINES``, which pulls the images. A program is replaced
    only by a copy that runs here.

    PrerequisiteMissing on other systems than Linux, and where the engine is missing or fails, or a copy does not run.
    """
    if platform.system() != "Linux":
        raise PrerequisiteMissing(f"the images hold programs for Linux, this is {platform.system()}", _BY_HAND)
    path = shutil.which(engine)
    if path is None:
        raise PrerequisiteMissing(f"{engine} is not on PATH", f"install it, or {_BY_HAND}")
    folder.mkdir(parents=True, exist_ok=True)
    return [_copy_program(path, image, folder) for image in IMAGES]


def _copy_program(engine: str, image: ToolImage, folder: Path) -> Tool:
    # In a separate folder, because ``version_of`` needs the program's own name.
    part = folder / f".{image.program}.part"
    shutil.rmtree(part, ignore_errors=True)
    part.mkdir()
    try:
        with _container(engine, image) as name:
            _run(engine, image, "cp", f"{name}:{image.path}", str(part / image.program))
        (part / image.program).chmod(0o755)
        version = tools.version_of(image.program, part / image.program)
        if version is None:
            problem = f"{image.program} of {image.image} does not run on this {platform.machine()}"
            raise PrerequisiteMissing(problem, _BY_HAND)
        os.replace(part / image.program, folder / image.program)  # noqa: PTH105 (atomic)
    finally:
        shutil.rmtree(part, ignore_errors=True)
    return Tool(folder / image.program, version)


@contextlib.contextmanager
def _container(engine: str, image: ToolImage) -> Iterator[str]:
    """Creates a container of the image that never runs; yields its id. Removes it at the end, with its volumes."""
    # The id is the last line of the engine's output, after the lines of a pull.
    name = _run(engine, image, "create", image.image).split()[-1:]
    if not name:
        raise _failed(engine, image, "create", "its output names no container")
    try:
        yield name[0]
    finally:
        subprocess.run([engine, "rm", "-v", name[0]], capture_output=True, check=False)


def _run(engine: str, image: ToolImage, *words: str) -> str:
    done = subprocess.run([engine, *words], capture_output=True, text=True, check=False)
    if done.returncode:
        raise _failed(engine, image, words[0], " ".join(done.stderr.split())[-400:] or f"exit code {done.returncode}")
    return done.stdout


def _failed(engine: str, image: ToolImage, problem: str, why: str) -> PrerequisiteMissing:
    name = Path(engine).name
    return PrerequisiteMissing(f"{name} {problem} of {image.image}: {why}", f"see the output of {name}, or {_BY_HAND}")

"""Programs out of their images, by an engine that plays Docker: the images are folders."""

from __future__ import annotations

import platform
from pathlib import Path

import pytest

from vtlab.errors import PrerequisiteMissing
from vtlab.host import tool_images
from vtlab.host.tools import Tool

ENGINE = """#!/bin/sh
echo "$@" >> "$ENGINE_ROOT/calls"
case "$1" in
create)
  echo "pulling $2" >&2
  image="$ENGINE_ROOT/$2"
  [ -d "$image" ] || { echo "Cannot connect to the Docker daemon" >&2; exit 125; }
  echo "Trying to pull"
  echo "$image" ;;
cp) cp "${2%%:/*}/${2#*:/}" "$3" ;;
rm) ;;
esac
"""
K6, PROMETHEUS = tool_images.IMAGES


@pytest.fixture
def engine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Its root, with both images."""
    root = tmp_path / "engine"
    for image, says in ((K6, "k6 v1.8.1 (go1.26)"), (PROMETHEUS, "prometheus, version 3.15.0 (branch: )")):
        program(root, image, f"#!/bin/sh\necho '{says}'\n")
    command = tmp_path / "bin" / "docker"
    command.parent.mkdir()
    command.write_text(ENGINE, encoding="utf-8")
    command.chmod(0o755)
    monkeypatch.setenv("PATH", f"{command.parent}:/usr/bin:/bin")
    monkeypatch.setenv("ENGINE_ROOT", str(root))
    return root


def program(root: Path, image: tool_images.ToolImage, text: str) -> None:
    path = root / image.image / image.path.lstrip("/")
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")


def test_both_programs_are_copied_and_no_container_stays(engine: Path, tmp_path: Path) -> None:
    folder = tmp_path / "data" / "bin"
    copies = tool_images.copy("docker", folder)
    assert copies == [Tool(folder / "k6", "1.8.1"), Tool(folder / "prometheus", "3.15.0")]
    calls = (engine / "calls").read_text(encoding="utf-8").splitlines()
    assert [call.split()[0] for call in calls] == ["create", "cp", "rm"] * 2
    assert calls[2].split()[1] == calls[5].split()[1] == "-v", "volumes go, too"
    assert {path.name for path in folder.iterdir()} == {"k6", "prometheus"}


def test_a_program_for_another_machine_replaces_nothing(engine: Path, tmp_path: Path) -> None:
    folder = tmp_path / "bin-of-vtlab"
    tool_images.copy("docker", folder)
    before = (folder / "k6").read_text(encoding="utf-8")
    program(engine, K6, "#!/no/such/interpreter\n")
    with pytest.raises(PrerequisiteMissing, match=rf"k6 of {K6.image} does not run on this {platform.machine()}"):
        tool_images.copy("docker", folder)
    assert (folder / "k6").read_text(encoding="utf-8") == before
    assert {path.name for path in folder.iterdir()} == {"k6", "prometheus"}
    assert (engine / "calls").read_text(encoding="utf-8").splitlines()[-1].startswith("rm ")


def test_what_the_engine_says_is_said(engine: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ENGINE_ROOT", str(engine.parent))
    with pytest.raises(PrerequisiteMissing) as error:
        tool_images.copy("docker", tmp_path / "data")
    assert error.value.message.startswith(f"docker create of {K6.image}: ")
    assert error.value.message.endswith("Cannot connect to the Docker daemon")
    assert error.value.exit_code == 3


def test_an_engine_that_is_missing_is_named(engine: Path, tmp_path: Path) -> None:
    with pytest.raises(PrerequisiteMissing, match="podman is not on PATH"):
        tool_images.copy("podman", tmp_path / "data")


def test_on_a_mac_programs_for_linux_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(platform, "system", lambda: "Darwin")
    with pytest.raises(PrerequisiteMissing, match="programs for Linux, this is Darwin"):
        tool_images.copy("docker", tmp_path / "data")

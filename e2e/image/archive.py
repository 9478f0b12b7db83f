"""An image as an archive on disk: what `docker save` and `e2e/cluster/cluster build` write."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import tarfile
from collections.abc import Iterator
from functools import cached_property
from pathlib import Path, PurePosixPath
from typing import IO, Any

REPOSITORY = Path(__file__).resolve().parents[2]
CLUSTER = REPOSITORY / "e2e" / "cluster"
#: As the embedded cluster knows what `docker build -t virtual-threads-lab:<version>` makes.
NAME = "docker.io/library/virtual-threads-lab"
VERSION = re.findall(r'^appVersion: *"?([^"\n]+)', (REPOSITORY / "helm/Chart.yaml").read_text(encoding="utf-8"), re.M)[
    0
]
#: JDK -> image.
IMAGES = {25: f"{NAME}:{VERSION}", 21: f"{NAME}:{VERSION}-jdk21"}
_WHITEOUT, _OPAQUE = ".wh.", ".wh..wh..opq"


def find(image: str) -> Archive:
    """The archive of an image by its name, or by the file. FileNotFoundError with the command that makes it."""
    path = Path(image)
    if not path.is_file():
        asked = subprocess.run(
            [CLUSTER / "images", "tar", image],
            capture_output=True,
            text=True,
            check=True,
        )
        path = Path(asked.stdout.strip())
    if not path.is_file():
        java = " --build-arg JAVA_VERSION=21" if image.endswith("-jdk21") else ""
        raise FileNotFoundError(
            f"no archive of {image}; make it: e2e/cluster/cluster build{java} -t {image} .\n"
            f"or, with Docker: docker build{java} -t {image} . && docker save -o {path} {image}"
        )
    return Archive(path)


class Archive:
    """A docker-archive: `manifest.json`, the configuration, and a tar for each layer."""

    def __init__(self, path: Path) -> None:
        self.path = path
        (self._manifest,) = self._json("manifest.json")

    @cached_property
    def document(self) -> dict[str, Any]:
        """The image's configuration (OCI image specification)."""
        found: dict[str, Any] = self._json(self._manifest["Config"])
        return found

    @property
    def config(self) -> dict[str, Any]:
        """What a container gets: user, entrypoint, environment, ports, labels."""
        found: dict[str, Any] = self.document["config"]
        return found

    @property
    def environment(self) -> dict[str, str]:
        return dict(pair.split("=", 1) for pair in self.config.get("Env", []))

    def layer_sizes(self) -> list[int]:
        """Uncompressed bytes of each layer, the base's first."""
        return [sum(member.size for member in layer if member.isfile()) for layer in self._layers()]

    @property
    def size(self) -> int:
        """Uncompressed bytes of all layers: what a node's disk holds."""
        return sum(self.layer_sizes())

    @cached_property
    def files(self) -> dict[str, tarfile.TarInfo]:
        """Every path of the root file system, without a leading slash."""
        found: dict[str, tarfile.TarInfo] = {}
        for layer in self._layers():
            for member in layer:
                path = PurePosixPath(member.name)
                if path.name == _OPAQUE:
                    found = {name: one for name, one in found.items() if path.parent not in PurePosixPath(name).parents}
                elif path.name.startswith(_WHITEOUT):
                    gone = path.with_name(path.name.removeprefix(_WHITEOUT))
                    found = {
                        name: one
                        for name, one in found.items()
                        if PurePosixPath(name) != gone and gone not in PurePosixPath(name).parents
                    }
                else:
                    found[str(path)] = member
        return found

    def unpack(self, folder: Path) -> None:
        """Writes the root file system; as root, with its owners."""
        for layer in self._layers():
            for member in layer:
                path = PurePosixPath(member.name)
                place = folder / path.parent
                if path.name == _OPAQUE:
                    for each in place.iterdir():
                        _remove(each)
                elif path.name.startswith(_WHITEOUT):
                    _remove(place / path.name.removeprefix(_WHITEOUT))
                else:
                    if not member.isdir():
                        _remove(folder / path)
                    # Refuses paths and links that lead out of the folder; sets no owner or mode by itself.
                    layer.extract(member, folder, numeric_owner=True, filter=_inside)

    def _json(self, name: str) -> Any:
        with tarfile.open(self.path) as archive, _member(archive, name) as file:
            return json.load(file)

    def _layers(self) -> Iterator[tarfile.TarFile]:
        with tarfile.open(self.path) as archive:
            for name in self._manifest["Layers"]:
                with (
                    _member(archive, name) as file,
                    tarfile.open(fileobj=file) as layer,
                ):
                    yield layer


def _member(archive: tarfile.TarFile, name: str) -> IO[bytes]:
    found = archive.extractfile(name)
    assert found is not None
    return found


def _inside(member: tarfile.TarInfo, folder: str) -> tarfile.TarInfo | None:
    """Device files are left out; everything else stays as it is, absolute links too: the folder becomes a root."""
    if member.isdev() or ".." in PurePosixPath(member.name).parts:
        return None
    return member


def _remove(path: Path) -> None:
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)

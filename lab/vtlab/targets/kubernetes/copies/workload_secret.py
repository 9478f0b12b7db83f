"""A Secret of a workload, which k6 alone reads: rows of data, the login, variables, the user's own script."""

from __future__ import annotations

import base64
import json
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from vtlab.errors import BadInput
from vtlab.host import tools, variables
from vtlab.k6 import call as k6
from vtlab.k6 import user_script
from vtlab.model.experiment import Experiment
from vtlab.targets.kubernetes.api.types import Json

#: Paths in k6's pod.
_FOLDER = Path("/workload")
_PRIVATE = _FOLDER / "private.json"
_SCRIPT = _FOLDER / "script"
#: Bytes that fit into a Secret.
_MOST = 1024 * 1024


@dataclass(frozen=True)
class Files:
    """The files of one workload; none where the experiment contains everything."""

    #: Contents by path in k6's pod.
    contents: Mapping[Path, bytes] = field(default_factory=dict, repr=False)
    #: Remarks on a user's script, in sentences.
    remarks: Sequence[str] = ()

    def start(self, block: str) -> str:
        """Returns the script that k6 starts: a user's, or ``block``."""
        main = _SCRIPT / user_script.START
        return str(main) if main in self.contents else block

    @property
    def variables(self) -> dict[str, str]:
        """Variables by which ``k6/block.ts`` finds the files."""
        return {"PRIVATE": str(_PRIVATE)} if _PRIVATE in self.contents else {}

    def secret(self, metadata: Json) -> Json:
        """Returns the Secret. Equal files of several variants are in it once."""
        data = {key: base64.b64encode(content).decode() for content, key in self._keys().items()}
        return {"apiVersion": "v1", "kind": "Secret", "metadata": metadata, "type": "Opaque", "data": data}

    def mounted(self, secret: str) -> tuple[Json, Json]:
        """Returns the volume of a pod, and its mount in k6's container."""
        keys = self._keys()
        items = [
            {"key": keys[content], "path": path.relative_to(_FOLDER).as_posix()}
            for path, content in self.contents.items()
        ]
        return (
            {"name": "workload", "secret": {"secretName": secret, "items": items}},
            {"name": "workload", "mountPath": str(_FOLDER), "readOnly": True},
        )

    def _keys(self) -> dict[bytes, str]:
        """Returns the key of each content in the Secret."""
        return {content: f"file-{n}" for n, content in enumerate(dict.fromkeys(self.contents.values()))}


def files(experiment: Experiment, lab: Path) -> Files:
    """Returns the files of an experiment's workload. ``lab``: the folder of block.ts in k6's pod.

    BadInput where a file of the workload or a script is invalid, where a variable is not set, and where the files do
    not fit into a Secret. PrerequisiteMissing where a script needs k6 to be read and k6 is not set up.
    """
    workload = experiment.workload
    contents: dict[Path, bytes] = {}
    remarks: Sequence[str] = ()
    if workload.k6 is None:
        private = k6.private_of(workload)
    else:
        with tempfile.TemporaryDirectory() as folder:
            script = user_script.read(tools.find_k6().path, Path(workload.k6), variables.known(), Path(folder))
        private, remarks = k6.environment_of(script.variables), script.remarks
        script_files = user_script.files(script, _SCRIPT, lab, experiment.variants, _PRIVATE if private else None)
        contents.update(script_files)
    if private:
        contents[_PRIVATE] = json.dumps(private).encode()
    size = sum(map(len, set(contents.values())))
    if size > _MOST:
        raise BadInput(
            f"{experiment.name}: the files of the workload for k6 have {size / _MOST:.1f} MiB, but a Secret holds"
            " 1 MiB",
            "use fewer rows of data or a smaller script, or measure with --target local",
        )
    return Files(contents, remarks)

"""The user's own k6 script: what it uses, one copy of it for each variant, and the script that starts them.

``k6/block.ts`` imports one instance of the script's modules for each variant, each with its own ``__ENV.BASE_URL``. So
the script's files are copied into a folder of the run, beside the start script ``main.js``. In the copies
``k6/execution`` is the lab's own module, which counts the user's iterations.
"""

from __future__ import annotations

import json
import re
import subprocess
import tarfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from urllib.parse import urlparse

from vtlab.errors import BadInput

#: Modules that vtlab cannot measure, and why.
_REFUSED = {
    "k6/browser": "the figures would include the work of a browser",
    "k6/websockets": "its iterations end by events",
    "k6/experimental/websockets": "its iterations end by events",
}
#: Modules whose requests do not go through k6/http.
_BYPASSING_HTTP = ("k6/ws", "k6/net/grpc", "k6/experimental/redis")
_CODE = (".js", ".mjs", ".cjs", ".ts", ".json")
_EXECUTION = re.compile(r"""(\bfrom\s*|\bimport\s*|\brequire\(\s*)(['"])k6/execution\2""")
_VARIABLE = re.compile(r"""__ENV\s*(?:\.\s*([A-Za-z_]\w*)|\[\s*['"]([^'"]+)['"]\s*\])""")
_UNPACKED = re.compile(r"\{([^{}]*)\}\s*=\s*__ENV\b")
#: The variable that vtlab sets itself.
BASE_URL = "BASE_URL"


@dataclass(frozen=True)
class Script:
    """A script as k6 reads it."""

    path: Path
    #: k6's own modules that it imports, directly or indirectly.
    modules: list[str]
    #: Its files by path, as k6 names them; ``main`` is the path of the script itself.
    files: Mapping[str, bytes]
    main: str

    @property
    def variables(self) -> list[str]:
        """Environment variables that the script reads by name, without those that vtlab sets."""
        names: set[str] = set()
        for path, content in self.files.items():
            if not path.endswith(_CODE):
                continue
            text = content.decode("utf-8", "replace")
            names |= {first or second for first, second in _VARIABLE.findall(text)}
            for inside in _UNPACKED.findall(text):
                names |= {re.split(r"[:=]", part)[0].strip() for part in inside.split(",")}
        return sorted(names - {BASE_URL, ""})

    @property
    def remarks(self) -> list[str]:
        """Differences from ``k6 run``, in sentences."""
        bypassing = [module for module in self.modules if module in _BYPASSING_HTTP]
        if not bypassing:
            return []
        return [f"requests by {', '.join(bypassing)} go to the address in the script: use __ENV.{BASE_URL} there"]


def read(k6: Path, path: Path, environment: Mapping[str, str], folder: Path) -> Script:
    """Reads a script with everything that it imports and opens. ``environment``: the variables that it may read;
    ``folder``: for temporary files. BadInput where k6 cannot read it, and where it uses a module that vtlab cannot
    measure."""
    # Without a BASE_URL scripts ask an address of their own.
    values = {
        **_without_k6_settings(environment),
        BASE_URL: "http://localhost",
        "K6_AUTO_EXTENSION_RESOLUTION": "false",
    }
    imports = json.loads(_run([str(k6), "deps", "--json", str(path)], path, values))["imports"]
    modules = sorted(name for name in imports if name.startswith("k6"))
    for module, why in _REFUSED.items():
        if module in modules:
            raise BadInput(f"{path} uses {module}: {why}", "load the service by HTTP, with k6/http")
    archive = folder / "script.tar"
    try:
        _run([str(k6), "archive", "--quiet", "-O", str(archive), str(path)], path, values)
        files, main = _unpacked(archive)
    finally:
        archive.unlink(missing_ok=True)
    return Script(path, modules, files, main)


def _without_k6_settings(environment: Mapping[str, str]) -> dict[str, str]:
    """Leaves out k6's own variables, which would change the load."""
    return {name: value for name, value in environment.items() if not name.startswith("K6_")}


def _run(command: Sequence[str], script: Path, environment: Mapping[str, str]) -> str:
    """Runs k6 and returns its output. BadInput, with k6's message, where it fails."""
    done = subprocess.run(command, capture_output=True, text=True, env=dict(environment), cwd=script.parent)
    if done.returncode == 0:
        return done.stdout
    extensions = sorted(set(re.findall(r"k6/x/[\w./-]+", done.stderr)))
    if extensions:
        raise BadInput(
            f"{script} uses {', '.join(extensions)}: an extension, which vtlab's k6 does not have",
            "load the service without it",
        )
    raise BadInput(f"k6 cannot read {script}: {message(done.stderr)}", "correct it: k6 inspect shows the same")


def cannot_run(log: str) -> BadInput:
    """Returns the error of a pre-flight that failed, from k6's output."""
    return BadInput(f"k6 cannot run the workload: {message(log)}", "correct it, and check that the service answers")


def message(log: str) -> str:
    """Extracts the error message from k6's output."""
    messages = re.findall(r'level=error msg="((?:[^"\\]|\\.)*)"', log)
    text = messages[-1] if messages else log.strip()
    return " ".join(text.replace('\\"', '"').replace("\\n", " ").replace("\\t", " ").split())[-600:]


def _unpacked(archive: Path) -> tuple[dict[str, bytes], str]:
    """Reads the local files of a k6 archive by path, and the path of the script itself, stored there as ``data``."""
    with tarfile.open(archive) as tar:

        def content(name: str) -> bytes:
            file = tar.extractfile(name)
            return file.read() if file else b""

        metadata = json.loads(content("metadata.json"))
        main = urlparse(metadata["filename"]).path
        members = [member for member in tar.getmembers() if member.isfile()]
        names = [member.name for member in members if member.name.startswith("file/")]
        files = {name.removeprefix("file"): content(name) for name in names}
        return {**files, main: content("data")}, main


def install(script: Script, folder: Path, lab: Path, variants: Sequence[str], private: Path | None) -> Path:
    """Writes ``files`` into ``folder``. Returns the start script for k6."""
    for path, content in files(script, folder, lab, variants, private).items():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
    return folder / START


def files(script: Script, folder: Path, lab: Path, variants: Sequence[str], private: Path | None) -> dict[Path, bytes]:
    """Returns the files that k6 needs in ``folder``, by path: a copy of the script for each variant, and the start
    script ``main.js``.

    ``lab``: the folder of block.ts. ``private``: a file with the values of the script's variables.
    """
    contents: dict[Path, bytes] = {}
    lines, names = [], []
    for number, variant in enumerate(variants):
        copy = folder / str(number)
        for path, content in script.files.items():
            contents[copy / PurePosixPath(path).relative_to("/")] = _with_own_counters(path, content, lab)
        contents[folder / f"environment-{number}.js"] = _environment(variant, private).encode()
        main = copy / PurePosixPath(script.main).relative_to("/")
        lines.append(f"import './environment-{number}.js';")
        lines.append(f"import * as script{number} from {json.dumps(str(main))};")
        names.append(f"{json.dumps(variant)}: script{number}")
    lines.append(f"import {{ register }} from {json.dumps(str(lab / 'lib' / 'scripts.ts'))};")
    values = f"JSON.parse(open({json.dumps(str(private))})).environment" if private else "{}"
    lines.append(f"register({{ {', '.join(names)} }}, {values});")
    contents[folder / "register.js"] = ("\n".join(lines) + "\n").encode()
    contents[folder / START] = _MAIN.format(block=json.dumps(str(lab / "block.ts"))).encode()
    return contents


#: The script that k6 starts.
START = "main.js"
#: Modules are evaluated in the order of their imports: the user's scripts before block.ts.
_MAIN = """import './register.js';
import * as block from {block};

export const options = block.options;
export const setup = block.setup;
export const teardown = block.teardown;
export const handleSummary = block.handleSummary;
export default block.default;
"""


def _environment(variant: str, private: Path | None) -> str:
    """Returns the module that sets the environment of the instance imported next."""
    lines = [f"const address = JSON.parse(__ENV.TARGETS)[{json.dumps(variant)}];"]
    if private:
        lines.append(f"Object.assign(__ENV, JSON.parse(open({json.dumps(str(private))})).environment);")
    # A variant that has left the block gets no more requests.
    lines.append(f"__ENV.{BASE_URL} = address ?? 'http://127.0.0.1:9';")
    return "\n".join(lines) + "\n"


def _with_own_counters(path: str, content: bytes, lab: Path) -> bytes:
    if not path.endswith(_CODE) or b"k6/execution" not in content:
        return content
    module = str(lab / "lib" / "execution.ts")
    text = content.decode("utf-8", "surrogateescape")
    return _EXECUTION.sub(lambda match: f"{match[1]}{json.dumps(module)}", text).encode("utf-8", "surrogateescape")

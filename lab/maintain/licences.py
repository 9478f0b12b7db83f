"""The licences of the programs in the wheel (``lab/setup wheel``): ``python -m maintain.licences``.

NOTICE names each program with its licence and its source; THIRD-PARTY has the licence texts of every Go module that is
compiled into one of them.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from vtlab import shipped
from vtlab.errors import LabError, PrerequisiteMissing
from vtlab.host.set_up import run_step

FOLDER = Path(".tools", "licences")
NOTICE, THIRD_PARTY = "NOTICE", "THIRD-PARTY"
#: What a file with a licence, or with words that a licence obliges to repeat, is called in a Go module.
FILE = re.compile(r"(licen[cs]e|copying|notice|patents)\b.*", re.I)
#: In place of a text.
NO_FILE = "The module has no file with a licence."


@dataclass(frozen=True)
class Program:
    """A program in the wheel, its licence by SPDX, and the repository of its module."""

    name: str
    licence: str
    source: str


PROGRAMS = (
    Program("k6", "AGPL-3.0-only", "https://github.com/grafana/k6"),
    Program("prometheus", "Apache-2.0", "https://github.com/prometheus/prometheus"),
)


@dataclass(frozen=True, order=True)
class Module:
    """A Go module."""

    path: str
    version: str

    def __str__(self) -> str:
        return f"{self.path} {self.version}"


def modules_of(version_output: str) -> list[Module]:
    """Reads the modules of a program from ``go version -m``, its own first; a replacement in place of the replaced."""
    modules: list[Module] = []
    for line in version_output.splitlines():
        kind, *fields = line.strip().split("\t")
        if kind == "=>":
            modules.pop()
        if kind in ("mod", "dep", "=>"):
            modules.append(Module(fields[0], fields[1]))
    return modules


def notice(programs: Iterable[tuple[Program, Module]]) -> str:
    """Writes where the source of each program is."""
    lines = ["vtlab has the licence Apache-2.0 (LICENSE). Two other programs are in this package:", ""]
    for program, module in programs:
        lines += [
            f"{program.name}: licence {program.licence}, text in {license_file(program)}",
            f"  built without changes from the Go module {module}",
            f"  source: {program.source}/tree/{module.version}",
            "",
        ]
    lines.append(f"{THIRD_PARTY} has the licences of all Go modules that are compiled into them.")
    return "\n".join(lines) + "\n"


def license_file(program: Program) -> str:
    """Returns the name of the file with a program's own licence."""
    return f"LICENSE-{program.name}"


def third_party(texts: Iterable[tuple[str, str]]) -> str:
    """Writes licence texts below the names of those that share them."""
    names: dict[str, list[str]] = {}
    for name, text in texts:
        names.setdefault(text.strip(), []).append(name)
    rule = "=" * 80
    return "\n".join(f"{rule}\n{chr(10).join(sharing)}\n{rule}\n\n{text}\n" for text, sharing in names.items())


def texts_in(folder: Path) -> list[str]:
    """Reads the licence files at the top of a module, in the order of their names; NO_FILE where it has none."""
    files = sorted(path for path in folder.iterdir() if FILE.fullmatch(path.name) and path.is_file())
    return [path.read_text(encoding="utf-8", errors="replace") for path in files] or [NO_FILE]


def write(root: Path = shipped.ROOT) -> Path:
    """Writes the files anew for the programs in ``.tools/bin``; returns their folder. PrerequisiteMissing where Go is
    missing."""
    contained = {
        program: modules_of(_go("version", "-m", str(root / ".tools" / "bin" / program.name))) for program in PROGRAMS
    }
    folders = _folders(sorted({module for modules in contained.values() for module in modules}))
    folders[Module("Go's standard library", _go("env", "GOVERSION").strip())] = Path(_go("env", "GOROOT").strip())
    texts = {module: texts_in(folder) for module, folder in folders.items()}
    target = root / FOLDER
    target.mkdir(parents=True, exist_ok=True)
    main_modules = [(program, modules[0]) for program, modules in contained.items()]
    for program, module in main_modules:
        (target / license_file(program)).write_text("\n".join(texts[module]), encoding="utf-8")
    (target / NOTICE).write_text(notice(main_modules), encoding="utf-8")
    every = ((str(module), text) for module, found in texts.items() for text in found)
    (target / THIRD_PARTY).write_text(third_party(every), encoding="utf-8")
    return target


def _folders(modules: Sequence[Module]) -> dict[Module, Path]:
    """Returns the source folder of each module, which Go downloads where it is missing."""
    output = _go("mod", "download", "-json", *(f"{module.path}@{module.version}" for module in modules))
    decoder = json.JSONDecoder()
    folders = {}
    # A stream of objects.
    while output := output.strip():
        found, end = decoder.raw_decode(output)
        folders[Module(found["Path"], found["Version"])] = Path(found["Dir"])
        output = output[end:]
    return folders


def _go(*arguments: str) -> str:
    """Runs Go in a folder without a module. PrerequisiteMissing where there is no Go, LabError where it fails."""
    try:
        done = subprocess.run(["go", *arguments], capture_output=True, text=True, cwd="/", check=False)
    except OSError as error:
        raise PrerequisiteMissing(f"go does not start: {error}", "install Go 1.21 or newer") from None
    if done.returncode:
        raise LabError(f"go {' '.join(arguments[:2])} failed: {done.stderr.strip()}", "correct what it names")
    return done.stdout


if __name__ == "__main__":
    sys.exit(run_step(write))

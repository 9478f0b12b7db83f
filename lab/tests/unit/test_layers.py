"""The order of vtlab's packages: which may import which. ``python -m tests.unit.test_layers`` prints it."""

from __future__ import annotations

import ast
import graphlib
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

from tests.support.versions import REPOSITORY

VTLAB = REPOSITORY / "lab" / "vtlab"
#: From the bottom to the top. A package imports only what stands on a lower floor.
FLOORS = (
    ("errors", "shipped"),
    ("model",),
    ("catalogue", "host"),
    ("analysis", "dashboards", "services"),
    ("planning", "prometheus", "report"),
    ("k6",),
    ("targets",),
    ("doctor", "measuring"),
    ("runs",),
    ("commands",),
)
FLOOR_OF = {package: number for number, packages in enumerate(FLOORS, 1) for package in packages}


def module_of(path: Path) -> str:
    """The dotted name of a file, below ``vtlab``; a package is named by its ``__init__``."""
    return ".".join(path.relative_to(VTLAB).with_suffix("").parts).removesuffix(".__init__")


MODULES = {module_of(path): path for path in sorted(VTLAB.rglob("*.py")) if path.parent != VTLAB or path.stem[0] != "_"}


def imports_of(path: Path) -> Iterator[str]:
    """Modules of vtlab that a file imports, wherever in it: those for types, too."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        names = []
        if isinstance(node, ast.ImportFrom) and node.module:
            names = [f"{node.module}.{alias.name}" for alias in node.names]
        elif isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        for name in names:
            path_in_vtlab = name.removeprefix("vtlab.") if name.startswith("vtlab.") else ""
            if module := next(
                (known for known in (path_in_vtlab, path_in_vtlab.rpartition(".")[0]) if known in MODULES), None
            ):
                yield module


IMPORTS = {name: sorted(set(imports_of(path)) - {name}) for name, path in MODULES.items()}


def package_of(module: str) -> str:
    return module.partition(".")[0]


def test_every_package_has_its_floor() -> None:
    """Beside ``__init__`` and ``__main__`` nothing else stands at the top of ``vtlab``."""
    top = {path.stem for path in VTLAB.iterdir() if path.suffix == ".py" or any(path.glob("*.py"))}
    assert top - {"__init__", "__main__"} == FLOOR_OF.keys()


def test_a_package_imports_only_lower_floors() -> None:
    wrong = [
        f"{module} imports {imported}"
        for module, imports in IMPORTS.items()
        for imported in imports
        if package_of(module) != package_of(imported) and FLOOR_OF[package_of(module)] <= FLOOR_OF[package_of(imported)]
    ]
    assert wrong == []


def test_a_target_imports_no_other_target() -> None:
    """This machine and a cluster are two rooms."""
    wrong = [
        f"{module} imports {imported}"
        for module, imports in IMPORTS.items()
        for imported in imports
        for one, other in (("targets.local", "targets.kubernetes"), ("targets.kubernetes", "targets.local"))
        if module.startswith(one) and imported.startswith(other)
    ]
    assert wrong == []


def test_no_files_import_each_other_in_a_loop() -> None:
    # static_order raises CycleError, which names the loop.
    assert len(list(graphlib.TopologicalSorter(IMPORTS).static_order())) == len(MODULES)


def test_the_page_for_contributors_shows_the_same_floors() -> None:
    text = (REPOSITORY / "CONTRIBUTING.md").read_text(encoding="utf-8")
    rows = re.findall(r"(?m)^\| (\d+) \| `lab/vtlab/(\w+)(?:\.py|/)` \| .+ \|$", text)
    assert [(int(number), package) for number, package in rows] == [
        (FLOOR_OF[package], package) for packages in FLOORS for package in packages
    ]


if __name__ == "__main__":
    for number, packages in enumerate(FLOORS, 1):
        print(f"{number:2}  {', '.join(packages)}")


def test_the_command_line_starts_without_what_takes_long_to_load() -> None:
    """A first call has no bytecode of any module yet: ``scipy.stats`` alone would take seconds of it."""
    loaded = "import sys, vtlab.commands.app; print('scipy.special' in sys.modules, 'scipy.stats' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", loaded], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["True", "False"]

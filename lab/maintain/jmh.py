"""The JMH benchmark of publication 001 on this machine, under the CPU limit of its experiments (``make jmh``).

``python -m maintain.jmh [OPTION OF JMH...]`` prints JMH's own table; ``lab/setup jmh`` builds the benchmark.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

from vtlab import shipped
from vtlab.errors import LabError, PrerequisiteMissing
from vtlab.host import operating_system, process_ledger, tools
from vtlab.host.process_ledger import Command
from vtlab.host.processes import Process
from vtlab.model import units
from vtlab.model.experiment import Limits
from vtlab.services import sample

#: JMH's table, and all that it prints, in the folder of the call.
TABLE, LOG = "jmh.txt", "jmh.log"
#: The class with the benchmarks.
CLASS = "FanOutBenchmark"
LIMITS = Limits(cpu=1, memory="768Mi", heap="384m")
#: Seconds until a run of the whole benchmark is given up.
GIVEN_UP_AFTER = 1800.0


def run(folder: Path, root: Path, options: Sequence[str]) -> Path:
    """Runs the benchmark in a control group; returns the file with JMH's table. Ends with everything that it began.

    PrerequisiteMissing where it is not built, or nothing here can limit the CPU; LabError when it fails.
    """
    operating_system.refuse_other_than_linux()
    class_path = find_class_path()
    folder.mkdir(parents=True, exist_ok=True)
    table, log = folder / TABLE, folder / LOG
    process_ledger.end_orphans(root)
    with process_ledger.open_exclusive(root) as ledger:
        group = ledger.cgroup(f"jmh-{folder.name}", LIMITS.cpu, units.size(LIMITS.memory))
        # The forks take the flags of their parent.
        words = [str(tools.find_java().path), *sample.jvm_flags(), f"-Xmx{LIMITS.heap}", "-cp", class_path]
        # A failed benchmark must not pass for one that was left out.
        words += ["org.openjdk.jmh.Main", "-foe", "true", "-rf", "text", "-rff", str(table), *options, CLASS]
        _wait_for(ledger.start(Command(words, role="jmh", log=log, environment=tools.clean_environment()), group))
    return table


def find_class_path() -> str:
    """Finds the class path of the benchmark, which is among the sample application's tests; PrerequisiteMissing where
    it is not built."""
    target = shipped.ROOT / "app" / "target"
    classes, libraries = target / "test-classes", target / "jmh.classpath"
    if not libraries.is_file() or not (classes / "META-INF" / "BenchmarkList").is_file():
        raise PrerequisiteMissing(
            f"the JMH benchmark is not built: {libraries} or {classes} lacks it", "lab/setup app && lab/setup jmh"
        )
    return os.pathsep.join([str(classes), str(target / "classes"), libraries.read_text(encoding="utf-8").strip()])


def _wait_for(process: Process) -> None:
    """Waits until JMH ends. LabError when it fails, or takes too long."""
    end = time.monotonic() + GIVEN_UP_AFTER
    while process.exit_description() is None:
        if time.monotonic() > end:
            process.stop(3)
            raise LabError(f"JMH did not end within {GIVEN_UP_AFTER:.0f} s", f"see {process.log}")
        time.sleep(0.2)
    if process.returncode() != 0:
        raise LabError(f"JMH ended with {process.exit_description()}: {process.last_lines()}", f"see {process.log}")


def main(arguments: Sequence[str]) -> int:
    """Runs the benchmark into ``results/`` and prints its table; an error's exit code, with the reason on stderr."""
    root = shipped.ROOT / "results"
    try:
        table = run(root / f"{datetime.now(UTC):%Y%m%dT%H%M%SZ}-jmh", root, arguments)
    except LabError as error:
        print(f"jmh: {error.message}\n  fix: {error.fix}", file=sys.stderr)
        return error.exit_code
    print(table.read_text(encoding="utf-8"), end="")
    print(f"\nits log: {table.with_name(LOG)}", file=sys.stderr)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

"""The JMH benchmark on this machine, under the CPU limit of the experiments."""

from __future__ import annotations

import time
from collections.abc import Sequence
from pathlib import Path

from vtlab import jmh
from vtlab.errors import LabError
from vtlab.host import process_ledger, tools
from vtlab.host.process_ledger import Command
from vtlab.model import units
from vtlab.services import sample


def run(folder: Path, root: Path, options: Sequence[str]) -> Path:
    """Runs the benchmark in a control group; returns the file with JMH's results. Ends with everything that it began.

    PrerequisiteMissing where nothing here can limit the CPU; LabError when the benchmark fails.
    """
    java, class_path = tools.find_java(), sample.find_benchmark()
    folder.mkdir(parents=True, exist_ok=True)
    file, log = folder / jmh.FILE, folder / jmh.LOG
    process_ledger.end_orphans(root)
    with process_ledger.open_exclusive(root) as ledger:
        group = ledger.cgroup(f"jmh-{folder.name}", jmh.LIMITS.cpu, units.size(jmh.LIMITS.memory))
        command = [str(java.path), *sample.jvm_flags(), f"-Xmx{jmh.LIMITS.heap}"]
        # The forks take the flags of their parent. A failed benchmark must not pass for one that was left out.
        command += ["-cp", class_path, "org.openjdk.jmh.Main", "-foe", "true", "-rf", "json", "-rff", str(file)]
        command += [*options, jmh.CLASS]
        process = ledger.start(Command(command, role="jmh", log=log, environment=tools.clean_environment()), group)
        end = time.monotonic() + jmh.GIVEN_UP_AFTER
        while process.exit_description() is None:
            if time.monotonic() > end:
                process.stop(3)
                raise LabError(f"JMH did not end within {jmh.GIVEN_UP_AFTER:.0f} s", f"see {log}")
            time.sleep(0.2)
        if process.returncode() != 0:
            raise LabError(f"JMH ended with {process.exit_description()}: {process.last_lines()}", f"see {log}")
    return file

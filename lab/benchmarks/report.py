"""Speed of ``vtlab report`` on a synthetic run of many blocks, which must give the same bytes each time.

    cd lab && ../.venv/bin/python -m benchmarks.report [BLOCKS]

Exit code 1 when the bytes differ.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
import time
from pathlib import Path

from tests.support import recorded
from vtlab.host import machine
from vtlab.runs import store

FILES = ("report.html", "report.md", "verdict.json")
CALLS = 5
VTLAB = Path(sys.executable).parent / "vtlab"


def main() -> int:
    """Measures, and prints."""
    blocks = int(sys.argv[1]) if len(sys.argv) > 1 else 100
    with tempfile.TemporaryDirectory() as temporary:
        run = recorded.run(blocks=blocks)
        folder = store.create(Path(temporary) / "run", run.manifest)
        for block in run.blocks:
            store.append_block(folder, block)
            store.append_series(folder, block, run.series[block.block, block.attempt])
        durations, contents = [], set()
        for _ in range(CALLS):
            begin = time.monotonic()
            subprocess.run([VTLAB, "report", folder], check=True, stdout=subprocess.DEVNULL)
            durations.append(time.monotonic() - begin)
            contents.add(tuple((folder / name).read_bytes() for name in FILES))
    median = sorted(durations)[CALLS // 2]
    print(f"vtlab report of {blocks} blocks: median {median:.1f} s of {CALLS} calls, longest {max(durations):.1f} s")
    print("the same bytes each time" if len(contents) == 1 else "THE BYTES DIFFER")
    print(", ".join(f"{key} {value}" for key, value in machine.describe().items()))
    return 0 if len(contents) == 1 else 1


if __name__ == "__main__":
    sys.exit(main())

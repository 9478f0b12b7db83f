"""Time to ready of the image under a limit of one CPU: without its ahead-of-time cache, over that with it.

    .venv/bin/python -m e2e.image.ready [IMAGE [STARTS]]

As root: runs the image's own root file system (see container.py). Both start the image's java with the chart's options,
in turn; "without" leaves out only the cache, so it still has the JDK's own archive of classes (-XX:AOTMode=off would
take that away, too, and flatter the cache). Exit code 1 unless the whole interval lies above 1.2, 4 when
the machine was too busy to tell. Needs two cores, one of them idle.
"""

from __future__ import annotations

import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from e2e.image import archive
from e2e.image.container import CPU, Image
from vtlab.analysis import statistics
from vtlab.host import machine
from vtlab.host.processes import Ledger

STARTS = 10
LEAST = 1.2
#: A pair counts only when at least this share of the cores was idle throughout: nothing else held the image back.
IDLE = 0.05
#: Milliseconds: the machine's counters are sampled every quarter of a second.
MARGIN = 300
OPTIONS, CACHE = "@/app/java.options", "app/app.aot"


def main(arguments: Sequence[str]) -> int:
    """Measures, and prints every pair and the interval."""
    name = arguments[0] if arguments else archive.IMAGES[25]
    starts = int(arguments[1]) if len(arguments) > 1 else STARTS
    found = archive.find(name)
    if CACHE not in found.files:
        print(
            f"{name} has no ahead-of-time cache: a JDK before 25 cannot make one",
            file=sys.stderr,
        )
        return 2
    entry = found.config["Entrypoint"]
    entries = {"with": entry, "without": [word for word in entry if word != OPTIONS]}
    assert entries["without"] != entry, f"{OPTIONS} is not in the entrypoint {entry}"
    pairs: list[dict[str, float]] = []
    with (
        tempfile.TemporaryDirectory() as place,
        Ledger(Path(place)) as ledger,
        machine.Sampler() as sampler,
    ):
        image = Image.unpack(found, Path(place), ledger)
        # The first pair only fills the page cache.
        for number in range(2 * starts + 1):
            seconds, idle = {}, 1.0
            for which in sorted(entries, reverse=len(pairs) % 2 == 0):
                begun = round(time.time() * 1000)
                container = image.start(f"{number}-{which}", entry=entries[which])
                seconds[which] = container.await_ready()
                idle = min(
                    idle,
                    sampler.window(begun, round(time.time() * 1000) - MARGIN)["idle_cores"] or 0.0,
                )
                container.stop()
            shown = ", ".join(f"{which} {seconds[which]:.2f} s" for which in entries)
            print(f"{number}: {shown}, at least {idle:.0%} of the cores idle", end="")
            if number == 0:
                print("; does not count, fills the page cache")
            elif idle < IDLE:
                print("; does not count, the machine was busy")
            else:
                pairs.append(seconds)
                print(flush=True)
            if len(pairs) == starts:
                break
    if len(pairs) < starts:
        print(
            f"only {len(pairs)} of {starts} pairs count: something else uses this machine",
            file=sys.stderr,
        )
        return 4
    counted = {which: np.array([pair[which] for pair in pairs]) for which in entries}
    ratio = statistics.estimate(list(np.log(counted["without"]) - np.log(counted["with"])))
    means = ", ".join(f"{which} {np.mean(each):.2f} s" for which, each in counted.items())
    print(f"{name}: time to ready under {CPU:g} CPU, means: {means}")
    width = "no interval" if ratio.low is None else f"95 % interval {ratio.low:.2f} to {ratio.high:.2f}"
    print(f"without / with the cache: {ratio.ratio:.2f}, {width}, n = {ratio.n}")
    megabytes = f"{found.size / 1e6:.0f} MB, of which the cache {found.files[CACHE].size / 1e6:.0f} MB"
    print(f"image, unpacked: {megabytes}; date {time.strftime('%Y-%m-%d', time.gmtime())}")
    print(", ".join(f"{key} {value}" for key, value in machine.describe().items()))
    return 0 if ratio.low is not None and ratio.low > LEAST else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

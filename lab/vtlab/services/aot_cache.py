"""The sample application's ahead-of-time cache, for ``lab/setup``: ``python -m vtlab.services.aot_cache``."""

from __future__ import annotations

import sys

from vtlab.host.set_up import run_step
from vtlab.host.tools import find_java
from vtlab.services import sample

if __name__ == "__main__":
    sys.exit(run_step(lambda: sample.train(find_java(), lambda text: print(f"setup: {text}", flush=True))))

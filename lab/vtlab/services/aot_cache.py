"""The sample application's ahead-of-time cache, for ``lab/setup``: ``python -m vtlab.services.aot_cache``."""

from __future__ import annotations

import sys

from vtlab.errors import LabError
from vtlab.host.tools import find_java
from vtlab.services import sample


def main() -> int:
    """Makes it where there is none for this JDK and jar."""
    try:
        sample.train(find_java(), lambda text: print(f"setup: {text}", flush=True))
    except LabError as error:
        print(f"setup: {error.message}\nsetup:   fix: {error.fix}", file=sys.stderr)
        return error.exit_code
    return 0


if __name__ == "__main__":
    sys.exit(main())

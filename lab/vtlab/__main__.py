"""The entry point: quiet under Ctrl-C even while the rest is still being imported, which takes a second."""

from __future__ import annotations

import signal


def main() -> None:
    """Starts the command line."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    from vtlab.commands.app import main as run

    run()


if __name__ == "__main__":
    main()

"""The variants: ways to run the same image."""

from __future__ import annotations

from typing import Literal

from vtlab.errors import BadInput

#: What handles a request.
Threads = Literal["platform", "virtual", "reactive"]

#: What the lab sets for each kind of threads. One property, nothing else, makes the difference.
ENVIRONMENT: dict[str, dict[str, str]] = {
    "platform": {"SPRING_THREADS_VIRTUAL_ENABLED": "false"},
    "virtual": {"SPRING_THREADS_VIRTUAL_ENABLED": "true"},
    "reactive": {"SPRING_MAIN_WEB_APPLICATION_TYPE": "reactive"},
}


def kind(name: str) -> str:
    """The kind of a variant: its name, without the letter that ``vtlab aa`` adds (``platform-a``)."""
    base, _, letter = name.rpartition("-")
    return base if letter in ("a", "b") and base in ENVIRONMENT else name


def refuse_other_threads(name: str, threads: Threads, pool: float | None) -> None:
    """BadInput when a variant does not run on its kind of threads. ``pool``: the most threads that Tomcat's pool may
    have by its own meter, -1 without a pool, which is under virtual threads; None where there is no Tomcat."""
    without = "reactive" if threads == "reactive" else "unknown"
    runs = without if pool is None else "virtual" if pool < 0 else "platform"
    if runs != threads:
        raise BadInput(
            f"{name}: it runs on {runs} threads, in spite of {' and '.join(ENVIRONMENT[threads])}",
            "remove from the settings what overrides that (SPRING_APPLICATION_JSON)",
        )

"""The variants: ways to run the same image."""

from __future__ import annotations

from collections.abc import Mapping
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
#: Variables of the environment with flags for a JVM. Those of the second are part of the command line, which comes
#: after.
_FLAGS_IN = ("JAVA_TOOL_OPTIONS", "JDK_JAVA_OPTIONS")


def flags_in(environment: Mapping[str, str]) -> list[str]:
    """Returns the flags that a JVM gets by its environment, in the order in which it takes them."""
    return [flag for name in _FLAGS_IN for flag in environment.get(name, "").split()]


def kind(name: str) -> str:
    """Returns the kind of a variant: its name, without the letter that ``vtlab lab aa`` adds (``platform-a``)."""
    base, _, letter = name.rpartition("-")
    return base if letter in ("a", "b") and base in ENVIRONMENT else name


def refuse_other_threads(name: str, threads: Threads, runs: Threads | None) -> None:
    """Raises BadInput when a variant does not run on its kind of threads. ``runs``: those that answer, as the started
    variant tells; None where it does not."""
    if runs == threads:
        return
    expected = " and ".join(f"{key}={value}" for key, value in ENVIRONMENT[threads].items())
    raise BadInput(
        f"{name}: it runs on {runs or 'unknown'} threads, in spite of {expected}",
        "remove what overrides that: in the settings SPRING_APPLICATION_JSON, in the service's code the property itself"
        " or a separate executor for requests",
    )

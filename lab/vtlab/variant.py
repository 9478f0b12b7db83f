"""The variants: ways to run the same image."""

from __future__ import annotations

from vtlab.errors import BadInput

#: What the lab sets for each variant. One property, nothing else, makes the difference.
ENVIRONMENT: dict[str, dict[str, str]] = {
    "platform": {"SPRING_THREADS_VIRTUAL_ENABLED": "false"},
    "virtual": {"SPRING_THREADS_VIRTUAL_ENABLED": "true"},
}


def kind(name: str) -> str:
    """The kind of a variant: its name, without the letter that ``vtlab aa`` adds (``platform-a``)."""
    base, _, letter = name.rpartition("-")
    return base if letter in ("a", "b") and base in ENVIRONMENT else name


def environment(name: str) -> dict[str, str]:
    """The environment that makes this variant. KeyError for an unknown one."""
    return ENVIRONMENT[kind(name)]


def refuse_other_threads(name: str, pool: float | None) -> None:
    """BadInput when a variant does not run on its kind of threads. ``pool``: the most threads that Tomcat's pool may
    have by its own meter, -1 without a pool, which is under virtual threads; None where nobody says."""
    runs = "unknown" if pool is None else "virtual" if pool < 0 else "platform"
    if runs != kind(name):
        raise BadInput(
            f"{name}: it runs on {runs} threads, whatever SPRING_THREADS_VIRTUAL_ENABLED says",
            "remove from the settings what overrides that (SPRING_APPLICATION_JSON)",
        )

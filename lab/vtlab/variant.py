"""The variants: ways to run the same image."""

from __future__ import annotations

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

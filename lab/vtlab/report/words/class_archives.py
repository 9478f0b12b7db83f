"""Whether JVMs take their classes from the archives that they were told of, in words."""

from __future__ import annotations

from vtlab.model.records import Instance


def beside(instance: Instance) -> str:
    """For a list of what a JVM is: ``, classes from app.aot``; empty where it was told of none."""
    archives = instance.class_archives or {}
    used = [name for name, is_used in archives.items() if is_used]
    text = f", classes from {' and '.join(used)}" if used else ""
    return text + "".join(f", {name} not used" for name, is_used in archives.items() if not is_used)


def unused(instance: Instance) -> str | None:
    """A note on archives that the JVM does not use; None where it uses all."""
    names = [name for name, is_used in (instance.class_archives or {}).items() if not is_used]
    if not names:
        return None
    return (
        f"the JVM of {instance.variant} does not use {' and '.join(names)}, and starts the slower for it: its log says"
        " why (a cache made for another JDK or jar, other flags, or an agent); make it anew"
    )

"""Class archives in words: the ones that a JVM uses, and the ones that it could not use."""

from __future__ import annotations

from vtlab.model.records import Instance


def list_suffix(instance: Instance) -> str:
    """Ends a list of a JVM's properties: ``, classes from app.aot``; empty where it has none."""
    archives = instance.class_archives or {}
    used = [name for name, is_used in archives.items() if is_used]
    text = f", classes from {' and '.join(used)}" if used else ""
    return text + "".join(f", {name} not used" for name, is_used in archives.items() if not is_used)


def unused_note(instance: Instance) -> str | None:
    """Notes the archives that the JVM does not use; None where it uses all."""
    names = [name for name, is_used in (instance.class_archives or {}).items() if not is_used]
    if not names:
        return None
    return (
        f"the JVM of {instance.variant} does not use {' and '.join(names)} and starts more slowly: its log says why (a"
        " cache for another JDK or jar, other flags, or an agent); build the cache again"
    )

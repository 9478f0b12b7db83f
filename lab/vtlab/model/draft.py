"""The document of an experiment before it is validated: options of a call are written into it.

It remembers who wrote which key, so that an error names what the user wrote.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from vtlab.errors import BadInput
from vtlab.model import documents
from vtlab.model.load import NONE

#: Keys beside a key whose values hold for its value alone: a file's are left out where an option writes another.
_DERIVED: Mapping[str, Sequence[str]] = {
    "load.full.users": ("round", "service_time"),
    "load.full.think_time": ("round",),
    "load.typical.rate": ("users", "share"),
}


@dataclass(frozen=True)
class Option:
    """An option of a call, and the key that it writes."""

    #: As the user writes it: ``--users``.
    name: str
    #: Key with dots: ``load.full.users``.
    key: str
    #: A list adds to the list of the file; None and an empty list are not written.
    value: Any


class Draft:
    """One document while it is completed."""

    def __init__(self, document: Mapping[str, Any]) -> None:
        self.document: dict[str, Any] = dict(document)
        #: By key, with dots.
        self._authors: dict[str, str] = {}

    def write(self, option: Option) -> None:
        """Writes an option over the document, or adds it to a list. BadInput where the service has no such key."""
        if option.value is None or option.value == []:
            return
        if option.key.startswith("service."):
            self._expand_service(option)
        self._refuse_lone_think_time(option)
        self._add_full_load(option)
        self._forget(option.key)
        *parents, last = option.key.split(".")
        before = _at(self.document, parents).get(last)
        value, places = option.value, [option.key]
        if isinstance(value, list) and isinstance(before, list):
            places = [f"{option.key}.{position}" for position in range(len(before), len(before) + len(value))]
            value = [*before, *value]
        self.document = _with(self.document, [*parents, last], value)
        for place in places:
            self.attribute(place, option.name)

    def attribute(self, key: str, author: str) -> None:
        """Remembers who wrote a key, and those inside it."""
        self._authors[key] = author

    def author_of(self, *keys: str) -> str | None:
        """Returns who wrote the first of these keys, or a key around it, that no file wrote; None where a file wrote
        all."""
        for key in keys:
            while key:
                if author := self._authors.get(key):
                    return author
                key = key.rpartition(".")[0]
        return None

    def _expand_service(self, option: Option) -> None:
        """Expands the path of a jar, so that it can have further keys."""
        service = self.document.get("service")
        if service == "sample":
            raise BadInput(
                f"{option.name} changes the service, and the lab's sample application stays as it is", "leave it out"
            )
        if isinstance(service, str) and not service.endswith(documents.SUFFIXES):
            self.document = {**self.document, "service": {"jar": service}}

    def _refuse_lone_think_time(self, option: Option) -> None:
        """Raises BadInput for a think time where the file has no full load."""
        if option.key == "load.full.think_time" and not self._has_full_load():
            raise BadInput(
                f"{option.name} with the rate in load.typical of the file: an arrival waits for no answer",
                "add --users 200, or leave it out",
            )

    def _add_full_load(self, option: Option) -> None:
        """Writes out the default full load beside a rate, which alone would stand for no full load."""
        if option.key == "load.typical.rate" and self._has_full_load():
            load = _at(self.document, ["load"])
            self.document = _with(self.document, ["load"], {"full": "auto", **load})

    def _has_full_load(self) -> bool:
        """Tells whether the file and the options so far have full load, as ``load.Load`` fills in its defaults."""
        load = _at(self.document, ["load"])
        default = NONE if "rate" in _at(load, ["typical"]) else "auto"
        return bool(load.get("full", default) != NONE)

    def _forget(self, key: str) -> None:
        """Removes what the file derived from its own value of a key."""
        *parents, _ = key.split(".")
        derived = _DERIVED.get(key, ())
        if derived and (before := _at(self.document, parents)):
            kept = {name: value for name, value in before.items() if name not in derived}
            self.document = _with(self.document, parents, kept)


def _at(node: Any, keys: Sequence[str]) -> Mapping[str, Any]:
    """Returns the mapping at that place of a document; an empty one where there is none."""
    for key in keys:
        node = node.get(key) if isinstance(node, Mapping) else None
    return node if isinstance(node, Mapping) else {}


def _with(node: Any, keys: Sequence[str], value: Any) -> dict[str, Any]:
    """Returns a document with a value at that place."""
    key, *inside = keys
    before = node if isinstance(node, Mapping) else {}
    return {**before, key: _with(before.get(key), inside, value) if inside else value}

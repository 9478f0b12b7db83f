"""PromQL queries, put together from named parts.

    $name                    the text of a placeholder, a macro or a metric
    ${name}                  the same, where a letter or a digit follows
    ${name: window=2s; …}    the same, with other values for placeholders in it
    ${$of}                   what the value of the placeholder ``of`` names

The text of a value that the caller gives is final: a ``$`` in it stays (Grafana's ``$__range``). Comments and line
breaks of a query are not sent to Prometheus.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

_REFERENCE = re.compile(r"\$(?:\{(?P<braced>\$?[\w-]+)(?::(?P<arguments>[^}]*))?\}|(?P<plain>[A-Za-z_]\w*))")
_LAYOUT = re.compile(r'(?P<string>"(?:\\.|[^"\\])*")|(?P<space>(?:\s|#[^\n]*)+)')


class QueryError(ValueError):
    """A query that cannot be put together: an unknown name, a cycle, or an argument without a value."""


def render(query: str, definitions: Mapping[str, str], values: Mapping[str, str]) -> str:
    """Renders the query on one line. ``definitions`` are texts that may have references, too. ``values`` of
    placeholders are final, and come before a definition of the same name. Raises QueryError."""
    return one_line(_expand(query, definitions, values, ()))


def one_line(query: str) -> str:
    """Removes comments and line breaks, and spaces just inside parentheses; strings stay as they are."""

    def replacement(match: re.Match[str]) -> str:
        if match["string"]:
            return match["string"]
        before, after = query[: match.start()][-1:], query[match.end() :][:1]
        return "" if before in ("", "(") or after in ("", ")") else " "

    return _LAYOUT.sub(replacement, query)


def _expand(query: str, definitions: Mapping[str, str], values: Mapping[str, str], trail: tuple[str, ...]) -> str:
    def replacement(match: re.Match[str]) -> str:
        name, arguments = match["braced"] or match["plain"], match["arguments"]
        if name.startswith("$"):
            name = _value(name[1:], values, trail)
        if arguments is None and name in values:
            return values[name]
        if name in trail:
            raise QueryError(f"a cycle: {' → '.join((*trail, name))}")
        if name not in definitions:
            raise QueryError(f"${name} has neither a value nor a definition{_in(trail)}")
        inner = dict(values)
        for argument in (arguments or "").split(";") if arguments else ():
            key, equals, text = argument.partition("=")
            if not equals or not text.strip():
                raise QueryError(f"${name}: {argument.strip()!r} is not of the form placeholder=value{_in(trail)}")
            inner[key.strip()] = _expand(text.strip(), definitions, values, trail).strip()
        return _expand(definitions[name], definitions, inner, (*trail, name)).strip()

    return _REFERENCE.sub(replacement, query)


def _value(name: str, values: Mapping[str, str], trail: tuple[str, ...]) -> str:
    if name not in values:
        raise QueryError(f"${name} has no value{_in(trail)}")
    return values[name]


def _in(trail: tuple[str, ...]) -> str:
    return f", in {' → '.join(trail)}" if trail else ""

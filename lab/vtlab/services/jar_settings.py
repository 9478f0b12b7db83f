"""Settings inside a jar: a small reading of ``application.properties`` and ``application.yml``.

Only the default profile's files, and of them what concerns threads and paths: other values may be secrets. Profiles,
imports, placeholders, environment variables and code, which Spring Boot heeds too, are not.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

import yaml

from vtlab.model.inspection import uniform

#: Beginnings of the settings that are kept.
KEPT = (
    "spring.threads.virtual.",
    "spring.main.web-application-type",
    "spring.main.keep-alive",
    "spring.task.",
    "spring.datasource.hikari.maximum-pool-size",
    "server.tomcat.threads.",
    "server.tomcat.max-connections",
    "server.tomcat.accept-count",
    "server.jetty.threads.",
    "server.jetty.max-connections",
    "server.servlet.context-path",
    "management.endpoints.web.base-path",
    "springdoc.api-docs.path",
)


def read(files: Mapping[str, str]) -> dict[str, str]:
    """Reads the settings that are kept of these files, by name. Those in ``config/`` override, and properties override
    YAML: the order of Spring Boot."""
    settings: dict[str, str] = {}
    for name in sorted(files, key=lambda name: (name.startswith("config/"), name.endswith(".properties"))):
        pairs = _properties(files[name]) if name.endswith(".properties") else _yaml(files[name])
        for key, value in pairs:
            if uniform(key).startswith(tuple(map(uniform, KEPT))):
                settings = {
                    other: other_value for other, other_value in settings.items() if uniform(other) != uniform(key)
                }
                settings[key] = value
    return dict(sorted(settings.items()))


def _properties(text: str) -> Iterator[tuple[str, str]]:
    for document in re.split(r"(?m)^[#!]---\s*$", text):
        lines = re.sub(r"\\\r?\n\s*", "", document).splitlines()
        entries = [line.strip() for line in lines if line.strip() and line.strip()[0] not in "#!"]
        pairs = [(match[1].strip(), match[2].strip()) for e in entries if (match := re.match(r"([^=:]+)[=:](.*)", e))]
        if not any(_is_of_a_profile(key) for key, _ in pairs):
            yield from pairs


def _yaml(text: str) -> Iterator[tuple[str, str]]:
    try:
        documents = list(yaml.safe_load_all(text))
    except yaml.YAMLError:
        # Placeholders that Maven filters (@name@) are no YAML: then nothing is known.
        return
    for document in documents:
        pairs = list(_flat(document))
        if not any(_is_of_a_profile(key) for key, _ in pairs):
            yield from pairs


def _flat(node: object, prefix: str = "") -> Iterator[tuple[str, str]]:
    if isinstance(node, dict):
        for key, value in node.items():
            yield from _flat(value, f"{prefix}.{key}" if prefix else str(key))
    elif isinstance(node, bool):
        yield prefix, str(node).lower()
    elif not isinstance(node, list) and node is not None:
        yield prefix, str(node)


def _is_of_a_profile(key: str) -> bool:
    """Tells whether a document with this setting counts under a profile only; ``spring.profiles.active`` chooses
    profiles."""
    return uniform(key).startswith("spring.config.activate.") or uniform(key) == "spring.profiles"

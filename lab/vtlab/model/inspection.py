"""Inspection of a service's jar, before anything is started."""

from __future__ import annotations

import re
from typing import Literal

from pydantic import BaseModel, ConfigDict

#: How the libraries lie: as jars inside the jar, as jars beside it, or as classes inside it.
Packaging = Literal["nested", "war", "extracted", "shaded"]
Server = Literal["tomcat", "jetty"]


class Library(BaseModel):
    """A library of a service; the version is empty where neither its name nor its files tell it."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    #: Empty where the library does not tell it: then the artifact alone names it.
    group: str = ""
    artifact: str
    version: str = ""

    def is_named(self, coordinates: str) -> bool:
        """Tells whether this is the library ``group:artifact``."""
        group, _, artifact = coordinates.partition(":")
        return self.artifact == artifact and self.group in ("", group)


class Inspection(BaseModel):
    """Parts and settings of a service, by its jar alone: no class of it was loaded."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    #: Name of the file.
    jar: str
    packaging: Packaging
    #: Version of Spring Boot; None where the jar does not tell it.
    boot: str | None
    #: The oldest Java release that runs its classes.
    java: int
    #: ``Build-Jdk-Spec`` of the manifest: the JDK that built it.
    built_with: str | None = None
    multi_release: bool = False
    server: Server
    server_version: str = ""
    actuator: bool = False
    libraries: list[Library] = []
    #: Settings that concern threads in the default profile's ``application.properties`` and ``.yml`` inside the jar;
    #: names as Spring Boot writes them. Profiles, imports, environment and code may say otherwise.
    settings: dict[str, str] = {}

    def library(self, coordinates: str) -> Library | None:
        """Returns the library ``group:artifact``; None where the service has none of that name."""
        return next((library for library in self.libraries if library.is_named(coordinates)), None)

    def setting(self, name: str) -> str | None:
        """Returns a setting by its name, however it is spelt in the file: Spring Boot's binding is relaxed."""
        return next((value for key, value in self.settings.items() if uniform(key) == uniform(name)), None)


def uniform(name: str) -> str:
    """Returns a property's name without what relaxed binding ignores: ``server.tomcat.threads.max`` in all
    spellings."""
    return re.sub(r"[-_]", "", name).lower()

"""Jars of services as Spring Boot's plugins pack them, without any class that runs.

service(path)                                        an executable jar, Boot 3.5.0 on Tomcat, for Java 21
service(path, {"com.zaxxer:HikariCP": "7.0.2"})      with a library more
service(path, packaging="extracted")                 a jar with its libraries beside it
service(path, files={"application.yml": "…"})        with settings
"""

from __future__ import annotations

import io
import zipfile
from collections.abc import Mapping
from pathlib import Path

from vtlab.model.inspection import Packaging

TOMCAT = {"org.apache.tomcat.embed:tomcat-embed-core": "10.1.40", "org.springframework:spring-webmvc": "6.2.0"}
JETTY = {"org.eclipse.jetty:jetty-server": "12.0.20", "org.springframework:spring-webmvc": "6.2.0"}
UNDERTOW = {"io.undertow:undertow-core": "2.3.18.Final", "org.springframework:spring-webmvc": "6.2.0"}
WEBFLUX = {"io.projectreactor.netty:reactor-netty-http": "1.2.0", "org.springframework:spring-webflux": "6.2.0"}
#: Where classes and libraries lie in each kind of jar.
_FOLDERS = {"nested": ("BOOT-INF/classes/", "BOOT-INF/lib/"), "war": ("WEB-INF/classes/", "WEB-INF/lib/")}
_MAIN = "shop/ShopApplication"


def archive(path: Path, files: Mapping[str, bytes | str]) -> Path:
    """Writes a jar with these files."""
    with zipfile.ZipFile(path, "w") as written:
        for name, data in files.items():
            written.writestr(name, data)
    return path


def class_file(java: int = 21) -> bytes:
    """Returns the head of a class file for a Java release."""
    return b"\xca\xfe\xba\xbe\x00\x00" + (44 + java).to_bytes(2, "big")


def pom(coordinates: str, version: str) -> tuple[str, str]:
    """Returns the name and the text of a library's ``pom.properties``."""
    group, artifact = coordinates.split(":")
    text = f"#Created by Apache Maven\nartifactId={artifact}\ngroupId={group}\nversion={version}\n"
    return f"META-INF/maven/{group}/{artifact}/pom.properties", text


def library(coordinates: str, version: str, *, with_pom: bool = True) -> bytes:
    """Returns the jar of a library."""
    data = io.BytesIO()
    with zipfile.ZipFile(data, "w") as written:
        written.writestr("META-INF/MANIFEST.MF", "Manifest-Version: 1.0\n")
        if with_pom:
            written.writestr(*pom(coordinates, version))
    return data.getvalue()


def service(
    path: Path,
    libraries: Mapping[str, str] | None = None,
    *,
    boot: str = "3.5.0",
    server: Mapping[str, str] = TOMCAT,
    packaging: Packaging = "nested",
    java: int = 21,
    files: Mapping[str, str] | None = None,
    manifest: Mapping[str, str] | None = None,
) -> Path:
    """Writes the jar of a service, with ``libraries`` (``group:artifact`` -> version) beside Boot and server."""
    classes, lib = _FOLDERS.get(packaging, ("", "lib/"))
    packed = {"org.springframework.boot:spring-boot": boot, **server, **(libraries or {})}
    jars = {
        f"{lib}{coordinates.partition(':')[2]}-{version}.jar": library(coordinates, version)
        for coordinates, version in packed.items()
    }
    attributes = {"Main-Class": _MAIN.replace("/", "."), "Spring-Boot-Version": boot, "Build-Jdk-Spec": "25"}
    content: dict[str, bytes | str] = {f"{classes}{_MAIN}.class": class_file(java)}
    if packaging == "extracted":
        attributes["Class-Path"] = " ".join(jars)
        (path.parent / lib).mkdir(exist_ok=True)
        for name, data in jars.items():
            (path.parent / name).write_bytes(data)
    elif packaging == "shaded":
        content |= dict(pom(coordinates, version) for coordinates, version in packed.items())
    else:
        attributes |= {"Main-Class": "org.springframework.boot.loader.launch.JarLauncher"}
        content |= jars
    content |= {f"{classes}{name}": text for name, text in (files or {}).items()}
    return archive(path, {"META-INF/MANIFEST.MF": _lines({**attributes, **(manifest or {})}), **content})


def _lines(attributes: Mapping[str, str]) -> str:
    """Returns a manifest: lines of at most 72 bytes, continued after a space."""
    lines = ["Manifest-Version: 1.0"]
    for name, value in attributes.items():
        text = f"{name}: {value}"
        lines.append(text[:72])
        lines += [f" {text[start : start + 71]}" for start in range(72, len(text), 71)]
    return "\r\n".join(lines) + "\r\n\r\n"

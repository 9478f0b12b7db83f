"""Reads a service's jar: manifest, libraries and class files, by their bytes alone."""

from __future__ import annotations

import io
import re
import zipfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from vtlab.errors import BadInput
from vtlab.model.inspection import Library, Packaging

_MANIFEST = "META-INF/MANIFEST.MF"
_NAMED = re.compile(r"^(?P<artifact>.+?)-(?P<version>\d[\w.+-]*)$")
_POM = re.compile(r"META-INF/maven/[^/]+/[^/]+/pom\.properties$")
#: The major version of Java 21's class files is 65.
_CLASS_FILES_BEFORE_JAVA_1 = 44
#: The first bytes of programs: ELF, Windows, macOS (two widths, two byte orders).
_PROGRAMS = (b"\x7fELF", b"MZ", b"\xfe\xed\xfa\xce", b"\xfe\xed\xfa\xcf", b"\xce\xfa\xed\xfe", b"\xcf\xfa\xed\xfe")
_EXECUTABLE = (
    "name the executable jar that spring-boot-maven-plugin or bootJar makes: target/NAME.jar, build/libs/NAME.jar"
)


@dataclass(frozen=True)
class Jar:
    """The contents of a jar, as far as an inspection needs them."""

    path: Path
    manifest: Mapping[str, str]
    names: frozenset[str]
    packaging: Packaging
    libraries: list[Library]
    #: The newest class file version among the service's classes, as a Java release; 0 without classes.
    java: int
    #: Files of settings by their names below the classes, in the order of names.
    settings: dict[str, str] = field(default_factory=dict)


def read(path: Path) -> Jar:
    """Reads the jar at ``path``. BadInput where there is none, or where it is not what ``java -jar`` starts."""
    _refuse_no_archive(path)
    try:
        with zipfile.ZipFile(path) as archive:
            return _read(path, archive)
    except (zipfile.BadZipFile, zipfile.LargeZipFile, EOFError, NotImplementedError, OSError) as error:
        raise BadInput(f"{path} is not a jar, or is broken: {error}", "build it again") from None


def _refuse_no_archive(path: Path) -> None:
    if path.is_dir():
        raise BadInput(f"{path} is a directory", "name the jar in it that java -jar starts")
    try:
        with path.open("rb") as file:
            first = file.read(4)
    except FileNotFoundError:
        raise BadInput(f"{path}: file not found", _EXECUTABLE) from None
    except OSError as error:
        raise BadInput(f"cannot read {path}: {error.strerror or error}", "make it readable") from None
    if first.startswith(_PROGRAMS):
        raise BadInput(
            f"{path} is a program of this machine, such as a native image: it has no JVM",
            "name the jar that it was built from: vtlab compares threads of a JVM",
        )


def _read(path: Path, archive: zipfile.ZipFile) -> Jar:
    names = archive.namelist()
    manifest = _attributes(_text(archive, _MANIFEST)) if _MANIFEST in names else {}
    if "Main-Class" not in manifest:
        problem = "war needs a servlet container" if _is_war(names) else "jar is a library, or the plain one"
        raise BadInput(f"{path} has no Main-Class: this {problem}", _EXECUTABLE)
    packaging = _packaging(manifest, names)
    classes = {
        "nested": manifest.get("Spring-Boot-Classes", "BOOT-INF/classes/"),
        "war": manifest.get("Spring-Boot-Classes", "WEB-INF/classes/"),
    }.get(packaging, "")
    settings = {
        name.removeprefix(classes): _text(archive, name)
        for name in sorted(names)
        if re.fullmatch(re.escape(classes) + r"(config/)?application\.(properties|ya?ml)", name)
    }
    return Jar(
        path=path,
        manifest=manifest,
        names=frozenset(names),
        packaging=packaging,
        libraries=sorted(_libraries(path, archive, packaging, manifest), key=lambda library: library.artifact),
        java=_java(archive, names, classes, packaging, manifest),
        settings=settings,
    )


def _packaging(manifest: Mapping[str, str], names: list[str]) -> Packaging:
    if _is_war(names):
        return "war"
    if any(name.startswith(manifest.get("Spring-Boot-Lib", "BOOT-INF/lib/")) for name in names):
        return "nested"
    return "extracted" if manifest.get("Class-Path") else "shaded"


def _is_war(names: list[str]) -> bool:
    return any(name.startswith("WEB-INF/") for name in names)


def _attributes(text: str) -> dict[str, str]:
    """Parses the main section of a manifest; a line that begins with a space continues the one before."""
    section = re.split(r"\n\s*\n", text.replace("\r\n", "\n"))[0].replace("\n ", "")
    pairs = (line.split(": ", 1) for line in section.split("\n") if ": " in line)
    return {name: value.strip() for name, value in pairs}


def _libraries(
    path: Path, archive: zipfile.ZipFile, packaging: Packaging, manifest: Mapping[str, str]
) -> Iterator[Library]:
    if packaging == "shaded":
        for name in archive.namelist():
            if _POM.fullmatch(name):
                yield _of_pom(_text(archive, name))
    elif packaging == "extracted":
        files = [path.parent / entry for entry in manifest["Class-Path"].split() if entry.endswith(".jar")]
        if files and not any(file.is_file() for file in files):
            raise BadInput(f"{path} lacks its libraries: {files[0]} does not exist", "keep its lib folder beside it")
        # The JVM passes over what is missing on a class path.
        for file in filter(Path.is_file, files):
            yield _library(file.name, file.read_bytes())
    else:
        inside = re.compile(r"(WEB-INF/lib(-provided)?|BOOT-INF/lib)/[^/]+\.jar")
        if custom := manifest.get("Spring-Boot-Lib"):
            inside = re.compile(f"({inside.pattern})|({re.escape(custom)}[^/]+\\.jar)")
        for name in archive.namelist():
            if inside.fullmatch(name):
                yield _library(name.rpartition("/")[2], archive.read(name))


def _library(file_name: str, data: bytes) -> Library:
    """Describes a library by the name of its jar; its group and a missing version by what the jar holds.

    A jar may hold the ``pom.properties`` of others, which it shades: only the one of the artifact counts.
    """
    stem = file_name.removesuffix(".jar")
    match = _NAMED.match(stem)
    artifact, version = (match["artifact"], match["version"]) if match else (stem, "")
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as inner:
            poms = [_of_pom(_text(inner, name)) for name in inner.namelist() if _POM.fullmatch(name)]
            manifest = _attributes(_text(inner, _MANIFEST)) if not version and _MANIFEST in inner.namelist() else {}
    except zipfile.BadZipFile:
        poms, manifest = [], {}
    pom = next((pom for pom in poms if pom.artifact == artifact), None)
    by_manifest = manifest.get("Implementation-Version") or manifest.get("Bundle-Version") or ""
    return Library(
        group=pom.group if pom else "",
        artifact=artifact,
        version=version or (pom.version if pom else "") or by_manifest,
    )


def _of_pom(text: str) -> Library:
    values = dict(line.split("=", 1) for line in text.splitlines() if "=" in line and not line.startswith("#"))
    return Library(
        group=values.get("groupId", "").strip(),
        artifact=values.get("artifactId", "").strip(),
        version=values.get("version", "").strip(),
    )


def _java(
    archive: zipfile.ZipFile, names: list[str], classes: str, packaging: Packaging, manifest: Mapping[str, str]
) -> int:
    """Returns the Java release that the service's classes need. Of a shaded jar that of its main class: the others are
    mostly libraries, some of which have classes for newer releases that nobody loads."""
    if packaging == "shaded":
        class_files = [manifest["Main-Class"].replace(".", "/") + ".class"]
    else:
        class_files = [n for n in names if n.startswith(classes) and n.endswith(".class") and "META-INF/" not in n]
    majors = []
    for name in class_files:
        if name in names:
            with archive.open(name) as file:
                head = file.read(8)
            if head.startswith(b"\xca\xfe\xba\xbe"):
                majors.append(int.from_bytes(head[6:8], "big"))
    return max(majors, default=_CLASS_FILES_BEFORE_JAVA_1) - _CLASS_FILES_BEFORE_JAVA_1


def _text(archive: zipfile.ZipFile, name: str) -> str:
    return archive.read(name).decode("utf-8", errors="replace")

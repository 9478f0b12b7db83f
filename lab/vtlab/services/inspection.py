"""The inspection of a service before its start: what its jar holds, and whether vtlab can measure it."""

from __future__ import annotations

from pathlib import Path

from vtlab.errors import BadInput
from vtlab.host.tools import Java
from vtlab.model.inspection import Inspection, Library, Server
from vtlab.model.maven import Version
from vtlab.model.service import Service
from vtlab.services import jar, jar_settings
from vtlab.services.jar import Jar

#: The first Spring Boot with ``spring.threads.virtual.enabled``.
LEAST_BOOT = "3.2"
_SERVERS: dict[str, Server] = {"tomcat-embed-core": "tomcat", "jetty-server": "jetty"}


def inspect(path: Path, java: Java | None = None) -> Inspection:
    """Inspects the jar at ``path`` without starting it.

    ``java``: the JDK that would run it. BadInput, which says what to do, where vtlab cannot measure it: no jar, no
    Spring Boot of at least 3.2, no Tomcat or Jetty, or classes for a newer Java than ``java``.
    """
    read = jar.read(path)
    boot = _boot(read)
    _refuse_old_boot(path, boot)
    settings = jar_settings.read(read.settings)
    server, version = _server(read, settings)
    _refuse_newer_classes(read, java)
    return Inspection(
        jar=path.name,
        packaging=read.packaging,
        boot=boot,
        java=read.java,
        built_with=read.manifest.get("Build-Jdk-Spec"),
        multi_release=read.manifest.get("Multi-Release", "").lower() == "true",
        server=server,
        server_version=version,
        actuator=_has(read, "spring-boot-actuator"),
        libraries=read.libraries,
        settings=settings,
    )


def inspect_if_possible(service: Service) -> Inspection | None:
    """Inspects the service's jar; None for a service without one, or with a jar that vtlab cannot read."""
    if service.jar_path is None:
        return None
    try:
        return inspect(service.jar_path)
    except BadInput:
        return None


def _boot(read: Jar) -> str | None:
    """Finds the version of Spring Boot; None for a shaded jar, which does not tell it. BadInput without Spring Boot."""
    library = _find(read, "spring-boot")
    version = read.manifest.get("Spring-Boot-Version") or (library.version if library else "")
    if version or "org/springframework/boot/SpringApplication.class" in read.names:
        return version or None
    raise BadInput(
        f"{read.path} is not a Spring Boot service: it has no library spring-boot",
        "name a Spring Boot jar: vtlab compares it with and without spring.threads.virtual.enabled",
    )


def _refuse_old_boot(path: Path, boot: str | None) -> None:
    if boot is not None and Version(boot) < Version(LEAST_BOOT):
        raise BadInput(
            f"{path} has Spring Boot {boot}, which cannot use virtual threads",
            f"build it with Spring Boot {LEAST_BOOT} or newer",
        )


def _server(read: Jar, settings: dict[str, str]) -> tuple[Server, str]:
    """Finds the embedded server and its version. BadInput where requests have no thread each, or there is no server."""
    reactive = _has(read, "spring-webflux") and not _has(read, "spring-webmvc", "jersey-container-servlet-core")
    kind = next((v for k, v in settings.items() if k.endswith(("application-type", "applicationType"))), "").lower()
    if kind == "reactive" or (reactive and kind != "servlet"):
        raise BadInput(
            f"{read.path} uses WebFlux: a request has no thread that could be virtual",
            "vtlab compares services on Tomcat or Jetty with Spring MVC or Jersey",
        )
    # Spring Boot takes them in this order where there are several.
    for artifact, server in _SERVERS.items():
        if library := _find(read, artifact):
            return server, library.version
        if _has(read, artifact):
            return server, ""
    if _has(read, "undertow-core"):
        raise BadInput(
            f"{read.path} runs on Undertow, which vtlab does not measure",
            "build it with spring-boot-starter-tomcat or spring-boot-starter-jetty",
        )
    problem = "war has no embedded server" if read.packaging == "war" else "jar has no embedded server"
    raise BadInput(
        f"{read.path}: this {problem} (tomcat-embed-core or jetty-server)",
        "build it with spring-boot-starter-tomcat or spring-boot-starter-jetty; a worker without HTTP has no requests",
    )


def _refuse_newer_classes(read: Jar, java: Java | None) -> None:
    if java is not None and read.java > java.major:
        raise BadInput(
            f"{read.path} needs Java {read.java}, and the JDK here is {java.version} ({java.home})",
            f"install a JDK {read.java} or newer, or name one: VTLAB_JAVA_HOME=/path/to/jdk",
        )


def _find(read: Jar, artifact: str) -> Library | None:
    return next((library for library in read.libraries if library.artifact == artifact), None)


#: A class of what counts, for a shaded jar, which does not name the libraries that were built with Gradle.
_CLASSES = {
    "spring-webflux": "org/springframework/web/reactive/DispatcherHandler.class",
    "spring-webmvc": "org/springframework/web/servlet/DispatcherServlet.class",
    "jersey-container-servlet-core": "org/glassfish/jersey/servlet/ServletContainer.class",
    "tomcat-embed-core": "org/apache/catalina/startup/Tomcat.class",
    "jetty-server": "org/eclipse/jetty/server/Server.class",
    "undertow-core": "io/undertow/Undertow.class",
    "spring-boot-actuator": "org/springframework/boot/actuate/endpoint/annotation/Endpoint.class",
}


def _has(read: Jar, *artifacts: str) -> bool:
    return any(_find(read, artifact) or _CLASSES[artifact] in read.names for artifact in artifacts)

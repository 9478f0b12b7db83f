"""A look into jars: what is read of each kind, and the message for each that vtlab cannot measure."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support import jars
from vtlab.errors import BadInput
from vtlab.host.tools import Java
from vtlab.model.inspection import Inspection, Library, Packaging
from vtlab.services import jar_settings
from vtlab.services.inspection import inspect

HIKARI = {"com.zaxxer:HikariCP": "6.3.0"}


@pytest.mark.parametrize("packaging", ["nested", "war", "extracted", "shaded"])
def test_each_kind_of_jar_tells_the_same(packaging: Packaging, tmp_path: Path) -> None:
    jar = jars.service(
        tmp_path / "shop.jar",
        {**HIKARI, "org.springframework.boot:spring-boot-actuator": "3.5.0"},
        packaging=packaging,
        java=17,
        files={"application.properties": "spring.threads.virtual.enabled=true\nserver.tomcat.threads.max=50\n"},
    )
    seen = inspect(jar)
    assert seen.model_dump(exclude={"libraries"}) == {
        "jar": "shop.jar",
        "packaging": packaging,
        "boot": "3.5.0",
        "java": 17,
        "built_with": "25",
        "multi_release": False,
        "server": "tomcat",
        "server_version": "10.1.40",
        "actuator": True,
        "settings": {"server.tomcat.threads.max": "50", "spring.threads.virtual.enabled": "true"},
    }
    assert seen.library("com.zaxxer:HikariCP") == Library(group="com.zaxxer", artifact="HikariCP", version="6.3.0")
    assert seen.library("other.group:HikariCP") is None


def test_jetty_and_its_version(tmp_path: Path) -> None:
    seen = inspect(jars.service(tmp_path / "shop.jar", server=jars.JETTY))
    assert (seen.server, seen.server_version, seen.actuator) == ("jetty", "12.0.20", False)


def test_a_web_client_beside_spring_mvc_is_no_webflux_service(tmp_path: Path) -> None:
    assert inspect(jars.service(tmp_path / "shop.jar", jars.WEBFLUX)).server == "tomcat"


def test_versions_that_the_name_of_a_library_does_not_tell(tmp_path: Path) -> None:
    named = jars.library("com.zaxxer:HikariCP", "6.3.0")
    jar = jars.archive(
        tmp_path / "shop.jar",
        {
            "META-INF/MANIFEST.MF": "Main-Class: x.Y\nSpring-Boot-Version: 3.5.0\nMulti-Release: true\n",
            "BOOT-INF/lib/HikariCP.jar": named,
            "BOOT-INF/lib/tomcat-embed-core-10.1.40.jar": b"no archive",
            "BOOT-INF/lib/postgresql-42.7.8.jar": jars.library("x:postgresql", "1", with_pom=False),
            "BOOT-INF/lib/all-in-one-2.0.jar": jars.library("com.mysql:mysql-connector-j", "8.0.33"),
        },
    )
    seen = inspect(jar)
    assert seen.library("com.zaxxer:HikariCP") == Library(group="com.zaxxer", artifact="HikariCP", version="6.3.0")
    assert seen.library("org.postgresql:postgresql") == Library(artifact="postgresql", version="42.7.8")
    assert seen.library("com.mysql:mysql-connector-j") is None, "what another library shades is not that library"
    assert seen.multi_release


def test_a_jar_with_a_start_script_before_it_is_read(tmp_path: Path) -> None:
    jar = jars.service(tmp_path / "shop.jar")
    jar.write_bytes(b"#!/bin/bash\nexec java -jar $0\n" + jar.read_bytes())
    assert inspect(jar).boot == "3.5.0"


def test_classes_for_a_newer_java_than_the_jdk_are_refused(tmp_path: Path) -> None:
    jar = jars.service(tmp_path / "shop.jar", java=25)
    java = Java(tmp_path / "bin" / "java", "24.0.2", "a vendor")
    with pytest.raises(BadInput, match=r"needs Java 25, and the JDK here is 24.0.2") as refused:
        inspect(jar, java)
    assert refused.value.fix == "install a JDK 25 or newer, or name one: VTLAB_JAVA_HOME=/path/to/jdk"
    assert inspect(jar, Java(java.path, "25.0.3", "a vendor")).java == 25


def test_old_spring_boot_is_refused_up_to_its_last_version(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match=r"Spring Boot 3\.1\.12, which cannot use virtual threads"):
        inspect(jars.service(tmp_path / "old.jar", boot="3.1.12"))
    assert inspect(jars.service(tmp_path / "new.jar", boot="3.2.0")).boot == "3.2.0"


def refused(path: Path) -> BadInput:
    with pytest.raises(BadInput) as caught:
        inspect(path)
    assert str(path) in caught.value.message
    assert caught.value.fix
    return caught.value


def test_what_has_no_thread_for_each_request_is_refused(tmp_path: Path) -> None:
    cases = {
        "uses WebFlux": jars.service(tmp_path / "flux.jar", server=jars.WEBFLUX),
        "runs on Undertow": jars.service(tmp_path / "undertow.jar", server=jars.UNDERTOW),
        "this jar has no embedded server": jars.service(tmp_path / "worker.jar", server={}),
        "this war has no embedded server": jars.service(tmp_path / "shop.war", server={}, packaging="war"),
    }
    for words, path in cases.items():
        assert words in refused(path).message
    reactive = jars.service(
        tmp_path / "told.jar", files={"application.yml": "spring: {main: {web-application-type: reactive}}"}
    )
    assert "uses WebFlux" in refused(reactive).message
    servlet = {"application.properties": "spring.main.webApplicationType=servlet"}
    both = jars.service(tmp_path / "both.jar", server={**jars.TOMCAT, **jars.WEBFLUX}, files=servlet)
    assert inspect(both).server == "tomcat"


def test_what_is_no_executable_jar_is_refused(tmp_path: Path) -> None:
    def file(name: str, data: bytes) -> Path:
        path = tmp_path / name
        path.write_bytes(data)
        return path

    library = jars.archive(tmp_path / "shop-plain.jar", {"META-INF/MANIFEST.MF": "Manifest-Version: 1.0\n"})
    war = jars.archive(tmp_path / "old.war", {"WEB-INF/web.xml": "<web-app/>"})
    other = jars.archive(tmp_path / "tool.jar", {"META-INF/MANIFEST.MF": "Main-Class: x.Y\n"})
    alone = jars.service(tmp_path / "extracted.jar", packaging="extracted")
    (tmp_path / "lib").rename(tmp_path / "elsewhere")
    whole = jars.service(tmp_path / "whole.jar").read_bytes()
    cases = {
        "file not found": tmp_path / "missing.jar",
        "is a directory": tmp_path,
        "such as a native image": file("shop", b"\x7fELF\x02\x01\x01"),
        "is not a jar, or is broken": file("notes.txt", b"notes"),
        "File is not a zip file": file("cut.jar", whole[:100]),
        "this jar is a library, or the plain one": library,
        "this war needs a servlet container": war,
        "is not a Spring Boot service": other,
        "lacks its libraries": alone,
    }
    for words, path in cases.items():
        assert words in refused(path).message, words


def test_settings_are_those_of_the_default_profile() -> None:
    yml = """
server:
  tomcat:
    threads: {max: 60}
spring.task.execution.pool.max-size: 8
spring: {datasource: {password: secret, hikari: {maximumPoolSize: 20}}}
---
spring.config.activate.on-profile: load
server.tomcat.threads.max: 10
"""
    properties = "# a comment\nserver.tomcat.threads.max = ${MAX:\\\n   70}\n#---\nspring.profiles=x\nspring.task.a=1\n"
    assert jar_settings.read({"application.yml": yml}) == {
        "server.tomcat.threads.max": "60",
        "spring.datasource.hikari.maximumPoolSize": "20",
        "spring.task.execution.pool.max-size": "8",
    }
    both = jar_settings.read({"application.yml": yml, "application.properties": properties})
    assert both["server.tomcat.threads.max"] == "${MAX:70}", "properties override YAML"
    assert "spring.task.a" not in both
    beside = {"application.properties": properties, "config/application.yml": "server.tomcat.threads.max: 80"}
    assert jar_settings.read(beside)["server.tomcat.threads.max"] == "80", "config/ overrides"
    assert jar_settings.read({"application.yml": "a: @filtered@"}) == {}
    chosen = "spring.profiles.active=h2\nserver.servlet.context-path=/petclinic\n"
    assert jar_settings.read({"application.properties": chosen}) == {"server.servlet.context-path": "/petclinic"}
    assert jar_settings.read({"application.yml": "spring.threads.virtual.enabled: on\n"}) == {
        "spring.threads.virtual.enabled": "true"
    }


def test_a_setting_is_known_by_any_of_its_spellings() -> None:
    seen = Inspection(
        jar="a.jar",
        packaging="nested",
        boot=None,
        java=21,
        server="tomcat",
        settings={"server.tomcat.maxConnections": "9"},
    )
    assert seen.setting("server.tomcat.max-connections") == "9"
    assert seen.setting("server.tomcat.threads.max") is None

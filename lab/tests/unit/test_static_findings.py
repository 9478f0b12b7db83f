"""Published problems: each row in a generated jar with those coordinates, and just outside of its ranges."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest

from tests.support import jars
from vtlab.analysis.findings import static
from vtlab.services.inspection import inspect

POSTGRESQL, POOL = "org.postgresql:postgresql", "org.apache.commons:commons-pool2"
KAFKA, GUAVA, HIKARI = "org.springframework.kafka:spring-kafka", "com.google.guava:guava", "com.zaxxer:HikariCP"
MYSQL, OLD_MYSQL = "com.mysql:mysql-connector-j", "mysql:mysql-connector-java"
CAFFEINE = "com.github.ben-manes.caffeine:caffeine"
DATADOG = ("-javaagent:/opt/dd-java-agent.jar", "-XX:AOTCache=app.aot")
PINS = {"inside": ["21", "21.0.8", "23.0.2"], "outside": ["20.0.2", "24", "25.0.3"]}


@dataclass(frozen=True)
class Service:
    """A service, and the JDK and flags that run it."""

    libraries: Mapping[str, str] = field(default_factory=dict)
    java: str = "25.0.3"
    flags: tuple[str, ...] = ()
    #: Of ``jars.service``.
    jar: Mapping[str, Any] = field(default_factory=dict)


def by_version(coordinates: str, inside: list[str], outside: list[str], java: str = "21.0.8") -> Cases:
    return Cases(
        [Service({coordinates: version}, java) for version in inside],
        [Service({coordinates: version}, java) for version in outside],
    )


@dataclass(frozen=True)
class Cases:
    """Services for which a row holds, and services just outside of it."""

    inside: list[Service]
    outside: list[Service]

    def pinning(self) -> Cases:
        """And by JDK, in the first version that is inside."""
        return Cases(
            [*self.inside, *(replace(self.inside[0], java=java) for java in PINS["inside"])],
            [*self.outside, *(replace(self.inside[0], java=java) for java in PINS["outside"])],
        )

    def __add__(self, other: Cases) -> Cases:
        return Cases([*self.inside, *other.inside], [*self.outside, *other.outside])


def with_properties(*lines: str, **jar: Any) -> Service:
    return Service(jar={"files": {"application.properties": "\n".join(lines)}, **jar})


def with_boot(version: str, java: str = "25.0.3", **jar: Any) -> Service:
    return Service(java=java, jar={"boot": version, **jar})


CASES: dict[str, Cases] = {
    "mysql-driver-pins": by_version(MYSQL, ["8.4.0", "8.0.33"], ["9.0.0", "9.4.0"]).pinning()
    + by_version(OLD_MYSQL, ["8.0.33"], ["9.0.0"]),
    "pgjdbc-pins": by_version(POSTGRESQL, ["42.5.4", "42.2.29.jre7"], ["42.6.0", "42.7.13"]).pinning(),
    "pgjdbc-statement-cache-pins": by_version(POSTGRESQL, ["42.7.8"], ["42.7.7", "42.7.9"]).pinning(),
    "commons-pool-pins": by_version(POOL, ["2.5.0", "2.13.1"], ["2.4.3", "2.13.2", "3.0.0"]).pinning(),
    "caffeine-loader-pins": Cases(
        [Service({CAFFEINE: "3.2.0"}, "21.0.8")], [Service({"other:caffeine": "3.2.0"}, "21.0.8")]
    ).pinning(),
    "guava-loader-pins": by_version(GUAVA, ["32.1.3-jre", "32.1.3-android"], ["33.0.0-jre"]).pinning(),
    "spring-kafka-pins": by_version(KAFKA, ["3.1.0", "4.0.0"], ["3.0.17"]).pinning(),
    "hikaricp-spins": by_version(HIKARI, ["5.1.0", "7.0.2"], ["7.1.0"], "25.0.3"),
    "nested-jar-hangs": Cases(
        [with_boot("4.1.0"), with_boot("4.1.2"), with_boot("4.1.0", "25"), with_boot("4.1.0", packaging="war")],
        [
            *(with_boot(version) for version in ("4.0.9", "4.1.0-RC1", "4.1.3")),
            *(with_boot("4.1.0", java) for java in ("24.0.2", "26")),
            with_boot("4.1.0", packaging="extracted"),
        ],
    ),
    "task-pool-ignored": Cases(
        [
            with_properties("spring.task.execution.pool.max-size=8"),
            with_properties("spring.task.scheduling.pool.size=2"),
            with_properties("spring.task.execution.pool.maxSize=8"),
        ],
        [with_properties("spring.task.execution.simple.concurrency-limit=8"), with_properties()],
    ),
    "threads-max-ignored": Cases(
        [with_properties("server.tomcat.threads.max=199"), with_properties("server.tomcat.threads.max=1")],
        [
            with_properties("server.tomcat.threads.max=200"),
            with_properties("server.tomcat.threads.max=${MAX:20}"),
            with_properties("server.tomcat.threads.max=20", server=jars.JETTY),
            with_properties("server.tomcat.threads.min-spare=20"),
        ],
    ),
    "jetty-threads-max-ignored": Cases(
        [
            with_properties("server.jetty.threads.max=50", server=jars.JETTY, boot=boot)
            for boot in ("3.4.11", "3.4.13", "3.5.7", "3.5.10", "4.0.0", "4.0.2")
        ],
        [
            *(
                with_properties("server.jetty.threads.max=50", server=jars.JETTY, boot=boot)
                for boot in ("3.4.10", "3.4.14", "3.5.6", "3.5.11", "4.0.0-RC1", "4.0.3")
            ),
            with_properties("server.jetty.threads.max=50", boot="4.0.0"),
            with_properties("server.jetty.threads.min=50", server=jars.JETTY, boot="4.0.0"),
        ],
    ),
    "trace-pinned-threads-hangs": Cases(
        [Service(java=java, flags=("-Djdk.tracePinnedThreads=full",)) for java in ("21", "21.0.2")],
        [
            *(Service(java=java, flags=("-Djdk.tracePinnedThreads=full",)) for java in ("20.0.2", "21.0.3", "22")),
            Service(java="21.0.2", flags=("-Xmx1g",)),
        ],
    ),
    "blocked-threads-hang": Cases(
        [Service(java=java) for java in ("25", "25.0.3", "26")],
        [Service(java=java) for java in ("24.0.2", "25.0.4", "26.0.1", "21.0.8")],
    ),
    "parked-threads-hang": Cases(
        [Service(java=java) for java in ("25", "25.0.2", "26")],
        [Service(java=java) for java in ("24.0.2", "25.0.3", "26.0.1", "27")],
    ),
    "lock-waiters-hang": Cases(
        # No release is known to have the fix.
        [Service(java=java) for java in ("21", "21.0.8")],
        [Service(java=java) for java in ("20.0.2", "22")],
    ),
    "dd-agent-with-aot-cache": Cases(
        [Service(java="26.0.1", flags=DATADOG)],
        [
            *(Service(java=java, flags=DATADOG) for java in ("25.0.4", "27")),
            *(Service(java="26.0.1", flags=DATADOG[i : i + 1]) for i in (0, 1)),
            # It records a cache, and uses none.
            Service(java="26.0.1", flags=(DATADOG[0], "-XX:AOTCacheOutput=app.aot")),
        ],
    ),
}


def found(service: Service, folder: Path) -> dict[str, str]:
    """The static findings of a service: id -> place."""
    jar = jars.service(folder / "shop.jar", service.libraries, **service.jar)
    return {finding.id: finding.place for finding in static.static_findings(inspect(jar), service.java, service.flags)}


@pytest.mark.parametrize("identifier", CASES)
def test_a_row_holds_inside_its_ranges_and_not_just_outside(identifier: str, tmp_path: Path) -> None:
    cases = CASES[identifier]
    assert [service for service in cases.inside if identifier not in found(service, tmp_path)] == []
    assert [service for service in cases.outside if identifier in found(service, tmp_path)] == []


def test_a_finding_names_version_cure_and_command(tmp_path: Path) -> None:
    jar = jars.service(tmp_path / "shop.jar", {MYSQL: "8.0.33"})
    (finding,) = static.static_findings(inspect(jar), "22.0.1")
    assert (finding.kind, finding.variant) == ("static", None)
    assert (finding.place, finding.amount) == (f"{MYSQL} 8.0.33", "on JDK 22.0.1")
    assert finding.command == "vtlab try shop.jar --variant java=25"
    assert finding.source == "https://github.com/mysql/mysql-connector-j/pull/95"


def test_a_service_without_known_problems_has_no_finding(tmp_path: Path) -> None:
    assert found(Service({HIKARI: "7.1.0", MYSQL: "9.4.0"}, "25.0.4"), tmp_path) == {}


def test_a_jdk_is_checked_whatever_it_runs() -> None:
    (finding,) = static.jdk_findings("25.0.3")
    assert (finding.id, finding.place, finding.amount) == ("blocked-threads-hang", "JDK 25.0.3", "")
    assert static.jdk_findings("25.0.4") == []
    (agent,) = static.jdk_findings("26.0.1", DATADOG)
    assert agent.place == ", ".join(DATADOG)


def test_without_a_jdk_problems_of_any_jdk_are_shown(tmp_path: Path) -> None:
    jar = jars.service(tmp_path / "shop.jar", {MYSQL: "8.0.33"})
    assert [finding.id for finding in static.static_findings(inspect(jar))] == ["mysql-driver-pins"]

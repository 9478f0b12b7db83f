"""The lab's sample application as a service: the one place in vtlab that knows its files, ports and endpoints."""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Callable
from pathlib import Path

from vtlab import shipped
from vtlab.errors import PrerequisiteMissing
from vtlab.host import archives
from vtlab.host.tools import SETUP, Java, Tool, clean_environment
from vtlab.model.experiment import SAMPLE
from vtlab.model.service import Service

NAME = SAMPLE
#: What to do about the lack of it where vtlab is installed.
_ELSEWHERE = "the repository has it: clone it; or name a service of yours: service: app.jar"
JAR = Path("app", "target", "extracted", "app.jar")
#: The class that a training run starts, and the first JDK that makes a cache by one.
_TRAINING_RUN, _MAKES_CACHES = "lab.virtualthreads.TrainingRun", 25


def service() -> Service:
    """Describes the sample application, as built in this checkout."""
    return Service(
        name=NAME,
        jar=str(JAR),
        directory=str(shipped.ROOT.absolute()),
        jvm_flags=jvm_flags(),
        management_port=8081,
        readiness="/actuator/health/readiness",
        metrics="/actuator/prometheus",
        meters=["jvm", "process", "cgroup", "tomcat"],
        companions={
            "database": {
                "SPRING_DATASOURCE_URL": "{url}",
                "SPRING_DATASOURCE_USERNAME": "{user}",
                "SPRING_DATASOURCE_PASSWORD": "{password}",
            },
            "downstream": {"LAB_DOWNSTREAM_URL": "{url}"},
        },
    )


def jvm_flags() -> list[str]:
    """Reads the flags of each of the sample's JVMs, without the heap, which is a limit of the experiment."""
    lines = (shipped.ROOT / "app" / "jvm.options").read_text(encoding="utf-8").splitlines()
    return [line for line in lines if line and not line.startswith("#")]


def find() -> Tool:
    """Finds the sample's extracted jar and its version; PrerequisiteMissing where it is not built."""
    jar = shipped.ROOT / JAR
    if not jar.is_file():
        if not shipped.IS_CHECKOUT:
            raise PrerequisiteMissing("the wheel does not contain the sample application", _ELSEWHERE)
        raise PrerequisiteMissing(f"the app is not built: {jar} does not exist", SETUP)
    pom = shipped.ROOT / "app" / "pom.xml"
    text = pom.read_text(encoding="utf-8", errors="replace") if pom.is_file() else ""
    version = re.search(
        r"<artifactId>[\w-]+</artifactId>\s*<version>([^<$]+)</version>",
        re.sub(r"(?s)<parent>.*?</parent>", "", text),
    )
    return Tool(jar, version[1].strip() if version else "unknown")


def train(java: Java, say: Callable[[str], None]) -> None:
    """Makes the ahead-of-time cache of its jar anew where there is none of this JDK and jar: one for every variant. A
    JDK before 25 makes none. PrerequisiteMissing where it cannot be made, or the application is not built."""
    jar = find().path
    if java.major < _MAKES_CACHES or archives.find(jar, java):
        return
    say("an ahead-of-time cache of the app, by a training run")
    log = shipped.ROOT / "app" / "target" / "training.log"
    made = jar.with_name(f".{os.getpid()}.aot")
    flags = [*jvm_flags(), "-Xmx384m", f"-XX:AOTCacheOutput={made}", "-Xlog:disable", "-Xlog:all=error"]
    try:
        with log.open("wb") as errors:
            done = subprocess.run(
                [java.path, *flags, "-cp", jar, _TRAINING_RUN],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=errors,
                env=clean_environment(),
                check=False,
            )
        if done.returncode or not made.is_file():
            raise PrerequisiteMissing("the training run of the app failed", f"see {log}")
        archives.put(made, jar, java)
    except OSError as error:
        raise PrerequisiteMissing(
            f"no ahead-of-time cache of the app: {error}", f"make {jar.parent} writable"
        ) from None
    finally:
        made.unlink(missing_ok=True)

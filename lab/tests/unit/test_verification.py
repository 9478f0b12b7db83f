"""The one rule on the limits and threads of a variant that has started."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from tests.support import recorded
from vtlab.errors import BadInput, PrerequisiteMissing
from vtlab.host.cgroup_hierarchies import Limit
from vtlab.model import units
from vtlab.model.experiment import Properties
from vtlab.model.service import Meters
from vtlab.targets import verification
from vtlab.targets.verification import Figures, StartedVariant

EXPERIMENT = recorded.experiment()
CPU, MEMORY = EXPERIMENT.limits.cpu, units.size(EXPERIMENT.limits.memory)
FINE = Figures(cpu_limit=CPU, processors=1, tomcat_threads=200, jetty_virtual=None, java="25", gc="Serial")
HELD = Limit(CPU, MEMORY)
ALL: list[Meters] = ["jvm", "process", "cgroup", "tomcat"]


def refuse(figures: Figures, enforced: Limit | None = HELD, meters: list[Meters] = ALL) -> None:
    verification.refuse_other_limits(StartedVariant("platform", EXPERIMENT, meters, figures, enforced), "the fix")


def test_limits_that_hold() -> None:
    refuse(FINE)
    refuse(FINE, None)
    refuse(replace(FINE, cpu_limit=CPU * 1.005), Limit(CPU * 0.995, MEMORY))


@pytest.mark.parametrize(
    ("figures", "enforced", "reason"),
    [
        (FINE, Limit(None, MEMORY), "its control group allows no limit"),
        (FINE, Limit(2 * CPU, MEMORY), "its control group allows 2 cores"),
        (FINE, Limit(CPU, None), "its control group allows unlimited bytes of memory"),
        (replace(FINE, cpu_limit=None), None, "the JVM itself reads no limit"),
        (replace(FINE, processors=2), HELD, "the JVM counts 2 processors, not 1"),
        (replace(FINE, processors=None), HELD, "the JVM counts no processors, not 1"),
    ],
)
def test_a_limit_that_does_not_hold(figures: Figures, enforced: Limit | None, reason: str) -> None:
    with pytest.raises(PrerequisiteMissing, match=f"platform: the CPU limit of 1 does not hold: .*{reason}") as error:
        refuse(figures, enforced)
    assert error.value.fix == "the fix"


def test_a_service_is_not_asked_for_meters_that_it_does_not_have() -> None:
    silent = Figures(None, None, tomcat_threads=None, jetty_virtual=None, java="unknown", gc="unknown")
    refuse(silent, meters=[])
    verification.refuse_other_threads(StartedVariant("platform", EXPERIMENT, [], silent))
    with pytest.raises(PrerequisiteMissing):
        refuse(silent, Limit(None, None), meters=[])


@pytest.mark.parametrize(
    ("variant", "meters", "tomcat", "jetty", "runs"),
    [
        ("platform", "tomcat", 200, None, "platform"),
        ("platform", "tomcat", -1, None, "virtual"),
        ("virtual", "tomcat", -1, None, "virtual"),
        ("virtual", "tomcat", None, None, "unknown"),
        ("platform", "jetty", None, 0, "platform"),
        ("platform", "jetty", None, 1, "virtual"),
        ("virtual", "jetty", None, 1, "virtual"),
        ("virtual", "jetty", None, 0, "platform"),
        ("virtual", "jetty", None, None, "unknown"),
    ],
)
def test_the_threads_of_a_variant(
    variant: str, meters: Meters, tomcat: float | None, jetty: float | None, runs: str
) -> None:
    """Which kind of threads answers is what the started variant tells."""
    figures = replace(FINE, tomcat_threads=tomcat, jetty_virtual=jetty)
    if runs == variant:
        verification.refuse_other_threads(StartedVariant(variant, EXPERIMENT, [meters], figures))
        return
    with pytest.raises(BadInput, match=f"{variant}: it runs on {runs} threads"):
        verification.refuse_other_threads(StartedVariant(variant, EXPERIMENT, [meters], figures))


MIB = 1024**2


@pytest.mark.parametrize(
    ("virtual", "said"),
    [
        ({"gc": "G1"}, "virtual has G1 GC, 1 processors"),
        ({"processors": 2}, "virtual has Serial GC, 2 processors"),
        ({"heap": 230 * MIB}, "platform has Serial GC, 1 processors, a heap of 256 MiB; virtual .* of 230 MiB"),
    ],
)
def test_jvms_that_differ_in_more_than_their_threads_are_refused(virtual: dict[str, Any], said: str) -> None:
    fine = {"gc": "Serial", "processors": 1, "heap": 256 * MIB}
    pair = [recorded.instance("platform", **fine), recorded.instance("virtual", **{**fine, **virtual})]
    with pytest.raises(PrerequisiteMissing, match=said) as error:
        verification.refuse_other_jvms(EXPERIMENT, pair)
    assert "--jvm" in error.value.fix
    # Another JDK, or a flag, may choose otherwise.
    other = EXPERIMENT.model_copy(update={"properties": {"virtual": Properties(threads="virtual", java=21)}})
    verification.refuse_other_jvms(other, pair)


@pytest.mark.parametrize("heap", [None, 250 * MIB, 256 * MIB])
def test_jvms_alike_are_taken(heap: float | None) -> None:
    """A collector may move the borders of its pools, and a service without that meter says nothing."""
    first, second = recorded.instance("platform", heap=256 * MIB), recorded.instance("virtual", heap=heap)
    verification.refuse_other_jvms(EXPERIMENT, [first, second])
    verification.refuse_other_jvms(EXPERIMENT, [first])

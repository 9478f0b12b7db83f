"""The agent's page as vtlab reads it, and errors where there is no agent."""

from __future__ import annotations

import math
import os
from pathlib import Path

import pytest

from vtlab import shipped
from vtlab.errors import LabError, PrerequisiteMissing
from vtlab.host import agent, ports
from vtlab.services import from_jar

PAGE = """\
# TYPE vtlab_agent_cpu_seconds_total counter
vtlab_agent_cpu_seconds_total{{thread="vtlab-agent-sampler"}} {sampler}
vtlab_agent_cpu_seconds_total{{thread="JFR Periodic Tasks"}} 0.5
# TYPE process_cpu_time_ns_total counter
process_cpu_time_ns_total {process}
"""


def test_its_cost_is_its_share_of_the_cpu_time() -> None:
    before, after = PAGE.format(sampler=1.0, process=1.0e10), PAGE.format(sampler=1.25, process=3.5e10)
    assert agent.costs(before, after) == {
        "vtlab-agent-sampler": pytest.approx(0.25 / 25),
        "JFR Periodic Tasks": pytest.approx(0.0),
    }


def test_without_cpu_time_there_is_no_cost() -> None:
    page = PAGE.format(sampler=1.0, process=1.0e10)
    assert all(math.isnan(cost) for cost in agent.costs(page, page).values())
    assert agent.costs("", "") == {}


def test_a_jar_that_is_not_built(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shipped, "ROOT", tmp_path)
    with pytest.raises(PrerequisiteMissing, match="the agent is not built") as caught:
        agent.find()
    assert caught.value.fix == "make setup"


def test_what_is_no_jvm_takes_no_agent() -> None:
    with pytest.raises(LabError, match="did not load the agent: no answer to jcmd"):
        agent.attach(os.getpid(), Path("vtlab-agent.jar"), 1)
    with pytest.raises(LabError, match="did not load the agent: no answer to jcmd"):
        agent.rest(os.getpid(), Path("vtlab-agent.jar"))


def test_a_port_without_an_agent() -> None:
    (port,) = ports.free(1)
    with pytest.raises(LabError, match=f"the agent does not answer on port {port}"):
        agent.page(port)


def test_the_meters_of_a_pool_stay_off_where_spring_opens_it_too_early() -> None:
    register = "SPRING_DATASOURCE_HIKARI_REGISTERMBEANS"
    assert register in agent.environment(1, None, {"SPRING_DATASOURCE_HIKARI_CONNECTIONTIMEOUT": "500"})
    environment = {"SPRING_DATASOURCE_HIKARI_CONNECTION_TIMEOUT": "500"}
    assert agent.environment(1, None, environment) == {agent.PORT: "1", "SERVER_TOMCAT_MBEANREGISTRY_ENABLED": "true"}
    (remark,) = from_jar.environment_remarks(["PORT", *environment])
    assert remark.startswith("Spring reads SPRING_DATASOURCE_HIKARI_CONNECTION_TIMEOUT as a property of a connection")
    assert remark.endswith("Write SPRING_DATASOURCE_HIKARI_CONNECTIONTIMEOUT")

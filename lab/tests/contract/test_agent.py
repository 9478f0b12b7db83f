"""The agent in a real JVM, as vtlab attaches it. ``agent/`` has the tests of its metrics."""

from __future__ import annotations

import subprocess
from pathlib import Path

from tests.support.versions import REPOSITORY
from tests.support.waiting import until
from vtlab.host import agent, ports, server, tools


def test_a_running_jvm_takes_the_agent_and_says_what_it_costs(tmp_path: Path) -> None:
    """A running JVM takes the agent from vtlab, serves its page on the chosen port, and says what the agent costs."""
    service, page = ports.free(2)
    java = tools.find_java().path
    command = [str(java), "-m", "jdk.httpserver", "-b", ports.HOST, "-p", str(service), "-d", str(tmp_path)]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as jvm:
        try:
            until(lambda: server.answers_ok(service, "/"))
            agent.attach(jvm.pid, agent.find(REPOSITORY), page)
            first = agent.page(page)
            assert agent.total(first, agent.PROCESS_CPU) > 0
            # The kernel counts the process's CPU time in steps.
            until(lambda: 0 < agent.cost(first, agent.page(page)) <= 1)
        finally:
            jvm.kill()

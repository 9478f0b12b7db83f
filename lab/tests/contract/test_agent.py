"""The agent in a real JVM, as vtlab attaches it. ``agent/`` has the tests of its metrics."""

from __future__ import annotations

import subprocess
from pathlib import Path

from tests.support.waiting import until
from vtlab.host import agent, ports, tools

SAMPLES = "vtlab_agent_samples_total"
#: Says that it runs, and waits for its end.
SERVICE = """
class Service {
    public static void main(String[] arguments) throws Exception {
        System.out.println("ready");
        Thread.sleep(Long.MAX_VALUE);
    }
}
"""


def test_a_running_jvm_takes_the_agent_and_says_what_it_costs(tmp_path: Path) -> None:
    """A running JVM takes the agent from vtlab, serves its page on the chosen port, says what the agent
    costs, and has it stop."""
    (tmp_path / "Service.java").write_text(SERVICE, encoding="utf-8")
    (port,) = ports.free(1)
    command = [str(tools.find_java(compiler=True).path), str(tmp_path / "Service.java")]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as jvm:
        try:
            assert jvm.stdout
            assert jvm.stdout.readline() == "ready\n"
            agent.attach(jvm.pid, agent.find(), port)
            first = agent.page(port)
            assert agent.total(first, agent.PROCESS_CPU) > 0
            # The kernel counts the process's CPU time in steps.
            until(lambda: 0 < sum(agent.costs(first, agent.page(port)).values()) <= 1)
            agent.rest(jvm.pid, agent.find())
            anew = agent.total(agent.page(port), SAMPLES)
            until(lambda: agent.total(agent.page(port), SAMPLES) > anew)
        finally:
            jvm.kill()

"""What metrics cost: throughput of the smallest request with them on, over that with them off.

    .venv/bin/python lab/benchmarks/instrumentation.py app|agent [BLOCKS]

``app`` measures the sample application's own metrics, ``agent`` the agent in place of these, and for the agent also the
share of the CPU time that its threads took.

Uses the lab's own parts (JVMs in their control groups, k6's blocks in mirrored order, the paired interval), but not its
validity checks: the variant without metrics has nothing that Prometheus could scrape. The one with metrics is scraped
every second, as in a run.
"""

from __future__ import annotations

import sys
import tempfile
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import httpx
import numpy as np

from vtlab import session
from vtlab.analysis import statistics
from vtlab.host import agent, machine, ports, tools
from vtlab.host.processes import Ledger
from vtlab.host.server import await_ready
from vtlab.model import experiment, normalised
from vtlab.model.records import K6Document, Trial
from vtlab.planning import plan
from vtlab.services import process, sample
from vtlab.services.process import Launch, VariantProcess
from vtlab.targets import k6

ON, OFF = "metrics-on", "metrics-off"
WITHOUT = {"SPRING_PROFILES_ACTIVE": "no-metrics"}
#: What is measured -> variant -> its environment.
SETTINGS: dict[str, dict[str, dict[str, str]]] = {
    "app": {ON: {}, OFF: WITHOUT},
    # Its own metrics of Tomcat are off all the same; the agent reads the MBeans.
    "agent": {ON: WITHOUT | {"SERVER_TOMCAT_MBEANREGISTRY_ENABLED": "true"}, OFF: WITHOUT},
}

#: Most gain of the last two warm-up cycles over the best before; beyond it the JVM was still getting faster.
MOST_GAIN = 0.05


@contextmanager
def scraped(url: str) -> Iterator[None]:
    """Meanwhile reads the metrics every second, as Prometheus would."""
    ended = threading.Event()

    def scrape() -> None:
        with httpx.Client(trust_env=False, timeout=5) as client:
            while not ended.wait(1):
                client.get(url).raise_for_status()

    thread = threading.Thread(target=scrape, daemon=True)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()


@dataclass(frozen=True)
class Measured:
    """One block: requests per second of each trial, by variant; the agent's share of the CPU time in the trials."""

    rates: dict[str, list[float]]
    agent_cost: float | None


def page_of(variant: VariantProcess, measured: str) -> str:
    """Where the metrics of a variant that has just started are; attaches the agent where that is measured."""
    if measured == "app":
        return f"http://{variant.metrics_address}/actuator/prometheus"
    (port,) = ports.free(1)
    agent.attach(variant.process.pid, agent.find(session.REPOSITORY), port)
    return f"http://{ports.HOST}:{port}{agent.PAGE}"


def block(measured: str, number: int, folder: Path, ledger: Ledger) -> Measured:
    """Both variants, two trials each, of fresh JVMs under the same CPU limit, in their steady state."""
    small = experiment.load(str(Path(__file__).with_suffix(".json")), session.EXPERIMENTS)
    running: dict[str, VariantProcess] = {}
    for name, settings in SETTINGS[measured].items():
        platform_only = small.model_copy(update={"variants": ["platform"], "settings": settings})
        launch = Launch(
            sample.service(session.REPOSITORY),
            platform_only,
            {"platform": tools.find_java()},
            ledger,
            folder,
            f"{number}-{name}",
            True,
        )
        started: list[VariantProcess] = []
        process.spawn(launch, started)
        running[name] = started[0]
    await_ready([variant.server for variant in running.values()])
    url = page_of(running[ON], measured)
    planned = folder / "plan.json"
    planned.write_text(normalised.text(small.model_copy(update={"variants": [ON, OFF]})), encoding="utf-8")

    def load(order: list[str], cycles: int) -> tuple[K6Document, machine.Sampler]:
        call = k6.Call(
            script=session.REPOSITORY / "k6" / "block.ts",
            experiment=planned,
            targets={name: variant.url for name, variant in running.items()},
            variables=k6.phase_variables(order, cycles, None),
            run_id="instrumentation",
            block=number,
            document=folder / f"{number}.json",
        )
        call.document.unlink(missing_ok=True)
        command = k6.command(tools.find_k6(session.REPOSITORY).path, call, push=False)
        log = folder / f"{number}-k6.log"
        generator = ledger.start(command, role="k6", log=log, environment=tools.clean_environment())
        with machine.Sampler(generator.pid) as sampler, scraped(url):
            while generator.exit_description() is None:
                time.sleep(0.1)
        if generator.returncode() not in k6.DONE:
            raise SystemExit(f"block {number}: k6 ended with {generator.exit_description()}: {generator.last_lines()}")
        document = k6.read_document(call.document, generator.last_lines())
        if not document.agreed:
            raise SystemExit(f"block {number}: the load generator stalled: its users disagreed about a phase's begin")
        return document, sampler

    cycles: list[Trial] = []
    more = small.windows.warmup_cycles
    while (gain := gained(cycles)) >= MOST_GAIN:
        if len(cycles) >= len(SETTINGS[measured]) * small.windows.max_cycles:
            raise SystemExit(f"block {number}: still gained {gain:.1%} after {small.windows.max_cycles} warm-up cycles")
        cycles += load([], more)[0].warmup
        more = 1
    before = httpx.get(url, trust_env=False).text
    document, sampler = load(plan.order([ON, OFF], seed=1, block=number), 0)
    cost = agent.cost(before, httpx.get(url, trust_env=False).text) if measured == "agent" else None
    for variant in running.values():
        variant.process.stop(3)
        if variant.cgroup:
            variant.cgroup.remove()
    rates: dict[str, list[float]] = {ON: [], OFF: []}
    for trial in document.trials:
        if any(trial.failed.values()) or trial.started != trial.completed:
            raise SystemExit(f"block {number}: {trial.variant} failed requests: {trial.failed}")
        idle = sampler.window(trial.start, trial.end)["idle_cores"] or 0.0
        if idle < 0.05:
            raise SystemExit(f"block {number}: only {idle:.1%} of the cores were idle: something else runs here")
        rates[trial.variant].append(trial.throughput)
    return Measured(rates, cost)


def gained(cycles: Sequence[Trial]) -> float:
    """By how much the last two warm-up cycles gained over the best before, of the variant that gained most."""
    gains = []
    for name in (ON, OFF):
        rates = [trial.throughput for trial in cycles if trial.variant == name]
        best = max(rates[:-2], default=0.0)
        gains.append(max(rates[-2:]) / best - 1 if best > 0 else float("inf"))
    return max(gains)


def main() -> None:
    """Measures, and prints every block and the interval."""
    measured = sys.argv[1] if len(sys.argv) > 1 else ""
    if measured not in SETTINGS:
        raise SystemExit(f"usage: instrumentation.py {'|'.join(SETTINGS)} [BLOCKS]")
    blocks = int(sys.argv[2]) if len(sys.argv) > 2 else plan.FULL_RUN
    logs = []
    costs = []
    with tempfile.TemporaryDirectory() as folder, Ledger(Path(folder)) as ledger:
        for number in range(1, blocks + 1):
            result = block(measured, number, Path(folder), ledger)
            logs.append(float(statistics.log_ratio(np.array(result.rates[ON]), np.array(result.rates[OFF]))))
            shown = ", ".join(f"{name} {np.mean(rates):,.0f}/s" for name, rates in result.rates.items())
            if result.agent_cost is not None:
                costs.append(result.agent_cost)
                shown += f", {result.agent_cost:.2%} of its CPU time are the agent's"
            print(f"block {number}: {shown}, ratio {np.exp(logs[-1]):.3f}", flush=True)
    estimate = statistics.estimate(logs)
    width = "no interval" if estimate.low is None else f"95 % interval {estimate.low:.3f} to {estimate.high:.3f}"
    print(f"{measured}: metrics on / off: {estimate.ratio:.3f}, {width}, n = {estimate.n}")
    if costs:
        print(f"CPU time of the agent's threads over the service's: {np.mean(costs):.2%}, at most {max(costs):.2%}")
    print(", ".join(f"{key} {value}" for key, value in machine.describe().items()))


if __name__ == "__main__":
    main()

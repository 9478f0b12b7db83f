"""What metrics cost: throughput of the smallest request with them on, over that with them off.

    .venv/bin/python lab/benchmarks/instrumentation.py app|agent [BLOCKS]

``app`` measures the sample application's own metrics: one JVM has them, another has not. ``agent`` measures the agent
in place of these: in one JVM it measures and rests in turn, as two JVMs differ by more than it costs. (So what loading
it costs is not seen.) Of the agent also the share of the CPU time that its threads took, by thread.

Uses the lab's own parts (JVMs in their control groups, k6's trials in mirrored order, the paired interval), but not its
validity checks: without metrics there is nothing that Prometheus could scrape. With metrics the page is read every
second, as in a run.
"""

from __future__ import annotations

import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

import httpx
import numpy as np

from vtlab import shipped
from vtlab.analysis.statistics import paired
from vtlab.host import agent, machine, ports, tools
from vtlab.host.process_ledger import Command, Ledger
from vtlab.host.server import await_ready
from vtlab.k6 import call as k6
from vtlab.model import experiment, experiment_files, normalised
from vtlab.model.blocks import FULL_RUN
from vtlab.model.k6_documents import K6Document
from vtlab.model.records import Trial
from vtlab.planning import trial_order
from vtlab.planning.load_call import LoadCall
from vtlab.planning.shipped_experiments import EXPERIMENTS
from vtlab.services import process, sample
from vtlab.services.process import Launch, VariantProcess

ON, OFF = "metrics-on", "metrics-off"
WITHOUT = {"SPRING_PROFILES_ACTIVE": "no-metrics"}
#: What is measured -> variant -> its environment.
SETTINGS: dict[str, dict[str, dict[str, str]]] = {
    "app": {ON: {}, OFF: WITHOUT},
    # One JVM. Its own metrics of Tomcat are off all the same; the agent reads the MBeans.
    "agent": {ON: WITHOUT | {"SERVER_TOMCAT_MBEANREGISTRY_ENABLED": "true"}},
}

#: Most gain of the last two warm-up cycles over the best before; beyond it the JVM was still getting faster.
MOST_GAIN = 0.05
#: Trials of each in a block.
TRIALS = 4
#: Seconds for Flight Recorder to begin or end before a trial.
SETTLE = 2.0


@dataclass(frozen=True)
class Page:
    """The metrics as they were read at a time, milliseconds since the epoch."""

    time: int
    text: str


@contextmanager
def scraped(url: str) -> Iterator[list[Page]]:
    """Meanwhile reads the metrics every second, as Prometheus would."""
    ended, pages = threading.Event(), list[Page]()

    def scrape() -> None:
        with httpx.Client(trust_env=False, timeout=5) as client:
            while not ended.wait(1):
                answer = client.get(url).raise_for_status()
                pages.append(Page(round(1000 * time.time()), answer.text))

    thread = threading.Thread(target=scrape, daemon=True)
    thread.start()
    try:
        yield pages
    finally:
        ended.set()
        thread.join()


@dataclass(frozen=True)
class Measured:
    """One block: requests per second of each trial, by variant; the share of the CPU time in the trials with metrics
    that each of the agent's threads took."""

    rates: dict[str, list[float]]
    costs: list[dict[str, float]]


class Running:
    """The JVMs of one block, and what measures them."""

    def __init__(self, measured: str, variants: Mapping[str, VariantProcess]) -> None:
        self.targets = {name: variants.get(name, variants[ON]).url for name in (ON, OFF)}
        self._agent = agent.find() if measured == "agent" else None
        self._pid = variants[ON].process.pid
        if self._agent:
            (port,) = ports.free(1)
            agent.attach(self._pid, self._agent, port)
            self._url = f"http://{ports.HOST}:{port}{agent.PAGE}"
        else:
            self._url = f"http://{variants[ON].metrics_address}/actuator/prometheus"

    @contextmanager
    def measuring(self, name: str) -> Iterator[list[Page]]:
        """As it is in a trial of this variant: the pages that are read meanwhile. Of one JVM they are none without
        metrics."""
        if self._agent and name == OFF:
            agent.rest(self._pid, self._agent)
            time.sleep(SETTLE)
            yield []
            return
        httpx.get(self._url, trust_env=False).raise_for_status()
        time.sleep(SETTLE)
        with scraped(self._url) as pages:
            yield pages


def block(measured: str, number: int, folder: Path, ledger: Ledger) -> Measured:
    """Trials in mirrored order in fresh JVMs under a CPU limit, in their steady state."""
    small = experiment_files.load(str(Path(__file__).with_suffix(".json")), EXPERIMENTS)
    started: dict[str, VariantProcess] = {}
    for name, settings in SETTINGS[measured].items():
        platform_only = small.model_copy(update={"variants": ["platform"], "settings": settings})
        launch = Launch(
            sample.service(),
            platform_only,
            {"platform": tools.find_java()},
            ledger,
            folder,
            f"{number}-{name}",
            True,
        )
        spawned: list[VariantProcess] = []
        process.spawn(launch, spawned)
        started[name] = spawned[0]
    await_ready([variant.server for variant in started.values()])
    running = Running(measured, started)
    planned = folder / "plan.json"
    planned.write_text(normalised.as_json(small.model_copy(update={"variants": [ON, OFF]})), encoding="utf-8")

    def load(order: list[str], cycles: int) -> tuple[K6Document, machine.Sampler]:
        call = k6.Call(
            script=shipped.ROOT / "k6" / "block.ts",
            experiment=planned,
            targets=running.targets,
            variables=k6.phase_variables(LoadCall(trial_order=order, warmup_cycles=cycles)),
            run_id="instrumentation",
            block=number,
            document=folder / f"{number}.json",
        )
        call.document.unlink(missing_ok=True)
        command = k6.command(tools.find_k6().path, call, push=False)
        log = folder / f"{number}-k6.log"
        generator = ledger.start(Command(command, role="k6", log=log, environment=tools.clean_environment()))
        with machine.Sampler(generator.pid) as sampler:
            while generator.exit_description() is None:
                time.sleep(0.1)
        if generator.returncode() not in k6.DONE:
            raise SystemExit(f"block {number}: k6 ended with {generator.exit_description()}: {generator.last_lines()}")
        document = k6.read_document(call.document, generator.last_lines())
        if not document.agreed:
            raise SystemExit(f"block {number}: the load generator stalled: its users disagreed about a phase's begin")
        return document, sampler

    warm_up(number, small, lambda cycles: load([], cycles)[0].warmup, running)
    rates: dict[str, list[float]] = {ON: [], OFF: []}
    costs = []
    for name in trial_order.order([ON, OFF], seed=1, block=number, trials=TRIALS):
        with running.measuring(name) as pages:
            document, sampler = load([name], 0)
        (trial,) = document.trials
        if any(trial.failed.values()) or trial.started != trial.completed:
            raise SystemExit(f"block {number}: {name} failed requests: {trial.failed}")
        idle = sampler.window(trial.start, trial.end)["idle_cores"] or 0.0
        if idle < 0.05:
            raise SystemExit(f"block {number}: only {idle:.1%} of the cores were idle: something else runs here")
        rates[name].append(trial.throughput)
        within = [page.text for page in pages if trial.start <= page.time < trial.end]
        if measured == "agent" and name == ON:
            if len(within) < 2:
                raise SystemExit(f"block {number}: {len(within)} pages were read in a window: the agent did not answer")
            costs.append(agent.costs(within[0], within[-1]))
    for variant in started.values():
        variant.process.stop(3)
        if variant.cgroup:
            variant.cgroup.remove()
    return Measured(rates, costs)


def warm_up(
    number: int, small: experiment.Experiment, load: Callable[[int], Sequence[Trial]], running: Running
) -> None:
    """Cycles until neither variant gains more; of one JVM each cycle is loaded twice."""
    cycles: list[Trial] = []
    more = small.windows.warmup_cycles
    with running.measuring(ON):
        while (gain := gained(cycles)) >= MOST_GAIN:
            if len(cycles) >= 2 * small.windows.max_cycles:
                raise SystemExit(
                    f"block {number}: still gained {gain:.1%} after {small.windows.max_cycles} warm-up cycles"
                )
            cycles += load(more)
            more = 1


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
    blocks = int(sys.argv[2]) if len(sys.argv) > 2 else FULL_RUN
    logs = []
    costs: list[dict[str, float]] = []
    # Of a call that is interrupted the blocks before count.
    with suppress(KeyboardInterrupt), tempfile.TemporaryDirectory() as folder, Ledger(Path(folder)) as ledger:
        for number in range(1, blocks + 1):
            result = block(measured, number, Path(folder), ledger)
            logs.append(float(paired.log_ratio(np.array(result.rates[ON]), np.array(result.rates[OFF]))))
            shown = ", ".join(f"{name} {np.mean(rates):,.0f}/s" for name, rates in result.rates.items())
            if result.costs:
                costs += result.costs
                shown += (
                    f", {np.mean([sum(cost.values()) for cost in result.costs]):.2%} of its CPU time are the agent's"
                )
            print(f"block {number}: {shown}, ratio {np.exp(logs[-1]):.3f}", flush=True)
    if not logs:
        raise SystemExit("no block was measured")
    estimate = paired.estimate(logs)
    width = "no interval" if estimate.low is None else f"95 % interval {estimate.low:.3f} to {estimate.high:.3f}"
    sd = "" if len(logs) < 2 else f", SD of a block {np.std(logs, ddof=1):.2%}"
    print(f"{measured}: metrics on / off: {estimate.ratio:.3f}, {width}, n = {estimate.n}{sd}")
    if costs:
        shares = [sum(cost.values()) for cost in costs]
        print(f"CPU time of the agent's threads over the service's: {np.mean(shares):.2%}, at most {max(shares):.2%}")
        for name in sorted({name for cost in costs for name in cost}):
            print(f"  {name}: {np.mean([cost.get(name, 0.0) for cost in costs]):.2%}")
    print(", ".join(f"{key} {value}" for key, value in machine.describe().items()))


if __name__ == "__main__":
    main()

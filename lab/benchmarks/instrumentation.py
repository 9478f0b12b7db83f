"""Cost of the metrics: throughput of the smallest request with them on, over that with them off.

    .venv/bin/python lab/benchmarks/instrumentation.py app|agent [BLOCKS]

``app`` measures the sample application's own metrics: one JVM has them, another has not. ``agent`` measures the agent
in place of these: in one JVM it measures and rests in turn, as two JVMs differ by more than it costs. (So the cost of
loading it is not seen.) ``agent`` also shows the share of the CPU time that the agent's threads took, by thread.

Uses the lab's own parts (JVMs in their control groups, k6's trials in mirrored order, the paired interval), but not its
validity checks: without metrics there is nothing that Prometheus could scrape. With metrics the page is read every
second, as in a run.
"""

from __future__ import annotations

import sys
import tempfile
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

import httpx
import numpy as np

from vtlab import shipped
from vtlab.analysis.statistics import moderated, paired
from vtlab.analysis.statistics.stopping_rule import ALPHA
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
#: Subject -> variant -> its environment.
ENVIRONMENTS: dict[str, dict[str, dict[str, str]]] = {
    "app": {ON: {}, OFF: WITHOUT},
    # One JVM. The application's own metrics are off all the same; the agent reads Tomcat's MBeans.
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
    """Reads the metrics every second meanwhile, as Prometheus would."""
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
class BlockResult:
    """The figures of one block: requests per second of each trial, by variant; the share of the CPU time in the trials
    with metrics that each of the agent's threads took."""

    rates: dict[str, list[float]]
    costs: list[dict[str, float]]


@dataclass(frozen=True)
class Site:
    """One block: what it measures, its number, its folder, and the ledger of its processes."""

    subject: str
    number: int
    folder: Path
    ledger: Ledger

    def fault(self, message: str) -> SystemExit:
        """Returns the error that ends the call, with the block's number."""
        return SystemExit(f"block {self.number}: {message}")


class Metrics:
    """The metrics of a block's JVMs, on or off."""

    def __init__(self, site: Site, variants: Mapping[str, VariantProcess]) -> None:
        self.targets = {name: variants.get(name, variants[ON]).url for name in (ON, OFF)}
        self._agent = agent.find() if site.subject == "agent" else None
        self._pid = variants[ON].process.pid
        if self._agent:
            (port,) = ports.free(1)
            agent.attach(self._pid, self._agent, port)
            self._url = f"http://{ports.HOST}:{port}{agent.PAGE}"
        else:
            self._url = f"http://{variants[ON].metrics_address}/actuator/prometheus"

    @contextmanager
    def measured(self, name: str) -> Iterator[list[Page]]:
        """Sets the metrics as a trial of this variant has them, and yields the pages that are read meanwhile. An agent
        that rests has none."""
        if self._agent and name == OFF:
            agent.rest(self._pid, self._agent)
            time.sleep(SETTLE)
            yield []
            return
        httpx.get(self._url, trust_env=False).raise_for_status()
        time.sleep(SETTLE)
        with scraped(self._url) as pages:
            yield pages


class Generator:
    """The load generator of one block."""

    def __init__(self, site: Site, small: experiment.Experiment, targets: Mapping[str, str]) -> None:
        self._site, self._targets = site, targets
        self._plan = site.folder / "plan.json"
        with_both = small.model_copy(update={"variants": [ON, OFF]})
        self._plan.write_text(normalised.as_json(with_both), encoding="utf-8")

    def load(self, order: list[str], cycles: int) -> tuple[K6Document, machine.Sampler]:
        """Runs k6 for some trials or warm-up cycles, and samples the machine meanwhile."""
        site = self._site
        call = k6.Call(
            script=shipped.ROOT / "k6" / "block.ts",
            experiment=self._plan,
            targets=self._targets,
            variables=k6.phase_variables(LoadCall(trial_order=order, warmup_cycles=cycles)),
            run_id="instrumentation",
            block=site.number,
            document=site.folder / f"{site.number}.json",
        )
        call.document.unlink(missing_ok=True)
        command = k6.command(tools.find_k6().path, call, push=False)
        log = site.folder / f"{site.number}-k6.log"
        generator = site.ledger.start(Command(command, role="k6", log=log, environment=tools.clean_environment()))
        with machine.Sampler(generator.pid) as sampler:
            while generator.exit_description() is None:
                time.sleep(0.1)
        if generator.returncode() not in k6.DONE:
            raise site.fault(f"k6 ended with {generator.exit_description()}: {generator.last_lines()}")
        document = k6.read_document(call.document, generator.last_lines())
        if not document.agreed:
            raise site.fault("the load generator stalled: its users disagreed about a phase's begin")
        return document, sampler


def measure_block(site: Site) -> BlockResult:
    """Measures trials in mirrored order in fresh JVMs under a CPU limit, in their steady state."""
    small = experiment_files.load(str(Path(__file__).with_suffix(".json")), EXPERIMENTS)
    started = start_variants(site, small)
    metrics = Metrics(site, started)
    generator = Generator(site, small, metrics.targets)
    warm_up(site, small, generator, metrics)
    rates: dict[str, list[float]] = {ON: [], OFF: []}
    costs = []
    for name in trial_order.order([ON, OFF], seed=1, block=site.number, trials=TRIALS):
        with metrics.measured(name) as pages:
            trial = measure_trial(site, generator, name)
        rates[name].append(trial.throughput)
        if site.subject == "agent" and name == ON:
            within = [page.text for page in pages if trial.start <= page.time < trial.end]
            if len(within) < 2:
                raise site.fault(f"{len(within)} pages were read in a window: the agent did not answer")
            costs.append(agent.costs(within[0], within[-1]))
    for variant in started.values():
        variant.process.stop(3)
        if variant.cgroup:
            variant.cgroup.remove()
    return BlockResult(rates, costs)


def start_variants(site: Site, small: experiment.Experiment) -> dict[str, VariantProcess]:
    """Starts the JVMs of a block, and waits until they are ready."""
    started: dict[str, VariantProcess] = {}
    for name, environment in ENVIRONMENTS[site.subject].items():
        launch = Launch(
            service=sample.service(),
            experiment=small.model_copy(update={"variants": ["platform"], "settings": environment}),
            javas={"platform": tools.find_java()},
            ledger=site.ledger,
            logs=site.folder,
            label=f"{site.number}-{name}",
            cpu_limited=True,
        )
        spawned: list[VariantProcess] = []
        process.spawn(launch, spawned)
        started[name] = spawned[0]
    await_ready([variant.server for variant in started.values()])
    return started


def measure_trial(site: Site, generator: Generator, name: str) -> Trial:
    """Measures one trial; ends the call where requests failed or the machine was busy."""
    document, sampler = generator.load([name], 0)
    (trial,) = document.trials
    if any(trial.failed.values()) or trial.started != trial.completed:
        raise site.fault(f"{name} failed requests: {trial.failed}")
    idle = sampler.window(trial.start, trial.end)["idle_cores"] or 0.0
    if idle < 0.05:
        raise site.fault(f"only {idle:.1%} of the cores were idle: something else runs here")
    return trial


def warm_up(site: Site, small: experiment.Experiment, generator: Generator, metrics: Metrics) -> None:
    """Runs warm-up cycles until neither variant gains more; one JVM for both is loaded twice a cycle."""
    cycles: list[Trial] = []
    more = small.windows.warmup_cycles
    with metrics.measured(ON):
        while (gain := last_gain(cycles)) >= MOST_GAIN:
            if len(cycles) >= 2 * small.windows.max_cycles:
                raise site.fault(f"still gained {gain:.1%} after {small.windows.max_cycles} warm-up cycles")
            cycles += generator.load([], more)[0].warmup
            more = 1


def last_gain(cycles: Sequence[Trial]) -> float:
    """Returns the gain of the last two warm-up cycles over the best before, of the variant that gained most."""
    gains = []
    for name in (ON, OFF):
        rates = [trial.throughput for trial in cycles if trial.variant == name]
        best = max(rates[:-2], default=0.0)
        gains.append(max(rates[-2:]) / best - 1 if best > 0 else float("inf"))
    return max(gains)


def main() -> None:
    """Measures, and prints every block and the interval."""
    subject = sys.argv[1] if len(sys.argv) > 1 else ""
    if subject not in ENVIRONMENTS:
        raise SystemExit(f"usage: instrumentation.py {'|'.join(ENVIRONMENTS)} [BLOCKS]")
    blocks = int(sys.argv[2]) if len(sys.argv) > 2 else FULL_RUN
    results: list[BlockResult] = []
    # The blocks before an interruption count.
    with suppress(KeyboardInterrupt), tempfile.TemporaryDirectory() as folder, Ledger(Path(folder)) as ledger:
        for number in range(1, blocks + 1):
            results.append(measure_block(Site(subject, number, Path(folder), ledger)))
            print(f"block {number}: {described(results[-1])}", flush=True)
    if not results:
        raise SystemExit("no block was measured")
    logs = [log_ratio(result) for result in results]
    interval = moderated.interval(logs, None, 0.0, ALPHA)
    low, mean, high = (None if log is None else paired.exp(log) for log in (interval.low, interval.mean, interval.high))
    width = "no interval" if low is None else f"95 % interval {low:.3f} to {high:.3f}"
    sd = "" if len(logs) < 2 else f", SD of a block {np.std(logs, ddof=1):.2%}"
    print(f"{subject}: metrics on / off: {mean:.3f}, {width}, n = {len(logs)}{sd}")
    print_costs([cost for result in results for cost in result.costs])
    print(", ".join(f"{key} {value}" for key, value in machine.describe().items()))


def log_ratio(result: BlockResult) -> float:
    """Returns the log of a block's throughput with metrics over that without."""
    return float(paired.log_ratio(np.array(result.rates[ON]), np.array(result.rates[OFF])))


def described(result: BlockResult) -> str:
    """Puts a block's figures on a line."""
    parts = [f"{name} {np.mean(rates):,.0f}/s" for name, rates in result.rates.items()]
    if result.costs:
        share = np.mean([sum(cost.values()) for cost in result.costs])
        parts.append(f"{share:.2%} of its CPU time are the agent's")
    return f"{', '.join(parts)}, ratio {np.exp(log_ratio(result)):.3f}"


def print_costs(costs: Sequence[Mapping[str, float]]) -> None:
    """Prints the share of the CPU time that the agent's threads took, by thread; nothing without an agent."""
    if not costs:
        return
    shares = [sum(cost.values()) for cost in costs]
    print(f"CPU time of the agent's threads over the service's: {np.mean(shares):.2%}, at most {max(shares):.2%}")
    for name in sorted({name for cost in costs for name in cost}):
        print(f"  {name}: {np.mean([cost.get(name, 0.0) for cost in costs]):.2%}")


if __name__ == "__main__":
    main()

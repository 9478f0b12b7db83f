"""Cost of looking at the dashboards: throughput and p95 of trials while Prometheus answers them, over those without.

    cd lab && ../.venv/bin/python -m benchmarks.looking [EXPERIMENT] [--blocks N] [--trials N] [--refresh 30s]

Each block has fresh JVMs, warmed up as in a run, and the run's own Prometheus with its rules. Then every variant has
trials in mirrored order, with a reader and without. The reader stands in for a Grafana with both dashboards open: at
their refresh interval it sends the queries of all open panels, of the annotations and of the variables. A window is as
long as that interval, so each has one refresh. What Grafana itself and a browser would take is not in it.

Exit code 1 where an interval lies beyond the margin of 5 %.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
import tempfile
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, nullcontext, suppress
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import httpx
import numpy as np

from vtlab import shipped
from vtlab.analysis.statistics import moderated, paired
from vtlab.analysis.statistics.stopping_rule import ALPHA
from vtlab.analysis.validity.warm_up_checks import are_warm
from vtlab.commands.output import Terminal
from vtlab.dashboards import substitute
from vtlab.host import machine, usage
from vtlab.measuring.block_state import BlockState
from vtlab.measuring.progress import Progress
from vtlab.measuring.warm_up import WarmUp
from vtlab.model import units
from vtlab.model.blocks import FULL_RUN
from vtlab.model.experiment import Experiment
from vtlab.model.load import ClosedLoad
from vtlab.model.records import Block, Trial
from vtlab.planning import shipped_experiments, trial_order
from vtlab.planning.load_call import CallPacing, LoadCall
from vtlab.runs import store
from vtlab.targets.local.block import LocalBlock
from vtlab.targets.local.target import LocalTarget, local_target

LOOKED_AT, ALONE = "looked at", "alone"
SEED = 1
#: Requests that a browser has under way at once.
AT_ONCE = 6
DOCUMENTS = {
    path.stem: json.loads(path.read_text(encoding="utf-8"))
    for path in sorted((shipped.ROOT / "grafana-dashboards").glob("*.json"))
}
#: Measures of a trial: their names in the table.
MEASURES = ("throughput", "p95")


@dataclass(frozen=True)
class Request:
    """One request to Prometheus's API."""

    path: str
    parameters: Mapping[str, str]


def requests(document: Mapping[str, Any], values: substitute.Values, now: float) -> list[Request]:
    """Lists what Grafana sends for one refresh of a dashboard at that time, in seconds since the epoch."""
    seconds = _range(document)
    times = {"start": f"{now - seconds:.3f}", "end": f"{now:.3f}"}
    found = [
        Request(f"/api/v1/label/{label}/values", {"match[]": selector, **times})
        for label, selector in _options(document, values)
    ]
    for query in substitute.expanded({"panels": _open(document)}, values, seconds):
        if query.instant:
            found.append(Request("/api/v1/query", {"query": query.promql, "time": times["end"]}))
        else:
            found.append(Request("/api/v1/query_range", {"query": query.promql, "step": "1", **times}))
    for annotation in document["annotations"]["list"]:
        promql = substitute.filled(annotation["expr"], values)
        found.append(Request("/api/v1/query_range", {"query": promql, "step": "1", **times}))
    return found


def _open(document: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """Lists the panels that are shown as a dashboard opens."""
    return [panel for panel in document["panels"] if not panel.get("collapsed")]


def _range(document: Mapping[str, Any]) -> int:
    """Returns the seconds of the time range with which a dashboard opens."""
    minutes = re.fullmatch(r"now-(\d+)m", document["time"]["from"])
    assert minutes, document["time"]
    return 60 * int(minutes[1])


def _options(document: Mapping[str, Any], values: substitute.Values) -> Iterator[tuple[str, str]]:
    """Yields the label and the selector of each variable that is asked of Prometheus."""
    for variable in document["templating"]["list"]:
        if variable["type"] == "query":
            options = re.fullmatch(r"label_values\((.*), *(\w+)\)", variable["query"]["query"])
            assert options, variable
            yield options[2], substitute.filled(options[1], values)


@dataclass(frozen=True)
class Reader:
    """Someone who has the dashboards open: which Prometheus they ask, about what, and how often in seconds."""

    url: str
    values: substitute.Values
    refresh: float


@dataclass(frozen=True)
class Refresh:
    """One refresh of all dashboards: begin and end, milliseconds since the epoch."""

    begin: int
    end: int


def refresh(client: httpx.Client, pool: ThreadPoolExecutor, values: substitute.Values) -> Refresh:
    """Sends what one refresh asks, and waits for all answers. HTTPError where one is an error."""

    def ask(request: Request) -> None:
        if "query" in request.parameters:
            answer = client.post(request.path, data=dict(request.parameters))
        else:
            answer = client.get(request.path, params=dict(request.parameters))
        answer.raise_for_status()

    began = time.time()
    asked = [request for document in DOCUMENTS.values() for request in requests(document, values, began)]
    # All of them, as an error is in the result alone.
    list(pool.map(ask, asked))
    return Refresh(round(1000 * began), round(1000 * time.time()))


@contextmanager
def looked_at(reader: Reader) -> Iterator[list[Refresh]]:
    """Refreshes the dashboards meanwhile, first after half an interval; yields the refreshes. Where Prometheus answers
    with an error it ends the call at the end."""
    ended, refreshes, faults = threading.Event(), list[Refresh](), list[httpx.HTTPError]()

    def look() -> None:
        due = time.monotonic() + reader.refresh / 2
        client = httpx.Client(base_url=reader.url, trust_env=False, timeout=60)
        with client, ThreadPoolExecutor(AT_ONCE) as pool:
            while not faults and not ended.wait(max(0.0, due - time.monotonic())):
                due += reader.refresh
                try:
                    refreshes.append(refresh(client, pool, reader.values))
                except httpx.HTTPError as error:
                    faults.append(error)

    thread = threading.Thread(target=look, daemon=True)
    thread.start()
    try:
        yield refreshes
    finally:
        ended.set()
        thread.join()
    if faults:
        raise SystemExit(f"Prometheus does not answer the dashboards: {faults[0]}")


@dataclass(frozen=True)
class Sample:
    """One trial of a variant, looked at or alone."""

    variant: str
    condition: str
    throughput: float
    p95: float
    #: CPU seconds of Prometheus for each second of the call of k6.
    prometheus_cores: float
    #: Refreshes that were under way in the window.
    refreshes: int = 0


@dataclass(frozen=True)
class Row:
    """A measure of a variant over all blocks: means, and the ratio of those that were looked at over the others."""

    variant: str
    measure: str
    looked_at: float
    alone: float
    ratio: float
    low: float | None
    high: float | None
    #: Standard deviation of a block's log ratio; None of a single block.
    sd: float | None

    @property
    def is_beyond_margin(self) -> bool:
        """Tells whether the whole interval lies beyond the margin."""
        most = 1 + paired.MARGIN
        return self.low is not None and self.high is not None and (self.low > most or self.high < 1 / most)

    def __str__(self) -> str:
        ends = "" if self.low is None or self.high is None else f"{self.low:.3f} to {self.high:.3f}"
        sd = "" if self.sd is None else f"{self.sd:.2%}"
        scale, unit = (1, "/s") if self.measure == "throughput" else (1000, " ms")
        means = " | ".join(f"{scale * mean:,.1f}{unit}" for mean in (self.looked_at, self.alone))
        return f"| {self.variant} | {self.measure} | {means} | {self.ratio:.3f} | {ends} | {sd} |"


def rows(blocks: Sequence[Sequence[Sample]]) -> list[Row]:
    """Compares the trials of each variant, block by block."""
    variants = dict.fromkeys(sample.variant for block in blocks for sample in block)
    return [_row(blocks, variant, measure) for variant in variants for measure in MEASURES]


def _row(blocks: Sequence[Sequence[Sample]], variant: str, measure: str) -> Row:
    values = {
        condition: [
            np.array([getattr(s, measure) for s in block if (s.variant, s.condition) == (variant, condition)])
            for block in blocks
        ]
        for condition in (LOOKED_AT, ALONE)
    }
    logs = [float(paired.log_ratio(*of_block)) for of_block in zip(values[LOOKED_AT], values[ALONE], strict=True)]
    interval = moderated.interval(logs, None, 0.0, ALPHA)
    low, high = (None if log is None else paired.exp(log) for log in (interval.low, interval.high))
    means = {condition: float(np.mean(np.concatenate(values[condition]))) for condition in values}
    sd = float(np.std(logs, ddof=1)) if len(logs) > 1 else None
    return Row(variant, measure, means[LOOKED_AT], means[ALONE], paired.exp(interval.mean), low, high, sd)


@dataclass(frozen=True)
class Plan:
    """Plan of a call. ``trials``: of each variant in each condition of a block, 1, 2 or 4."""

    experiment: Experiment
    trials: int
    #: Seconds.
    refresh: float


def measure_block(plan: Plan, target: LocalTarget, number: int, progress: Progress) -> list[Sample]:
    """Measures the trials of one block, of fresh JVMs in their steady state."""
    experiment = plan.experiment
    block = Block(block=number, attempt=1, order=list(experiment.variants))
    state = BlockState(experiment, SEED, progress, f"block {number}", block)
    started = target.start(experiment, number, 1)
    block.failures = list(started.failures)
    state.variants = [instance.variant for instance in started.instances]
    refuse_missing(block, state.variants)
    WarmUp(state, time.sleep).run(started, (), may_end=False)
    refuse_missing(block, state.variants)
    if not are_warm(block, experiment):
        raise SystemExit(f"block {number}: a variant still warmed up: windows.max_cycles allows more cycles")
    values: substitute.Values = {
        "datasource": "prometheus",
        "namespace": substitute.ALL,
        "experiment": substitute.ALL,
        "run": target.site.run_id,
        "variants": list(experiment.variants),
    }
    reader = Reader(target.site.prometheus.url, values, plan.refresh)
    pacing = replace(state.pacing, measure=round(1000 * plan.refresh))
    order = trial_order.order([LOOKED_AT, ALONE], SEED, number, plan.trials)
    samples: list[Sample] = []
    for place, condition in enumerate(order):
        state.step(condition)
        samples += measure_condition(reader, Turn(condition, place, started, target), pacing)
    return samples


def refuse_missing(block: Block, present: Sequence[str]) -> None:
    """Ends the call where a variant of the block has failed, or left the warm-up."""
    failed = {failure.variant: f"failed, {failure.moment}: {failure.reason}" for failure in block.failures}
    reasons = [f"{name} {failed.get(name, 'left in the warm-up')}" for name in block.order if name not in present]
    if reasons:
        raise SystemExit(f"block {block.block}: {'; '.join(reasons)}")


@dataclass(frozen=True)
class Turn:
    """One trial of each variant in one condition: its place among those of the block."""

    condition: str
    place: int
    started: LocalBlock
    target: LocalTarget


def measure_condition(reader: Reader, turn: Turn, pacing: CallPacing) -> list[Sample]:
    """Measures one trial of each variant, in the reverse order every second time."""
    variants = list(turn.started.experiment.variants)
    order = variants if turn.place % 2 == 0 else variants[::-1]
    call = LoadCall(trial_order=order, first_position=1 + turn.place * len(order), pacing=pacing)
    usage_of = usage.Reader(turn.target.site.prometheus.process.pid, None, None)
    look = looked_at(reader) if turn.condition == LOOKED_AT else nullcontext(list[Refresh]())
    before, began = usage_of(), time.monotonic()
    with look as refreshes:
        document = turn.started.load(call)
    after, seconds = usage_of(), time.monotonic() - began
    if before is None or after is None or not document.agreed:
        raise SystemExit("Prometheus ended, or the load generator stalled")
    cores = (after.cpu - before.cpu) / seconds
    return [sample(trial, turn.condition, cores, refreshes) for trial in document.trials]


def sample(trial: Trial, condition: str, cores: float, refreshes: Sequence[Refresh]) -> Sample:
    """Takes the figures of a trial; ends the call where they are none, or not those of the condition."""
    within = sum(each.begin < trial.end and each.end > trial.start for each in refreshes)
    if any(trial.failed.values()):
        raise SystemExit(f"{trial.variant} failed requests: {trial.failed}")
    if trial.latency.p95 is None:
        raise SystemExit(f"{trial.variant} has no p95 of {trial.latency.count} answers: take more users")
    if condition == LOOKED_AT and not within:
        raise SystemExit(f"{trial.variant}: no refresh was under way in the window of {trial.window:.0f} s")
    return Sample(trial.variant, condition, trial.throughput, trial.latency.p95, cores, within)


def options(arguments: Sequence[str]) -> argparse.Namespace:
    """Reads the call's options."""
    saved = ", ".join(sorted({document["refresh"] for document in DOCUMENTS.values()}))
    description, _, rest = (__doc__ or "").partition("\n")
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.looking",
        description=description,
        epilog=rest.partition("\n\n")[2].partition("\n\n")[2],
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("experiment", nargs="?", default="cpu", help="a name, or a vtlab.yaml; default: cpu")
    parser.add_argument("--blocks", type=int, default=FULL_RUN, metavar="N", help=f"default: {FULL_RUN}")
    parser.add_argument("--trials", type=int, default=2, choices=(1, 2, 4), help="of each condition in a block")
    parser.add_argument("--refresh", default=saved, metavar="TIME", help=f"and length of a window; default: {saved}")
    return parser.parse_args(arguments)


def measure(plan: Plan, blocks: int) -> list[list[Sample]]:
    """Measures the blocks; those before an interruption count."""
    done: list[list[Sample]] = []
    with tempfile.TemporaryDirectory() as temporary, Progress(Terminal(stderr=True)) as progress:
        folder = Path(temporary) / f"{datetime.now(UTC):%Y%m%dT%H%M%SZ}-{plan.experiment.name}"
        folder.mkdir()
        store.write_experiment(folder, plan.experiment)
        with suppress(KeyboardInterrupt), local_target(folder, Path(temporary), say=progress.say) as target:
            for number in range(1, blocks + 1):
                done.append(measure_block(plan, target, number, progress))
                progress.say("; ".join(f"{row.variant} {row.measure} {row.ratio:.3f}" for row in rows(done[-1:])))
    return done


def show(blocks: Sequence[Sequence[Sample]]) -> int:
    """Prints the table; returns the exit code."""
    described = ", ".join(f"{key} {value}" for key, value in machine.describe().items())
    print(f"{datetime.now(UTC):%Y-%m-%d}, {described}, blocks: {len(blocks)}\n")
    print(f"| variant | measure | {LOOKED_AT} | {ALONE} | ratio | 95 % interval | SD of a block |")
    print("|---|---|---|---|---|---|---|")
    table = rows(blocks)
    for row in table:
        print(row)
    print()
    for condition in (LOOKED_AT, ALONE):
        of_condition = [each for block in blocks for each in block if each.condition == condition]
        cores = np.mean([each.prometheus_cores for each in of_condition])
        refreshes = np.mean([each.refreshes for each in of_condition])
        print(f"{condition}: {refreshes:.1f} refreshes in a window, Prometheus used {cores:.3f} cores")
    return int(any(row.is_beyond_margin for row in table))


def main(arguments: Sequence[str]) -> int:
    """Measures, and prints the table."""
    chosen = options(arguments)
    (experiment,) = shipped_experiments.resolve([chosen.experiment])
    if not isinstance(experiment.load, ClosedLoad) or experiment.is_searched:
        raise SystemExit(f"{chosen.experiment}: an experiment with full load, and a number of users, is needed")
    blocks = measure(Plan(experiment, chosen.trials, units.seconds(chosen.refresh)), chosen.blocks)
    if not blocks:
        raise SystemExit("no block was measured")
    return show(blocks)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

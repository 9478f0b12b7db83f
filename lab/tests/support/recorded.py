"""Recorded runs, and copies of them that differ in what a test is about.

``threads``: 20 users wait for 200 ms; platform threads have 10 threads of Tomcat (50/s), virtual threads 99/s.
``pool``: 24 users share 10 database connections; 49/s with both. ``tests/unit/recorded/README.md`` says how both were
measured. A run with more blocks than were recorded repeats them.
"""

from __future__ import annotations

import copy
import functools
import itertools
import math
import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeVar

from vtlab.analysis import verdict
from vtlab.model.experiment import Experiment
from vtlab.model.manifest import Manifest
from vtlab.model.records import (
    Answers,
    Block,
    Failure,
    Halves,
    Histogram,
    InFlight,
    Instance,
    Latency,
    Parts,
    Record,
    Trial,
)
from vtlab.model.run import Analysis, BlockSeries, Run
from vtlab.runs import store

_Record = TypeVar("_Record", bound=Record)

FOLDERS = {
    name: Path(__file__).parents[1] / "unit/recorded" / folder
    for name, folder in {"threads": "threads", "pool": "own-service", "petclinic": "petclinic"}.items()
}
#: Milliseconds between two recordings of a run whose blocks are repeated.
PAUSE = 12_000
#: Seconds of a block whose recording does not tell them.
BLOCK_SECONDS = 90.0
#: Kinds of phases of a block.
PHASES = ("warmup", "single", "typical", "light", "trials")


@functools.cache
def recorded(name: str = "threads") -> Run:
    """Reads a run; callers change copies of it."""
    return store.read(FOLDERS[name])


def run(
    recording: str = "threads",
    /,
    blocks: int = 6,
    rejected: Mapping[int, str] | None = None,
    failing: Mapping[int, str] | None = None,
    **manifest: Any,
) -> Run:
    """Returns a run of so many blocks (of ``planned``).

    ``rejected`` says by block what spoils its first attempt, ``failing`` how virtual fails in it; ``manifest`` replaces
    fields of the manifest, among them its ``experiment``.
    """
    whole = recorded(recording)
    repeated = [
        _repeated(whole, number, block)
        for number, block in zip(range(1, blocks + 1), itertools.cycle(whole.blocks), strict=False)
    ]
    series = {
        key: _moved(whole.series[block.block, 1], _delay(whole, key[0]))
        for key, block in zip([(b.block, 1) for b in repeated], itertools.cycle(whole.blocks), strict=False)
        if whole.series
    }
    about = {"blocks": manifest.pop("planned", blocks), "rule": None}
    if "experiment" in manifest:
        about["name"] = manifest["experiment"].name
    changed = copied(whole.manifest, {**about, **manifest})
    made = replace(whole, manifest=changed, experiment=changed.experiment, blocks=repeated, series=series)
    return with_rejected(with_failing(made, failing or {}), rejected or {})


def _delay(whole: Run, number: int) -> int:
    """Returns the milliseconds by which a block is later than the recorded one that it repeats."""
    times = [t for b in whole.blocks for t in (*b.warmup, *b.single, *b.trials)]
    length = max(t.drained for t in times) - min(t.begin for t in times) + PAUSE
    return (number - 1) // len(whole.blocks) * length


def _repeated(whole: Run, number: int, block: Block) -> Block:
    """Returns a recorded block under another number. Only a run's first block has the phases that are measured once."""
    delay = _delay(whole, number)
    phases = {kind: [later(t, delay) for t in getattr(block, kind)] for kind in PHASES}
    once: dict[str, Any] = {"single": [], "light": [], "diagnosis": {}} if number > len(whole.blocks) else {}
    instances = [
        i.model_copy(update={"identity": f"{i.identity}-{number}" if delay else i.identity}) for i in block.instances
    ]
    seconds = block.seconds or BLOCK_SECONDS
    return copied(block, {"block": number, **phases, **once, "instances": instances, "seconds": seconds})


def later(trial: Trial, delay: int) -> Trial:
    """Returns the trial so many milliseconds later."""
    moments = {moment: getattr(trial, moment) + delay for moment in ("begin", "start", "end", "drained")}
    return copied(trial, moments)


def _moved(samples: BlockSeries, delay: int) -> BlockSeries:
    """Returns the samples so many milliseconds later."""
    return {
        variant: {metric: [[time + delay, value] for time, value in values] for metric, values in metrics.items()}
        for variant, metrics in samples.items()
    }


def experiment(recording: str = "threads", /, **changes: Any) -> Experiment:
    """Returns the experiment of a recorded run with other keys; None removes one."""
    document = {**recorded(recording).experiment.document(), **changes}
    return Experiment.model_validate({key: value for key, value in document.items() if value is not None})


def arrivals(**changes: Any) -> Experiment:
    """Returns the experiment of a recorded run under open load: 150 arrivals a second."""
    document = {
        "name": "arrivals",
        "load": {"typical": {"rate": 150, "users": 1500}},
        "windows": {**recorded().experiment.document()["windows"], "measure": "30s"},
        "expected": None,
    }
    return experiment(**{**document, **changes})


def manifest(exp: Experiment, **changes: Any) -> Manifest:
    """Returns the manifest of a recorded run with that experiment."""
    about = {"name": exp.name, "experiment": exp, **changes}
    return copied(recorded().manifest, about)


def block(number: int = 1, **changes: Any) -> Block:
    """Returns a block that passes every validity check: the one in which platform comes first, with the other's
    single-user phases."""
    first, second = recorded().blocks
    kinds = ("warmup", "light", "trials")
    phases = {kind: [copied(t, {}) for t in getattr(second, kind)] for kind in kinds}
    return copied(second, {"block": number, "single": [copied(t, {}) for t in first.single], **phases, **changes})


def block_under_open_load(**changes: Any) -> Block:
    """Returns ``block`` as if ``arrivals`` had been its load."""
    (made,) = under_open_load(replace(recorded(), blocks=[block()])).blocks
    return copied(made, changes)


def trial(variant: str = "platform", phase: str = "measure", **changes: Any) -> Trial:
    """Returns the first recorded trial of a variant; ``server`` and ``machine`` of ``changes`` are merged."""
    whole = recorded().blocks[0]
    kind = {"measure": "trials"}.get(phase, phase)
    first: Trial = next(t for t in getattr(whole, kind) if t.variant == variant)
    return changed_trial(first, **changes)


def changed_trial(trial: Trial, window: float | None = None, **changes: Any) -> Trial:
    """Returns the trial with other fields; ``server`` and ``machine`` are merged. ``window``: its seconds, in which it
    has the throughput of the recorded one."""
    if window is not None:
        longer = round(1000 * window) - (trial.end - trial.start)
        ok = changes.setdefault("ok", round(trial.throughput * window))
        more = {"count": ok, **changes.pop("latency", trial.latency).model_dump(exclude={"count"})}
        stretched = {"end": trial.end + longer, "drained": trial.drained + longer, "throughput": ok / window}
        counted = {"started": trial.started - trial.ok + ok, "completed": trial.completed - trial.ok + ok}
        changes = {**stretched, **counted, "latency": Latency.model_validate(more), **changes}
    merged = {
        key: {**getattr(trial, key), **value} if key in ("server", "machine") else value
        for key, value in changes.items()
    }
    return copied(trial, merged)


def copied(record: _Record, changes: Mapping[str, Any]) -> _Record:
    """Returns the record with other fields, which exist, and with lists and dictionaries of its own."""
    unknown = changes.keys() - type(record).model_fields.keys()
    if unknown:
        raise TypeError(f"{type(record).__name__} has no {', '.join(unknown)}")
    containers = {name: copy.copy(value) for name, value in record if isinstance(value, list | dict | Record)}
    return record.model_copy(update={**containers, **changes})


def instance(variant: str = "platform", **changes: Any) -> Instance:
    """Returns the JVM of a variant."""
    (first,) = (i for i in recorded().blocks[0].instances if i.variant == variant)
    return copied(first, changes)


def answers(count: int) -> Answers:
    """Returns so many answers of a window, of which no more than the number is told."""
    half = (count // 2, count - count // 2)
    return Answers(
        latency=None,
        histogram=Histogram(first=530, counts=[count], is_exact=True),
        parts=Parts(seconds=0.5, ok=[], above={}),
        halves=Halves(arrived=half, completed=half),
        kinds=[],
        forms=None,
    )


def latency(count: int, mean: float, tail: float = 1.05) -> Latency:
    """Returns latencies around a mean, with p99 = ``tail`` x median; percentiles only where 10 samples lie beyond."""

    def at(share: float, value: float) -> float | None:
        return value if count * (1 - share) >= 10 - 1e-9 else None

    return Latency(
        count=count,
        mean=mean if count else None,
        p50=at(0.5, mean),
        p90=at(0.9, mean * (1 + (tail - 1) * 0.4)),
        p95=at(0.95, mean * (1 + (tail - 1) * 0.6)),
        p99=at(0.99, mean * tail),
        p99_9=at(0.999, mean * tail * 1.2),
        max=mean * tail * 1.5 if count else None,
    )


def analysed(run: Run) -> Analysis:
    """Returns the analysis of a run that is alone in its report."""
    (analysis,) = verdict.analyse_all([run])
    return analysis


def changed(analysis: Analysis, **variants: dict[str, Any]) -> Analysis:
    """Returns the analysis with other fields of its variants' results."""
    v = analysis.verdict
    variant_results = {name: result.model_copy(update=variants.get(name, {})) for name, result in v.variants.items()}
    return replace(analysis, verdict=v.model_copy(update={"variants": variant_results}))


def with_trials(run: Run, change: Callable[[Block, Trial], Trial]) -> Run:
    """Returns the run with other trials."""
    blocks = [b.model_copy(update={"trials": [change(b, t) for t in b.trials]}) for b in run.blocks]
    return replace(run, blocks=blocks)


def with_ratio(run: Run, ratio: float, noise: float = 0.0, seed: int = 1) -> Run:
    """Returns the run with that ratio of the throughputs; ``noise``: standard deviation of a block's log ratio."""
    rng = random.Random(seed)
    first = run.experiment.variants[0]
    wanted = {
        b.block: ratio * _throughput(b, lambda variant: variant == first) * math.exp(rng.gauss(0, noise))
        for b in run.blocks
    }

    def change(block: Block, trial: Trial) -> Trial:
        if trial.variant == first:
            return trial
        return scaled(trial, wanted[block.block] / _throughput(block, trial.variant.__eq__))

    return with_trials(run, change)


def _throughput(block: Block, is_meant: Callable[[str], bool]) -> float:
    """Returns the mean throughput of the trials of these variants."""
    trials = [t.throughput for t in block.trials if is_meant(t.variant)]
    return math.fsum(trials) / len(trials)


def scaled(trial: Trial, factor: float) -> Trial:
    """Returns the trial of a service that answers ``factor`` times as many requests, each in a ``factor``-th of the
    time and for as much CPU."""
    ok = round(trial.ok * factor)
    times = {
        name: value if value is None or name == "count" else value / factor
        for name, value in trial.latency.model_dump().items()
    }
    rates = {
        name: trial.server[name] * factor  # type: ignore[operator]
        for name in ("cpu_cores", "server_throughput", "throughput", "started")
        if trial.server.get(name) is not None
    }
    return changed_trial(
        trial,
        ok=ok,
        started=trial.started - trial.ok + ok,
        completed=trial.completed - trial.ok + ok,
        throughput=ok / trial.window,
        latency=Latency.model_validate({**times, "count": ok}),
        server=rates,
    )


def renamed(run: Run, names: Mapping[str, str], exp: Experiment | None = None) -> Run:
    """Returns the run with other names of its variants; ``exp``: the experiment that has them."""

    def phases(trials: Sequence[Trial]) -> list[Trial]:
        return [t.model_copy(update={"variant": names[t.variant]}) for t in trials]

    blocks = [
        b.model_copy(
            update={
                "order": [names[v] for v in b.order],
                **{kind: phases(getattr(b, kind)) for kind in PHASES},
                "instances": [i.model_copy(update={"variant": names[i.variant]}) for i in b.instances],
                "diagnosis": {names[v]: d for v, d in b.diagnosis.items()},
            }
        )
        for b in run.blocks
    ]
    if exp is None:
        document = {**run.experiment.document(), "variants": [names[v] for v in run.experiment.variants]}
        document["load"] = {"full": {"users": run.experiment.load.users}}
        exp = Experiment.model_validate({**document, "expected": {}})
    about = run.manifest.model_copy(update={"experiment": exp})
    series = {key: {names[v]: metrics for v, metrics in samples.items()} for key, samples in run.series.items()}
    return replace(run, manifest=about, experiment=exp, blocks=blocks, series=series)


def with_variant(run: Run, name: str, like: str = "virtual", factor: float = 1.0) -> Run:
    """Returns the run with one more variant, whose trials have that multiple of another's throughput."""

    def copies(trials: Sequence[Trial]) -> list[Trial]:
        return [t.model_copy(update={"variant": name}) for t in trials if t.variant == like]

    def added(block: Block) -> Block:
        first, last = (scaled(t, factor) for t in copies(block.trials))
        trials = [t.model_copy(update={"position": n}) for n, t in enumerate((first, *block.trials, last), 1)]
        (instance,) = (i for i in block.instances if i.variant == like)
        another = instance.model_copy(update={"variant": name, "identity": f"{instance.identity}-{name}"})
        phases = {kind: [*getattr(block, kind), *copies(getattr(block, kind))] for kind in PHASES if kind != "trials"}
        order = [name, *block.order, name]
        return copied(block, {**phases, "trials": trials, "order": order, "instances": [*block.instances, another]})

    document = run.experiment.document()
    document = {
        **document,
        "variants": [*document["variants"], name],
        "properties": {**document["properties"], name: {"threads": like}},
    }
    exp = Experiment.model_validate({**document, "expected": {}})
    about = run.manifest.model_copy(update={"experiment": exp})
    return replace(run, manifest=about, experiment=exp, blocks=[added(b) for b in run.blocks], series={})


def with_failing(run: Run, failing: Mapping[int, str], variant: str = "virtual") -> Run:
    """Returns the run whose variant fails in some blocks, each in a way of ``broken``."""
    blocks = [broken(b, variant, failing[b.block]) if b.block in failing else b for b in run.blocks]
    return replace(run, blocks=blocks)


def with_rejected(run: Run, faults: Mapping[int, str]) -> Run:
    """Returns the run with a first attempt at some blocks that a check rejects, for a reason of ``spoiled``."""
    blocks = [
        attempt
        for b in run.blocks
        for attempt in (
            [spoiled(b, faults[b.block]), b.model_copy(update={"attempt": 2})] if b.block in faults else [b]
        )
    ]
    series = {(b.block, b.attempt): run.series[b.block, 1] for b in blocks if run.series}
    return replace(run, blocks=blocks, series=series)


def spoiled(good: Block, how: str) -> Block:
    """Returns an attempt that a check of the machine rejects: steal, core_wait, generator, fault, or unsteady, where
    virtual still warms up."""
    if how == "fault":
        return good.model_copy(update={"trials": [], "faults": ["k6 ended with exit code 137 (killed)"]})
    if how == "unsteady":
        others, cycles = ([t for t in good.warmup if (t.variant == "virtual") is is_own] for is_own in (False, True))
        rising = [scaled(t, 1 + 0.2 * n) for n, t in enumerate(cycles)]
        return good.model_copy(update={"warmup": [*others, *rising], "trials": [], "typical": [], "single": []})
    changes: dict[str, dict[str, Any]] = {
        "steal": {"machine": {"steal": 0.04}},
        "core_wait": {"server": {"core_wait": 0.07}},
        "generator": {"machine": {"idle_cores": 0.02}},
    }
    return good.model_copy(update={"trials": [changed_trial(good.trials[0], **changes[how]), *good.trials[1:]]})


def broken(good: Block, variant: str, how: str) -> Block:
    """Returns a block in which that variant failed: start, oom, or errors."""

    def others(trials: Sequence[Trial]) -> list[Trial]:
        return [t for t in trials if t.variant != variant]

    if how == "errors":
        failed = [
            t.model_copy(update={"failed": {"status-500": t.ok // 7}}) if t.variant == variant else t
            for t in good.trials
        ]
        return good.model_copy(update={"trials": failed})
    ended = {kind: others(getattr(good, kind)) for kind in ("trials", "typical", "single")}
    if how == "oom":
        failure = Failure(variant=variant, reason="out of heap memory (256m)", moment="trial 2")
        instances = [i.model_copy(update={"alive": i.variant != variant}) for i in good.instances]
        return good.model_copy(update={**ended, "instances": instances, "failures": [*good.failures, failure]})
    if how == "start":
        failure = Failure(variant=variant, reason="it ended with exit code 1", moment="while it started")
        instances = [i for i in good.instances if i.variant != variant]
        update = {**ended, "warmup": others(good.warmup), "instances": instances}
        return good.model_copy(update={**update, "failures": [*good.failures, failure]})
    raise ValueError(how)


def under_open_load(run: Run, overloaded: str | None = None, rate: float = 150.0) -> Run:
    """Returns the run as if the load of ``arrivals``, at that rate, had been its own, in windows that are long enough
    for a p99. A variant that is ``overloaded`` answers as many as recorded."""
    exp = arrivals(load={"typical": {"rate": rate, "users": 1500}})
    window = 30.0
    longer = round(1000 * window) - 4000
    places = itertools.count()

    def change(_: Block, trial: Trial) -> Trial:
        is_overloaded = trial.variant == overloaded
        ok = round((trial.throughput if is_overloaded else rate) * window)
        mean = (trial.latency.mean or 0.0) * (20 if is_overloaded else 1)
        waiting = exp.load.users if is_overloaded else round(ok / window * mean)
        begin = next(places) * longer
        return changed_trial(
            trial,
            begin=trial.begin + begin,
            start=trial.start + begin,
            end=trial.end + begin + longer,
            drained=trial.drained + begin + longer,
            users=exp.load.users,
            rate=rate,
            started=ok + waiting,
            completed=ok + waiting,
            ok=ok,
            throughput=ok / window,
            latency=latency(ok, mean, 1.16 if trial.variant == exp.variants[0] else 1.02),
            dropped=round(rate * window) - ok,
            in_flight=InFlight(start=waiting, end=waiting),
            server={"server_throughput": ok / window, "cpu_cores": ok / window * 0.002},
        )

    about = run.manifest.model_copy(update={"name": exp.name, "experiment": exp})
    return replace(with_trials(run, change), manifest=about, experiment=exp)

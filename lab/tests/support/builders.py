"""Builders of synthetic records: trials, blocks and runs as k6 and Prometheus would have recorded them.

Everything is a function of its arguments: the same call gives the same records. A service is described by a
``Service`` and the numbers follow from the operational laws, with noise that has a seed.

    run()                         blocking: 1000 users wait 1 s; platform 200/s (threads), virtual 1000/s
    run(cpu())                    CPU-bound: both about 980/s, equivalent
    run(arrivals())               open load, p99: virtual 11 % lower
    run(arrivals(), OVERLOADED)   open load that platform cannot keep up with
    run(blocks=3)                 a quick look
    run(rejected={2: "steal"})    block 2 has an attempt that the validity checks reject, then one that passes
    run(failing={1: "oom"})       virtual (``fails`` names another) runs out of memory in block 1, which counts
    run(noise=0.15, ratio=1.1)    inconclusive (platform's throughput times 1.1)
"""

from __future__ import annotations

import math
import random
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from vtlab.analysis import verdict
from vtlab.model import units
from vtlab.model.experiment import Experiment
from vtlab.model.manifest import Manifest
from vtlab.model.records import Block, Failure, InFlight, Instance, Latency, ServerFigure, Trial
from vtlab.model.run import Analysis, BlockSeries, Run

EPOCH = 1_793_000_000_000  # 2026-10-26, epoch ms
MIB = 1024 * 1024


def experiment(name: str = "blocking", **changes: Any) -> Experiment:
    """A closed-load experiment whose requests wait: 1000 users, 200 Tomcat threads, 1 CPU."""
    document: dict[str, Any] = {
        "name": name,
        "description": "Every request waits for one second, as for a slow service behind it.",
        "request": {"path": "/wait", "query": {"time": "1s"}},
        "load": {"model": "closed", "users": 1000},
        "primary": "throughput",
        "windows": {"warmup_users": 200, "warmup_load": "6s", "warmup_cycles": 0, "measure": "30s"},
        "max_response": "20s",
        "limits": {"cpu": 1.0, "memory": "512Mi", "heap": "256m"},
        "variants": ["platform", "virtual"],
        "expected": {"platform": 200.0, "virtual": 1000.0},
    }
    document.update(changes)
    return Experiment.model_validate({k: v for k, v in document.items() if v is not None})


def cpu(**changes: Any) -> Experiment:
    """A closed-load experiment that only computes: 1 ms of CPU per request, 50 users."""
    return experiment(
        **{
            "name": "cpu",
            "description": "Every request computes for about a millisecond and waits for nothing.",
            "request": {"path": "/cpu"},
            "load": {"model": "closed", "users": 50},
            "expected": None,
            **changes,
        }
    )


def arrivals(**changes: Any) -> Experiment:
    """An open-load experiment: 150 arrivals per second, each waits 1 s, judged by p99."""
    return experiment(
        **{
            "name": "arrivals",
            "description": "150 requests arrive every second whether or not the service keeps up.",
            "load": {"model": "open", "rate": 150, "users": 1500},
            "primary": "latency_p99",
            "expected": None,
            **changes,
        }
    )


@dataclass(frozen=True)
class Service:
    """How one variant behaves; throughput follows from it and the load."""

    wait: float = 1.0
    #: CPU seconds per request.
    cpu: float = 0.00034
    #: Tomcat's threads; None where nothing caps them (virtual).
    threads: int | None = 200
    resident: float = 310 * MIB
    #: p99 over p50 of the client's latency when nothing queues.
    tail: float = 1.05
    #: Requests per second, where something that is not measured caps it.
    most: float = math.inf


def services(exp: Experiment) -> dict[str, Service]:
    """What the two variants do in each of the experiments above; others behave like ``blocking``."""
    first, second = exp.variants
    if exp.name == "cpu":
        return {
            first: Service(wait=0.0, cpu=0.00102, tail=4.0),
            second: Service(wait=0.0, cpu=0.00103, threads=None, resident=270 * MIB, tail=4.2),
        }
    virtual = Service(threads=None, cpu=0.00030, resident=290 * MIB, tail=1.02 if exp.name == "arrivals" else 1.05)
    return {first: Service(tail=1.16) if exp.name == "arrivals" else Service(), second: virtual}


def computing(ratio: float) -> dict[str, Service]:
    """For ``run(cpu(), computing(0.9))``: virtual has that multiple of platform's throughput."""
    platform = Service(wait=0.0, cpu=0.00102, tail=4.0)
    return {"platform": platform, "virtual": replace(platform, cpu=platform.cpu / ratio, threads=None)}


#: For ``run(arrivals(), OVERLOADED)``: platform has 100 threads for 150 arrivals that each take 1 s.
OVERLOADED = {"platform": Service(threads=100), "virtual": Service(threads=None, cpu=0.0003, tail=1.02)}


def trial(
    variant: str = "platform",
    position: int = 1,
    *,
    exp: Experiment | None = None,
    service: Service | None = None,
    phase: str = "measure",
    users: int | None = None,
    begin: int = EPOCH,
    window: float | None = None,
    factor: float = 1.0,
    scatter: float = 0.0,
    **changes: Any,
) -> Trial:
    """One trial that passes every validity check. ``factor`` multiplies throughput and ``1/factor`` latency;
    ``changes`` replace fields (``server`` and ``machine`` are merged)."""
    exp = exp or experiment()
    service = service or services(exp).get(variant, Service())
    load = exp.load
    limit = exp.limits.cpu
    window = window if window is not None else units.seconds(exp.window_of(variant) if phase == "measure" else "5s")
    minimum = service.wait + service.cpu + 0.0008
    threads = service.threads / minimum if service.threads else math.inf
    capacity = min(limit / service.cpu * 0.995, threads, service.most)
    dropped, timeouts = 0, 0
    if load.model == "open" and phase == "measure":
        users = load.users
        rate = min(load.rate, capacity * factor)
        dropped = round((load.rate - rate) * window) if load.rate > capacity else 0
        mean = users / rate if dropped else minimum * (1 + scatter) + service.tail / 100 * service.wait
    else:
        users = users or (load.users if load.model == "closed" else 200)
        rate = min(users / minimum, capacity) * factor
        mean = users / rate
    ok = round(rate * window)
    rate = ok / window
    tail = service.tail * (1 + scatter)
    cpu_cores = rate * service.cpu * (1 + scatter)
    in_service = min(rate * minimum, users)
    ramp_up = round(1000 * mean)
    start, end = begin + ramp_up, begin + ramp_up + round(window * 1000)
    extra = round(rate * mean)
    platform = service.threads is not None
    server: dict[str, float | None] = {
        "cpu_cores": cpu_cores,
        "cpu_limit": limit,
        "throttled_periods": 0.6 if cpu_cores > 0.9 * limit else 0.01,
        "throttled_seconds": 0.2 if cpu_cores > 0.9 * limit else 0.001,
        "processors": float(math.ceil(limit)),
        "server_throughput": rate,
        "service_time": minimum - 0.0004 if service.wait else min(mean, 200 / rate),
        "in_flight": in_service if service.wait else min(users, service.threads or users),
        "tomcat_threads_busy": min(in_service if service.wait else users, service.threads or 0) if platform else -1.0,
        "tomcat_threads_max": float(service.threads or 0) if platform else -1.0,
        "connections": float(users),
        "connections_max": 8192.0,
        "capacity_tomcat-threads": float(service.threads or 0) if platform else None,
        "capacity_connections": 8192.0,
        "threads": float((service.threads or 0) + 24),
        "carriers": None if platform else float(math.ceil(limit)),
        "virtual_mounted": None if platform else cpu_cores,
        "virtual_queued": None if platform else 2.0,
        "pinned_seconds": 0.0,
        "heap_used": 0.4 * service.resident,
        "resident": service.resident * (1 + scatter),
        "gc_share": 0.004,
        "in_flight_before": 0.0,
    }
    machine: dict[str, float | None] = {
        "idle_cores": 0.41,
        "generator_cpu": 0.2,
        "generator_wait": 0.00007,
        "generator_throttled": 0.0,
    }
    server.update(changes.pop("server", {}))
    machine.update(changes.pop("machine", {}))
    values: dict[str, Any] = {
        "variant": variant,
        "phase": phase,
        "position": position,
        "begin": begin,
        "start": start,
        "end": end,
        "drained": end + round(1000 * mean),
        "users": users,
        "started": ok + timeouts + extra,
        "completed": ok + timeouts + extra,
        "ok": ok,
        "failed": {},
        "failed_outside": 0,
        "throughput": rate,
        "latency": latency(ok, mean, tail),
        "dropped": dropped,
        "late_max": 0.004,
        "in_flight": InFlight(start=round(in_service), end=round(in_service)),
        "server": server,
        "machine": machine,
    }
    values.update(changes)
    return Trial.model_validate(values)


def latency(count: int, mean: float, tail: float = 1.05) -> Latency:
    """Latency with that mean and p99 = ``tail`` x median; percentiles only where 10 samples lie beyond."""

    def at(share: float, value: float) -> float | None:
        return value if count * (1 - share) >= 10 - 1e-9 else None

    median = mean * 0.995
    return Latency(
        count=count,
        mean=mean if count else None,
        p50=at(0.5, median),
        p90=at(0.9, median * (1 + (tail - 1) * 0.4)),
        p95=at(0.95, median * (1 + (tail - 1) * 0.6)),
        p99=at(0.99, median * tail),
        p99_9=at(0.999, median * tail * 1.2),
        max=median * tail * 1.5 if count else None,
    )


def instance(variant: str = "platform", *, block: int = 1, exp: Experiment | None = None, **changes: Any) -> Instance:
    """One JVM."""
    limit = (exp or experiment()).limits.cpu
    values: dict[str, Any] = {
        "variant": variant,
        "identity": f"{4000 + 2 * block + (variant != 'platform')}:{EPOCH + block}",
        "java": "25.0.1+8-LTS",
        "gc": "G1",
        "processors": math.ceil(limit),
        "cpu_limit": limit,
        "started_in": 4.2,
    }
    return Instance.model_validate({**values, **changes})


def block(
    number: int = 1,
    attempt: int = 1,
    *,
    exp: Experiment | None = None,
    behaviour: dict[str, Service] | None = None,
    factors: dict[str, float] | None = None,
    scatter: float = 0.0,
    reverse: bool = False,
    begin: int = EPOCH,
    cycles: int = 3,
    rng: random.Random | None = None,
    **changes: Any,
) -> Block:
    """One block that passes every validity check: warm-up, single-user phases, each variant's two trials, mirrored."""
    exp = exp or experiment()
    behaviour = behaviour or services(exp)
    factors = factors or {}
    rng = rng or random.Random(number)
    turns = exp.variants[::-1] if reverse else exp.variants
    order = [*turns, *reversed(turns)]
    now = begin
    load = units.seconds(exp.windows.warmup_load)

    def phase(kind: str, variant: str, position: int, window: float | None, users: int | None) -> Trial:
        nonlocal now
        jitter = math.exp(min(scatter, 0.01) * rng.gauss(0, 1) / 4)
        built = trial(
            variant,
            position,
            exp=exp,
            service=behaviour[variant],
            phase=kind,
            users=users,
            begin=now,
            window=window,
            factor=1.0 if kind == "single" else jitter * (factors.get(variant, 1.0) if kind == "measure" else 1.0),
            scatter=scatter * rng.gauss(0, 1) if kind == "measure" else 0.0,
        )
        now = built.drained + 500
        return built

    warmup = [
        phase("warmup", v, len(turns) * cycle + i, load, exp.windows.warmup_users)
        for cycle in range(cycles)
        for i, v in enumerate(turns, 1)
    ]
    single = [phase("single", v, i, 5.0, 1) for i, v in enumerate(turns, 1)]
    trials = [phase("measure", v, i, None, None) for i, v in enumerate(order, 1)]
    light = [
        lightly_loaded(v, exp, behaviour[v], rate, error, now)
        for v in turns
        for rate, error in ((0, 0.0), (20, 0.01), (40, 0.01), (40, -0.01), (20, -0.01), (0, 0.0))
        if number == 1
    ]
    values: dict[str, Any] = {
        "block": number,
        "attempt": attempt,
        "order": order,
        "warmup": warmup,
        "single": single,
        "light": light,
        "trials": trials,
        "instances": [instance(v, block=number, exp=exp) for v in exp.variants],
    }
    return Block.model_validate({**values, **changes})


def lightly_loaded(
    variant: str,
    exp: Experiment,
    service: Service,
    rate: float,
    error: float = 0.0,
    begin: int = EPOCH,
    **server: float,
) -> Trial:
    """A phase of light load, whose CPU is that share off; idle with a rate of 0."""
    ok = round(6 * rate)
    return trial(
        variant,
        exp=exp,
        service=service,
        phase="light",
        begin=begin,
        window=6.0,
        rate=float(rate),
        ok=ok,
        throughput=ok / 6,
        latency=latency(ok, service.wait + service.cpu),
        server={"cpu_cores": rate * service.cpu * (1 + error), "server_throughput": float(rate), **server},
    )


def spoiled(good: Block, how: str) -> Block:
    """``good`` as an attempt that a check of the machine rejects: steal, core_wait, generator, or fault."""
    trial = good.trials[0]
    if how == "steal":
        return _first_trial(good, {"machine": {**trial.machine, "steal": 0.04}})
    if how == "core_wait":
        return _first_trial(good, {"server": {**trial.server, "core_wait": 0.07}})
    if how == "generator":
        return _first_trial(good, {"machine": {**trial.machine, "idle_cores": 0.02}})
    if how == "fault":
        return good.model_copy(update={"trials": [], "faults": ["k6 ended with exit code 137 (killed)"]})
    raise ValueError(how)


def broken(good: Block, variant: str, how: str) -> Block:
    """``good`` as a block in which that variant failed: start, oom, errors, or unsteady."""

    def others(trials: Sequence[Trial]) -> list[Trial]:
        return [t for t in trials if t.variant != variant]

    if how == "errors":
        failed = [
            t.model_copy(update={"failed": {"status-500": t.ok // 7}}) if t.variant == variant else t
            for t in good.trials
        ]
        return good.model_copy(update={"trials": failed})
    without_trials = {"trials": others(good.trials), "single": others(good.single)}
    if how == "unsteady":
        cycles = [t for t in good.warmup if t.variant == variant]
        rising = [
            t.model_copy(update={"throughput": t.throughput * (1 + 0.2 * n), "ok": round(t.ok * (1 + 0.2 * n))})
            for n, t in enumerate(cycles)
        ]
        return good.model_copy(update={**without_trials, "warmup": [*others(good.warmup), *rising]})
    if how == "oom":
        failure = Failure(variant=variant, reason="out of heap memory (256m)", moment="trial 2")
        instances = [i.model_copy(update={"alive": i.variant != variant}) for i in good.instances]
        return good.model_copy(update={**without_trials, "instances": instances, "failures": [*good.failures, failure]})
    if how == "start":
        failure = Failure(variant=variant, reason="it ended with exit code 1", moment="while it started")
        instances = [i for i in good.instances if i.variant != variant]
        warmup = others(good.warmup)
        return good.model_copy(
            update={**without_trials, "warmup": warmup, "instances": instances, "failures": [*good.failures, failure]}
        )
    raise ValueError(how)


def _first_trial(good: Block, update: dict[str, Any]) -> Block:
    return good.model_copy(update={"trials": [good.trials[0].model_copy(update=update), *good.trials[1:]]})


def series(of: Block, exp: Experiment, rng: random.Random) -> BlockSeries:
    """One sample per second from the block's first to its last moment, for every charted metric."""
    phases = [*of.warmup, *of.single, *of.trials]
    series: BlockSeries = {}
    if not phases:
        return series
    begin, end = min(t.begin for t in phases), max(t.drained for t in phases)
    for variant in exp.variants:
        of_variant = [t for t in phases if t.variant == variant]
        samples: dict[str, list[list[float]]] = {
            name: [] for name in ("cpu_cores", "throttled_periods", "threads", "in_flight", "heap_used", "resident")
        }
        for now in range(begin, end, 1000):
            active = next((t for t in of_variant if t.begin <= now < t.drained), None)
            grown = (now - begin) / (end - begin)

            def value(name: ServerFigure, idle: float, active: Trial | None = active) -> float:
                figure = active.server.get(name) if active else None
                return round((idle if figure is None else figure) * rng.uniform(0.97, 1.03), 6)

            samples["cpu_cores"].append([now, value("cpu_cores", 0.004)])
            samples["throttled_periods"].append([now, min(1.0, value("throttled_periods", 0.0))])
            samples["threads"].append([now, round(value("threads", 34.0))])
            samples["in_flight"].append([now, round(value("in_flight", 0.0))])
            samples["heap_used"].append([now, value("heap_used", 60.0 * MIB)])
            samples["resident"].append([now, round((0.8 + 0.2 * grown) * (of_variant[0].server["resident"] or 0.0))])
        series[variant] = samples
    return series


def manifest(exp: Experiment, blocks: int = 6, **changes: Any) -> Manifest:
    """What ran."""
    values: dict[str, Any] = {
        "name": exp.name,
        "run_id": f"20261026T070000Z-{exp.name}",
        "started": "2026-10-26T07:00:00Z",
        "target": "local",
        "experiment": exp,
        "blocks": blocks,
        "seed": 7,
        "max_rejected": 2,
        "command": f"vtlab run {exp.name} --blocks {blocks}",
        "commit": "0123456789abcdef0123456789abcdef01234567",
        "versions": {"vtlab": "0.1.0", "java": "25.0.1+8-LTS", "k6": "1.8.1", "prometheus": "3.15.0"},
        "jvm_flags": ["-XX:+UseG1GC", f"-Xmx{exp.limits.heap}"],
        "cpu_limited": True,
        "machine": {
            "kernel": "6.12.0",
            "cgroup": "v2",
            "cpu": "Synthetic CPU @ 3.0 GHz",
            "cores": "4",
            "memory": "16 GiB",
            "load": "0.12",
        },
    }
    return Manifest.model_validate({**values, **changes})


def analysed(run: Run) -> Analysis:
    """The analysis of a run that is alone in its report."""
    (analysis,) = verdict.analyse_all([run])
    return analysis


def changed(analysis: Analysis, comparison: dict[str, Any] | None = None, /, **variants: dict[str, Any]) -> Analysis:
    """The analysis with other fields of its primary comparison and of its variants' results."""
    v = analysis.verdict
    first, *others = v.comparisons
    results = {name: result.model_copy(update=variants.get(name, {})) for name, result in v.variants.items()}
    comparisons = [first.model_copy(update=comparison or {}), *others]
    return replace(analysis, verdict=v.model_copy(update={"comparisons": comparisons, "variants": results}))


def run(
    exp: Experiment | None = None,
    behaviour: dict[str, Service] | None = None,
    *,
    blocks: int = 6,
    planned: int | None = None,
    noise: float | None = None,
    ratio: float | None = None,
    rejected: dict[int, str] | None = None,
    failing: dict[int, str] | None = None,
    fails: str = "virtual",
    seed: int = 1,
    with_series: bool = True,
    **changes: Any,
) -> Run:
    """A whole run.

    ``noise`` is about the standard deviation of a block's log ratio; ``ratio`` makes the other variants'
    throughput that multiple of the first's; ``rejected`` maps a block to what spoils its first attempt,
    ``failing`` to how ``fails`` fails in it; ``changes`` go to the manifest.
    """
    exp = exp or experiment()
    behaviour = behaviour or services(exp)
    first, *others = exp.variants
    if noise is None:
        noise = 0.001 if exp.name == "blocking" else 0.01
    if ratio is not None:
        most = min((behaviour[first].threads or math.inf) / behaviour[first].wait, exp.limits.cpu / 0.001)
        behaviour = {**behaviour, **{v: replace(behaviour[v], most=most) for v in others}}
    rng = random.Random(seed)
    recorded: list[Block] = []
    samples: dict[tuple[int, int], BlockSeries] = {}
    begin = EPOCH
    for number in range(1, blocks + 1):
        attempts = 2 if number in (rejected or {}) else 1
        for attempt in range(1, attempts + 1):
            drift = math.exp(rng.gauss(0, noise))
            factors = {
                first: drift * math.exp(rng.gauss(0, noise / math.sqrt(2))),
                **{v: drift * math.exp(rng.gauss(0, noise / math.sqrt(2))) * (ratio or 1.0) for v in others},
            }
            made = block(
                number,
                attempt,
                exp=exp,
                behaviour=behaviour,
                factors=factors,
                scatter=noise,
                reverse=rng.random() < 0.5,
                begin=begin,
                rng=rng,
            )
            begin = made.trials[-1].drained + 12_000
            if with_series:
                samples[number, attempt] = series(made, exp, rng)
            if attempts == 2 and attempt == 1:
                made = spoiled(made, (rejected or {})[number])
            elif number in (failing or {}):
                made = broken(made, fails, (failing or {})[number])
            recorded.append(made)
    about = manifest(exp, planned or blocks, **changes)
    return Run(manifest=about, experiment=exp, blocks=recorded, series=samples)

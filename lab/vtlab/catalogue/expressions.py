"""Every derived metric, defined once, as PromQL. Whoever shows or judges one takes it from here:

* ``vtlab.catalogue.rules`` writes the recording rules and the alerts (window 15 s),
* ``vtlab.targets.prometheus`` evaluates them over exactly the window of a trial,
* ``grafana-dashboards/`` draws them.

Placeholders in the PromQL:

    $server  matchers of the application's series (the label ``variant`` at least)
    $client  matchers of k6's series (``variant``; ``testid`` for one run)
    $window  the window that a rate or a mean is over
    $range   for what concerns a whole run: how far back its samples may lie

Units: seconds, bytes, cores, requests, threads; rates are per second. A share or a utilisation is a ratio of sums and
never a mean of ratios. ``namespace`` is there on Kubernetes only, where k6's Jobs tag their samples with it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from vtlab.analysis.laws import HELD_INSIDE, REACHED

#: What tells one variant from another.
KEY = "namespace, variant"
#: The same, of one run.
OF_RUN = f"{KEY}, testid"
#: The same, of one block of it.
BLOCK_KEY = f"{OF_RUN}, block"

#: Requests for the workload: not for the actuator, and none that found no handler.
_WORK = ',uri!~"/actuator.*|UNKNOWN|/\\\\*\\\\*"'
_REQUESTS = "http_server_requests_seconds"
#: OK requests as the client saw them, a native histogram.
_LATENCY = "k6_trial_latency_seconds"


@dataclass(frozen=True)
class Expression:
    """One derived metric. ``labels`` are added to what is recorded; ``help`` is one line on what it is."""

    metric: str
    unit: str
    promql: str
    help: str
    labels: Mapping[str, str] = field(default_factory=dict)

    @property
    def record(self) -> str:
        """The name of the recorded series."""
        return f"vtlab:{self.metric}:{self.unit}"


def _rate(name: str, more: str = "") -> str:
    return f"sum by ({KEY}) (rate({name}{{$server{more}}}[$window]))"


def _mean(name: str, more: str = "") -> str:
    return f"sum by ({KEY}) (avg_over_time({name}{{$server{more}}}[$window]))"


def _level(name: str, more: str = "") -> str:
    return f"sum by ({KEY}) ({name}{{$server{more}}})"


def _positive(selector: str) -> str:
    """Tomcat reports -1 for a pool of threads that it does not have, the JVM for a limit that it does not have."""
    return f"sum by ({KEY}) ({selector} > 0)"


# --- building blocks ---------------------------------------------------------

_CPU = f"{_rate('process_cpu_time_ns_total')} / 1e9"
#: Without a limit, what the JVM sees.
_CPU_LIMIT = f"(max by ({KEY}) (cgroup_cpu_limit_cores{{$server}}) or max by ({KEY}) (system_cpu_count{{$server}}))"
_SERVED = _rate(f"{_REQUESTS}_count", _WORK)
_SERVICE_TIME = f"{_rate(f'{_REQUESTS}_sum', _WORK)} / {_SERVED}"
_OK = f"sum by ({KEY}) (histogram_count(rate({_LATENCY}{{$client}}[$window])))"
_LATENCY_MEAN = f"sum by ({KEY}) (histogram_sum(rate({_LATENCY}{{$client}}[$window]))) / ({_OK} > 0)"
_PARALLELISM = f"sum by ({KEY}) (jvm_threads_virtual_parallelism{{$server}})"
_PINNED = _rate("jvm_threads_virtual_pinned_seconds_sum")
_PROCESSORS = f"max by ({KEY}) (system_cpu_count{{$server}})"


def _carriers(window: str) -> str:
    """JDK 24 and newer: as many as the scheduler aims at. Before, those that ran: one for each processor, more where
    pinned threads show that compensation had more run. (Of those that are alive some may only wait to be needed.)"""
    pinned = _PINNED.replace("$window", window)
    ran = f"{_PROCESSORS} and {_mean('jvm_threads_virtual_carriers_threads')} > 0"
    return f"({_PARALLELISM} or (ceil({pinned} - 0.1) > {_PROCESSORS}) or ({ran}))"


_CARRIERS = _carriers("$window")
_MOUNTED = _mean("jvm_threads_virtual_live_threads", ',scheduling_status="mounted"')
#: The most of the sum: the parts of the heap are fullest at different times.
_HEAP = f'max_over_time((sum by ({KEY}) (jvm_memory_used_bytes{{$server,area="heap"}}))[$window:1s])'
_HEAP_MAX = _positive('jvm_memory_max_bytes{$server,area="heap"}')
_RESIDENT = f"max by ({KEY}) (max_over_time(process_resident_memory_bytes{{$server}}[$window]))"
_MEMORY_LIMIT = f"max by ({KEY}) (cgroup_memory_limit_bytes{{$server}})"
_POOL_MAX = _positive("hikaricp_connections_max{$server}")
#: Threads of each executor: without a queue as many as it may have; with one it keeps to its core size until the queue
#: is full, and only then has more.
_EXECUTORS = (
    "((executor_pool_max_threads{$server}"
    " and (executor_queued_tasks{$server} + executor_queue_remaining_tasks{$server} == 0))"
    " or (executor_pool_size_threads{$server} > executor_pool_core_threads{$server})"
    " or (executor_pool_core_threads{$server} > 0))"
)
_EXECUTOR_USE = f"avg_over_time(executor_active_threads{{$server}}[$window]) / {_EXECUTORS}"
#: Of the one that is used most.
_EXECUTOR_MAX = f"max by ({KEY}) ({_EXECUTORS} and topk by ({KEY}) (1, {_EXECUTOR_USE}))"
#: Connections of the client of ``/downstream`` that requests hold, and how many there may be.
_LEASED = _mean("httpcomponents_httpclient_pool_total_connections", ',state="leased"')
_LEASABLE = _positive("httpcomponents_httpclient_pool_total_max{$server}")
_TOMCAT_MAX = _positive("tomcat_threads_config_max_threads{$server}")
_CONNECTIONS_MAX = _positive("tomcat_connections_config_max_connections{$server}")

#: How long a run's single-user phase (its first block has one) and load are remembered.
REMEMBERED = "6h"
#: Client latency when a user is alone, mean seconds, of each run: what a request takes when it waits for nobody.
SHORTEST = f'histogram_avg(sum by ({OF_RUN}) (last_over_time({_LATENCY}{{$client,phase="single"}}[{REMEMBERED}])))'
_OK_OF_RUN = f"sum by ({OF_RUN}) (histogram_count(rate({_LATENCY}{{$client}}[$window])))"


def _set_up(gauge: str) -> str:
    """A figure of a run's load, which k6 says at the beginning of each trial."""
    return f'max by ({OF_RUN}) (last_over_time(k6_trial_{gauge}{{$client,phase="measure"}}[{REMEMBERED}]))'


def _so_far(counter: str, more: str = "") -> str:
    return f"sum by ({BLOCK_KEY}, trial, phase) (last_over_time({counter}{{$client{more}}}[5m]))"


def _waited(part: str) -> str:
    return f"sum by ({KEY}) (histogram_sum(rate(k6_http_req_{part}_seconds{{$client}}[$window])))"


#: One round of a user: R_min, and its think time.
_ROUND = f"({SHORTEST} + {_set_up('think_time')} / 1000)"


def _held(demand: str) -> str:
    """Mean number of requests that hold something for ``demand`` seconds each: X times D."""
    return f"sum by ({KEY}) ({_OK_OF_RUN} * {demand})"


#: resource -> utilisation, U = X D / m [Denning and Buzen 1978]. D of what is held (threads, connections, users) is
#: taken from the single-user phase: under load it would contain the waiting for other resources. CPU is consumed and
#: never waited for, so its D is the one under load.
UTILIZATION: dict[str, str] = {
    "cpu": f"{_CPU} / {_CPU_LIMIT}",
    "tomcat-threads": f"{_held(SHORTEST)} / {_TOMCAT_MAX}",
    "connections": f"{_held(_ROUND)} / {_CONNECTIONS_MAX}",
    # Of several pools the one that is used most: an idle one beside it does not help.
    "db-pool": f"max by ({KEY}) (avg_over_time(hikaricp_connections_active{{$server}}[$window])"
    " / (hikaricp_connections_max{$server} > 0))",
    # JDK 24 and newer say how many are mounted; before, the time that threads were pinned is all there is.
    "carriers": f"{_MOUNTED} / {_PARALLELISM} or {_PINNED} / {_CARRIERS}",
    "downstream": f"{_LEASED} / {_LEASABLE}",
    "executor": f"max by ({KEY}) ({_EXECUTOR_USE})",
    # Closed load: at most N / (R_min + Z); open load: at most what arrives.
    "users": f"sum by ({KEY}) ({_OK_OF_RUN} / {_set_up('rate')} or {_OK_OF_RUN} * {_ROUND} / {_set_up('users')})",
}

#: resource -> how much of it there is.
CAPACITY: dict[str, str] = {
    "cpu": _CPU_LIMIT,
    "tomcat-threads": _TOMCAT_MAX,
    "connections": _CONNECTIONS_MAX,
    "db-pool": _POOL_MAX,
    "carriers": _CARRIERS,
    "downstream": _LEASABLE,
    "executor": _EXECUTOR_MAX,
    "users": f"max by ({KEY}) ({_set_up('rate')} or {_set_up('users')})",
}

_UTILIZATION_HELP = "Share of its bound that throughput reaches: throughput x demand / capacity"
_DEMAND_HELP = "Seconds of the resource that an OK request takes"
_CAPACITY_HELP = "How much of the resource there is"


def _named(name: str, unit: str, promql: str, help: str) -> tuple[str, Expression]:
    return name, Expression(name, unit, promql, help)


def _quantiles(metric: str, histogram: str, what: str) -> list[tuple[str, Expression]]:
    return [
        _named(f"{metric}_p{q}", "seconds", f"histogram_quantile(0.{q}, {histogram})", f"{what}, {q}th percentile")
        for q in (50, 95, 99)
    ]


def _family(metric: str, unit: str, of: Mapping[str, str], help: str) -> list[tuple[str, Expression]]:
    """One recorded series for each resource; its name in the lab is ``<metric>_<resource>``."""
    return [
        (f"{metric}_{resource}", Expression(metric, unit, promql, help, {"resource": resource}))
        for resource, promql in of.items()
    ]


#: name -> expression: what vtlab evaluates over each trial's window, and what is recorded.
EXPRESSIONS: dict[str, Expression] = dict(
    [
        # Requests, as the client saw them
        _named("throughput", "rate", _OK, "OK requests completed per second, as the client saw them"),
        _named(
            "error_ratio",
            "ratio",
            f'(sum by ({KEY}) (rate(k6_http_reqs_total{{$client,expected_response="false"}}[$window]))'
            f" or 0 * sum by ({KEY}) (rate(k6_http_reqs_total{{$client}}[$window])))"
            f" / (sum by ({KEY}) (rate(k6_http_reqs_total{{$client}}[$window])) > 0)",
            "Share of the requests that failed, as the client saw them",
        ),
        _named("latency_mean", "seconds", _LATENCY_MEAN, "Client latency of OK requests, mean"),
        *_quantiles(
            "latency", f"sum by ({KEY}) (rate({_LATENCY}{{$client}}[$window]))", "Client latency of OK requests"
        ),
        _named(
            "in_flight_client",
            "requests",
            # Little's law [Little 1961]: seconds that clients wait, per second. What k6 counts as begun and as ended
            # does not reach Prometheus at the same moment: the difference would be off by what happens in between.
            f"{_waited('duration')} + {_waited('blocked')}",
            "Requests that clients wait for, mean",
        ),
        _named(
            "started",
            "rate",
            f"sum by ({KEY}) (rate(k6_trial_started_total{{$client}}[$window]))",
            "Requests that k6 sent per second",
        ),
        # Requests, as the server saw them
        _named("server_throughput", "rate", _SERVED, "Requests answered per second, failures too, as the server saw"),
        _named("service_time", "seconds", _SERVICE_TIME, "From when a thread has the request to its answer, mean"),
        *_quantiles(
            "service_time",
            f"sum by ({KEY}, le) (rate({_REQUESTS}_bucket{{$server{_WORK}}}[$window]))",
            "From when a thread has the request to its answer",
        ),
        _named(
            "queue_time",
            "seconds",
            # Two clocks: what is below zero is no queue.
            f"clamp_min({_LATENCY_MEAN} - {_SERVICE_TIME}, 0)",
            "What clients wait before a thread has their request: client latency - service time, means",
        ),
        _named(
            "in_flight",
            "requests",
            _mean(f"{_REQUESTS.replace('_seconds', '_active_seconds')}_count"),
            "Requests that have a thread in the server",
        ),
        # CPU
        _named("cpu_cores", "cores", _CPU, "CPU used"),
        _named("cpu_limit", "cores", f"max by ({KEY}) (cgroup_cpu_limit_cores{{$server}})", "CPU limit"),
        _named("cpu_per_request", "seconds", f"{_CPU} / ({_OK} > 0)", "CPU seconds per OK request"),
        _named(
            "throttled_periods",
            "ratio",
            f"{_rate('cgroup_cpu_throttled_periods_total')} / {_rate('cgroup_cpu_periods_total')}",
            "Share of the CFS periods in which the CPU quota ran out",
        ),
        _named(
            "throttled_seconds",
            "ratio",
            _rate("cgroup_cpu_throttled_time_seconds_total"),
            "Seconds per second that CPUs were stopped by the quota",
        ),
        _named("processors", "cores", f"max by ({KEY}) (system_cpu_count{{$server}})", "Processors that the JVM sees"),
        # Tomcat
        _named(
            "tomcat_threads_busy",
            "threads",
            f"{_mean('tomcat_threads_busy_threads')} >= 0",
            "Tomcat threads that have a request; none under virtual threads",
        ),
        _named("tomcat_threads_max", "threads", _TOMCAT_MAX, "Tomcat threads that there may be"),
        _named("connections", "connections", _mean("tomcat_connections_current_connections"), "Connections accepted"),
        _named("connections_max", "connections", _CONNECTIONS_MAX, "Connections that Tomcat accepts"),
        # Pools
        _named("db_pool_active", "connections", _mean("hikaricp_connections_active"), "Database connections in use"),
        _named("db_pool_pending", "threads", _mean("hikaricp_connections_pending"), "Waiting for a connection"),
        _named(
            "downstream_active",
            "connections",
            _LEASED,
            "Connections to the downstream in use",
        ),
        _named(
            "downstream_pending",
            "threads",
            _mean("httpcomponents_httpclient_pool_total_pending"),
            "Waiting for a connection to the downstream",
        ),
        _named("executor_active", "threads", _mean("executor_active_threads"), "Threads of executors at work"),
        _named("executor_queued", "tasks", _mean("executor_queued_tasks"), "Tasks that wait in executors"),
        # JVM
        _named("threads", "threads", _mean("jvm_threads_live_threads"), "Platform threads"),
        _named("carriers", "threads", _PARALLELISM, "Carriers that the scheduler aims at (JDK 24 and newer)"),
        _named("carriers_alive", "threads", _mean("jvm_threads_virtual_carriers_threads"), "Carriers that are alive"),
        _named("virtual_mounted", "threads", _MOUNTED, "Virtual threads on a carrier"),
        _named(
            "virtual_queued",
            "threads",
            _mean("jvm_threads_virtual_live_threads", ',scheduling_status="queued"'),
            "Virtual threads ready and without a carrier",
        ),
        _named("pinned_seconds", "ratio", _PINNED, "Seconds per second that virtual threads were pinned, in all"),
        _named("pinned_events", "rate", _rate("jvm_threads_virtual_pinned_seconds_count"), "Pinnings per second"),
        _named("heap_used", "bytes", _HEAP, "Heap used, the most in the window"),
        _named("heap_share", "ratio", f"{_HEAP} / {_HEAP_MAX}", "Heap used of its maximum"),
        _named("resident", "bytes", _RESIDENT, "Memory that the process occupies, the most in the window"),
        _named("resident_share", "ratio", f"{_RESIDENT} / {_MEMORY_LIMIT}", "Memory occupied of the limit"),
        _named("memory_limit", "bytes", _MEMORY_LIMIT, "Memory limit"),
        _named("gc_share", "ratio", _rate("jvm_gc_pause_seconds_sum"), "Seconds per second in pauses of the GC"),
        _named(
            "allocated_per_request",
            "bytes",
            f"{_rate('jvm_gc_memory_allocated_bytes_total')} / ({_OK} > 0)",
            "Heap allocated per OK request, as the collections find it",
        ),
        _named(
            "jit_seconds",
            "ratio",
            f"{_rate('jvm_compilation_time_ms_total')} / 1000",
            "Seconds per second that the JIT compiler's threads compile",
        ),
        # Resources
        *_family("utilization", "ratio", UTILIZATION, _UTILIZATION_HELP),
        *_family("capacity", "count", CAPACITY, _CAPACITY_HELP),
        # D = U m / X.
        *_family(
            "demand",
            "seconds",
            {name: f"({UTILIZATION[name]}) * {CAPACITY[name]} / ({_OK} > 0)" for name in UTILIZATION},
            _DEMAND_HELP,
        ),
    ]
)


# --- what concerns the windows of trials, and whole runs ---------------------

_RUN_KEY = "namespace, experiment, testid"
_TRIAL_KEY = f"{BLOCK_KEY}, experiment, trial"
_NOW = "1000 * time()"


def _window_edge(edge: str, span: str) -> str:
    """Epoch milliseconds at which each measured window begins or ends."""
    return f'max by ({_TRIAL_KEY}) (last_over_time(k6_trial_window_{edge}{{$client,phase="measure"}}[{span}]))'


#: 1 while a trial is being measured.
IN_WINDOW = f"({_window_edge('start', '1h')} <= {_NOW} < bool Inf) and ({_window_edge('end', '1h')} > {_NOW})"
_TRIAL = "namespace, variant, testid, block, trial"
#: Of trials whose beginning is in the range as well.
_COUNTED = (
    f'(last_over_time({_LATENCY}{{$client,phase="measure"}}[$range])'
    f' and on ({_TRIAL}) last_over_time(k6_trial_window_start{{$client,phase="measure"}}[$range]))'
)
_RUN_OK = f"sum by ({_RUN_KEY}, variant) (histogram_count({_COUNTED}))"
#: Seconds of a run's windows that are over: of a trial that runs, until now.
_RUN_SECONDS = (
    f"sum by ({_RUN_KEY}, variant) (clamp_min({_window_edge('end', '$range')} - {_window_edge('start', '$range')}"
    f" - clamp_min({_window_edge('end', '$range')} - {_NOW}, 0), 0)) / 1000"
)
_RUN_FAILED = f'sum by ({_RUN_KEY}, variant) (last_over_time(k6_trial_failed_total{{$client,phase="measure"}}[$range]))'

#: Over all measured windows of a run, from the client's own counts: exact, as k6's summary. A latency's percentile is
#: that of a native histogram: within 5 %.
RUN: dict[str, Expression] = dict(
    [
        _named("run_throughput", "rate", f"{_RUN_OK} / ({_RUN_SECONDS} > 0)", "OK requests per second, all windows"),
        _named(
            "run_error_ratio",
            "ratio",
            f"({_RUN_FAILED} or 0 * {_RUN_OK}) / (({_RUN_FAILED} or 0 * {_RUN_OK}) + {_RUN_OK})",
            "Share of the requests that failed, all windows",
        ),
        *(
            _named(
                f"run_latency_p{q}",
                "seconds",
                f"histogram_quantile(0.{q}, sum by ({_RUN_KEY}, variant) ({_COUNTED}))",
                f"Client latency of OK requests, {q}th percentile, all windows",
            )
            for q in (50, 95, 99)
        ),
    ]
)


def over_platform(name: str) -> str:
    """Virtual over platform of a metric of ``RUN``."""
    of, over = (f"sum by ({_RUN_KEY}) ({RUN[name].promql.replace('$client', both)})" for both in _SIDES)
    return f"{of} / {over}"


_SIDES = tuple(f'$client,variant="{variant}"' for variant in ("virtual", "platform"))


#: By the law: as in ``analysis.laws``, free of the waiting for others. The rest is the share in use, which is not.
BY_LAW = ("cpu", "tomcat-threads", "connections")
#: Users of closed load, of each run that is remembered; and of the one that is going on.
_USERS_OF_RUN = f"({_set_up('users')} unless on ({OF_RUN}) {_set_up('rate')})"
USERS_NOW = f"({_USERS_OF_RUN} and on ({OF_RUN}) {_OK_OF_RUN} > 0)"


def constraint(utilization: Callable[[Sequence[str]], str], users_of_run: str) -> str:
    """The constraint of each variant, with its utilisation: the label ``resource`` names it.

    The resource whose bound is reached most closely, to 90 % at least (``analysis.laws``); what is in use counts only
    where nothing that is held inside it is short, for it is held longer then; and a lone user only where nothing else
    is. ``unknown``, with the highest
    utilisation there is, where no bound is reached and those of the CPU and of the users are known (of these once a
    single user was measured).
    ``utilization(resources)`` gives PromQL with the labels namespace, variant and resource, ``users_of_run`` how many
    users there are.
    """
    lone = f"max by ({KEY}) ({users_of_run}) == 1"
    by_law, cpu, users, rest = map(utilization, (BY_LAW, ("cpu",), ("users",), (*BY_LAW, *HELD_INSIDE)))
    alike = {inner: [name for name in HELD_INSIDE if HELD_INSIDE[name] == inner] for inner in HELD_INSIDE.values()}
    counted = [f"({by_law})", f"(({users}) unless on ({KEY}) (({lone}) and on ({KEY}) ({rest}) >= {REACHED}))"] + [
        f"(({utilization(names)}) unless on ({KEY}) ({utilization(inner)}) >= {REACHED})"
        for inner, names in alike.items()
    ]
    # Beyond 1 / REACHED a "bound" is refuted.
    possible = f"(({' or '.join(counted)}) <= {1 / REACHED:.3f})"
    return (
        f"(topk by ({KEY}) (1, {possible} >= {REACHED})"
        f" or on ({KEY}) label_replace(max by ({KEY}) ({possible}) and on ({KEY}) ({users}) and on ({KEY}) ({cpu}),"
        ' "resource", "unknown", "", ""))'
    )


# --- drawn by the dashboards, neither recorded nor part of a verdict ----------


#: What means over windows are made of. The variants are scraped every second, and a window may last only five: in a
#: recorded series, over 15 s, there is more of what was before than of it.
_SHORT = 2
#: Seconds over which the carriers that ran are counted there.
_LONG = 10
_START, _END = (f'last_over_time(k6_trial_window_{edge}{{$client,phase="measure"}}[1h])' for edge in ("start", "end"))
_OPEN = f"({_START} + {1000 * _SHORT} <= {_NOW} and {_END} >= {_NOW})"
_INSIDE = f"max by ({KEY}) {_OPEN}"


def window_mean(promql: str) -> str:
    """Mean over exactly the measured windows in ``$range``, of a rate or a level: of two such means of rates the ratio
    is a ratio of sums. (A subquery at every second: too much for a rule.)"""
    return _over_windows("avg", promql)


def _in_short(promql: str) -> str:
    """Over the short window. A pinning counts at its end: over so little more would seem to have run than did."""
    return promql.replace(_CARRIERS, _carriers(f"{_LONG}s")).replace("$window", f"{_SHORT}s")


def _over_windows(how: str, promql: str) -> str:
    inside = f"({promql.replace('$window', f'{_SHORT}s')}) and on ({KEY}) {_INSIDE}"
    return f"{how}_over_time(({inside})[$range:1s])"


def _by_resource(of: Mapping[str, str]) -> str:
    """All of a family in one, told apart by the label ``resource``."""
    return " or ".join(f'label_replace({promql}, "resource", "{name}", "", "")' for name, promql in of.items())


def _sampled(metric: str, unit: str, of: Mapping[str, str], help: str) -> list[Expression]:
    """Recorded every second, for the constraint is looked for in all of them at once: too much for subqueries."""
    inside = f"max by ({BLOCK_KEY}) (0 * {_OPEN} + 1)"
    return [
        Expression(
            f"window_{metric}",
            unit,
            f"({_in_short(promql)}) * on ({KEY}) group_right () {inside}",
            f"{help}, over {_SHORT} s, while a trial is being measured",
            {"resource": resource},
        )
        for resource, promql in of.items()
    ]


_RUN_OK_OF = f"sum by ({OF_RUN}) (histogram_count({_COUNTED}))"
_RUN_SECONDS_OF = f"(sum by ({KEY}) ({_RUN_SECONDS}) > 0)"
_RUN_THROUGHPUT = f"(sum by ({KEY}) ({_RUN_OK}) / {_RUN_SECONDS_OF})"
_RUN_LATENCY_MEAN = f"sum by ({KEY}) (histogram_sum({_COUNTED})) / (sum by ({KEY}) (histogram_count({_COUNTED})) > 0)"
_RUN_SERVICE_TIME = f"{window_mean(_rate(f'{_REQUESTS}_sum', _WORK))} / ({window_mean(_SERVED)} > 0)"

#: What is held is counted by the client, in whole windows; the rest is sampled in them.
_HELD = {"tomcat-threads": SHORTEST, "connections": _ROUND}
_SAMPLED_UTILIZATION = {name: of for name, of in UTILIZATION.items() if name not in (*_HELD, "users")}
SAMPLED = [
    *_sampled("utilization", "ratio", _SAMPLED_UTILIZATION, _UTILIZATION_HELP),
    *_sampled("capacity", "count", {name: of for name, of in CAPACITY.items() if name != "users"}, _CAPACITY_HELP),
]


def _recorded(metric: str, resources: Iterable[str]) -> str:
    return f'vtlab:window_{metric}{{$client,resource=~"{"|".join(resources)}"}}[$range]'


def _run_capacity(resources: Iterable[str]) -> str:
    return f"max by ({KEY}, resource) (max_over_time({_recorded('capacity:count', resources)}))"


def _run_sampled(resources: Iterable[str]) -> str:
    """A ratio of sums: one block may have lasted longer than another."""
    series = _recorded("utilization:ratio", resources)
    of, over = (f"sum by ({KEY}, resource) ({how}_over_time({series}))" for how in ("sum", "count"))
    return f"{of} / {over}"


_RUN_HELD = {
    **{
        name: f"sum by ({KEY}) ({_RUN_OK_OF} * {demand}) / sum by ({KEY}) ({_run_capacity([name])})"
        for name, demand in _HELD.items()
    },
    "users": f"sum by ({KEY}) ({_RUN_OK_OF} / {_set_up('rate')} or {_RUN_OK_OF} * {_ROUND} / {_set_up('users')})",
}


def run_utilization(*resources: str) -> str:
    """Utilisation over all measured windows of a run, of these resources (of all if none is given), told apart by the
    label ``resource``. ``UTILIZATION`` says why."""
    sampled = [name for name in _SAMPLED_UTILIZATION if not resources or name in resources]
    held = {name: promql for name, promql in _RUN_HELD.items() if not resources or name in resources}
    parts = [_run_sampled(sampled)] if sampled else []
    parts += [f"({_by_resource(held)}) / on ({KEY}) group_left () {_RUN_SECONDS_OF}"] if held else []
    return " or ".join(parts)


RUN_USERS = CAPACITY["users"]
#: How much there was, by the label ``resource``.
RUN_CAPACITY = f"{_run_capacity(name for name in CAPACITY if name != 'users')} or {_by_resource({'users': RUN_USERS})}"
#: Seconds of each resource that an OK request took: D = U m / X.
RUN_DEMAND = (
    f"({run_utilization()}) * on ({KEY}, resource) ({RUN_CAPACITY}) / on ({KEY}) group_left () {_RUN_THROUGHPUT}"
)
#: The most throughput that each resource allows: m / D = X / U.
RUN_BOUND = f"1 / (({run_utilization()}) > 0) * on ({KEY}) group_left () {_RUN_THROUGHPUT}"
#: The constraint of each variant over all measured windows of a run.
RUN_CONSTRAINT = constraint(lambda resources: run_utilization(*resources), _USERS_OF_RUN)
#: Utilisation of every resource over ``$window``, by the label ``resource``, while trials are measured: the bounds are
#: those of the experiment's request and users, which warm-ups do not have.
UTILIZATIONS = f"({_by_resource(UTILIZATION)}) and on ({KEY}) ({_START} <= {_NOW} and {_END} >= {_NOW})"

_TRIALS = ',trial=~"[0-9]+"'
_DROPPED = f"sum by ({KEY}) (last_over_time(k6_trial_dropped_total{{$client{_TRIALS}}}[$range]))"
_SENT = f"sum by ({KEY}) (last_over_time(k6_trial_started_total{{$client{_TRIALS}}}[$range]))"


def _client_mean(trend: str) -> str:
    of, over = (f"sum by ({KEY}) (histogram_{part}(rate({trend}{{$client}}[$window])))" for part in ("sum", "count"))
    return f"{of} / ({over} > 0)"


def _announced(gauge: str) -> str:
    """What the phase that is under way was begun with. k6 says it once, at the beginning."""
    given, end = (f"last_over_time(k6_trial_{name}{{$client}}[1h])" for name in (gauge, "window_end"))
    return f"max by ({KEY}) ({given} and {end} > {_NOW})"


_ACCEPTED = f"sum by ({KEY}) (tomcat_connections_current_connections{{$server}})"
DRAWN: dict[str, Expression] = dict(
    [
        # Over the measured windows of a run, with $range
        _named(
            "run_cpu_per_request",
            "seconds",
            f"{window_mean(_CPU)} / ({_RUN_THROUGHPUT} > 0)",
            "CPU seconds per OK request, all windows",
        ),
        _named("run_resident", "bytes", _over_windows("max", _RESIDENT), "Memory occupied, the most in all windows"),
        _named("run_service_time", "seconds", _RUN_SERVICE_TIME, "From when a thread has the request to its answer"),
        _named(
            "run_queue_time",
            "seconds",
            f"clamp_min({_RUN_LATENCY_MEAN} - {_RUN_SERVICE_TIME}, 0)",
            "What clients wait before a thread has their request: client latency - service time, means",
        ),
        _named(
            "run_throttled_periods",
            "ratio",
            f"{window_mean(_rate('cgroup_cpu_throttled_periods_total'))}"
            f" / {window_mean(_rate('cgroup_cpu_periods_total'))}",
            "Share of the CFS periods in which the CPU quota ran out, all windows",
        ),
        _named("run_threads", "threads", window_mean(EXPRESSIONS["threads"].promql), "Platform threads, mean"),
        _named("run_gc_share", "ratio", window_mean(EXPRESSIONS["gc_share"].promql), "Share of time in GC pauses"),
        _named(
            "run_dropped_ratio",
            "ratio",
            f"({_DROPPED} or 0 * {_SENT}) / (({_DROPPED} or 0 * {_SENT}) + {_SENT})",
            "Share of the arrivals that k6 could not send, all trials",
        ),
        _named(
            "run_late",
            "seconds",
            f"max by ({KEY}) (max_over_time(k6_trial_late{{$client{_TRIALS}}}[$range])) / 1000",
            "How late k6 sent a request, the most in all trials, as its users told last",
        ),
        _named(
            "run_memory_limit",
            "bytes",
            _over_windows("max", f"max by ({KEY}) (cgroup_memory_limit_bytes{{$server}})"),
            "Memory limit",
        ),
        _named(
            "run_cpu_limit",
            "cores",
            _over_windows("max", f"max by ({KEY}) (cgroup_cpu_limit_cores{{$server}})"),
            "CPU limit",
        ),
        # Over time, with $window
        _named(
            "in_window",
            "bool",
            f"max by ({KEY}) (({_START} <= bool {_NOW}) * ({_END} > bool {_NOW}))",
            "1 while a trial of the variant is being measured, else 0",
        ),
        _named("users", "requests", _announced("users"), "Users of the phase that is under way"),
        _named("arrivals", "rate", _announced("rate"), "Arrivals per second that were asked for; open load only"),
        _named(
            "dropped",
            "requests",
            f"sum by ({KEY}) ({_so_far('k6_trial_dropped_total')})"
            f" or 0 * sum by ({KEY}) ({_so_far('k6_trial_started_total')})",
            "Arrivals that k6 could not send, of the phases of the last 5 minutes",
        ),
        _named(
            "late",
            "seconds",
            f"max by ({KEY}) (max_over_time(k6_trial_late{{$client}}[$window])) / 1000",
            "How late k6 sent a request of a phase, told at its end",
        ),
        _named("blocked", "seconds", _client_mean("k6_http_req_blocked_seconds"), "Wait for a connection, mean"),
        _named("connecting", "seconds", _client_mean("k6_http_req_connecting_seconds"), "TCP handshakes, mean"),
        _named(
            "beyond_connections",
            "requests",
            # Begun less ended, of which one is ahead for a moment: only what lasts for the whole window counts. (By
            # Little's law, too much is in flight wherever latency rises.)
            f"clamp_min(min_over_time((sum by ({KEY}) ({_so_far('k6_trial_started_total', _TRIALS)}"
            f" - {_so_far('k6_http_reqs_total', _TRIALS)}) or 0 * {_ACCEPTED})[$window:1s])"
            f" - sum by ({KEY}) (max_over_time(tomcat_connections_current_connections{{$server}}[$window])), 0)",
            "Requests of clients whose connection the server has not accepted",
        ),
        _named(
            "threads_by_state",
            "threads",
            f"sum by ({KEY}, state)"
            ' (avg_over_time(jvm_threads_states_threads{$server,state!~"new|terminated"}[$window]))',
            "Platform threads by state",
        ),
        _named("heap_max", "bytes", _HEAP_MAX, "Heap that there may be"),
        _named("gc_pauses", "rate", _rate("jvm_gc_pause_seconds_count"), "Pauses of the GC per second"),
    ]
)


def drawn_over_platform(name: str) -> str:
    """Virtual over platform of a metric of ``DRAWN``."""
    of, over = (
        DRAWN[name].promql.replace("$client", client).replace("$server", client.replace("$client", "$server"))
        for client in _SIDES
    )
    return f"sum by (namespace) ({of}) / sum by (namespace) ({over})"


def less_platform(name: str) -> str:
    """Virtual less platform of a metric of ``RUN``, for one whose ratio is often 0 / 0."""
    of, less = (f"sum by ({_RUN_KEY}) ({RUN[name].promql.replace('$client', both)})" for both in _SIDES)
    return f"{of} - {less}"


def ahead(margin: float) -> str:
    """Virtual over platform of a run's throughput, under open load of the 99th percentile of its latency, by the
    labels ``ahead`` (a variant or ``neither``, which is within the margin) and ``metric``."""
    opened = f"on ({_RUN_KEY}) max by ({_RUN_KEY}) (last_over_time(k6_trial_rate{{$client}}[$range]))"
    throughput = f"({over_platform('run_throughput')} unless {opened})"
    latency = f"({over_platform('run_latency_p99')} and {opened})"

    def named(ratio: str, more: str, less: str, metric: str) -> str:
        low, high = f"{1 / (1 + margin):.4f}", f"{1 + margin:.4f}"
        sides = {more: f"{ratio} > {high}", less: f"{ratio} < {low}", "neither": f"{ratio} >= {low} <= {high}"}
        return " or ".join(
            f'label_replace(label_replace({promql}, "ahead", "{name}", "", ""), "metric", "{metric}", "", "")'
            for name, promql in sides.items()
        )

    return " or ".join(
        [
            named(throughput, "virtual", "platform", "throughput"),
            named(latency, "platform", "virtual", "p99 latency"),
        ]
    )


#: Raw series kept for the charts of the report: name in the report -> PromQL sampled every second, for one variant.
CHARTED: dict[str, str] = {
    "cpu_cores": f"{_CPU}".replace("$window", "3s"),
    "throttled_periods": EXPRESSIONS["throttled_periods"].promql.replace("$window", "3s"),
    "threads": _level("jvm_threads_live_threads"),
    "in_flight": _level(f"{_REQUESTS.replace('_seconds', '_active_seconds')}_count"),
    "heap_used": _level("jvm_memory_used_bytes", ',area="heap"'),
    "resident": f"max by ({KEY}) (process_resident_memory_bytes{{$server}})",
}


def fill(template: str, *, server: str, client: str, window: str = "", range: str = "") -> str:
    """The PromQL with its placeholders filled in."""
    values = {"$server": server, "$client": client, "$window": window, "$range": range}
    for placeholder, value in values.items():
        if not value and placeholder in template:
            raise ValueError(f"{placeholder} is not given: {template}")
        template = template.replace(placeholder, value)
    return template

"""The metrics of the catalogue with Grafana's variables in their queries."""

from __future__ import annotations

from typing import Literal

from vtlab.catalogue import metrics
from vtlab.catalogue.metrics import METRICS, Scope
from vtlab.catalogue.published import KEEPS_UP, Name

#: Locally series have no label ``namespace``: that of All, ``.*``, matches those, too.
NAMESPACE = 'namespace=~"$namespace"'
SERVER = f'{NAMESPACE},variant=~"$variants"'
#: Rates are over ``$__rate_interval``, runs over the chosen time range.
_VALUES = {
    "server": SERVER,
    "client": f'{SERVER},testid="$run"',
    "window": "$__rate_interval",
    "range": "$__range",
}
#: In place of a percentile.
TOO_FEW = -1
#: In place of the load's utilisation, where a variant keeps up with it.
SERVED = -1
_BY_VARIANT = "max by (namespace, variant)"
_BY_RESOURCE = "max by (namespace, variant, resource)"


def metric(name: str, scope: Scope = "window") -> str:
    """Queries a metric over time (``window`` or ``now``), or of a whole run."""
    return metrics.metric(name, scope, **_VALUES)


def in_windows(name: str) -> str:
    """Queries a metric over the last seconds, only while a trial of its variant is measured."""
    return metrics.render("$in_windows", of=name, **_VALUES)


def in_typical_windows(name: str) -> str:
    """Queries a metric likewise, while typical load is measured."""
    return metrics.render("$in_typical_windows", of=name, **_VALUES)


def of_phase(name: str, phase: Literal["measure", "typical"]) -> str:
    """Queries a metric of k6 over trials, or over phases of typical load, alone."""
    return metrics.metric(name, "now", **{**_VALUES, "client": f'{_VALUES["client"]},phase="{phase}"'})


def published(name: Name, matchers: str = SERVER) -> str:
    """Queries what vtlab has written of the run's verdict. It is dated at the run's end."""
    return f'last_over_time({name}{{{matchers},testid="$run"}}[$__range])'


def by_variant_or_plain(name: Name, plain: str) -> str:
    """Queries a figure of each variant as the verdict has it; where there is no verdict, the metric of the run."""
    return f"{_BY_VARIANT} ({published(name)}) or {_BY_VARIANT} ({metric(plain, 'run')})"


def ratio_by_hand() -> str:
    """Queries the throughput of each variant beside that of the first trial, in a run of one block without a verdict:
    the next block begins with another variant."""
    throughput = f"{_BY_VARIANT} ({metric('throughput', 'run')})"
    first_trial = f'last_over_time(k6_trial_window_start{{{_VALUES["client"]},phase="measure",trial="1"}}[$__range])'
    first = f"max by (namespace) ({throughput} and on (namespace, variant) {first_trial})"
    ratio = f"{throughput} / on (namespace) group_left () {first}"
    one_block = f"max by (namespace) ({metric('blocks_so_far', 'run')}) == 1"
    verdict = published("vtlab_verdict_blocks", NAMESPACE)
    return f"(({ratio}) and on (namespace) ({one_block})) unless on (namespace) {verdict}"


def latency_mean() -> str:
    """Queries the mean latency of each variant; NaN where the verdict says that there is none: it had not settled."""
    return by_variant_or_plain("vtlab_latency_mean_seconds", "latency_mean")


def latency_p99() -> str:
    """Queries the 99th percentile likewise, and ``TOO_FEW`` where the windows had too few requests for it."""
    p99 = f"{_BY_VARIANT} ({published('vtlab_latency_p99_seconds')})"
    few = f"0 * ({_BY_VARIANT} ({published('vtlab_latency_mean_seconds')}) >= 0) + {TOO_FEW}"
    plain = by_variant_or_plain("vtlab_latency_p99_seconds", "latency_p99")
    return f"({p99} >= 0) or ({few}) or {plain}"


def where_settled(plain: str) -> str:
    """Queries the metric of the run; NaN where the clients' latency had not settled."""
    latency = f"({latency_mean()})"
    settled = f"({_BY_VARIANT} ({metric(plain, 'run')})) and on (namespace, variant) ({latency} >= 0)"
    return f"({settled}) or ({latency} != {latency})"


def settled_in_windows(name: str) -> str:
    """Queries a metric of the clients in the windows; under closed load only where latency had settled: a wait counts
    when it ends, and before all users have waited for as long as later there seem to be fewer and shorter ones."""
    settled = f"max_over_time(({latency_mean()})[1s:1s] @ end()) >= 0"
    return f"({in_windows(name)}) and on (namespace, variant) (({settled}) or {metric('arrivals', 'now')})"


def most_of_run(name: str) -> str:
    """Queries a metric of the run, the most of all variants, as a constant over the whole time range."""
    return f"max(max_over_time(({metric(name, 'run')})[1s:1s] @ end()))"


def by_resource(name: Name) -> str:
    """Queries what the verdict says of each resource."""
    return f"{_BY_RESOURCE} ({published(name)})"


def by_resource_or_plain(name: Name, plain: str) -> str:
    """Queries the same; where there is no verdict, the query ``plain`` of the run."""
    verdict = by_resource(name)
    return f"{verdict} or (({plain}) unless on (namespace, variant) {verdict})"


def utilization() -> str:
    """Queries the utilisation of each resource; ``SERVED`` for the load of a variant that nothing else limits: it keeps
    up."""
    load_utilization = published("vtlab_utilization_ratio", f'{SERVER},resource="load"')
    is_load_bound = published("vtlab_bottleneck_ratio", f'{SERVER},bottleneck="{KEEPS_UP}"')
    served = f"0 * ({_BY_RESOURCE} ({load_utilization}) and on (namespace, variant) {is_load_bound}) + {SERVED}"
    utilizations = by_resource_or_plain("vtlab_utilization_ratio", metric("utilization", "run"))
    return f"({served}) or {utilizations}"


def without_verdict(promql: str) -> str:
    """Restricts a query to a run that has no verdict."""
    return f"({promql}) unless on (namespace, testid) {published('vtlab_verdict_blocks', NAMESPACE)}"


def ordered(promql: str) -> tuple[str, ...]:
    """Splits a query into one for platform and one for the others: Prometheus gives no order, and platform comes
    first."""
    return tuple(promql.replace(SERVER, f"{SERVER},variant{only}") for only in ('="platform"', '!="platform"'))


def recorded(name: str, matchers: str) -> str:
    """Queries what the rules record of a metric."""
    return f"{METRICS[name].recorded_as('rule')}{{{matchers}}}"


#: 1 while a trial is measured, trial by trial.
TRIALS = f"({metric('measured_window', 'rule')}) > 0"
#: The same of typical load.
TYPICAL = metrics.render(
    "max by ($block, experiment, trial) ($typical_begins) <= $now"
    " and max by ($block, experiment, trial) ($typical_ends) > $now",
    **_VALUES,
)
#: Users, under open load arrivals per second.
LOAD = metric("capacity_load")
#: How much of each resource was in use over a run's windows.
USED = f"{_BY_RESOURCE} ({metric('utilization', 'run')}) * {_BY_RESOURCE} ({metric('capacity', 'run')})"
#: What the kubelet's cAdvisor says; on Kubernetes only.
CADVISOR_THROTTLED = recorded("container_throttled_periods", SERVER)
K6_CPU = recorded("generator_cpu", NAMESPACE)
K6_THROTTLED = recorded("generator_throttled_periods", NAMESPACE)

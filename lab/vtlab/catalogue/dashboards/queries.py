"""The metrics of the catalogue with Grafana's variables in their queries."""

from __future__ import annotations

from vtlab.catalogue import metrics, resources
from vtlab.catalogue.metrics import METRICS, Scope
from vtlab.catalogue.published import Name

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


def metric(name: str, scope: Scope = "window") -> str:
    """A metric over time (``window`` or ``now``), or of a whole run."""
    return metrics.metric(name, scope, **_VALUES)


def utilization_of_run(resource: str) -> str:
    """The utilisation of one resource over all measured windows."""
    return metrics.render(resources.shown(resources.run_utilization([resource])), **_VALUES)


def published(name: Name, matchers: str = SERVER) -> str:
    """What vtlab has written of the run's verdict. It is dated at the run's end."""
    return f'last_over_time({name}{{{matchers},testid="$run"}}[$__range])'


def of_resources(name: Name) -> str:
    """What the verdict says of each resource."""
    return f"max by (namespace, variant, resource) ({published(name)})"


def of_resources_or_plain(name: Name, plain: str) -> str:
    """The same; where there is no verdict, the metric of the run."""
    verdict = of_resources(name)
    return f"{verdict} or (({metric(plain, 'run')}) unless on (namespace, variant) {verdict})"


def without_verdict(promql: str) -> str:
    """Only of a run that has no verdict."""
    return f"({promql}) unless on (namespace, testid) {published('vtlab_verdict_blocks', NAMESPACE)}"


def ordered(promql: str) -> tuple[str, ...]:
    """The same for platform, and for the others: Prometheus gives no order, and platform comes first."""
    return tuple(promql.replace(SERVER, f"{SERVER},variant{only}") for only in ('="platform"', '!="platform"'))


def less_platform(name: str) -> str:
    """Virtual less platform of a figure of a run, for a metric whose ratio is often 0 / 0."""
    return metrics.render("$less_platform", of=f"run_{name}", by=_run_labels(name), **_VALUES)


def _run_labels(name: str) -> str:
    return metrics.render("$run") if METRICS[name].by_run else "namespace"


def recorded(name: str, matchers: str) -> str:
    """What the rules record of a metric."""
    return f"{METRICS[name].recorded_as('rule')}{{{matchers}}}"


#: 1 while a trial of a variant is being measured.
IN_WINDOW = metric("in_window", "now")
#: The same, trial by trial.
TRIALS = f"({metric('measured_window', 'rule')}) > 0"
#: Users, under open load arrivals per second.
LOAD = metric("capacity_load")
#: What the kubelet's cAdvisor says; on Kubernetes only.
CADVISOR_THROTTLED = recorded("container_throttled_periods", SERVER)
K6_CPU = recorded("generator_cpu", NAMESPACE)
K6_THROTTLED = recorded("generator_throttled_periods", NAMESPACE)

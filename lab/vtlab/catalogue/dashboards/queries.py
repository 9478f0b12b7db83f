"""The metrics of the catalogue with Grafana's variables in their queries."""

from __future__ import annotations

from vtlab.analysis.statistics import MARGIN
from vtlab.catalogue import metrics, resources
from vtlab.catalogue.metrics import METRICS, Scope

#: Locally series have no label ``namespace``: that of All, ``.*``, matches those, too.
SERVER = 'namespace=~"$namespace",variant=~"$variants"'
#: Rates are over ``$__rate_interval``, runs over the chosen time range.
_VALUES = {
    "server": SERVER,
    "client": f'{SERVER},testid="$run"',
    "window": "$__rate_interval",
    "range": "$__range",
    "least": f"{1 / (1 + MARGIN):.4f}",
    "most": f"{1 + MARGIN:.4f}",
}


def metric(name: str, scope: Scope = "window") -> str:
    """A metric over time (``window`` or ``now``), or of a whole run."""
    return metrics.metric(name, scope, **_VALUES)


def utilization_of_run(resource: str) -> str:
    """The utilisation of one resource over all measured windows."""
    return metrics.render(resources.run_utilization([resource]), **_VALUES)


def ordered(promql: str) -> tuple[str, ...]:
    """The same for platform, and for the others: Prometheus gives no order, and platform comes first."""
    return tuple(promql.replace(SERVER, f"{SERVER},variant{only}") for only in ('="platform"', '!="platform"'))


def over_platform(name: str) -> str:
    """Virtual over platform of a figure of a run."""
    return metrics.render("$over_platform", of=f"run_{name}", by=_run_labels(name), **_VALUES)


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
K6_CPU = recorded("generator_cpu", 'namespace=~"$namespace"')
K6_THROTTLED = recorded("generator_throttled_periods", 'namespace=~"$namespace"')

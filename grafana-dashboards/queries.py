"""PromQL of the dashboards: the ``vtlab.catalogue.expressions`` with Grafana's variables filled in."""

from __future__ import annotations

from vtlab.analysis.statistics import MARGIN
from vtlab.catalogue import expressions, rules
from vtlab.catalogue.expressions import DRAWN, EXPRESSIONS, RUN

#: Locally series have no label ``namespace``: that of All, ``.*``, matches those, too.
SERVER = 'namespace=~"$namespace",variant=~"$variants"'
CLIENT = f'{SERVER},testid="$run"'


def fill(promql: str) -> str:
    """With the dashboards' matchers, rates over ``$__rate_interval`` and runs over the chosen time range."""
    return expressions.fill(promql, server=SERVER, client=CLIENT, window="$__rate_interval", range="$__range")


def named(name: str) -> str:
    """A named expression: over time one of ``EXPRESSIONS`` or ``DRAWN``, of a whole run (``run_…``) of ``RUN`` or
    ``DRAWN``."""
    for family in (EXPRESSIONS, RUN, DRAWN):
        if name in family:
            return fill(family[name].promql)
    raise KeyError(name)


def ordered(promql: str) -> tuple[str, ...]:
    """The same for platform, and for the others: Prometheus gives no order, and platform comes first."""
    return tuple(promql.replace(SERVER, f"{SERVER},variant{only}") for only in ('="platform"', '!="platform"'))


def over_platform(name: str) -> str:
    """Virtual over platform of a figure of a run."""
    return fill(expressions.over_platform(name) if name in RUN else expressions.drawn_over_platform(name))


def less_platform(name: str) -> str:
    """Virtual less platform of a figure of a run."""
    return fill(expressions.less_platform(name))


#: Which variant is ahead, and by how much.
AHEAD = fill(expressions.ahead(MARGIN))
#: 1 while a trial of a variant is being measured.
IN_WINDOW = named("in_window")
#: The same, trial by trial.
TRIALS = fill(f"({expressions.IN_WINDOW}) > 0")
#: What holds each variant back, over all measured windows.
CONSTRAINT = fill(expressions.RUN_CONSTRAINT)
UTILIZATION = fill(expressions.run_utilization())
UTILIZATION_OF_CARRIERS = fill(expressions.run_utilization("carriers"))
DEMAND = fill(expressions.RUN_DEMAND)
CAPACITY = fill(expressions.RUN_CAPACITY)
BOUND = fill(expressions.RUN_BOUND)
#: Users, under open load arrivals per second.
LOAD = fill(expressions.RUN_USERS)
UTILIZATION_NOW = fill(expressions.UTILIZATIONS)

_RECORDED = {expression.metric: expression.record for expression in rules.RECORDED}
#: What the kubelet's cAdvisor says; on Kubernetes only.
CADVISOR_THROTTLED = f"{_RECORDED['container_throttled_periods']}{{{SERVER}}}"
K6_CPU, K6_THROTTLED = (
    f'{_RECORDED[metric]}{{namespace=~"$namespace"}}' for metric in ("generator_cpu", "generator_throttled_periods")
)

"""The PromQL that names what limits each variant, by the rule of ``vtlab.analysis.laws``."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from vtlab.catalogue.resources import HOLDS, REACHED, RESOURCES, run_utilization


def of_rules() -> str:
    """From the recorded series: of the current run."""
    return _bottleneck(lambda names: f'vtlab:utilization:ratio{{resource=~"{"|".join(names)}"}}', "$closed_users_now")


def of_run() -> str:
    """Over all measured windows of a run."""
    return _bottleneck(run_utilization, "$closed_users")


def _bottleneck(utilization: Callable[[Iterable[str]], str], users: str) -> str:
    """The bottleneck of each variant, with its utilisation: the label ``resource`` names it.

    That is the resource whose bound is reached most closely, to 90 % at least. A pool is named only if no resource used
    inside it is saturated. A single user is named only if nothing else is saturated. ``unknown``, with the highest
    utilisation there is, where no bound is reached and those of the CPU and of the load are known (of the load once a
    single user was measured).
    """
    by_law = [row.name for row in RESOURCES.values() if row.demand in ("cpu", "request", "round")]
    load = [row.name for row in RESOURCES.values() if row.demand == "load"]
    cpu = [row.name for row in RESOURCES.values() if row.demand == "cpu"]
    by_inner_resource = {inner: [name for name in HOLDS if HOLDS[name] == inner] for inner in HOLDS.values()}
    is_single_user = f"max by ($variant) ({users}) == 1"
    something_else = f"({utilization([*by_law, *HOLDS])}) >= {REACHED}"
    candidates = [
        f"({utilization(by_law)})",
        f"(({utilization(load)}) unless on ($variant) (({is_single_user}) and on ($variant) {something_else}))",
        *(
            f"(({utilization(names)}) unless on ($variant) ({utilization(inner)}) >= {REACHED})"
            for inner, names in by_inner_resource.items()
        ),
    ]
    # Beyond 1 / REACHED a "bound" is refuted.
    possible = f"(({' or '.join(candidates)}) <= {1 / REACHED:.3f})"
    known = f"({utilization(load)}) and on ($variant) ({utilization(cpu)})"
    return (
        f"(topk by ($variant) (1, {possible} >= {REACHED})"
        f" or on ($variant) label_replace(max by ($variant) ({possible}) and on ($variant) {known},"
        ' "resource", "unknown", "", ""))'
    )

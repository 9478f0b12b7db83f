"""The JIT compiler: whether it rests, and what it takes from the requests."""

from __future__ import annotations

from vtlab.analysis.validity.load_bound import is_at_most, most_throughput
from vtlab.model.experiment import Experiment
from vtlab.model.records import Trial

#: Share of the CPU limit from which on the CPU counts as scarce.
SCARCE = 0.8
#: Cores that the JIT compiler's threads may use where requests lack the CPU that they take.
MOST_JIT = 0.05


def is_compiler_at_rest(cycle: Trial) -> bool:
    """Tells whether the JIT compiler used next to no CPU in a cycle; False where that is not known."""
    jit = cycle.server.get("jit_cpu")
    return jit is not None and jit <= MOST_JIT


def is_compiled(trial: Trial, experiment: Experiment) -> bool:
    """Tells whether the JIT compiler took nothing from the requests: it rested, the CPU was not scarce, or the load was
    the bound all the same. True where its CPU time is not known."""
    cores = trial.server.get("jit_cpu")
    if cores is None or cores <= MOST_JIT or not is_cpu_scarce(trial, experiment):
        return True
    return is_at_most(trial, most_throughput(trial, experiment))


def taken_by_compilers(trial: Trial, experiment: Experiment) -> float | None:
    """Returns the cores that the JIT compiler took from the requests; 0 where the CPU was not scarce, None where either
    is not known."""
    cores = trial.server.get("jit_cpu")
    if cores is None or trial.server.get("cpu_cores") is None:
        return None
    return cores if is_cpu_scarce(trial, experiment) else 0.0


def is_cpu_scarce(trial: Trial, experiment: Experiment) -> bool:
    """Tells whether requests lack the CPU that others take; for a cycle with more CPU than the limit, whether they will
    under the limit."""
    enforced = trial.server.get("cpu_limit") if trial.raised_cpu is None else None
    limit = enforced or experiment.limits.cpu
    return (trial.server.get("cpu_cores") or 0.0) >= SCARCE * limit

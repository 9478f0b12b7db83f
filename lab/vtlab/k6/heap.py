"""The heap of k6: so large that Go seldom collects garbage while a window is measured.

k6 keeps a JavaScript runtime for each user, 0.7 to 1.2 MB. To collect the garbage of 1000 users takes k6 a third of its
CPU, makes a call 3 s longer, and may send arrivals late (docs/evidence/cost-of-measuring.md).
"""

from __future__ import annotations

from collections.abc import Mapping

from vtlab.model.experiment import Experiment
from vtlab.model.load import ClosedLoad, RateLoad

_MIB = 1024 * 1024
#: MiB that k6 may take before it collects garbage: without users, and for each of them. In ten seconds at 342
#: arrivals a second 1000 users take 2.8 each, with their runtimes.
_BASE, _USER = 512, 5
#: Share of the available memory that this may be.
_MOST = 0.5


def environment(users: int, available: int) -> dict[str, str]:
    """Returns variables of Go by which k6 collects no garbage until its heap has a size by the number of users.

    Empty where that is more than half of the memory that is ``available``, in bytes: k6 then collects as it would
    without vtlab, whenever the heap has doubled.
    """
    limit = _BASE + users * _USER
    if limit * _MIB > _MOST * available:
        return {}
    return {"GOGC": "off", "GOMEMLIMIT": f"{limit}MiB"}


def most_users(experiment: Experiment, variables: Mapping[str, str]) -> int:
    """Returns the largest number of users that a call may have, by its variables (``phase_variables``) and by the
    experiment."""
    loads = (experiment.load_.full, experiment.load_.typical)
    planned = [load.users or 0 for load in loads if isinstance(load, ClosedLoad | RateLoad)]
    named = ",".join(variables[name] for name in ("USERS", "TYPICAL_USERS") if name in variables)
    return max([1, *planned, *(int(users) for users in named.split(",") if users)])

"""The experiments that come with vtlab."""

from __future__ import annotations

from collections.abc import Sequence

from vtlab import shipped
from vtlab.model.experiment import Experiment
from vtlab.model.experiment_files import load

#: The folder with a ``.json`` file of each.
EXPERIMENTS = shipped.ROOT / "k6" / "experiments"


def resolve(names: Sequence[str]) -> list[Experiment]:
    """Loads the experiments of these names, or of paths of ``.json`` files."""
    return [load(name, EXPERIMENTS) for name in names]

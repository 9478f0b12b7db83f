"""Windows as long as an answer takes, where an attempt showed that they were shorter: it ends without an answer."""

from __future__ import annotations

import math
from collections.abc import Sequence

from vtlab.analysis.validity.failing import answered_late, sound_variants
from vtlab.model import units
from vtlab.model.experiment import Experiment
from vtlab.model.records import Block, Trial

#: The longest that a window becomes for that, seconds.
LONGEST = 60.0


def for_late_answers(experiment: Experiment, block: Block) -> Experiment | None:
    """Returns the experiment with warm-up cycles and trials that are long enough for the answers of this attempt, all
    of which came after a window; None where no window is too short, or one would have to be longer than ``LONGEST``.
    What a variant that failed answered late tells nothing.

    The first request of such a phase was answered before the last one was, and so within the new window.
    """
    sound = sound_variants(block, experiment)
    late = [trial for trial in (*block.warmup, *block.trials) if trial.variant in sound and answered_late(trial)]
    needed = _until_drained(late)
    if needed > LONGEST:
        return None
    windows = experiment.windows
    by_variant = {name: _at_least(length, needed) for name, length in windows.measure_by_variant.items()}
    changes = {
        "warmup_load": _at_least(windows.warmup_load, needed),
        "measure": _at_least(windows.measure, needed),
        "measure_by_variant": by_variant,
    }
    longer = windows.model_copy(update=changes)
    return None if longer == windows else experiment.model_copy(update={"windows": longer})


def _until_drained(trials: Sequence[Trial]) -> float:
    """Computes the seconds from the beginning of the longest of these phases until its last answer, in whole ones."""
    return float(max((math.ceil((trial.drained - trial.begin) / 1000) for trial in trials), default=0))


def _at_least(length: str, seconds: float) -> str:
    return length if units.seconds(length) >= seconds else f"{seconds:g}s"

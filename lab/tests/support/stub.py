"""Experiments of the stub service, and blocks of them on this machine."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from vtlab import results, session
from vtlab.model import experiment
from vtlab.model.experiment import Experiment
from vtlab.targets.local.target import LocalTarget, local_target

STUB_BLOCK = Path(__file__).parent / "stub-block.json"
#: Describes the stub as a service.
STUB = STUB_BLOCK.with_name("stub.json")


def planned(**changes: Any) -> Experiment:
    """The stub's experiment with other values; a mapping changes only its own keys."""
    data = json.loads(STUB_BLOCK.read_text(encoding="utf-8")) | {"service": str(STUB)}
    for key, value in changes.items():
        data[key] = {**data[key], **value} if isinstance(value, dict) and key in data else value
    return experiment.parse(json.dumps(data), str(STUB_BLOCK))


@contextlib.contextmanager
def target(folder: Path, planned: Experiment, **options: Any) -> Iterator[LocalTarget]:
    """This machine, for one run of an experiment below ``folder``, where its ledger is, too."""
    run = folder / "run"
    run.mkdir(exist_ok=True)
    results.write_experiment(run, planned)
    with local_target(run, folder, session.REPOSITORY, **options) as made:
        yield made

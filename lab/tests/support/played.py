"""Targets that play the blocks of a run that was, and runs with them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from tests.support import builders
from vtlab.analysis.validity import checks
from vtlab.errors import BlockFault
from vtlab.model.experiment import Experiment
from vtlab.model.k6_documents import K6Document
from vtlab.model.records import Block, Diagnosis, Failure, Instance, Trial
from vtlab.model.run import BlockSeries, Run
from vtlab.planning import trial_order
from vtlab.planning.load import AS_PLANNED, LightLoad, Pace
from vtlab.progress import Progress
from vtlab.runs import store
from vtlab.runs.measure import measure_run

RUN = builders.run(blocks=2)
#: How long one user is alone.
ALONE = RUN.experiment.windows.single_user_phase
#: Windows of an experiment whose trials give up what is unanswered.
GIVING_UP = {
    "warmup_users": 200,
    "warmup_load": "6s",
    "warmup_cycles": 0,
    "measure": "30s",
    "trials": 1,
    "wait_for_answers": False,
}


@pytest.fixture(autouse=True)
def as_recorded(monkeypatch: pytest.MonkeyPatch) -> None:
    """The order of each block is the one that it had."""
    monkeypatch.setattr(trial_order, "order", lambda variants, seed, block, trials: RUN.blocks[block - 1].order)


class Played:
    """A target, and its blocks: those of a run that was. Cycles are played one after the other."""

    loads_at_once = True
    preflight_seconds = 0.0

    def __init__(self, blocks: Sequence[Block]) -> None:
        self.blocks = list(blocks)

    def start(self, experiment: Experiment, block: int, attempt: int) -> Played:
        self.now = self.blocks.pop(0)
        self.cycles = 0
        return self

    @property
    def instances(self) -> list[Instance]:
        return self.now.instances

    @property
    def differences(self) -> list[str]:
        return self.now.differences

    @property
    def failures(self) -> list[Failure]:
        return []

    def drop(self, variant: str) -> None:
        raise AssertionError("nothing failed")

    def raise_cpu(self) -> float | None:
        return None

    def restore_cpu(self) -> None:
        raise AssertionError("nothing was raised")

    def end_warm_up(self) -> None:
        pass

    def load(
        self,
        *,
        order: Sequence[str],
        warmup_cycles: int,
        single: str | None,
        own_cycles: int = 0,
        light: LightLoad | None = None,
        wait_for_answers: bool = True,
        pace: Pace = AS_PLANNED,
        at_once: bool = False,
    ) -> K6Document:
        parts: dict[str, list[Trial]] = {"warmup": [], "single": [], "trials": [], "light": []}
        if warmup_cycles + own_cycles:
            variants = len({t.variant for t in self.now.warmup})
            first, self.cycles = self.cycles, self.cycles + warmup_cycles + own_cycles
            parts["warmup"] = self.now.warmup[first * variants : self.cycles * variants]
            parts["trials"] = self.now.trials if order else []
        elif light:
            parts["light"] = [t for t in self.now.light if t.variant in light.rates]
        else:
            parts |= {"single": self.now.single if single else [], "trials": self.now.trials if order else []}
        return K6Document(version=1, experiment="blocking", run_id="r", block=1, order=[], agreed=True, **parts)

    def diagnose(self, paces: Mapping[str, Pace]) -> dict[str, Diagnosis]:
        raise AssertionError("every variant is explained")

    def trial_without_drain(self, variant: str, position: int, pace: Pace = AS_PLANNED) -> K6Document:
        raise AssertionError("all trials are of one call")

    def check_instances(self) -> list[Instance]:
        return self.now.instances

    def series(self, begin_ms: int, end_ms: int) -> BlockSeries:
        return {}


def console() -> tuple[Console, StringIO]:
    text = StringIO()
    return Console(file=text, width=200), text


class InTurn(Played):
    """Also writes down what is asked of it."""

    def __init__(self, blocks: Sequence[Block]) -> None:
        super().__init__(blocks)
        self.calls: list[str] = []

    def load(  # type: ignore[override]
        self, *, order: Sequence[str], single: str | None, own_cycles: int = 0, **rest: Any
    ) -> K6Document:
        if rest.get("light"):
            self.calls.append("light load")
        elif not own_cycles:
            self.calls.append(f"load {' '.join(order)}, {single}")
        document = super().load(order=order, single=single, own_cycles=own_cycles, **rest)
        return document.model_copy(update={"trials": [t for t in document.trials if t.variant in order]})

    def trial_without_drain(self, variant: str, position: int, pace: Pace = AS_PLANNED) -> K6Document:
        self.calls.append(f"trial {position} of {variant}")
        document = super().load(order=[variant], warmup_cycles=0, single=None)
        trial = next(t for t in document.trials if t.variant == variant)
        return document.model_copy(update={"single": [], "trials": [trial.model_copy(update={"position": position})]})


class Breaking(Played):
    """A target whose variants, or k6, break when it is their turn: ``breaks`` says in which call, each call once."""

    def __init__(self, blocks: Sequence[Block], **breaks: BlockFault | Failure) -> None:
        super().__init__(blocks)
        self.breaks = breaks
        self.said: list[str] = []
        self.light: list[LightLoad] = []
        self.paces: list[Pace] = []
        self.at_once: list[str] = []
        self.left: list[str] = []

    def start(self, experiment: Experiment, block: int, attempt: int) -> Breaking:
        super().start(experiment, block, attempt)
        self.left = [instance.variant for instance in self.instances]
        return self

    @property
    def instances(self) -> list[Instance]:
        return [i for i in self.now.instances if i.variant not in {f.variant for f in self.failures}]

    @property
    def failures(self) -> list[Failure]:
        failure = self.breaks.get("start")
        return [failure] if isinstance(failure, Failure) else []

    def drop(self, variant: str) -> None:
        self.said.append(f"drop {variant}")
        self.left.remove(variant)

    def load(
        self,
        *,
        order: Sequence[str],
        warmup_cycles: int,
        single: str | None,
        own_cycles: int = 0,
        light: LightLoad | None = None,
        wait_for_answers: bool = True,
        pace: Pace = AS_PLANNED,
        at_once: bool = False,
    ) -> K6Document:
        self.paces.append(pace)
        if at_once:
            assert not order
            self.at_once.append("light" if light else "single")
        if light:
            call, kind = "light", f"light load for {' '.join(light.rates)}"
            self.light.append(light)
        elif own_cycles or warmup_cycles:
            cheap = f"{warmup_cycles} cheap and " if warmup_cycles else ""
            following = f" then trials {' '.join(order)}" if order else ""
            call, kind = "followed" if order else "warmup", f"{cheap}{own_cycles} own cycles{following}"
        elif single and not order:
            call, kind = "single", f"a single user for {single}"
        else:
            call, kind = "trials", f"trials {' '.join(order)}"
        self.said.append(f"{kind} of {' '.join(self.left)}")
        broken = self.breaks.pop(call, None)
        if isinstance(broken, BlockFault):
            raise broken
        document = super().load(
            order=order, warmup_cycles=warmup_cycles, single=single, own_cycles=own_cycles, light=light, pace=pace
        )
        kept = {part: [t for t in getattr(document, part) if t.variant in self.left] for part in ("warmup", "single")}
        return document.model_copy(update={**kept, "trials": [t for t in document.trials if t.variant in order]})

    def diagnose(self, paces: Mapping[str, Pace]) -> dict[str, Diagnosis]:
        self.said.append(f"thread dumps of {' '.join(paces)}")
        return {name: Diagnosis(dumps=20, threads=40.0, places=[]) for name in paces}


def one_block(target: Played, tmp_path: Path, exp: Experiment | None = None) -> tuple[Block, str]:
    """What became of a run of one block, which counts, and what was said."""
    run = builders.run(exp, blocks=1)
    store.create(tmp_path, run.manifest)
    said, text = console()
    with Progress(said, [1]) as progress:
        measure_run(tmp_path, store.read(tmp_path), target, progress)
    (block,) = store.read(tmp_path).blocks
    assert checks.reasons(block, run.experiment) == []
    return block, text.getvalue()


def measured(target: Played, folder: Path, run: Run) -> tuple[list[Block], str]:
    """The blocks of a run, and what was said."""
    store.create(folder, run.manifest)
    said, text = console()
    with Progress(said, [1] * run.manifest.blocks) as progress:
        measure_run(folder, store.read(folder), target, progress, wait=lambda _: None)
    return store.read(folder).blocks, text.getvalue()


class WithMore(Breaking):
    """A target whose variants get more CPU; ``cores``: how many, None for a machine without."""

    def __init__(self, blocks: Sequence[Block], cores: float | None = 1.5, **breaks: BlockFault | Failure) -> None:
        super().__init__(blocks, **breaks)
        self.cores = cores
        self.waits: list[bool] = []
        self.is_raised = False

    def raise_cpu(self) -> float | None:
        self.said.append(f"raise {' '.join(self.left)}")
        self.is_raised = self.cores is not None
        return self.cores

    def restore_cpu(self) -> None:
        self.said.append("restore")
        self.is_raised = False

    def load(
        self, *, warmup_cycles: int, own_cycles: int = 0, wait_for_answers: bool = True, **rest: Any
    ) -> K6Document:  # type: ignore[override]
        if not warmup_cycles and not own_cycles:
            self.waits.append(wait_for_answers)
        document = super().load(warmup_cycles=warmup_cycles, own_cycles=own_cycles, **rest)
        raised = [t.model_copy(update={"raised_cpu": self.cores}) for t in document.warmup]
        return document.model_copy(update={"warmup": raised}) if self.is_raised else document


#: The cheap cycles have so many requests for each variant.
COUNTED = {"warmup_users": 200, "warmup_load": "6s", "warmup_cycles": 2, "warmup_requests": 6000, "measure": "30s"}

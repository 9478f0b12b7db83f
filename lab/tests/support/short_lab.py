"""Blocks of planted cases on this machine: as a run measures them, but with little warm-up and few trials."""

from __future__ import annotations

import contextlib
import itertools
import math
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from tests.support.experiments import tiny
from tests.support.planted import slow_downstream
from tests.support.runs import RunFolder
from tests.support.stalls import Stalls, undisturbed
from vtlab.analysis import variant_results
from vtlab.analysis.laws.phases import measured_variant
from vtlab.analysis.validity import checks
from vtlab.analysis.validity.completeness import SERVER_MEASURED
from vtlab.errors import BlockFault
from vtlab.k6 import rows
from vtlab.measuring.warm_up import last_of_each
from vtlab.model.experiment import Experiment
from vtlab.model.k6_documents import K6Document
from vtlab.model.load import OpenLoad
from vtlab.model.records import Block, Trial
from vtlab.planning import light_load, round_pacing
from vtlab.planning.light_load import LoadedVariant
from vtlab.planning.load_call import AS_PLANNED, LightLoad, LoadCall
from vtlab.services.companions import downstream
from vtlab.targets.local.block import LocalBlock
from vtlab.targets.local.target import LocalTarget

#: Checks that a block here does not pass, as it is shorter than a run's. All others hold.
NOT_HERE = {"trials complete", "warm-up cycles", "warm-up measured", "steady state", "JIT compiler", "trend"}
#: Phases of a single user, for each variant: with a pool's timer (three of 2 s, as after a search), and without.
WITH_TIMERS, SHORT = "6s", "3s"


@dataclass(frozen=True)
class Jvms:
    """Settings of a pair of JVMs. Cases that have the same are planted in the same JVMs."""

    settings: Mapping[str, str] = field(default_factory=dict)
    needs: Sequence[str] = ()
    limits: Mapping[str, object] = field(default_factory=dict)
    properties: Mapping[str, object] = field(default_factory=dict)
    #: Whether the sample application has the planted controllers.
    planted: bool = False
    #: Requests that the service behind answers at a time; None for one that answers all.
    downstream_threads: int | None = None

    def experiment(self, planted_service: Mapping[str, Any] | None, **changes: Any) -> Experiment:
        """Returns an experiment in these JVMs."""
        service: dict[str, object] = {"service": planted_service} if self.planted else {}
        return tiny(
            settings=dict(self.settings),
            needs=list(self.needs),
            limits=dict(self.limits),
            properties=dict(self.properties),
            **service,
            **changes,
        )


def windows(users: int, rates: Mapping[str, float], least: float = 4.0, **more: object) -> dict[str, Any]:
    """Returns ``load`` and ``windows`` of users who are served at these rates. A window has whole rounds (users / rate)
    and lasts so many seconds at least: a part of a round would cut bursts. ``more`` goes to ``windows``."""
    rounds = {variant: users / rate for variant, rate in rates.items()}
    whole = {variant: math.ceil(least / seconds) * seconds for variant, seconds in rounds.items()}
    return {
        "load": {"full": {"users": users, "round": {name: in_ms(seconds) for name, seconds in rounds.items()}}},
        "windows": {
            "warmup_users": min(10, users),
            "warmup_load": "1s",
            "measure_by_variant": {variant: in_ms(seconds) for variant, seconds in whole.items()},
            **more,
        },
    }


def in_ms(seconds: float) -> str:
    """Writes seconds as whole milliseconds."""
    return f"{round(1000 * seconds)}ms"


def compiled(trials: Sequence[Trial], limit: float) -> list[str]:
    """Lists the variants that used most of their CPU in a trial, with much of it for the JIT compiler: on a slow
    machine the first trials of a JVM are limited by that, whatever was planted."""
    servers = [(trial.variant, trial.server.get("cpu_cores"), trial.server.get("jit_cpu")) for trial in trials]
    return [name for name, cores, jit in servers if cores and jit and cores >= 0.7 * limit and jit >= 0.1 * limit]


@dataclass(frozen=True)
class ShortBlock:
    """A block to be measured: its JVMs, its experiment and its phases."""

    jvms: Jvms
    planned: Experiment
    #: The variants of the trials.
    order: Sequence[str]
    #: Length of a single-user phase; None for no such phases.
    single: str | None = WITH_TIMERS
    with_light: bool = False
    trial_load_cycles: int = 0
    #: The warm-up of an earlier block, which stands for one of its own in the same JVMs.
    warmed: Sequence[Trial] = ()

    @property
    def variants(self) -> list[str]:
        """The variants, each once."""
        return list(dict.fromkeys(self.order))


class Lab:
    """One target for all tests of a module, and one pair of JVMs for all cases in a row that have the same."""

    def __init__(self, run: RunFolder, target: LocalTarget, stalls: Stalls, end: contextlib.ExitStack) -> None:
        self._run = run
        self._target = target
        self._stalls = stalls
        self._end = end
        self._numbers = itertools.count(1)
        self._block: LocalBlock | None = None
        self._jvms: Jvms | None = None
        #: Threads -> URL, of slow downstreams.
        self._downstreams: dict[int, str] = {}

    def judged(self, wanted: ShortBlock, judge: Callable[[Block], None]) -> None:
        """Measures a block and has it judged.

        Against vtlab counts only a block that its checks accept and in which the machine did not stall.
        """
        number = next(self._numbers)

        def measure(attempt: int) -> Block:
            return self.measured(wanted, number, attempt)

        undisturbed(measure, judge, lambda block: self.disturbances(block, wanted.planned), attempts=6)

    def disturbances(self, block: Block, planned: Experiment) -> list[str]:
        """Lists the reasons for which a run would measure the block again, and the stalls of the machine."""
        # The bounds hang on the single-user phases as much as on the trials. A second of these may lie between scrapes.
        both = block.model_copy(update={"trials": [*block.single, *block.trials]})
        sampled = SERVER_MEASURED.name
        judged = [check for check in checks.results([both], planned) if check.name not in NOT_HERE | {sampled}]
        judged += [check for check in checks.results([block], planned) if check.name == sampled]
        reasons = [f"{check.name}: {check.worst}" for check in judged if not check.passed]
        reasons += [f"the JIT compiler shares the CPU of {name}" for name in compiled(block.trials, planned.limits.cpu)]
        return reasons + self._stalls.disturbed([*block.single, *block.trials])

    def measured(self, wanted: ShortBlock, number: int, attempt: int = 1) -> Block:
        """Measures a block; with thread dumps of what its figures do not explain, and light load where asked for."""
        if not self.are_running(wanted.jvms):
            wanted = replace(wanted, warmed=())
        started = self._started(wanted, number, attempt)
        try:
            document = _load(started, wanted, number)
            block = Block(
                block=number,
                attempt=attempt,
                order=list(wanted.order),
                agreed=document.agreed,
                warmup=document.warmup,
                single=document.single,
                trials=document.trials,
                instances=started.check_instances(),
            )
            if wanted.with_light:
                block.light = started.load(LoadCall(light_load=_planned_light(wanted, block))).light
            unexplained = _unexplained(wanted, block)
            block.diagnosis = started.diagnose(dict.fromkeys(unexplained, AS_PLANNED)) if unexplained else {}
        except BlockFault:
            self._block = None
            raise
        return block

    def _started(self, wanted: ShortBlock, number: int, attempt: int) -> LocalBlock:
        """Returns the running JVMs, or starts those that are wanted. What is planted in different resources may be
        planted in the same JVMs, as a name is no ratio."""
        self._run.plan(wanted.planned)
        if self._block and self.are_running(wanted.jvms):
            self._block = self._block.renumbered(wanted.planned, number, attempt)
        else:
            self._block, self._jvms = None, wanted.jvms
            with self._calls_downstream(wanted.jvms.downstream_threads):
                self._block = self._target.start(wanted.planned, number, attempt)
            assert self._block.failures == []
        return self._block

    def are_running(self, jvms: Jvms) -> bool:
        """Tells whether these JVMs run."""
        return self._block is not None and self._jvms == jvms

    @contextlib.contextmanager
    def _calls_downstream(self, threads: int | None) -> Iterator[None]:
        """Makes variants that start meanwhile call a downstream with so many threads."""
        if threads is None:
            yield
            return
        if threads not in self._downstreams:
            folder = Path(self._run.root, f"downstream-{threads}")
            folder.mkdir()
            self._downstreams[threads] = self._end.enter_context(slow_downstream(folder, threads))
        os.environ[downstream.URL] = self._downstreams[threads]
        try:
            yield
        finally:
            del os.environ[downstream.URL]


def _load(started: LocalBlock, wanted: ShortBlock, number: int) -> K6Document:
    """Measures warm-up, where the JVMs had none, single users and trials."""
    planned, warmup = wanted.planned, list(wanted.warmed)
    cycles = LoadCall(
        warmup_cycles=planned.windows.warmup_cycles,
        trial_load_cycles=wanted.trial_load_cycles,
        pacing=round_pacing.pacing(planned, number),
    )
    call = LoadCall(pacing=cycles.pacing) if warmup else cycles
    if isinstance(planned.load, OpenLoad):
        # By the warm-up open load settles before a window. As under typical load, nothing lengthens that window.
        warmup = warmup or started.load(cycles).warmup
        settled = round_pacing.pacing(planned, number, last_of_each(warmup, wanted.variants))
        call = LoadCall(pacing=replace(settled, measure=None, shown_overload=None))
    single = None
    if wanted.single and rows.need_calls_of_their_own(planned):
        # As in a run: users share no state, and a single user would read rows of others.
        warmup = warmup or started.load(cycles).warmup
        call = LoadCall(pacing=cycles.pacing)
        single = started.load(replace(call, single_user_phase=wanted.single)).single
    alone = None if single else wanted.single
    document = started.load(replace(call, single_user_phase=alone, trial_order=wanted.order))
    return document.model_copy(update={"warmup": [*warmup, *document.warmup], "single": single or document.single})


def _planned_light(wanted: ShortBlock, block: Block) -> LightLoad:
    measured = {variant: measured_variant([block], wanted.planned, variant) for variant in wanted.variants}
    return light_load.plan({name: LoadedVariant.measured(m, m) for name, m in measured.items()})


def _unexplained(wanted: ShortBlock, block: Block) -> list[str]:
    """Returns the variants that figures do not explain. Without single-user phases nothing is known of a request
    alone."""
    if not wanted.single:
        return []
    return [name for name in wanted.variants if variant_results.is_unexplained([block], wanted.planned, name)]


@contextlib.contextmanager
def lab(folder: Path) -> Iterator[Lab]:
    """Opens a lab in that folder; at its end nothing that it started is left."""
    run = RunFolder(folder, tiny())
    with contextlib.ExitStack() as end:
        target = end.enter_context(run.target())
        stalls = end.enter_context(contextlib.closing(Stalls()))
        yield Lab(run, target, stalls, end)

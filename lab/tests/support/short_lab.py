"""Blocks of planted cases on this machine: as the runner measures them, but with little warm-up and few trials."""

from __future__ import annotations

import contextlib
import itertools
import math
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
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
from vtlab.model.experiment import Experiment
from vtlab.model.records import Block
from vtlab.planning import light_load, round_pacing
from vtlab.planning.light_load import LoadedVariant
from vtlab.planning.load_call import AS_PLANNED, LoadCall
from vtlab.services.companions import downstream
from vtlab.targets.local.block import LocalBlock
from vtlab.targets.local.target import LocalTarget

#: What a block here has less of than a run's. All other checks hold.
NOT_HERE = {"trials complete", "warm-up cycles", "warm-up measured", "steady state", "JIT compiler", "trend"}
#: Phases of a single user, for each variant: with a pool's timer (three of 3 s, as in a run), and without.
WITH_TIMERS, SHORT = "9s", "3s"


@dataclass(frozen=True)
class Jvms:
    """What a pair of JVMs is started with. Cases that have the same are planted in the same JVMs."""

    settings: Mapping[str, str] = field(default_factory=dict)
    needs: Sequence[str] = ()
    limits: Mapping[str, object] = field(default_factory=dict)
    properties: Mapping[str, object] = field(default_factory=dict)
    #: Whether the sample application has the planted controllers.
    planted: bool = False
    #: Requests that the service behind answers at a time; None for one that answers all.
    downstream_threads: int | None = None

    def experiment(self, planted_service: str, **changes: Any) -> Experiment:
        """An experiment in these JVMs."""
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
    """``load`` and ``windows`` of users who are served at these rates. A window has whole rounds (users / rate), or it
    would cut bursts, and lasts so many seconds at least. ``more`` goes to ``windows``."""
    rounds = {variant: users / rate for variant, rate in rates.items()}
    whole = {variant: math.ceil(least / seconds) * seconds for variant, seconds in rounds.items()}
    return {
        "load": {"users": users, "round": {variant: in_ms(seconds) for variant, seconds in rounds.items()}},
        "windows": {
            "warmup_users": min(10, users),
            "warmup_load": "1s",
            "measure_by_variant": {variant: in_ms(seconds) for variant, seconds in whole.items()},
            **more,
        },
    }


def in_ms(seconds: float) -> str:
    return f"{round(1000 * seconds)}ms"


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

    def judged(
        self,
        jvms: Jvms,
        planned: Experiment,
        order: Sequence[str],
        judge: Callable[[Block], None],
        *,
        single: str | None = WITH_TIMERS,
        with_light: bool = False,
    ) -> None:
        """Measures a block of trials in that order and has it judged.

        Against vtlab counts only a block that its checks accept and in which the machine did not stall.
        """
        number = next(self._numbers)

        def measure(attempt: int) -> Block:
            return self.measured(jvms, planned, order, number, attempt, single=single, with_light=with_light)

        undisturbed(measure, judge, lambda block: self.disturbances(block, planned), attempts=3)

    def disturbances(self, block: Block, planned: Experiment) -> list[str]:
        """Why a run would measure the block again, and where the machine stalled."""
        # The bounds hang on the single-user phases as much as on the trials. A second of these may lie between scrapes.
        both = block.model_copy(update={"trials": [*block.single, *block.trials]})
        sampled = SERVER_MEASURED.name
        judged = [check for check in checks.results([both], planned) if check.name not in NOT_HERE | {sampled}]
        judged += [check for check in checks.results([block], planned) if check.name == sampled]
        reasons = [f"{check.name}: {check.worst}" for check in judged if not check.passed]
        return reasons + self._stalls.disturbed([*block.single, *block.trials])

    def measured(
        self,
        jvms: Jvms,
        planned: Experiment,
        order: Sequence[str],
        number: int,
        attempt: int = 1,
        *,
        single: str | None = WITH_TIMERS,
        with_light: bool = False,
        trial_load_cycles: int = 0,
    ) -> Block:
        """A block; with thread dumps of what its figures do not explain, and light load where asked for."""
        started = self._started(jvms, planned, number, attempt)
        cycles = planned.windows.warmup_cycles
        variants = list(dict.fromkeys(order))
        try:
            pacing, warmup = round_pacing.pacing(planned, number), []
            if planned.load.model == "open":
                # By the warm-up open load settles before a window.
                document = started.load(
                    LoadCall(warmup_cycles=cycles, trial_load_cycles=trial_load_cycles, pacing=pacing)
                )
                warmup = document.warmup
                last = [[t for t in warmup if t.variant == variant][-1] for variant in variants]
                pacing, cycles, trial_load_cycles = round_pacing.pacing(planned, number, last), 0, 0
            document = started.load(
                LoadCall(
                    warmup_cycles=cycles,
                    trial_load_cycles=trial_load_cycles,
                    single_user_phase=single,
                    trial_order=order,
                    pacing=pacing,
                )
            )
            block = Block(
                block=number,
                attempt=attempt,
                order=list(order),
                agreed=document.agreed,
                warmup=[*warmup, *document.warmup],
                single=document.single,
                trials=document.trials,
                instances=started.check_instances(),
            )
            if with_light:
                measured = {variant: measured_variant([block], planned, variant) for variant in variants}
                light = light_load.plan({name: LoadedVariant.measured(m, m) for name, m in measured.items()})
                block.light = started.load(LoadCall(light_load=light)).light
            # Without single-user phases nothing is known of a request alone.
            unexplained = [
                name for name in variants if single and variant_results.is_unexplained([block], planned, name)
            ]
            block.diagnosis = started.diagnose(dict.fromkeys(unexplained, AS_PLANNED)) if unexplained else {}
        except BlockFault:
            self._block = None
            raise
        return block

    def _started(self, jvms: Jvms, planned: Experiment, number: int, attempt: int) -> LocalBlock:
        """A name is no ratio: what is planted in different resources is planted in the same JVMs."""
        self._run.plan(planned)
        if self._block and self._jvms == jvms:
            self._block = self._block.renumbered(planned, number, attempt)
        else:
            self._block, self._jvms = None, jvms
            with self._calls_downstream(jvms.downstream_threads):
                self._block = self._target.start(planned, number, attempt)
            assert self._block.failures == []
        return self._block

    @contextlib.contextmanager
    def _calls_downstream(self, threads: int | None) -> Iterator[None]:
        """Variants that start meanwhile call a downstream with so many threads."""
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


@contextlib.contextmanager
def lab(folder: Path) -> Iterator[Lab]:
    """The lab in that folder; at its end nothing that it started is left."""
    run = RunFolder(folder, tiny())
    with contextlib.ExitStack() as end:
        target = end.enter_context(run.target())
        stalls = end.enter_context(contextlib.closing(Stalls()))
        yield Lab(run, target, stalls, end)

"""One attempt at one block on this machine: its variants run, and k6 loads them."""

from __future__ import annotations

import contextlib
import functools
import json
import os
import signal
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from vtlab import shipped
from vtlab.errors import BadInput, BlockFault, GeneratorFailed, VariantFailed
from vtlab.host import machine, tools, usage
from vtlab.host.process_ledger import Command
from vtlab.host.processes import Process
from vtlab.k6 import call as k6
from vtlab.k6 import heap
from vtlab.k6.call import phase_variables, run_id_of
from vtlab.k6.rows import RowsTaken
from vtlab.model import normalised, units
from vtlab.model.experiment import Experiment
from vtlab.model.k6_documents import K6Document
from vtlab.model.records import Diagnosis, Failure, Instance, ServerFigure, Trial
from vtlab.model.run import BlockSeries
from vtlab.planning import k6_timing
from vtlab.planning.load_call import AS_PLANNED, CallPacing, LoadCall
from vtlab.prometheus.annotate import annotate, fill_gaps, fill_series_gaps
from vtlab.prometheus.queries import Prometheus
from vtlab.services import before_trial
from vtlab.services.process import VariantProcess
from vtlab.targets.local import dumps, short_pins, warm_up_cpu, workload
from vtlab.targets.local.disk import named_when_full
from vtlab.targets.local.site import LocalSite


@dataclass(frozen=True)
class LocalStart:
    """The variants of one attempt at one block, as they started."""

    experiment: Experiment
    number: int
    attempt: int
    #: All that were started, and of these the instances that run.
    variants: Sequence[VariantProcess]
    instances: Sequence[Instance]
    failures: Sequence[Failure] = ()


class LocalBlock:
    """One attempt at one block: its variants run, and k6 loads them. They stay until the target's next start, or its
    end: a block that is measured is stored first."""

    def __init__(self, site: LocalSite, start: LocalStart) -> None:
        self.experiment = start.experiment
        self.variants = start.variants
        self.instances = list(start.instances)
        self.failures = list(start.failures)
        self.differences: list[str] = []
        self.preflight_seconds = 0.0
        self._site = site
        self.start = start
        #: As they were when their part in the block was over; None where they had none.
        self._retired: dict[str, Instance | None] = {failure.variant: None for failure in start.failures}
        #: The last phase in the block of each variant that still runs.
        self._before: dict[str, Trial] = {}
        self._rows = RowsTaken()
        #: One for each call of k6.
        self._samplers: list[machine.Sampler] = []
        #: Cores of each variant, while that is more than its limit.
        self._raised: float | None = None
        #: Whether the JIT compilers of all go before the threads that serve requests.
        self._compilers_first = False

    @property
    def call_seconds(self) -> float:
        """Time for a process of this machine to start and end."""
        return k6_timing.START_UP

    @property
    def loads_at_once(self) -> bool:
        """Tells whether vtlab may use the whole machine: idle cores that it may not use tell nothing."""
        return warm_up_cpu.available() >= (os.cpu_count() or 1)

    @property
    def takes_dumps(self) -> bool:
        """Says yes: it asks each JVM."""
        return True

    def renumbered(self, experiment: Experiment, number: int, attempt: int) -> LocalBlock:
        """Returns another block, with the variants of this one as they run."""
        renumbered = replace(
            self.start,
            experiment=experiment,
            number=number,
            attempt=attempt,
            instances=self.instances,
            failures=self.failures,
        )
        block = LocalBlock(self._site, renumbered)
        block._rows = self._rows
        return block

    def raise_cpu(self) -> float | None:
        """Gives the variants more CPU; returns how many cores each, None where they keep their limit: the machine has
        hardly more, nothing limits them, or their shape is not fixed, as that of a service that is no jar."""
        limit = self.experiment.limits.cpu
        cpu = warm_up_cpu.cores(limit, warm_up_cpu.available())
        running = self._running()
        if cpu is None or not running or not all(v.cgroup and v.launch.service.jar for v in running):
            return None
        try:
            warm_up_cpu.allow(running, cpu)
        except BlockFault:
            # What stands above the groups may allow no more.
            warm_up_cpu.allow(running, limit)
            return None
        self._raised = cpu
        self._compilers_first = warm_up_cpu.prefer_compilers([variant.process.pid for variant in running], True)
        return cpu

    def restore_cpu(self) -> None:
        """Sets the variants' limit again, once what reads their meters is compiled, too, and their JIT compilers rest.
        BlockFault where it does not hold. Where the experiment says the round of every variant, and so that the load is
        the bound, the meters are not read: what is compiled later takes nothing from the requests. There the trials may
        follow in the same call of k6, and the warm-up's part for the compilers ends here."""
        running = [variant for variant in self._running() if variant.end() is None]
        if running and not self.experiment.is_paced:
            warm_up_cpu.read_meters([f"http://{v.metrics_address}{v.launch.service.metrics}" for v in running])
        pids = [variant.process.pid for variant in running]
        warm_up_cpu.await_compilers(pids)
        if self.experiment.is_paced:
            self.end_warm_up()
        warm_up_cpu.allow(running, self.experiment.limits.cpu)
        self._raised = None

    def end_warm_up(self) -> None:
        """Gives the JIT compilers the share of a thread from now on, as any other."""
        warm_up_cpu.prefer_compilers([v.process.pid for v in self._running() if v.end() is None], False)
        self._compilers_first = False

    def _running(self) -> list[VariantProcess]:
        return [variant for variant in self.variants if variant.variant not in self._retired]

    def set_load(self, experiment: Experiment) -> None:
        """Takes over the load that a search chose; k6 reads it in the folder of the run (``normalised.PLAN``)."""
        self.experiment = experiment

    def load(self, call: LoadCall) -> K6Document:
        """Runs k6 once, or once for each variant. BlockFault when k6 fails, or, stopping k6, when what the variants
        need or Prometheus dies; VariantFailed when a variant does.

        Fills ``server`` and ``machine`` of every record. Of typical and light load, and of the levels of a search, CPU
        is what the kernel counts. Under light load the shortest pins of JDKs before 24 count, too.
        """
        light_variants = call.light_load.rates if call.light_load else ()
        with short_pins.counted([variant for name in light_variants if (variant := self._process_of(name)).pins]):
            document = self._run_phases(call)
        levels = document.trials if call.pacing.users else []
        self._count_cpu([*levels, *document.typical, *document.light])
        return document

    def _run_phases(self, call: LoadCall) -> K6Document:
        """Runs k6 as often as the phases of a call need it. Errors are those of ``load``."""
        if self.experiment.reset and (call.trial_order or call.typical):
            return self._load_apart(call)
        parts = self._parts(call) if call.is_at_once else {None: call}
        run_id = run_id_of(self._site.run_id, call)
        return self._run([self._call(phase_variables(part), run_id, only=name) for name, part in parts.items()])

    def _count_cpu(self, phases: Sequence[Trial]) -> None:
        """Fills in the CPU as the kernel counts it: a window of a second lies between two scrapes."""
        for phase in phases:
            phase.server["cpu_cores"] = self._usage(phase.variant, phase.start, phase.end).get("cpu_cores")

    def _parts(self, call: LoadCall) -> dict[str | None, LoadCall]:
        """Returns the part of a call for each variant that runs."""
        light, typical = call.light_load, call.typical
        if typical:
            return {name: replace(call, typical=replace(typical, order=[name])) for name in typical.order}
        if light is None:
            return dict.fromkeys([variant.variant for variant in self._running()], call)
        return {
            name: replace(call, light_load=replace(light, rates={name: rates})) for name, rates in light.rates.items()
        }

    def _load_apart(self, call: LoadCall) -> K6Document:
        """Runs k6 once for each trial and each phase of typical load, and before each what the experiment wants done
        between trials."""
        documents = []
        if call.cycles or call.single_user_phase:
            first = replace(call, trial_order=[], typical=None, wait_for_answers=True)
            documents.append(self._load(phase_variables(first)))
        levels: list[tuple[int, ...]] = [(users,) for users in call.pacing.users] or [()]
        trials = [
            (variant, users)
            for turn, users in enumerate(levels)
            for variant in (call.trial_order if turn % 2 == 0 else list(reversed(call.trial_order)))
        ]
        for position, (variant, users) in enumerate(trials, call.first_position):
            self._reset(variant)
            pacing = replace(call.pacing, users=users)
            part = LoadCall(trial_order=[variant], first_position=position, with_probe=call.with_probe, pacing=pacing)
            documents.append(self._load(phase_variables(part), run_id_of(self._site.run_id, call)))
        if typical := call.typical:
            for variant in typical.order:
                self._reset(variant)
                alone = replace(typical, order=[variant])
                part = LoadCall(typical=alone, with_probe=call.with_probe, pacing=call.pacing)
                documents.append(self._load(phase_variables(part)))
        return k6.joined(documents)

    def _reset(self, variant: str) -> None:
        """Does what the experiment wants done before a trial. Errors are those of ``before_trial.run``."""
        if self.experiment.reset:
            base = self._process_of(variant).url
            log = self._site.folder / "logs" / f"{self.start.number}-{self.start.attempt}-reset.log"
            before_trial.run(self.experiment.reset, variant, base, self._site.ledger, log)

    def trial_without_drain(self, variant: str, position: int, pacing: CallPacing = AS_PLANNED) -> K6Document:
        """Runs k6 once; it gives up what is unanswered when the window ends, and the variant ends with it."""
        self._reset(variant)
        call = LoadCall(trial_order=[variant], first_position=position, wait_for_answers=False, pacing=pacing)
        document = self._load(phase_variables(call))
        self.drop(variant)
        with Prometheus(self._site.prometheus.url) as client:
            client.await_gone(variant, within=30)
        return document

    def drop(self, variant: str) -> None:
        """Ends a variant: its part in the block is over."""
        instance = next(instance for instance in self.instances if instance.variant == variant)
        self._retired[variant] = self._checked(instance)
        self._process_of(variant).process.stop(0)
        self._before.pop(variant, None)

    def diagnose(self, pacings: Mapping[str, CallPacing]) -> dict[str, Diagnosis]:
        """Runs a final, unscored trial of each of these variants, with thread dumps in it. A variant that
        has ended, or whose JVM gave none, is left out of the result."""
        running = [self._process_of(name) for name in pacings if name not in self._retired]

        def trial(name: str) -> Trial:
            try:
                call = LoadCall(trial_order=[name], with_probe=False, pacing=pacings[name])
                return self._load(phase_variables(call), f"{self._site.run_id}_diagnosis").trials[0]
            except VariantFailed as broken:
                # The next one's trial does without it.
                self.drop(broken.variant)
                raise

        diagnoses: dict[str, Diagnosis] = {}
        for variant in running:
            # Where what comes between trials fails now, there are no dumps, and the block counts.
            with contextlib.suppress(BlockFault, BadInput):
                self._reset(variant.variant)
                diagnoses |= dumps.diagnose([variant], self._site.folder, trial, pacings)
        return diagnoses

    def check_instances(self) -> list[Instance]:
        """Returns the instances, and whether their processes are those that started."""
        return [self._retired.get(instance.variant) or self._checked(instance) for instance in self.instances]

    def series(self, begin_ms: int, end_ms: int) -> BlockSeries:
        """Reads the charts' samples of all variants, every second."""
        with Prometheus(self._site.prometheus.url) as client:
            series = {variant.variant: client.charted(variant.variant, begin_ms, end_ms) for variant in self.variants}
        for variant in self.variants:
            usage = functools.partial(self._usage, variant.variant)
            fill_series_gaps(series[variant.variant], usage, begin_ms, end_ms, variant.launch.service.meters)
        return series

    def _usage(self, variant: str, start_ms: int, end_ms: int) -> dict[ServerFigure, float | None]:
        """Returns what a variant used between two times, by the call of k6 that ran then."""
        windows = (sampler.service_window(variant, start_ms, end_ms) for sampler in self._samplers)
        return next((window for window in windows if window["cpu_cores"] is not None), {})

    def _load(self, variables: Mapping[str, str], run_id: str | None = None) -> K6Document:
        """Runs k6 once. ``run_id``: another than the run's, for what is not to count among its samples."""
        return self._run([self._call(variables, run_id)])

    def _run(self, calls: Sequence[k6.Call]) -> K6Document:
        """Runs these calls of k6 at the same time. Errors are those of ``load``."""
        site = self._site
        with named_when_full(site.root), Prometheus(site.prometheus.url) as client:
            running: list[tuple[Process, machine.Sampler]] = []
            with contextlib.ExitStack() as end:
                for call in calls:
                    call.document.unlink(missing_ok=True)
                    generator = self._start_k6(call)
                    end.callback(generator.stop, 1)
                    usages = {name: self._process_of(name).usage() for name in call.targets}
                    sampler = end.enter_context(machine.Sampler(generator.pid, services=usages))
                    running.append((generator, sampler))
                self._samplers += [sampler for _, sampler in running]
                self._watch([generator for generator, _ in running])
            documents = [
                self._document(call, generator, sampler, client)
                for call, (generator, sampler) in zip(calls, running, strict=True)
            ]
            return documents[0] if len(documents) == 1 else k6.joined(documents)

    def _document(self, call: k6.Call, generator: Process, sampler: machine.Sampler, client: Prometheus) -> K6Document:
        """Reads the document of a call that has ended, and completes it. BlockFault where k6 failed."""
        _refuse_failed(generator)
        document = k6.read_document(call.document, generator.last_lines())
        # Of variants that another call loads at the same time it knows nothing.
        before = {name: phase for name, phase in self._before.items() if name in call.targets}
        annotate(document, client, sampler.window, before, units.milliseconds(self.experiment.max_response))
        self._before |= before
        self._rows.count(document)
        for trial in document.phases:
            variant = self._process_of(trial.variant)
            usage, limits = self._usage(trial.variant, trial.start, trial.end), variant.limits()
            trial.compilers_first = self._compilers_first
            if self._raised is not None:
                trial.raised_cpu = self._raised
                limits = replace(limits, cpu=self._raised)
            fill_gaps(trial, usage, limits, variant.launch.service.meters)
        return document

    @functools.cached_property
    def _workload(self) -> workload.Start:
        site = self._site
        self._work.mkdir(parents=True, exist_ok=True)
        return workload.prepare(self.experiment, site.k6.path, shipped.ROOT / "k6", self._work)

    @property
    def _work(self) -> Path:
        return self._site.folder / "k6"

    def _call(
        self,
        variables: Mapping[str, str],
        run_id: str | None = None,
        *,
        name: str | None = None,
        only: str | None = None,
    ) -> k6.Call:
        """Describes a call of k6. ``only``: the variant that it loads, all that run if not given. ``name``: in place of
        its number."""
        site = self._site
        name = name or "-".join([str(len(self._samplers) + 1), *([only] if only else [])])
        loaded = [variant for variant in self._running() if only in (None, variant.variant)]
        probes = {variant.variant: variant.probe_url for variant in loaded}
        return k6.Call(
            script=self._workload.script,
            experiment=site.folder / normalised.PLAN,
            targets={variant.variant: variant.url for variant in loaded},
            variables={"PROBES": json.dumps(probes, separators=(",", ":")), **self._rows.variables(), **variables},
            run_id=run_id or site.run_id,
            block=self.start.number,
            document=self._work / f"{self.start.number}-{self.start.attempt}-{name}.json",
            private=self._workload.private,
            origin=site.preflight.origin,
        )

    def _start_k6(self, call: k6.Call, push: bool = True) -> Process:
        site = self._site
        users = heap.most_users(self.experiment, call.variables)
        environment = {
            **k6.environment(site.prometheus.remote_write, self._work),
            **heap.environment(users, machine.available_memory()),
        }
        return site.ledger.start(
            Command(
                [*site.k6_prefix, *k6.command(site.k6.path, call, push)],
                role="k6",
                log=site.folder / "logs" / f"{call.document.stem}-k6.log",
                environment=tools.clean_environment(**environment),
                folder=self._work,
            )
        )

    def fail(self, broken: VariantFailed, moment: str) -> None:
        """Removes a variant that broke before the load from the block."""
        self.failures.append(Failure(variant=broken.variant, reason=broken.reason, moment=moment))
        self.instances = [instance for instance in self.instances if instance.variant != broken.variant]
        self._retired[broken.variant] = None
        self._process_of(broken.variant).process.stop(0)

    def preflight(self) -> str | None:
        """Sends each request once to each variant (``targets.preflight``)."""
        call = self._call({}, name="preflight")

        def run(call: k6.Call, variables: Mapping[str, str], seconds: float) -> Process:
            generator = self._start_k6(replace(call, variables=variables), push=False)
            try:
                workload.wait(generator, seconds)
            finally:
                generator.stop(1)
            for variant in self.variants:
                exit_reason = None if variant.variant in self._retired else variant.end()
                if exit_reason is not None:
                    log = variant.process.last_lines(3)
                    raise VariantFailed(variant.variant, f"{exit_reason} when it got the first requests", log=log)
            return generator

        if not call.targets:
            return None
        checked = workload.check(self.experiment, call, run)
        remarks, self.differences = checked.remarks, checked.differences
        if any(url.startswith("https://") for url in call.targets.values()):
            remarks = [
                "the service uses HTTPS: k6 accepts any certificate, and figures include the cost of TLS",
                *remarks,
            ]
        for remark in [*self._workload.remarks, *remarks, *self.differences]:
            self._site.say(f"{self.experiment.name}: {remark}")
        return checked.origin

    def _watch(self, generators: Sequence[Process]) -> None:
        """Returns when every k6 process has ended. VariantFailed as soon as a variant has, BlockFault for another
        needed process, and where one of several k6 processes fails."""
        began = round(1000 * time.time())
        while any(generator.exit_description() is None for generator in generators):
            self._site.bound_logs()
            for variant in self.variants:
                exit_reason = None if variant.variant in self._retired else variant.end()
                if exit_reason is not None:
                    phase = self._last_phase(variant.variant, began)
                    raise VariantFailed(variant.variant, exit_reason, phase, variant.process.last_lines(3))
            for generator in generators:
                _refuse_failed(generator)
            exit_reason = self._site.companions.exit_description() or self._site.prometheus.exit_description()
            if exit_reason is not None:
                raise BlockFault(f"{exit_reason} while k6 loaded the variants")
            time.sleep(0.1)

    def _last_phase(self, variant: str, since_ms: int) -> str | None:
        with contextlib.suppress(BlockFault), Prometheus(self._site.prometheus.url) as client:
            return client.last_phase(variant, since_ms)
        return None

    def _checked(self, instance: Instance) -> Instance:
        variant = self._process_of(instance.variant)
        same = str(variant.process.identity) == instance.identity
        update = {
            "alive": same and variant.process.identity.alive(),
            # Also where it ended between two calls of k6, or just as one did.
            "ended": variant.end() if same else None,
            "oom_kills": variant.oom_kills(),
            "resident_peak": usage.resident_peak(variant.process.pid) if same else None,
        }
        return instance.model_copy(update=update)

    def _process_of(self, name: str) -> VariantProcess:
        return next(variant for variant in self.variants if variant.variant == name)


def _refuse_failed(generator: Process) -> None:
    """Raises BlockFault for a k6 that has ended without a document: GeneratorFailed where it was killed, as for its
    memory."""
    exit_reason = generator.exit_description()
    if exit_reason is not None and generator.returncode() not in k6.DONE:
        fault = GeneratorFailed if generator.returncode() == -signal.SIGKILL else BlockFault
        raise fault(f"k6 ended with {exit_reason}: {generator.last_lines() or 'its log is empty'}")

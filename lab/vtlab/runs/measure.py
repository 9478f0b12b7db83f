"""Measures the runs of a call on their targets, keeps every finished block, and goes on to the reports."""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

from vtlab.analysis import asserts, run_status, time_plan
from vtlab.analysis.time_plan import TimePlan
from vtlab.analysis.validity import checks, failing, warm_up_checks
from vtlab.errors import BadInput, Interrupted, InvalidRun, LabError
from vtlab.host import operating_system, process_ledger, processes
from vtlab.measuring.attempt import Attempt
from vtlab.measuring.attempt_plan import AttemptPlan
from vtlab.measuring.progress import BlockOutcome, Progress, time_of_day
from vtlab.model.curve import Curve
from vtlab.model.experiment import Experiment
from vtlab.model.manifest import Manifest, TypicalPlan
from vtlab.model.records import Block, Trial
from vtlab.model.run import Analysis, BlockSeries, Run
from vtlab.planning import curve_to_load, longer_windows, percentiles, trial_order
from vtlab.report.words import block_counts, curve_sentences, so_far
from vtlab.runs import facts, store
from vtlab.runs.create import discarded, train_sample
from vtlab.runs.estimates import run_time
from vtlab.runs.publish import publish_verdicts
from vtlab.runs.report import report_runs
from vtlab.targets.kubernetes.api.release_ref import ReleaseRef
from vtlab.targets.kubernetes.target import kubernetes_target
from vtlab.targets.local.target import LocalOptions, local_target
from vtlab.targets.protocol import Target

#: Seconds before the attempt after a rejection, for each rejected so far, and at most.
_PAUSE_PER_REJECTION, _LONGEST_PAUSE = 2.0, 10.0


def measure_and_report(folder: Path, root: Path, progress: Progress) -> list[Analysis]:
    """Measures what the runs in ``folder`` lack, then writes the reports. Keeps every finished block.

    AssertionFailed when a verdict is not what the call that began the runs demanded.
    """
    runs = store.read_runs(folder)
    if any(run.manifest.target == "local" for run in runs.values()):
        operating_system.refuse_other_than_linux()
    process_ledger.refuse_if_busy(root)
    for line in process_ledger.end_orphans(root):
        progress.console.print(f"ended a process that an earlier vtlab left behind: {line}", highlight=False)
    for run in runs.values():
        _refuse_other_parts(run)
    with _resumable(folder):
        invalid = _measure_runs(runs, root, progress)
    # The report is made of what is stored, as ``vtlab report`` makes it.
    progress.show("analysing")
    analyses = report_runs(folder, progress.console)
    publish_verdicts(list(runs), analyses, progress.console)
    if invalid:
        raise invalid
    for analysis in analyses:
        demands = [asserts.parse(text) for text in analysis.run.manifest.asserts]
        asserts.check(demands, [analysis.verdict])
    return analyses


@contextmanager
def _resumable(folder: Path) -> Iterator[None]:
    """Says how a run goes on that an error or an interruption ends. It is no run before its load is known."""
    try:
        yield
    except Interrupted as error:
        if _lacks_load(folder):
            raise discarded(folder, error) from None
        message = f"{error.message}; {_kept(folder)} in {folder}"
        raise Interrupted(message, f"vtlab resume {folder}") from None
    except LabError as error:
        if _lacks_load(folder):
            store.forget_run(folder)
            error.fix = f"{error.fix}; logs are in {folder / 'logs'}"
        elif error.fix:
            error.fix = f"{error.fix}; then resume with: vtlab resume {folder}"
        else:
            error.fix = f"vtlab resume {folder}"
        raise


def _lacks_load(folder: Path) -> bool:
    """Tells whether the load of the run in the folder is still to be searched. Of a call with several runs all have a
    load."""
    return any(run.experiment.is_searched for run in store.read_runs(folder).values())


def _kept(folder: Path) -> str:
    """Says what the run in the folder keeps of what was measured."""
    is_searched = any(run.manifest.curve for run in store.read_runs(folder).values())
    return "the search and every finished block are kept" if is_searched else "every finished block is kept"


def measure_run(
    folder: Path, run: Run, target: Target, progress: Progress, wait: Callable[[float], None] = time.sleep
) -> None:
    """Measures what the run in ``folder`` still lacks. InvalidRun when too many blocks are rejected."""
    _Measurement(folder, run, target, progress, wait).measure()


@dataclass(frozen=True, kw_only=True)
class TargetSite:
    """Arguments with which the target of a run is opened."""

    folder: Path
    root: Path
    run_id: str
    #: None is this machine.
    cluster_ref: ReleaseRef | None
    cpu_limited: bool
    prometheus_port: int | None = None
    #: A JDK's directory; None is that of this machine.
    java_home: str | None = None


def open_target(site: TargetSite, say: Callable[[str], None]) -> AbstractContextManager[Target]:
    """Opens this machine or a cluster as a target; ``say`` tells the user what a pre-flight shows."""
    if site.cluster_ref:
        return kubernetes_target(site.folder, site.root, site.cluster_ref, site.run_id, say)
    options = LocalOptions(
        no_cpu_limit=not site.cpu_limited, prometheus_port=site.prometheus_port, run_id=site.run_id, java=site.java_home
    )
    return local_target(site.folder, site.root, options, say)


def _measure_runs(runs: Mapping[Path, Run], root: Path, progress: Progress) -> InvalidRun | None:
    """Measures what each run lacks; returns the first error of a run that was given up. The others go on."""
    run_times = [run_time(folder, run) for folder, run in runs.items()]
    invalid: InvalidRun | None = None
    # The jar may have been built anew since the run began.
    local = [run for run in runs.values() if run.manifest.target == "local" and run_status.blocks_left(run)]
    train_sample([run.experiment for run in local])
    progress.begin_runs(run_times)
    for folder, run in runs.items():
        with open_target(_site(folder, root, run.manifest), progress.say) as target:
            try:
                measure_run(folder, run, target, progress)
            except InvalidRun as error:
                progress.say(f"{error.message}")
                invalid = invalid or error
        progress.schedule.end_run()
    return invalid


def _site(folder: Path, root: Path, manifest: Manifest) -> TargetSite:
    cluster_ref = ReleaseRef.from_manifest(manifest.cluster) if manifest.target == "kubernetes" else None
    return TargetSite(
        folder=folder,
        root=root,
        run_id=manifest.run_id,
        cluster_ref=cluster_ref,
        cpu_limited=manifest.cpu_limited,
        prometheus_port=manifest.prometheus_port,
        java_home=manifest.experiment.java_home,
    )


class _Measurement:
    """Measurement of the blocks that one run lacks: attempt after attempt, until enough count."""

    def __init__(
        self,
        folder: Path,
        run: Run,
        target: Target,
        progress: Progress,
        wait: Callable[[float], None] = time.sleep,
    ) -> None:
        #: The run with every block that was measured so far.
        self.run = run
        self._folder, self._target, self._progress, self._wait = folder, target, progress, wait
        judged = [(block, checks.reasons(block, run.experiment)) for block in run.blocks]
        self._accepted = [block for block, reasons in judged if not reasons]
        self._rejected = [(block, reasons) for block, reasons in judged if reasons]
        manifest = run.manifest
        self._planned = "" if manifest.rule else f" of {manifest.blocks}"
        #: Blocks that fit into the time of the run, as it was said last; None before.
        self._fitting: int | None = None

    def measure(self) -> None:
        """Measures until the run has ended. InvalidRun when too many blocks are rejected."""
        self._show_ratio()
        while blocks_left := run_status.blocks_left(self.run):
            self._refuse_too_many_rejected()
            attempt, block, samples = self._attempt()
            # Ctrl-C must not cost a block that is measured.
            with processes.uninterrupted():
                self._keep_plan(block, attempt.typical)
                store.append_block(self._folder, block)
                if samples:
                    store.append_series(self._folder, block, samples)
            self.run = replace(self.run, blocks=[*self.run.blocks, block])
            is_accepted = self._file_block(block)
            if attempt.interrupted:
                raise attempt.interrupted
            self._lengthen_or_refuse(block)
            self._say_how_far(blocks_left - 1 if is_accepted else blocks_left)
        if self._rejected and not self._accepted:
            raise InvalidRun(
                f"{self.run.name}: {block_counts.rejected_blocks(len(self._rejected))}, none counts, and too"
                " little time is left for another (--max-time)",
                f"see the reasons in the report (vtlab report {self._folder}); allow more time, such as --max-time 20m"
                + self._advice_if_cold,
            )

    def _keep_plan(self, block: Block, typical: TypicalPlan | None) -> None:
        """Fixes for the run what its first attempts plan: typical load, and the percentile of each load. Whether these
        count does not matter. An attempt that halved the rate before a block counted planned it anew."""
        manifest, experiment = self.run.manifest, self.run.experiment
        shown = percentiles.of_loads(experiment, block, typical)
        kept = dict(manifest.percentiles)
        changes: dict[str, Any] = {}
        if typical and typical != manifest.typical:
            kept.pop("typical", None)
            changes = {"typical": typical, "experiment": experiment.with_typical_rate(typical.rate)}
        changes["percentiles"] = {**shown, **kept}
        changed = manifest.model_copy(update=changes)
        if changed != manifest:
            store.replace_manifest(self._folder, changed)
            self.run = replace(self.run, manifest=changed, experiment=changed.experiment)

    def _keep_load(self, curve: Curve, trials: Sequence[Trial]) -> Experiment:
        """Fixes for the run the load that its first attempt searched. Ctrl-C must not cost a search."""
        experiment = curve_to_load.with_load(self.run.experiment, curve)
        changed = self.run.manifest.model_copy(update={"curve": curve, "experiment": experiment})
        with processes.uninterrupted():
            lines = "".join(trial.model_dump_json() + "\n" for trial in trials)
            store.write_atomic(self._folder / store.SEARCH, lines)
            store.replace_manifest(self._folder, changed)
        self.run = replace(self.run, manifest=changed, experiment=experiment)
        self._say("throughput over users, as the search saw it:")
        for line in curve_sentences.lines(curve, experiment.variants):
            self._progress.console.print(line, highlight=False, soft_wrap=True)
        return experiment

    def _attempt(self) -> tuple[Attempt, Block, BlockSeries]:
        """Measures one attempt at the next block; returns it, what it measured and its samples for the charts."""
        manifest, experiment = self.run.manifest, self.run.experiment
        counted = {block.block for block in self._accepted}
        # A newer version with stricter checks may reject an earlier block of a resumed run: numbers have gaps then.
        number = next(number for number in itertools.count(1) if number not in counted)
        tries = 1 + sum(block.block == number for block, _ in self._rejected)
        title = self._progress.title(self.run.name, f"block {number}{self._planned}")
        # A variant that failed before its single-user phase has none yet.
        with_single = {phase.variant for block in self._accepted for phase in block.single}
        with_light = {phase.variant for block in self._accepted for phase in block.light}
        plan = AttemptPlan(
            experiment=experiment,
            seed=manifest.seed,
            block=number,
            attempt=tries,
            order=trial_order.order(experiment.variants, manifest.seed, number, experiment.windows.trials),
            with_single_user=not with_single.issuperset(experiment.variants),
            unmeasured_variants=[variant for variant in experiment.variants if variant not in with_light],
            diagnosis=manifest.diagnosis,
            blocks_before=self._accepted,
            typical=manifest.typical,
            curve=manifest.curve,
            idle=partial(time_plan.idle_seconds, self.run),
        )
        began = time.monotonic()
        attempt = Attempt(plan, self._progress, title, self._wait, self._keep_load)
        block, samples = attempt.measure(self._target)
        block.seconds = round(time.monotonic() - began, 3)
        return attempt, block, samples

    def _file_block(self, block: Block) -> bool:
        """Files a block as accepted or rejected and shows it; returns whether it is accepted."""
        reasons = checks.reasons(block, self.run.experiment)
        if reasons:
            self._rejected.append((block, reasons))
            # The disturbance may last a moment: each rejection waits longer than the one before.
            self._wait(min(_PAUSE_PER_REJECTION * len(self._rejected), _LONGEST_PAUSE))
        else:
            self._accepted.append(block)
        failures = [] if reasons else failing.failures(block, self.run.experiment)
        counted = len(self._accepted)
        self._progress.end_block(BlockOutcome(self.run.name, block, reasons, failures, counted, self._planned))
        self._show_ratio()
        return not reasons

    def _show_ratio(self) -> None:
        """Shows the ratio of the blocks so far, with the interval of the look that follows them."""
        claims = run_status.claims_so_far(self.run, self._accepted)
        self._progress.show_ratio(*so_far.criterion_and_ratio(claims))

    def _lengthen_or_refuse(self, block: Block) -> None:
        """Lengthens the windows after a first attempt in one of whose windows no answer came. Raises InvalidRun where
        another attempt at the block must end alike."""
        longer = None if self._accepted else longer_windows.for_late_answers(self.run.experiment, block)
        if longer is None:
            if reasons := checks.certain_reasons(block, self.run.experiment):
                message = f"{self.run.name}: no attempt can count: {'; '.join(reasons)}"
                raise InvalidRun(message, "change the experiment and run it again")
            return
        self._say(f"answers take longer than a window: from now on a warm-up cycle lasts {longer.windows.warmup_load}")
        manifest = self.run.manifest.model_copy(update={"experiment": longer})
        store.replace_manifest(self._folder, manifest)
        self.run = replace(self.run, manifest=manifest, experiment=longer)

    def _refuse_too_many_rejected(self) -> None:
        if len(self._rejected) > self.run.manifest.max_rejected:
            raise InvalidRun(
                f"{self.run.name}: {block_counts.rejected_blocks(len(self._rejected))}, {len(self._accepted)}"
                f"{self._planned} count; the last: {'; '.join(self._rejected[-1][1][:3])}",
                f"see the reasons in the report (vtlab report {self._folder})"
                + (self._advice_if_cold or "; is something else running there?"),
            )

    @property
    def _advice_if_cold(self) -> str:
        """Says what helps where a variant still warmed up in each rejected block; else empty."""
        is_cold = all(warm_up_checks.is_cold(reasons) for _, reasons in self._rejected)
        return "; or raise windows.max_cycles in a file (vtlab init)" if is_cold else ""

    def _say_how_far(self, expected: int) -> None:
        """Says that the run ends here, or goes on to its next look; ``expected``: blocks that were still to come."""
        status = run_status.status_of(self.run)
        blocks_left, reached = run_status.blocks_left(self.run, status), status.end
        self._progress.schedule.expect(blocks_left)
        if reached and (reached.ended or blocks_left > expected):
            self._say(block_counts.after_look(reached))
        elif not blocks_left and expected:
            self._say(f"no further blocks: a variant failed in each of the first {run_status.BLOCKS_THAT_FAILED}")
        self._say_what_fits(time_plan.plan(self.run, status))

    def _say_what_fits(self, plan: TimePlan | None) -> None:
        """Says what fits into the time of the run, where that is another number of blocks than it was before."""
        if plan and plan.blocks != self._fitting:
            self._fitting = plan.blocks
            self._say(block_counts.in_time(plan, time_of_day(plan.seconds)))

    def _say(self, text: str) -> None:
        self._progress.say(self._progress.title(self.run.name, text))


def _refuse_other_parts(run: Run) -> None:
    """Raises BadInput when a run would resume with another JDK, k6, Prometheus, app or chart than it began with."""
    manifest = run.manifest
    cluster_ref = ReleaseRef.from_manifest(manifest.cluster) if manifest.target == "kubernetes" else None
    now = facts.versions(run.experiment, cluster_ref)
    changed = [
        f"{name} was {manifest.versions.get(name)} and is now {now[name]}"
        for name in now
        if manifest.versions.get(name) != now[name]
    ]
    if changed:
        raise BadInput(
            f"{manifest.run_id} began with other versions: {'; '.join(changed)}",
            f"start a new run: {manifest.command}"
            + "; or name that JDK: VTLAB_JAVA_HOME=/path/to/jdk" * any(text.startswith("java ") for text in changed),
        )

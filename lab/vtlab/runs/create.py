"""Creates the results directories of a call, once everything that its runs need is known to be there."""

from __future__ import annotations

import secrets
import shutil
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from vtlab.analysis import asserts
from vtlab.analysis.criteria.criterion import count_claims
from vtlab.analysis.statistics import stopping_rule
from vtlab.errors import BadInput, Interrupted
from vtlab.host import operating_system, tools
from vtlab.model import publication
from vtlab.model.experiment import Experiment
from vtlab.model.manifest import Manifest, RunFacts, SequentialRule
from vtlab.model.publication import Publication
from vtlab.planning import planned_runs
from vtlab.runs import facts, store
from vtlab.runs.options import Options
from vtlab.services import sample
from vtlab.services.resolve import resolve_service
from vtlab.targets.kubernetes.api.release_ref import ReleaseRef
from vtlab.targets.kubernetes.copies import reference

#: A seed is a whole number from 0 to below this.
SEEDS = 2**31


@dataclass(frozen=True)
class _Call:
    """Facts that all runs of one call share."""

    options: Options
    started: datetime
    seed: int
    publications: Mapping[str, Publication]


@dataclass(frozen=True)
class Prepared:
    """Facts of an experiment that can be measured, and what a cluster measures it by."""

    facts: RunFacts
    #: None is this machine.
    cluster_ref: ReleaseRef | None


def create_runs(planned: Sequence[planned_runs.PlannedRun], options: Options, label: str) -> Path:
    """Creates the folder of a call, named by ``label``, with one results directory per run; returns it."""
    refuse_before_start(planned, options)
    prepared = prepare_runs(planned, options)
    started = datetime.now(UTC)
    folder = options.root / named(started, label)
    store_runs(planned, prepared, options, folder, started)
    return folder


def named(started: datetime, label: str) -> str:
    """Names the folder of a call, and each of its runs, by when the call began."""
    return f"{started:%Y%m%dT%H%M%SZ}-{label}"


def prepare_runs(planned: Sequence[planned_runs.PlannedRun], options: Options) -> list[Prepared]:
    """Collects the facts of each run as ``prepare`` does, once the sample application is trained."""
    if not options.cluster:
        train_sample([run.experiment for run in planned])
    return [prepare(run.experiment, options) for run in planned]


def store_runs(
    planned: Sequence[planned_runs.PlannedRun],
    prepared: Sequence[Prepared],
    options: Options,
    folder: Path,
    started: datetime,
) -> None:
    """Creates a results directory per run in the folder of their call, which began at ``started``. That of a single run
    is the folder itself."""
    call = _call(options, started)
    for run, run_prepared in zip(planned, prepared, strict=True):
        run_folder = folder if len(planned) == 1 else folder / run.name
        store.create(run_folder, _manifest(run, run_prepared, call))


def refuse_before_start(planned: Sequence[planned_runs.PlannedRun], options: Options) -> None:
    """Raises an error for what is wrong whatever the jars say: before vtlab looks into them, and starts anything."""
    _refuse_several_searches(planned)
    experiments = [run.experiment for run in planned]
    if not options.finds_requests:
        for experiment in experiments:
            experiment.refuse_unmeasurable()
    asserts.refuse_unknown([asserts.parse(text) for text in options.asserts], experiments)
    if not options.cluster:
        operating_system.refuse_other_than_linux()


def prepare(experiment: Experiment, options: Options) -> Prepared:
    """Collects the facts of an experiment. PrerequisiteMissing or BadInput where this machine, or the cluster, cannot
    measure it."""
    experiment.refuse_unmeasurable()
    cluster_ref = resolve_cluster_ref(experiment, options)
    return Prepared(facts.collect(experiment, cluster_ref, not options.no_cpu_limit), cluster_ref)


def discarded(folder: Path, error: Interrupted) -> Interrupted:
    """Removes the folder of a call that is interrupted before anything is measured that could be kept; returns the
    error that says so."""
    shutil.rmtree(folder, ignore_errors=True)
    return Interrupted(f"{error.message} before the blocks; nothing was kept", "give the same command again")


def _call(options: Options, started: datetime) -> _Call:
    seed = options.seed if options.seed is not None else secrets.randbelow(SEEDS)
    return _Call(options, started, seed, publication.load())


def resolve_cluster_ref(experiment: Experiment, options: Options) -> ReleaseRef | None:
    """Returns what a cluster measures the experiment by, a release of the chart or copies; None on this machine.
    BadInput where no cluster can."""
    if not options.cluster:
        return None
    _refuse_other_services(experiment)
    service = resolve_service(experiment)
    if not service.is_copied:
        _refuse_other_workloads(experiment)
    _refuse_reset(experiment)
    copying = options.copying or reference.default_copying()
    return reference.for_service(options.cluster.with_context(), copying, service)


def train_sample(experiments: Sequence[Experiment]) -> None:
    """Trains the sample application's AOT cache, if any of the experiments needs it and none fits."""
    if any(experiment.is_sample for experiment in experiments):
        sample.train(tools.find_java(), lambda text: print(f"vtlab: {text}", file=sys.stderr))


def _manifest(run: planned_runs.PlannedRun, prepared: Prepared, call: _Call) -> Manifest:
    options, run_facts, cluster_ref = call.options, prepared.facts, prepared.cluster_ref
    fixed = run.blocks or options.blocks
    rule = None if fixed else _rule(run.experiment, options)
    blocks = fixed or stopping_rule.LOOKS[-1]
    return Manifest(
        name=run.name,
        run_id=named(call.started, run.name),
        started=call.started.isoformat(timespec="seconds"),
        target="kubernetes" if cluster_ref else "local",
        cluster=cluster_ref.document() if cluster_ref else {},
        experiment=run.experiment,
        publication=publication.reproduced_by(run.experiment, call.publications),
        blocks=blocks,
        rule=rule,
        seed=call.seed,
        diagnosis=options.diagnosis,
        max_rejected=planned_runs.max_rejected(blocks) if options.max_rejected is None else options.max_rejected,
        command=facts.command(),
        asserts=list(options.asserts),
        slo=options.slo,
        commit=facts.commit(),
        versions=run_facts.versions,
        jvm_flags=run_facts.jvm_flags,
        cpu_limited=not options.no_cpu_limit,
        prometheus_port=options.prometheus_port,
        machine=run_facts.machine,
        inspection=run_facts.inspection,
    )


def _rule(experiment: Experiment, options: Options) -> SequentialRule:
    """Returns the rule of a run whose number of blocks is not fixed."""
    return stopping_rule.sequential_rule(count_claims(experiment), options.precision, options.within)


def _refuse_several_searches(planned: Sequence[planned_runs.PlannedRun]) -> None:
    """Raises BadInput where a load is to be searched for one of several runs."""
    searched = [run.name for run in planned if run.experiment.is_searched]
    if searched and len(planned) > 1:
        raise BadInput(
            f"{' and '.join(searched)}: vtlab searches a load for one run of a call",
            "measure them one after the other, or name the users: load: {full: {users: 200}}",
        )


def _refuse_other_services(experiment: Experiment) -> None:
    service = resolve_service(experiment)
    if not experiment.is_sample and not service.is_copied:
        raise BadInput(
            f"{experiment.name}: a cluster starts neither a jar nor a command, but the service {service.name} is one",
            "name its deployment or image in the key service, or measure it with --target local",
        )
    if builds := [name for name, properties in experiment.properties.items() if properties.jar]:
        raise BadInput(
            f"{experiment.name}: a cluster starts no jar, but {' and '.join(builds)} would need one",
            "make the other build a variant of the release by its image, or measure it with --target local",
        )


def _refuse_reset(experiment: Experiment) -> None:
    if experiment.reset:
        raise BadInput(f"{experiment.name}: a cluster resets nothing between trials", "remove the key reset")


def _refuse_other_workloads(experiment: Experiment) -> None:
    workload = experiment.workload
    if workload.data or workload.login or workload.k6 or workload.uses_environment:
        raise BadInput(
            f"{experiment.name}: a release of the lab supports no data, login, environment variables or k6 script",
            "name your service's deployment or image in the key service, or measure with --target local",
        )

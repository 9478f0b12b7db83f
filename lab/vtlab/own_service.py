"""``vtlab try``: the reader's own service, from its jar and a line to a decision."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path

from pydantic import ValidationError
from rich.console import Console

from vtlab import results, search, session
from vtlab.errors import BadInput, PrerequisiteMissing
from vtlab.host import agent, tools
from vtlab.model import workload_files
from vtlab.model.curve import Curve
from vtlab.model.experiment import ClosedLoad, Experiment, Limits, OpenLoad, Windows
from vtlab.model.workload import Workload
from vtlab.planning import chosen, further
from vtlab.planning.plan import PlannedRun
from vtlab.report import curve as curve_words
from vtlab.services import own
from vtlab.targets.local.target import local_target

#: Requests to each variant in the first part of the warm-up, which has more CPU.
WARM_UP_REQUESTS = 10_000
#: Seconds that the blocks have at least, when a search was slow to begin.
LEAST_WITHIN = 120.0
#: Of the search, beside the manifest: its trials, one a line.
TRIALS = "search.jsonl"


@dataclass(frozen=True)
class Asked:
    """What a call says of the service and its load."""

    jar: Path
    #: Requests, each as a line; or a k6 script.
    requests: Sequence[str] = ()
    script: Path | None = None
    data: Path | None = None
    #: Closed load with so many users, or open load; neither: vtlab searches.
    users: int | None = None
    rate: float | None = None
    think_time: str = "0s"
    cpu: float = 1.0
    memory: str = "1Gi"
    jvm_flags: Sequence[str] = ()
    java: str | None = None
    environment_from: Sequence[str] = ()
    environment_file: Path | None = None
    #: Further variants, as ``--with`` has them.
    more: Sequence[str] = ()


def measure(asked: Asked, options: session.Options, console: Console) -> None:
    """Looks at the jar, searches a load where none is asked for, measures blocks, reports. Errors as of ``session``."""
    session.refuse_other_systems()
    agent.find(session.REPOSITORY)
    began = time.monotonic()
    options = replace(options, diagnosis="always")
    experiment = experiment_of(asked)
    folder = options.root / f"{datetime.now(UTC):%Y%m%dT%H%M%SZ}-{experiment.name}"
    curve = None
    if asked.users is None and asked.rate is None:
        session.facts(experiment, not options.no_cpu_limit)
        curve = _searched(experiment, folder, options, console)
        for line in curve_words.lines(curve, experiment.variants):
            console.print(line, highlight=False, soft_wrap=True)
        experiment = chosen.with_load(experiment, curve)
        if options.within is not None:
            # The time that the call has bounds the search, too.
            options = replace(options, within=max(LEAST_WITHIN, options.within - (time.monotonic() - began)))
    planned = [PlannedRun(experiment.name, experiment)]
    session.create_runs(planned, options, experiment.name, folder=folder, curve=curve)
    session.measure_and_report(folder, options.root, console)


def experiment_of(asked: Asked) -> Experiment:
    """The experiment that a call describes, complete but for a load that vtlab searches. BadInput where the jar, a
    request or an option is not what it should be."""
    java = tools.find_java(asked.java)
    service = own.of_jar(asked.jar, java, asked.jvm_flags, asked.environment_from, asked.environment_file)
    if bool(asked.requests) == bool(asked.script):
        raise BadInput(
            f"what is to be asked of {asked.jar.name}?", "name a request, such as 'GET /orders/17', or --k6 load.ts"
        )
    load: ClosedLoad | OpenLoad
    if asked.rate is not None:
        longest = Experiment.model_fields["max_response"].default
        users = OpenLoad(model="open", rate=asked.rate, users=1).least_users(longest)
        load = OpenLoad(model="open", rate=asked.rate, users=users)
    else:
        load = ClosedLoad(model="closed", users=asked.users or search.WARM_UP_USERS, think_time=asked.think_time)
    try:
        workload = Workload.model_validate(
            {
                "requests": list(asked.requests),
                "data": str(asked.data) if asked.data else None,
                "k6": str(asked.script) if asked.script else None,
            }
        )
        experiment = Experiment(
            name=service.name,
            description=f"{service.jar}: {workload.title}",
            service=service,
            workload_=workload_files.resolved(workload, Path("vtlab-try")),
            load=load,
            limits=Limits(cpu=asked.cpu, memory=asked.memory, heap=None),
            windows=Windows(warmup_requests=WARM_UP_REQUESTS),
            variants=["platform", "virtual"],
        )
    except ValidationError as error:
        wrong = "; ".join(e["msg"].removeprefix("Value error, ") for e in error.errors())
        raise BadInput(wrong, "vtlab try --help shows what each option takes") from None
    return further.with_more(experiment, asked.more)


def _searched(experiment: Experiment, folder: Path, options: session.Options, console: Console) -> Curve:
    """The curve of a pair of JVMs that the blocks do not use. BlockFault where what is around the pair breaks."""
    results.create_unmeasured(folder, experiment)

    def say(text: str) -> None:
        console.print(f"{datetime.now():%H:%M:%S}  {experiment.name}: search: {text}", highlight=False)

    say(f"starting {' and '.join(experiment.variants)}")
    with local_target(folder, options.root, session.REPOSITORY, no_cpu_limit=options.no_cpu_limit) as target:
        started = target.start(experiment, 0, 1)
        if started.failures:
            failure = started.failures[0]
            raise PrerequisiteMissing(
                f"{failure.variant} failed, {failure.moment}: {failure.reason}",
                f"its whole log is in {folder / 'logs'}",
            )
        searched = search.Search(started, experiment, say, time.monotonic())
        try:
            curve = searched.run()
        finally:
            lines = "".join(trial.model_dump_json() + "\n" for trial in searched.trials)
            results.write_atomic(folder / TRIALS, lines)
    if not any(point.throughput for point in curve.points):
        raise BadInput(
            f"no request was answered as expected: {curve.why or 'there was no answer'}",
            "correct the request, or say which answer is right in a file: expect {status: 201}",
        )
    return curve

"""The experiment that a call of ``vtlab try`` describes."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from pydantic import ValidationError

from vtlab.errors import BadInput
from vtlab.host import tools
from vtlab.model import documents, validation, workload_files
from vtlab.model import service as services
from vtlab.model.experiment import Experiment, Limits, Properties, Windows
from vtlab.model.load import ClosedLoad, OpenLoad
from vtlab.model.service import Service
from vtlab.model.service_file import ServiceLimits, TryInput, TryOptions, Users
from vtlab.model.workload import Workload
from vtlab.planning import extra_variants
from vtlab.services import from_jar

_Value = TypeVar("_Value")
#: Requests to each variant in each cycle of the first part of the warm-up, which has more CPU.
WARM_UP_REQUESTS = 3_000
#: Of a warm-up cycle. Those that judge the steady state scatter by as much as they may gain in 2 s, and a further one
#: takes three times what a longer one adds.
WARM_UP = "3s"
#: Users that warm the JVMs up before a search (``vtlab.measuring.load_search``), whose load then takes their place.
#: More might break a variant before any level is measured: higher levels have a cycle before them.
WARM_UP_USERS = 64
#: The variants of every call; ``--variant`` adds to them.
VARIANTS = ["platform", "virtual"]


def experiment_of(call: TryInput) -> Experiment:
    """Returns the experiment that a call describes, complete but for a load that vtlab searches. BadInput where the
    service, a request or an option is not what it should be."""
    service = _service(call)
    workload = workload_files.with_absolute_paths(_workload(call), call.source)
    options = call.options
    experiment = _valid(
        lambda: Experiment(
            name=service.name,
            description=f"{service.jar or service.name}: {workload.title}",
            service=service,
            workload_=workload,
            load=_load(options),
            limits=_limits(options),
            windows=Windows(warmup_cycles=1, warmup_requests=WARM_UP_REQUESTS, warmup_load=WARM_UP),
            variants=VARIANTS,
            properties=_properties(options.java),
            max_errors=call.max_errors,
            needs=["database"] if options.database else [],
            between=options.between,
        )
    )
    return extra_variants.with_extra_variants(experiment, options.variants)


def _workload(call: TryInput) -> Workload:
    lines = call.workload
    if isinstance(lines, Workload):
        return lines
    if lines.asks_nothing:
        raise BadInput(
            f"what is to be asked of {call.service.name}?", "name a request, such as 'GET /orders/17', or --k6 load.ts"
        )
    return _valid(lambda: Workload.model_validate(lines.document()))


def writing_remarks(experiment: Experiment) -> list[str]:
    """Warns, in sentences, of requests that change what the service stores."""
    workload = experiment.workload
    if not workload.is_writing or workload.k6 or experiment.between:
        return []
    writing = next(request.line for request in workload.requests if request.method not in ("GET", "HEAD"))
    return [
        f"{writing} may change what the service stores, so that a later trial finds more than an earlier one. A block"
        " in which a variant's trials differ for that does not count (check: trend). To reset it: between, in the file"
        " of vtlab try"
    ]


def _service(call: TryInput) -> Service:
    options = call.options
    changes: dict[str, object] = {}
    if isinstance(call.service, Service) or call.service.suffix in documents.SUFFIXES:
        service = call.service if isinstance(call.service, Service) else services.load(call.service)
        refused = {"jvm": options.jvm_flags, "database": options.database}
        if wrong := [name for name, value in refused.items() if value]:
            raise BadInput(
                f"{call.service.name} describes the service: {' and '.join(wrong)} cannot be given beside it",
                "write jvm_flags and companions into that file",
            )
        changes["environment_from"] = [*service.environment_from, *options.environment_from]
        if options.environment_file:
            changes["environment_file"] = str(options.environment_file.absolute())
    else:
        service = from_jar.service_from_jar(
            call.service,
            tools.find_java(options.java),
            options.jvm_flags,
            options.environment_from,
            options.environment_file,
        )
        if options.database:
            changes["companions"] = {"database": from_jar.database_environment(call.service)}
    return service.model_copy(update={**changes, "started_before": call.started_before or service.started_before})


def _load(options: TryOptions) -> ClosedLoad | OpenLoad:
    if options.users is not None and options.rate is not None:
        raise BadInput("users and rate exclude each other", "name one of them, or none: then vtlab searches a load")
    if options.rate is None:
        users = WARM_UP_USERS if options.users is None else options.users
        return ClosedLoad(model="closed", users=users, think_time=_or_default(options.think_time, Users().think))
    longest = Experiment.model_fields["max_response"].default
    users = OpenLoad(model="open", rate=options.rate, users=1).least_users(longest)
    return OpenLoad(model="open", rate=options.rate, users=users)


def _limits(options: TryOptions) -> Limits:
    usual = ServiceLimits()
    return Limits(cpu=_or_default(options.cpu, usual.cpu), memory=_or_default(options.memory, usual.memory), heap=None)


def _or_default(value: _Value | None, default: _Value) -> _Value:
    return default if value is None else value


def _properties(java: str | None) -> dict[str, Properties]:
    """Returns the variant properties for a JDK given by major version; one given by directory is the run's."""
    if java is None or not java.isdigit():
        return {}
    return {name: Properties.model_validate({"threads": name, "java": int(java)}) for name in VARIANTS}


def _valid(make: Callable[[], _Value]) -> _Value:
    try:
        return make()
    except ValidationError as error:
        wrong = validation.wrong_keys(error, "", validation.bare_message, _is_key)
        raise BadInput(wrong, "vtlab try --help shows what each option takes") from None


def _is_key(part: int | str) -> bool:
    return isinstance(part, str) and part.islower() and not part.startswith("func")

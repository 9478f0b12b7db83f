"""What a call of ``vtlab try`` asks for, by lines or by a file, as an experiment."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, TypeVar

from pydantic import ValidationError

from vtlab.errors import BadInput
from vtlab.host import tools
from vtlab.measuring.load_search import WARM_UP_USERS
from vtlab.model import documents, own_file, validation, workload_files
from vtlab.model import service as services
from vtlab.model.experiment import MAX_ERRORS, Experiment, Limits, Properties, Windows
from vtlab.model.load import ClosedLoad, OpenLoad
from vtlab.model.own_file import Rate
from vtlab.model.service import Service, ServiceDependency
from vtlab.model.workload import Workload
from vtlab.planning import extra_variants
from vtlab.services import own

_Made = TypeVar("_Made")
#: Requests to each variant in each cycle of the first part of the warm-up, which has more CPU.
WARM_UP_REQUESTS = 3_000
#: Of a warm-up cycle. Those that judge the steady state scatter by as much as they may gain in 2 s, and a further one
#: takes three times what a longer one adds.
WARM_UP = "3s"
#: Fields of ``Asked`` that a call adds to those of a file.
_LISTS = ("environment_from", "jvm_flags", "more")
#: The variants of every call; ``--with`` adds to them.
VARIANTS = ["platform", "virtual"]


@dataclass(frozen=True)
class Asked:
    """What a call says of the service and its load."""

    #: A jar, or a JSON file that describes a service.
    service: Path
    #: The document of a workload, and the file in which it stands: paths in it are relative to that.
    workload: Mapping[str, Any] = field(default_factory=dict, repr=False)
    source: Path = Path("vtlab-try")
    #: Closed load with so many users, or open load; neither: vtlab searches.
    users: int | None = None
    rate: float | None = None
    think_time: str = "0s"
    cpu: float = 1.0
    memory: str = "1Gi"
    max_errors: float = MAX_ERRORS
    jvm_flags: Sequence[str] = ()
    java: str | None = None
    environment_from: Sequence[str] = ()
    environment_file: Path | None = None
    #: Further variants, as ``--with`` has them.
    more: Sequence[str] = ()
    between: str | None = None
    database: bool = False
    started_before: ServiceDependency | None = None

    @property
    def is_searched(self) -> bool:
        """Whether vtlab is to find the load."""
        return self.users is None and self.rate is None


def of_call(service: Path, requests: Sequence[str], script: Path | None, data: Path | None, **given: Any) -> Asked:
    """What a call asks for. ``service``: a jar, a service's JSON file, or the file that has all of it; ``given``: the
    fields of ``Asked`` that options name, which go before those of a file, and of lists after its entries."""
    if service.suffix in documents.SUFFIXES and not _describes_a_service(service):
        if requests or script or data:
            raise BadInput(
                f"{service} says what is asked of the service", "write requests, data and k6 into that file only"
            )
        asked = _of_file(service)
        lists = {name: [*getattr(asked, name), *given[name]] for name in _LISTS if name in given}
        return replace(asked, **{**given, **lists})
    workload: dict[str, Any] = {
        "requests": list(requests),
        "data": str(data) if data else None,
        "k6": str(script) if script else None,
    }
    return Asked(service, workload, **given)


def _describes_a_service(path: Path) -> bool:
    """Whether a file is that of a service (``vtlab.model.service``), rather than one of ``vtlab try``."""
    document = documents.read(path)
    return isinstance(document, dict) and not document.keys().isdisjoint(services.STARTS)


def _of_file(path: Path) -> Asked:
    own_ = own_file.read(path)
    load, folder = own_.load, path.absolute().parent
    has_values = isinstance(own_.env, dict) and bool(own_.env)
    file = path.absolute() if has_values else folder / own_.env_file if own_.env_file else None
    return Asked(
        service=folder / own_.service,
        workload=own_.workload,
        source=path,
        users=None if isinstance(load, Rate) or load.users == "auto" else load.users,
        rate=load.per_second if isinstance(load, Rate) else None,
        think_time="0s" if isinstance(load, Rate) else load.think,
        cpu=own_.limits.cpu,
        memory=own_.limits.memory,
        max_errors=own_.max_errors,
        jvm_flags=own_.jvm,
        java=None if own_.java is None else str(own_.java),
        environment_from=[] if isinstance(own_.env, dict) else own_.env,
        environment_file=file,
        more=own_.with_,
        between=own_.between,
        database=own_.database is not None,
        started_before=own_.service_needs,
    )


def experiment_of(asked: Asked) -> Experiment:
    """The experiment that a call describes, complete but for a load that vtlab searches. BadInput where the service, a
    request or an option is not what it should be."""
    service = _service(asked)
    workload = _valid(lambda: Workload.model_validate(asked.workload), asked)
    resolved = workload_files.with_absolute_paths(workload, asked.source)
    experiment = _valid(
        lambda: Experiment(
            name=service.name,
            description=f"{service.jar or service.name}: {workload.title}",
            service=service,
            workload_=resolved,
            load=_load(asked),
            limits=Limits(cpu=asked.cpu, memory=asked.memory, heap=None),
            windows=Windows(warmup_cycles=1, warmup_requests=WARM_UP_REQUESTS, warmup_load=WARM_UP),
            variants=VARIANTS,
            properties=_properties(asked.java),
            max_errors=asked.max_errors,
            needs=["database"] if asked.database else [],
            between=asked.between,
        ),
        asked,
    )
    return extra_variants.with_extra_variants(experiment, asked.more)


def remarks(experiment: Experiment) -> list[str]:
    """What is to be said before an experiment is measured, in sentences."""
    workload = experiment.workload
    if not workload.is_writing or workload.k6 or experiment.between:
        return []
    writing = next(request.line for request in workload.requests if request.method not in ("GET", "HEAD"))
    return [
        f"{writing} may change what the service stores, so that a later trial finds more than an earlier one. A block"
        " in which a variant's trials differ for that does not count (check: trend). To reset it: between, in the file"
        " of vtlab try"
    ]


def _service(asked: Asked) -> Service:
    if asked.service.suffix in documents.SUFFIXES:
        service = services.load(asked.service)
        refused = {"jvm": asked.jvm_flags, "database": asked.database}
        if wrong := [name for name, value in refused.items() if value]:
            raise BadInput(
                f"{asked.service} describes the service: {' and '.join(wrong)} cannot be given beside it",
                "write jvm_flags and companions into that file",
            )
        changes: dict[str, Any] = {
            "environment_from": [*service.environment_from, *asked.environment_from],
            "environment_file": str(asked.environment_file.absolute())
            if asked.environment_file
            else service.environment_file,
        }
    else:
        java = tools.find_java(asked.java)
        service = own.of_jar(asked.service, java, asked.jvm_flags, asked.environment_from, asked.environment_file)
        changes = {"companions": {"database": own.database_environment(asked.service)}} if asked.database else {}
    return service.model_copy(update={**changes, "started_before": asked.started_before or service.started_before})


def _load(asked: Asked) -> ClosedLoad | OpenLoad:
    if asked.users is not None and asked.rate is not None:
        raise BadInput("users and rate exclude each other", "name one of them, or none: then vtlab searches a load")
    if asked.rate is None:
        users = WARM_UP_USERS if asked.users is None else asked.users
        return ClosedLoad(model="closed", users=users, think_time=asked.think_time)
    longest = Experiment.model_fields["max_response"].default
    users = OpenLoad(model="open", rate=asked.rate, users=1).least_users(longest)
    return OpenLoad(model="open", rate=asked.rate, users=users)


def _properties(java: str | None) -> dict[str, Properties]:
    """Those of a JDK by its major version. One by its directory is that of this machine (``tools.find_java``)."""
    if java is None or not java.isdigit():
        return {}
    return {name: Properties.model_validate({"threads": name, "java": int(java)}) for name in VARIANTS}


def choose_java(java: str | None) -> None:
    """Has everything that follows use the JDK in that directory; a major version is a property of the variants."""
    if java is not None and not java.isdigit():
        os.environ["VTLAB_JAVA_HOME"] = java


def _valid(make: Callable[[], _Made], asked: Asked) -> _Made:
    try:
        return make()
    except ValidationError as error:
        if not asked.workload.get("requests") and not asked.workload.get("k6"):
            raise BadInput(
                f"what is to be asked of {asked.service.name}?",
                "name a request, such as 'GET /orders/17', or --k6 load.ts",
            ) from None
        wrong = validation.wrong_keys(error, "", validation.bare_message, _is_key)
        raise BadInput(wrong, "vtlab try --help shows what each option takes") from None


def _is_key(part: int | str) -> bool:
    return isinstance(part, str) and part.islower() and not part.startswith("func")

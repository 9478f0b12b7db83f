"""The normalised experiment: what k6 reads. Every default is filled in, every duration is in milliseconds.

Its TypeScript type is generated from this model, and so is the normalised form of each shipped experiment
(``k6/plans/``). k6 trusts it.
"""

from __future__ import annotations

import json
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict

from vtlab.model import units
from vtlab.model import workload as workload_model
from vtlab.model.experiment import Experiment
from vtlab.model.load import ClosedLoad, RateLoad

#: Where the normalised forms of the shipped experiments lie.
FOLDER = "k6/plans"
#: Its file in a results directory.
PLAN = "plan.json"
VERSION: Literal[1] = 1

Milliseconds = float


class _Part(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Expected(_Part):
    """Part of an answer's body that is expected, by its steps from the outside to the inside."""

    steps: list[str]
    #: As JSON; null: whatever it is.
    value: str | None


class Request(_Part):
    """Path, query, headers and body may hold names in braces."""

    method: str
    path: str
    query: dict[str, str]
    headers: dict[str, str]
    body: str | None
    is_json: bool
    status: int
    expected: list[Expected]
    weight: float


class Workload(_Part):
    #: None of a script, which k6 gets beside this.
    requests: list[Request]
    has_login: bool
    is_script: bool


class Closed(_Part):
    model: Literal["closed"]
    users: int
    #: On average.
    think_time: Milliseconds
    is_think_time_exponential: bool
    #: One round of a user, by variant, with so many users.
    round: dict[str, Milliseconds]
    #: Time of a request without its wait for a thread, by variant, where users queue.
    service_time: dict[str, Milliseconds]


class Open(_Part):
    model: Literal["open"]
    users: int
    rate: float
    gaps: Literal["exponential", "even"]


class Typical(_Part):
    #: Arrivals per second; null where no one knows it before full load is measured.
    rate: float | None
    gaps: Literal["exponential", "even"]


class Windows(_Part):
    warmup_users: int
    #: In place of the only request's own.
    warmup_query: dict[str, str] | None
    warmup_load: Milliseconds
    warmup_cycles: int
    #: 0: a cycle lasts for ``warmup_load``.
    warmup_requests: int
    single_user_phase: Milliseconds
    ramp_up: Milliseconds
    measure: Milliseconds
    measure_by_variant: dict[str, Milliseconds]
    trials: int
    wait_for_answers: bool


class Normalised(_Part):
    """An experiment as k6 reads it. Durations are milliseconds."""

    normalised: Literal[1]
    name: str
    workload: Workload
    #: Load of the trials.
    load: Closed | Open
    #: Typical load beside it; null where there is none.
    typical: Typical | None
    windows: Windows
    max_response: Milliseconds
    variants: list[str]


def normalise(experiment: Experiment) -> Normalised:
    """Selects what k6 needs of an experiment. BadInput where it cannot be measured."""
    experiment.refuse_unmeasurable()
    load, windows = experiment.load, experiment.windows
    return Normalised(
        normalised=VERSION,
        name=experiment.name,
        workload=_workload(experiment.workload),
        load=(
            Closed(
                model="closed",
                users=load.users,
                think_time=1000 * load.mean_think_time,
                is_think_time_exponential=load.is_think_time_exponential,
                round=_milliseconds(load.round),
                service_time=_milliseconds(load.service_time),
            )
            if isinstance(load, ClosedLoad)
            else Open(model="open", users=load.users, rate=load.rate, gaps=load.gaps)
        ),
        typical=_typical(experiment),
        windows=Windows(
            warmup_users=windows.warmup_users,
            warmup_query=windows.warmup_query,
            warmup_load=units.milliseconds(windows.warmup_load),
            warmup_cycles=windows.warmup_cycles,
            warmup_requests=windows.warmup_requests,
            single_user_phase=units.milliseconds(windows.single_user_phase),
            ramp_up=units.milliseconds(windows.ramp_up),
            measure=units.milliseconds(windows.measure),
            measure_by_variant=_milliseconds(windows.measure_by_variant),
            trials=windows.trials,
            wait_for_answers=windows.wait_for_answers,
        ),
        max_response=units.milliseconds(experiment.max_response),
        variants=experiment.variants,
    )


def _typical(experiment: Experiment) -> Typical | None:
    """Returns the typical load beside full load. A share is of the throughput that the declared round allows the first
    variant."""
    typical, load, first = experiment.typical_beside, experiment.load, experiment.variants[0]
    if typical is None:
        return None
    if isinstance(typical, RateLoad):
        return Typical(rate=typical.rate, gaps=typical.gaps)
    if not isinstance(load, ClosedLoad) or first not in load.round:
        return Typical(rate=None, gaps=experiment.typical_gaps)
    throughput = load.users / units.seconds(load.round[first])
    return Typical(rate=float(f"{typical.share * throughput:.3g}"), gaps=experiment.typical_gaps)


def _workload(workload: workload_model.Workload) -> Workload:
    return Workload(
        requests=[
            Request(
                method=request.method,
                path=request.path,
                query=request.query,
                headers=request.headers,
                body=workload_model.body_text(request.body),
                is_json=workload_model.is_json(request.body),
                status=request.expect.status,
                expected=[
                    Expected(
                        steps=workload_model.steps(path),
                        value=None if value == workload_model.EXISTS else json.dumps(value),
                    )
                    for path, value in request.expect.json_.items()
                ],
                weight=request.weight,
            )
            for request in workload.requests
        ],
        has_login=workload.login is not None,
        is_script=workload.k6 is not None,
    )


def as_json(experiment: Experiment) -> str:
    """Writes the normalised form as a file."""
    return json.dumps(_whole(normalise(experiment).model_dump(mode="json")), indent=2) + "\n"


def _milliseconds(durations: dict[str, str]) -> dict[str, float]:
    return {name: units.milliseconds(duration) for name, duration in durations.items()}


def _whole(value: Any) -> Any:
    """Replaces whole floats by integers: 5000 in place of 5000.0."""
    if isinstance(value, dict):
        return {key: _whole(inner) for key, inner in value.items()}
    if isinstance(value, list):
        return [_whole(inner) for inner in value]
    return int(value) if isinstance(value, float) and value.is_integer() else value


def typescript() -> str:
    """Writes the type of a normalised experiment in TypeScript, as in ``k6/lib/experiment.ts``."""
    schema = Normalised.model_json_schema()
    interfaces = {**schema["$defs"], "Experiment": schema}
    lines = ["// Generated from lab/vtlab/model/normalised.py by `make generate`: do not edit, a change is lost."]
    for name, definition in interfaces.items():
        lines += ["", f"export interface {name} {{"]
        lines += [f"  {key}: {_type(field)};" for key, field in definition["properties"].items()]
        lines.append("}")
    return "\n".join(lines) + "\n"


def _type(field: dict[str, Any]) -> str:
    if "$ref" in field:
        return str(field["$ref"]).rpartition("/")[2]
    if "anyOf" in field:
        return " | ".join(map(_type, field["anyOf"]))
    if "enum" in field:
        return " | ".join(f"'{value}'" for value in field["enum"])
    if "const" in field:
        return f"'{field['const']}'" if isinstance(field["const"], str) else str(field["const"])
    if field["type"] == "object":
        return f"Record<string, {_type(field['additionalProperties'])}>"
    if field["type"] == "array":
        return f"{_type(field['items'])}[]"
    return {"integer": "number", "number": "number", "string": "string", "boolean": "boolean", "null": "null"}[
        field["type"]
    ]

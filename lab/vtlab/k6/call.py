"""One call of k6: its command, its environment, and the document that it writes."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from vtlab.errors import BlockFault
from vtlab.host import variables
from vtlab.model import validation, workload_files
from vtlab.model.k6_documents import K6Document, Preflight, VariantPreflight, joined_thresholds
from vtlab.model.workload import Workload
from vtlab.planning.load_call import LoadCall

#: Exit codes with a document: 0, and 99 for a crossed threshold, which the validity checks judge better.
DONE = (0, 99)
#: Exit codes for a faulty script: options that k6 refuses, an exception.
WRONG_SCRIPT = (104, 107)

#: Options of every call: without k6's own HTTP interface, which would claim a port.
OPTIONS = ("--address=", "--no-color", "--quiet")
ENVIRONMENT = {"K6_NO_USAGE_REPORT": "true", "K6_WEB_DASHBOARD": "false"}
#: Options of a call that sends every sample to Prometheus, as often as the variants are scraped.
PUSH_OPTIONS = ("-o", "experimental-prometheus-rw")
PUSH_ENVIRONMENT = {
    "K6_PROMETHEUS_RW_PUSH_INTERVAL": "1s",
    "K6_PROMETHEUS_RW_TREND_AS_NATIVE_HISTOGRAM": "true",
}


def chart_file() -> str:
    """Returns options and environment for the chart, ``helm/files/k6.json``."""
    document = {
        "options": OPTIONS,
        "environment": ENVIRONMENT,
        "push": {"options": PUSH_OPTIONS, "environment": PUSH_ENVIRONMENT},
    }
    return json.dumps(document, indent=2) + "\n"


@dataclass(frozen=True)
class Call:
    """The arguments of one call of ``k6/block.ts``; paths are absolute."""

    script: Path
    #: The normalised experiment.
    experiment: Path
    #: Base URL by variant.
    targets: Mapping[str, str]
    #: The result of ``phase_variables``.
    variables: Mapping[str, str]
    run_id: str
    block: int
    document: Path
    #: The file that only k6 may read (``write_private``); None without one.
    private: Path | None = None
    #: The origin in a user's script that stands for the variant.
    origin: str | None = None


def phase_variables(call: LoadCall) -> dict[str, str]:
    """Returns what a call is to do, as variables of ``k6/block.ts``."""
    variables = {
        "ORDER": ",".join(call.trial_order),
        "WARMUP_CYCLES": str(call.warmup_cycles),
        "OWN_CYCLES": str(call.trial_load_cycles),
        "SINGLE": call.single_user_phase or "0s",
        "POSITION": str(call.first_position),
        "WAIT_FOR_ANSWERS": str(call.wait_for_answers).lower(),
    }
    light, pacing = call.light_load, call.pacing
    variables |= _typical_variables(call)
    if light:
        variables["LIGHT"] = json.dumps({name: list(rates) for name, rates in light.rates.items()})
        variables |= {"LIGHT_SETTLE": f"{light.settle}ms", "LIGHT_MEASURE": f"{light.measure}ms"}
    if pacing.seed is not None:
        variables["SEED"] = str(pacing.seed)
    if pacing.settle:
        variables["SETTLE"] = f"{pacing.settle}ms"
    if pacing.rounds:
        variables["ROUNDS"] = json.dumps({name: f"{round_}ms" for name, round_ in pacing.rounds.items()})
    if pacing.users:
        variables["USERS"] = ",".join(map(str, pacing.users))
    if pacing.measure is not None:
        variables["MEASURE"] = f"{pacing.measure}ms"
    return variables


def run_id_of(run_id: str, call: LoadCall) -> str:
    """Returns the run's id for the samples of a call; another for the levels of a search, which are none of its
    trials."""
    return f"{run_id}_search" if call.pacing.users else run_id


def _typical_variables(call: LoadCall) -> dict[str, str]:
    """Returns the variables of the typical load and of the probes, whose URLs are the target's."""
    typical = call.typical
    variables = {"TYPICAL": ",".join(typical.order) if typical else ""}
    if typical:
        variables |= {
            "RATE": f"{typical.rate:g}",
            "TYPICAL_USERS": str(typical.users),
            "TYPICAL_SETTLE": f"{typical.settle}ms",
            "TYPICAL_MEASURE": f"{typical.measure}ms",
        }
    if not call.is_probed:
        variables["PROBES"] = "none"
    return variables


def preflight_variables(variants: Sequence[str]) -> dict[str, str]:
    """Returns variables of ``k6/block.ts`` by which it sends each request, or runs each task of a script, once for each
    of these variants."""
    return {"PREFLIGHT": "true", "ORDER": ",".join(variants)}


def write_private(workload: Workload, folder: Path) -> Path | None:
    """Writes the private parts of a workload (rows, the login, environment variables) into a file of ``folder`` that
    only this user may read; None where there are none. k6 gets the path, never the content, as an argument."""
    content = private_of(workload)
    return _written(folder, content) if content else None


def write_environment(names: Sequence[str], folder: Path) -> Path | None:
    """Writes the variables that a user's script reads into a file; returns None where none of them is set."""
    content = environment_of(names)
    return _written(folder, content) if content else None


def private_of(workload: Workload) -> dict[str, Any]:
    """Returns the private parts of a workload of requests; empty where there are none."""
    if not (workload.data or workload.login or workload.uses_environment):
        return {}
    return workload_files.private_values(workload, variables.known())


def environment_of(names: Sequence[str]) -> dict[str, Any]:
    """Returns the variables that a user's script reads, as private parts; empty where none is set."""
    available = variables.known()
    values = {name: available[name] for name in names if name in available}
    return {"environment": values} if values else {}


def _written(folder: Path, content: Mapping[str, Any]) -> Path:
    path = folder / "private.json"
    path.unlink(missing_ok=True)
    with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w", encoding="utf-8") as file:
        json.dump(content, file)
    return path


def read_preflight(path: Path, log: str) -> dict[str, VariantPreflight]:
    """Reads the findings of a pre-flight, by variant. BlockFault, with the last lines of k6's ``log``, where it wrote
    none."""
    try:
        return Preflight.model_validate_json(path.read_bytes()).preflight
    except (FileNotFoundError, ValidationError):
        raise BlockFault(f"the pre-flight of k6 left no document: {log or 'no output'}") from None


def command(k6: Path, call: Call, push: bool = True) -> list[str]:
    """Returns the command line. ``push``: sends every sample to Prometheus."""
    values = {
        "EXPERIMENT": str(call.experiment),
        "TARGETS": json.dumps(dict(call.targets), separators=(",", ":")),
        **call.variables,
        "RUN_ID": call.run_id,
        "BLOCK": str(call.block),
        "DOCUMENT": str(call.document),
        **({"PRIVATE": str(call.private)} if call.private else {}),
        **({"ORIGIN": call.origin} if call.origin else {}),
    }
    options = [*OPTIONS, *(PUSH_OPTIONS if push else ())]
    return [str(k6), "run", *options, *_environment_options(values), str(call.script)]


def block_seconds(k6: Path, script: Path, experiment: Path, variants: Sequence[str]) -> float | None:
    """Asks k6 for the seconds that one block of a normalised experiment takes, without single users and typical load;
    None where it does not say."""
    targets = json.dumps(dict.fromkeys(variants, "http://localhost"))
    values = {"EXPERIMENT": str(experiment), "TARGETS": targets, "SINGLE": "0s", "TYPICAL": ""}
    command = [str(k6), "inspect", *_environment_options(values), str(script)]
    done = subprocess.run(command, capture_output=True, text=True)
    try:
        return float(json.loads(done.stdout)["scenarios"]["users"]["env"]["BLOCK_SECONDS"])
    except (ValueError, KeyError, TypeError):
        return None


def _environment_options(values: Mapping[str, str]) -> list[str]:
    return [word for name, value in values.items() for word in ("-e", f"{name}={value}")]


def environment(remote_write: str, home: Path) -> dict[str, str]:
    """Returns the environment of k6. ``home`` keeps the user's own configuration file of k6 out."""
    return {
        "HOME": str(home),
        "K6_PROMETHEUS_RW_SERVER_URL": remote_write,
        **PUSH_ENVIRONMENT,
        **ENVIRONMENT,
    }


def read_document(path: Path, log: str) -> K6Document:
    """Reads the document of a call that ended. BlockFault, with the last lines of k6's ``log``, when it is missing or
    invalid."""
    try:
        return K6Document.model_validate_json(path.read_bytes())
    except FileNotFoundError:
        raise BlockFault(f"k6 left no document: {log or 'no output'}") from None
    except ValidationError as error:
        wrong = validation.first_wrong_key(error, "the whole")
        raise BlockFault(f"k6's document cannot be read ({wrong}): {log or 'no output'}") from error


def joined(documents: Sequence[K6Document]) -> K6Document:
    """Joins the documents of several calls into one."""
    return documents[0].model_copy(
        update={
            "agreed": all(document.agreed for document in documents),
            "order": [variant for document in documents for variant in document.order],
            **{
                part: [trial for document in documents for trial in getattr(document, part)]
                for part in ("warmup", "single", "trials", "typical", "light")
            },
            "thresholds": joined_thresholds([document.thresholds for document in documents]),
        }
    )

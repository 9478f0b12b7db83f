"""One call of k6: its command, its environment, and the document that it leaves."""

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
from vtlab.model import validation, variables, workload_files
from vtlab.model.k6_documents import K6Document, Preflight, VariantPreflight
from vtlab.model.workload import Workload
from vtlab.planning.load_call import LoadCall

#: Exit codes with a document: 0, and 99 for a threshold that was crossed, which the validity checks judge better.
DONE = (0, 99)
#: Exit codes for what the script does or asks for: options that k6 does not take, an exception.
WRONG_SCRIPT = (104, 107)


#: Of every call. Without its own HTTP interface, which would claim a port.
OPTIONS = ("--address=", "--no-color", "--quiet")
ENVIRONMENT = {"K6_NO_USAGE_REPORT": "true", "K6_WEB_DASHBOARD": "false"}
#: Of a call that sends every sample to Prometheus, as often as the variants are scraped.
PUSH_OPTIONS = ("-o", "experimental-prometheus-rw")
PUSH_ENVIRONMENT = {
    "K6_PROMETHEUS_RW_PUSH_INTERVAL": "1s",
    "K6_PROMETHEUS_RW_TREND_AS_NATIVE_HISTOGRAM": "true",
}


def chart_file() -> str:
    """The same for the chart, ``helm/files/k6.json``."""
    document = {
        "options": OPTIONS,
        "environment": ENVIRONMENT,
        "push": {"options": PUSH_OPTIONS, "environment": PUSH_ENVIRONMENT},
    }
    return json.dumps(document, indent=2) + "\n"


@dataclass(frozen=True)
class Call:
    """What one call of ``k6/block.ts`` is to do; paths are absolute."""

    script: Path
    #: The normalised experiment.
    experiment: Path
    #: variant -> base URL
    targets: Mapping[str, str]
    #: Of ``phase_variables``.
    variables: Mapping[str, str]
    run_id: str
    block: int
    document: Path
    #: What k6 alone is to read (``write_private``); None where there is nothing.
    private: Path | None = None
    #: Of a user's script: the origin in it that stands for the variant.
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


def preflight_variables(variants: Sequence[str]) -> dict[str, str]:
    """That each request, or each task of a script, goes once to each of these variants, as variables of
    ``k6/block.ts``."""
    return {"PREFLIGHT": "true", "ORDER": ",".join(variants)}


def write_private(workload: Workload, folder: Path) -> Path | None:
    """Writes what only k6 may read of a workload (rows, the login, variables of the environment) into a file of
    ``folder`` that only this user may read; None where there is nothing. k6 gets its path, never what is in it."""
    content = private_of(workload)
    return _written(folder, content) if content else None


def write_environment(names: Sequence[str], folder: Path) -> Path | None:
    """The same for the variables that a user's script reads; None where none of them is set."""
    content = environment_of(names)
    return _written(folder, content) if content else None


def private_of(workload: Workload) -> dict[str, Any]:
    """What only k6 may read of a workload of requests; empty where there is nothing."""
    if not (workload.data or workload.login or workload.uses_environment):
        return {}
    return workload_files.private_values(workload, variables.known())


def environment_of(names: Sequence[str]) -> dict[str, Any]:
    """The same of a user's script, which reads these variables."""
    known = variables.known()
    values = {name: known[name] for name in names if name in known}
    return {"environment": values} if values else {}


def _written(folder: Path, content: Mapping[str, Any]) -> Path:
    path = folder / "private.json"
    path.unlink(missing_ok=True)
    with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w", encoding="utf-8") as file:
        json.dump(content, file)
    return path


def read_preflight(path: Path, log: str) -> dict[str, VariantPreflight]:
    """What a pre-flight left, by variant; BlockFault, with the last lines of k6's ``log``, where it left nothing."""
    try:
        return Preflight.model_validate_json(path.read_bytes()).preflight
    except (FileNotFoundError, ValidationError):
        raise BlockFault(f"the pre-flight of k6 left no document: {log or 'it said nothing'}") from None


def command(k6: Path, call: Call, push: bool = True) -> list[str]:
    """The command line; ``push`` sends every sample to Prometheus."""
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
    given = [word for name, value in values.items() for word in ("-e", f"{name}={value}")]
    return [str(k6), "run", *OPTIONS, *(PUSH_OPTIONS if push else ()), *given, str(call.script)]


def block_seconds(k6: Path, script: Path, experiment: Path, variants: Sequence[str]) -> float | None:
    """How long k6 takes for one block of a normalised experiment, by its own plan; None where it does not say so."""
    targets = json.dumps(dict.fromkeys(variants, "http://localhost"))
    values = {"EXPERIMENT": str(experiment), "TARGETS": targets, "SINGLE": "0s"}
    given = [word for name, value in values.items() for word in ("-e", f"{name}={value}")]
    done = subprocess.run([str(k6), "inspect", *given, str(script)], capture_output=True, text=True)
    try:
        return float(json.loads(done.stdout)["scenarios"]["users"]["env"]["BLOCK_SECONDS"])
    except (ValueError, KeyError, TypeError):
        return None


def environment(remote_write: str, home: Path) -> dict[str, str]:
    """What it needs in the environment. ``home`` keeps the user's own configuration file of k6 out."""
    return {
        "HOME": str(home),
        "K6_PROMETHEUS_RW_SERVER_URL": remote_write,
        **PUSH_ENVIRONMENT,
        **ENVIRONMENT,
    }


def read_document(path: Path, log: str) -> K6Document:
    """The document of a call that ended; BlockFault, with the last lines of k6's ``log``, when it is missing
    or does not hold what it should."""
    try:
        return K6Document.model_validate_json(path.read_bytes())
    except FileNotFoundError:
        raise BlockFault(f"k6 left no document: {log or 'it said nothing'}") from None
    except ValidationError as error:
        wrong = validation.first_wrong_key(error, "the whole")
        raise BlockFault(f"k6's document cannot be read ({wrong}): {log or 'it said nothing'}") from error


def joined(documents: Sequence[K6Document]) -> K6Document:
    """What several calls measured, as if by one. A threshold holds where it does in each."""
    thresholds: dict[str, dict[str, dict[str, bool]]] = {}
    for document in documents:
        for variant, metrics in document.thresholds.items():
            for metric, conditions in metrics.items():
                held = thresholds.setdefault(variant, {}).setdefault(metric, {})
                held |= {text: holds and held.get(text, True) for text, holds in conditions.items()}
    return documents[0].model_copy(
        update={
            "agreed": all(document.agreed for document in documents),
            "order": [variant for document in documents for variant in document.order],
            **{
                part: [trial for document in documents for trial in getattr(document, part)]
                for part in ("warmup", "single", "trials", "light")
            },
            "thresholds": thresholds,
        }
    )

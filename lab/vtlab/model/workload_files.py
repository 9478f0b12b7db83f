"""The files that a workload names: rows of data, the login, variables of the environment.

An experiment holds their paths and names only, so that no password comes into a manifest, a report or a command line.
"""

from __future__ import annotations

import csv
import hashlib
import io
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from vtlab.errors import BadInput
from vtlab.model import documents, validation
from vtlab.model.workload import (
    ENVIRONMENT,
    Login,
    Workload,
    body_text,
    is_json,
    refuse_unknown_names,
    steps,
    variables,
)


@dataclass(frozen=True)
class Data:
    """Rows of a CSV file."""

    columns: list[str]
    rows: list[list[str]]


def with_absolute_paths(workload: Workload, source: Path) -> Workload:
    """Returns the workload of the file ``source`` with absolute paths, and with that file's name in place of the login
    in it. BadInput where a file is missing or is not what it should be, and where a request uses a name that nothing
    gives."""
    folder = source.parent
    changes: dict[str, Any] = {}
    if workload.data:
        changes["data"] = str((folder / workload.data).resolve())
    if workload.k6:
        changes["k6"] = str((folder / workload.k6).resolve())
        _refuse_missing_script(Path(changes["k6"]))
    if isinstance(workload.login, Login):
        changes["login"] = str(source.resolve())
    elif workload.login:
        changes["login"] = str((folder / workload.login).resolve())
    login = workload.login if isinstance(workload.login, Login) else None
    absolute = workload.model_copy(update=changes)
    refuse_unusable_files(absolute, login)
    return absolute


def refuse_unusable_files(workload: Workload, login: Login | None = None) -> None:
    """Raises BadInput as ``with_absolute_paths`` does. ``login``: where it is known already."""
    login = login or login_of(workload)
    columns = read_data(Path(workload.data)).columns if workload.data else None
    refuse_unknown_names(workload, login, columns)


def _refuse_missing_script(script: Path) -> None:
    if not documents.is_file(script):
        raise BadInput(f"there is no k6 script {script}", "correct k6: its path starts at the file's folder")
    if script.suffix not in (".js", ".ts", ".mjs"):
        raise BadInput(f"{script} is not a k6 script", "name a .js or .ts file in k6")


def login_of(workload: Workload) -> Login | None:
    """Loads the login that a workload has or names the file of."""
    if workload.login is None or isinstance(workload.login, Login):
        return workload.login
    path = Path(workload.login)
    document = documents.read(path)
    if isinstance(document, Mapping) and "login" in document:
        document = document["login"]
    try:
        return Login.model_validate(document)
    except ValidationError as error:
        raise BadInput(
            f"{path}: login: {validation.wrong_keys(error, 'login')}",
            "write it as {POST: /login, body: {…}, capture: {token: $.token}}",
        ) from None


def read_data(path: Path) -> Data:
    """Reads the rows of a CSV file with a header. BadInput where it has none, where a name comes twice, and where a row
    is shorter or longer than the header; its values are not repeated."""
    text = documents.read_text(path)
    try:
        lines = [(reader.line_num, row) for reader in [csv.reader(io.StringIO(text), strict=True)] for row in reader]
    except csv.Error as error:
        raise BadInput(f"{path}: not valid CSV: {error}", 'separate the columns by commas, quote with "') from error
    lines = [(number, row) for number, row in lines if row]
    if len(lines) < 2:
        raise BadInput(f"{path} has no rows", "write a line with the columns' names, and a line for each row")
    columns = [name.strip() for name in lines[0][1]]
    twice = sorted({name for name in columns if columns.count(name) > 1})
    if twice or "" in columns:
        problem = f"names the column {twice[0]} twice" if twice else "has a column without a name"
        raise BadInput(f"{path} {problem}", "name each column once, in the first line")
    for number, row in lines[1:]:
        if len(row) != len(columns):
            raise BadInput(
                f"{path}: line {number} has {len(row)} values for {len(columns)} columns", "correct that line"
            )
    return Data(columns, [row for _, row in lines[1:]])


def versions(workload: Workload) -> dict[str, str]:
    """Returns what tells a script from another, and data from other data without a trace of their values: a run that is
    resumed must have the same."""
    kept = {}
    if workload.k6:
        kept["k6 script"] = hashlib.sha256(Path(workload.k6).read_bytes()).hexdigest()[:12]
    if workload.data:
        data = read_data(Path(workload.data))
        kept["data"] = f"{len(data.rows):,} rows of {', '.join(data.columns)}"
    return kept


def private_values(workload: Workload, environment: Mapping[str, str]) -> dict[str, Any]:
    """Collects what k6 needs and nobody else may see: rows, login, variables of the environment. For a file that k6
    alone reads. BadInput where a variable is not set."""
    login = login_of(workload)
    names = variables(workload, login)
    missing = [name for name in names if name not in environment]
    if missing:
        raise BadInput(
            f"the workload uses {{{ENVIRONMENT}{missing[0]}}}, and that variable is not set", f"export {missing[0]}=…"
        )
    data = read_data(Path(workload.data)) if workload.data else Data([], [])
    values = {f"{ENVIRONMENT}{name}": environment[name] for name in names}
    return {"columns": data.columns, "rows": data.rows, "values": values, "login": _login(login)}


def _login(login: Login | None) -> dict[str, Any] | None:
    if login is None:
        return None
    return {
        "method": login.method,
        "path": login.path,
        "query": login.query,
        "headers": login.headers,
        "body": body_text(login.body),
        "is_json": is_json(login.body),
        "status": login.expect.status,
        "capture": {name: steps(path) for name, path in login.capture.items()},
    }

"""Files that a user writes, in JSON or YAML."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import yaml
from yaml.scanner import ScannerError

from vtlab.errors import BadInput

SUFFIXES = (".json", ".yaml", ".yml")
#: The schema of the file of an experiment.
SCHEMA = "lab/vtlab.schema.json"


def read(path: Path) -> Any:
    """Reads the document in a file, by its suffix; BadInput, with the place, where that is not JSON or YAML."""
    return parse(read_text(path), str(path), is_yaml=path.suffix != ".json")


def read_text(path: Path) -> str:
    """Reads the text of a file; BadInput where it cannot be read."""
    try:
        return path.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError as error:
        raise BadInput(f"{path}: not valid UTF-8 at byte {error.start}", "save it as UTF-8") from error
    except OSError as error:
        raise BadInput(f"cannot read {path}: {error.strerror or error}", "make it readable") from error


def is_file(path: Path) -> bool:
    """Tells whether a file is there; False, too, for what cannot be a path."""
    try:
        return path.is_file()
    except (OSError, ValueError):
        return False


def parse(text: str, where: str, is_yaml: bool = False) -> Any:
    """Parses the document in ``text``; BadInput names the line and the file (``where``). The message does not repeat
    the text, which may hold a password."""
    try:
        return _parse_yaml(text, where) if is_yaml else _parse_json(text, where)
    except RecursionError:
        raise BadInput(f"{where}: too many levels of brackets or indents", "fix the file") from None


def _parse_json(text: str, where: str) -> Any:
    try:
        return json.loads(text)
    except json.JSONDecodeError as e:
        message = f"{where}: not valid JSON: {e.msg} at line {e.lineno}, column {e.colno}"
        raise BadInput(message, "fix the file") from None
    except ValueError:
        raise BadInput(f"{where}: not valid JSON: a number with too many digits", "fix the file") from None


def _parse_yaml(text: str, where: str) -> Any:
    try:
        return yaml.safe_load(text)
    except yaml.MarkedYAMLError as e:
        mark = e.problem_mark
        at = f" at line {mark.line + 1}, column {mark.column + 1}" if mark else ""
        # A scanner quotes single characters at most. The others quote tags, handles and aliases: !s3cret, *hunter2.
        problem = f": {e.problem}" if isinstance(e, ScannerError) and e.problem else ""
        raise BadInput(
            f"{where}: not valid YAML{problem}{at}",
            "fix the file; a text needs quotes that has ': ' or ' #' in it, begins with one of !&*%@[{, or has one of"
            " ?,[]{} and stands within [ ]",
        ) from None
    except RecursionError:
        raise
    # PyYAML lets through whatever the values of explicit tags raise: !!int x, !!bool x.
    except Exception:
        raise BadInput(f"{where}: not valid YAML", "fix the file; leave tags such as !!int out") from None

"""Files that a user writes, in JSON or YAML."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import yaml

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


def parse(text: str, where: str, is_yaml: bool = False) -> Any:
    """Parses the document in ``text``; BadInput names the line and the file (``where``). The message does not repeat
    the text, which may hold a password."""
    if not is_yaml:
        try:
            return json.loads(text)
        except json.JSONDecodeError as e:
            raise BadInput(
                f"{where}: not valid JSON: {e.msg} at line {e.lineno}, column {e.colno}", "fix the file"
            ) from e
    try:
        return yaml.safe_load(text)
    except yaml.MarkedYAMLError as e:
        mark = e.problem_mark
        at = f" at line {mark.line + 1}, column {mark.column + 1}" if mark else ""
        raise BadInput(
            f"{where}: not valid YAML: {e.problem or 'cannot be read'}{at}",
            "fix the file; a line with ': ' or ' #' in it needs quotes",
        ) from e
    except (yaml.YAMLError, ValueError) as e:
        raise BadInput(f"{where}: not valid YAML", "fix the file") from e

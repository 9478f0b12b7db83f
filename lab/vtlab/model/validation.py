"""Errors of pydantic in words: the key and what is wrong with it, never the value.

A value may be secret.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

from pydantic import AfterValidator, ValidationError

if TYPE_CHECKING:
    from pydantic_core import ErrorDetails

#: What is wrong with a value that should have keys of its own.
NO_MAPPING = "not keys with values"

#: What is wrong, by pydantic's name for it; the text may use what pydantic knows besides, never the value.
_WORDS = {
    "bool_parsing": "write true or false",
    "bool_type": "write true or false",
    "dict_type": f"{NO_MAPPING}: write key: value",
    "extra_forbidden": "unknown key",
    "finite_number": "must be a finite number",
    "float_parsing": "not a number",
    "float_type": "not a number",
    "greater_than": "must be above {gt}",
    "greater_than_equal": "must be {ge} or more",
    "int_from_float": "not a whole number",
    "int_parsing": "not a whole number",
    "int_parsing_size": "too large",
    "int_type": "not a whole number",
    "invalid_key": "a key must be a text: put it in quotes",
    "less_than": "must be below {lt}",
    "less_than_equal": "must be {le} or less",
    "list_type": "not a list: write [one, two]",
    "literal_error": "must be {expected}",
    "missing": "missing",
    "model_attributes_type": f"{NO_MAPPING}: write key: value",
    "model_type": f"{NO_MAPPING}: write key: value",
    "recursion_loop": "must not contain itself",
    "string_pattern_mismatch": "must match {pattern}",
    "string_too_short": "empty: write a text, or leave the key out",
    "string_type": "not a text: put it in quotes",
    "string_unicode": "not valid Unicode",
    "too_long": "must have {max_length} entries or fewer",
    "too_short": "must have {min_length} entries or more",
}


class WrongKey(ValueError):
    """A fault that a model's validator finds, with the keys that are at fault, each with dots."""

    def __init__(self, message: str, *keys: str) -> None:
        super().__init__(message)
        self.keys = keys


def _refuse_nul(path: str) -> str:
    if "\0" in path:
        raise ValueError("not a path: a character of it is NUL")
    return path


#: The path of a file or folder.
FilePath = Annotated[str, AfterValidator(_refuse_nul)]


def keys_at_fault(error: ErrorDetails) -> tuple[str, ...]:
    """Returns the keys that a ``WrongKey`` names; none for any other error."""
    cause = error.get("ctx", {}).get("error")
    return cause.keys if isinstance(cause, WrongKey) else ()


def plain_words(error: ErrorDetails) -> str:
    """Describes what is wrong with a key; a validator of ours has its own words."""
    words = _WORDS.get(error["type"])
    if words is None:
        return error["msg"].removeprefix("Value error, ")
    return words.format(**{name: _short(value) for name, value in error.get("ctx", {}).items()})


def _short(value: Any) -> Any:
    """Writes a number as 20,000 or 0.01."""
    if not isinstance(value, int | float):
        return value
    return f"{int(value) if float(value).is_integer() else value:,}"


def wrong_keys(error: ValidationError, whole: str) -> str:
    """Names every wrong key and its fault, each once. ``whole``: stands for the document where no key is at fault."""
    return "; ".join(dict.fromkeys(_sentence(e, whole) for e in error.errors()))


def first_wrong_key(error: ValidationError, whole: str = "") -> str:
    """Names the first wrong key and its fault. ``whole``: as for ``wrong_keys``; without it the fault stands alone."""
    return _sentence(error.errors()[0], whole)


def _sentence(error: ErrorDetails, whole: str) -> str:
    key = ".".join(map(str, error["loc"])) or whole
    return f"{key}: {plain_words(error)}" if key else plain_words(error)

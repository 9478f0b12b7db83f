"""Errors of pydantic in words: the key and what is wrong with it, never the value.

A value may be secret.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from pydantic import ValidationError

if TYPE_CHECKING:
    from pydantic_core import ErrorDetails

Words = Callable[["ErrorDetails"], str]


def message(error: ErrorDetails) -> str:
    """Returns what pydantic says."""
    return error["msg"]


def bare_message(error: ErrorDetails) -> str:
    """Returns what pydantic or a validator of ours says, without pydantic's prefix."""
    return error["msg"].removeprefix("Value error, ")


def plain_words(error: ErrorDetails) -> str:
    """Describes an unknown and a missing key in a word or two, anything else by its message."""
    if error["type"] == "extra_forbidden":
        return "unknown key"
    return "missing" if error["type"] == "missing" else bare_message(error)


def _is_part(_: int | str) -> bool:
    return True


def wrong_keys(
    error: ValidationError, whole: str, words: Words = message, is_part: Callable[[int | str], bool] = _is_part
) -> str:
    """Names every wrong key and its fault, each once.

    ``whole``: stands for the document where no key is at fault; without it the message stands alone. ``is_part``: tells
    a key from what pydantic adds to its place, as the name of a model in a union.
    """
    return "; ".join(dict.fromkeys(_sentence(e, whole, words, is_part) for e in error.errors()))


def first_wrong_key(error: ValidationError, whole: str = "") -> str:
    """Names the first wrong key and its fault, for documents that no user writes."""
    return _sentence(error.errors()[0], whole, message, _is_part)


def _sentence(error: ErrorDetails, whole: str, words: Words, is_part: Callable[[int | str], bool]) -> str:
    key = ".".join(str(part) for part in error["loc"] if is_part(part)) or whole
    return f"{key}: {words(error)}" if key else words(error)

"""Fixtures of the contract tests."""

from tests.support.privileges import make_disk

__all__ = ["make_disk"]

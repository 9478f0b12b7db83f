"""The terminal, as every command writes to it."""

from __future__ import annotations

from rich.console import Console

#: Long lines stay whole: a terminal wraps them, and a file has them in one piece.
console = Console(soft_wrap=True)

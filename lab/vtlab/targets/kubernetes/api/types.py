"""Types of the documents that the Kubernetes API takes and returns."""

from __future__ import annotations

from typing import Any

#: An object of the API, or a part of one.
Json = dict[str, Any]

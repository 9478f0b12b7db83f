"""Known problems under virtual threads that a jar or a run shows."""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, ConfigDict

#: ``static``: a published problem in a version or setting of the jar. ``measured``: what a run showed.
Kind = Literal["static", "measured"]


class Finding(BaseModel):
    """A row of ``findings.json`` that holds for a service, in words."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    id: str
    kind: Kind
    title: str
    #: The variant that shows it; None of a jar.
    variant: str | None = None
    symptom: str
    cause: str
    #: How large it is; of a static one which version or setting it is about.
    amount: str
    #: The library, setting, resource or line of code.
    place: str
    source: str
    cure: str
    #: The command that tries the cure as a third variant.
    command: str

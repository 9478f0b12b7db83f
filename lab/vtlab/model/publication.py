"""Publications: what others published, and which experiments reproduce it. One file each in ``lab/publications/``."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from vtlab import shipped
from vtlab.errors import BadInput
from vtlab.model import validation, variant
from vtlab.model.experiment import Experiment, Windows
from vtlab.model.load import ClosedLoad, Duration, Load
from vtlab.model.workload import Request

FOLDER = shipped.ROOT / "lab" / "publications"


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class PublishedFigure(_Strict):
    """Figure published of one variant: as it was written (39.3/s, 16,217 ms), and in requests per second."""

    text: Annotated[str, Field(min_length=1)]
    throughput: Annotated[float, Field(gt=0)]


class Sizes(_Strict):
    """Other sizes than the experiment's own."""

    requests: list[Request] | None = None
    load: Load | None = None
    windows: Windows | None = None
    max_response: Duration | None = None


class Publication(_Strict):
    """Publication that one experiment reproduces, and why its result came out as it did."""

    number: Annotated[str, Field(pattern=r"^\d{3}$")]
    title: Annotated[str, Field(min_length=1)]
    #: What was measured, as published.
    setting: Annotated[str, Field(min_length=1)]
    #: By variant.
    figures: dict[str, PublishedFigure] = {}
    explanation: Annotated[str, Field(min_length=1)]
    #: Said before any run: our figure is held against what a law expects, not against the other variant.
    against_law: bool = False
    #: As published, where the experiment's own are smaller.
    sizes: Sizes | None = None

    def in_published_size(self, experiment: Experiment) -> Experiment:
        """Returns the experiment with the published sizes; itself where these are its own."""
        if self.sizes is None:
            return experiment
        sizes = self.sizes.model_dump(mode="json", exclude_none=True)
        return Experiment.model_validate(experiment.document() | sizes)

    def is_published_size(self, experiment: Experiment) -> bool:
        """Tells whether requests and think time are the published ones: of others the figures cannot be compared."""
        if self.sizes is None:
            return True
        load = self.sizes.load or experiment.load_
        return experiment.requests == (self.sizes.requests or experiment.requests) and (
            _think_time(experiment.load_) == _think_time(load)
        )


def _think_time(load: Load) -> str | None:
    return load.full.think_time if isinstance(load.full, ClosedLoad) else None


class _File(_Strict):
    #: For people: what it is about. The number is the name of the file.
    name: Annotated[str, Field(pattern=r"^[a-z][a-z0-9-]*$")]
    #: By the name of the experiment: a publication without its number, which is the file's name.
    experiments: dict[str, dict[str, object]]


def load(folder: Path = FOLDER) -> dict[str, Publication]:
    """Loads the publications by the name of the experiment that reproduces them, in the order of their numbers."""
    publications = {}
    for path in sorted(folder.glob("*.json")):
        with _refusing(path):
            for name, fields in _File.model_validate_json(path.read_bytes()).experiments.items():
                publications[name] = Publication.model_validate({"number": path.stem, **fields})
    return publications


def numbers(folder: Path = FOLDER) -> dict[str, str]:
    """Maps the name of every publication to its number, in the order of the numbers."""
    by_name = {}
    for path in sorted(folder.glob("*.json")):
        with _refusing(path):
            by_name[_File.model_validate_json(path.read_bytes()).name] = path.stem
    return by_name


@contextmanager
def _refusing(path: Path) -> Iterator[None]:
    """Raises BadInput for faults in a file."""
    try:
        yield
    except ValidationError as error:
        raise BadInput(f"{path}: {validation.first_wrong_key(error)}", "fix the file") from error


def reproduced_by(experiment: Experiment, publications: Mapping[str, Publication]) -> Publication | None:
    """Returns what the experiment reproduces; None for a service of the user's, and for a variant beside itself."""
    if not experiment.is_sample or any(variant.kind(name) != name for name in experiment.variants):
        return None
    return publications.get(experiment.name)

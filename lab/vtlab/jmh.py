"""The JMH benchmark of the app (publication 001): how it is called, and what it measured. Targets run it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter

from vtlab.errors import BadInput
from vtlab.model.experiment import Limits

#: The file of JMH's results, and its log, in the folder of the call.
FILE, LOG = "jmh.json", "jmh.log"
#: The class with the benchmarks.
CLASS = "FanOutBenchmark"
LIMITS = Limits(cpu=1, memory="768Mi", heap="384m")
#: Seconds until a run of the whole benchmark is given up.
GIVEN_UP_AFTER = 1800.0
#: Of a quick look: one warm-up and two measurements of 1 s.
QUICK = {"-wi": "1", "-i": "2"}
#: What was published, in milliseconds; and by the law: rounds of the pool times the wait, or the CPU that it all takes.
PUBLISHED_MS = {
    ("waits", "pool8"): 3150.0,
    ("waits", "pool200"): 178.0,
    ("waits", "virtual"): 54.0,
    ("hashes", "pool8"): 6200.0,
    ("hashes", "virtual"): 6350.0,
}
PUBLISHED_ITERATIONS = 500_000


class _Metric(BaseModel):
    model_config = ConfigDict(extra="ignore")
    score: float
    #: Half of the 99.9 % interval; NaN from a single measurement.
    error: float = Field(alias="scoreError")
    unit: str = Field(alias="scoreUnit", pattern="^ms/op$")
    raw: list[list[float]] = Field(alias="rawData")


class _Result(BaseModel):
    model_config = ConfigDict(extra="ignore")
    benchmark: str
    mode: str = Field(pattern="^avgt$")
    params: dict[str, str]
    metric: _Metric = Field(alias="primaryMetric")


@dataclass(frozen=True)
class Score:
    """Milliseconds that 500 tasks take together on one executor; ``error`` is half of JMH's 99.9 % interval."""

    benchmark: str
    executor: str
    milliseconds: float
    error: float | None
    n: int
    published: float | None
    expected: float | None


def options(quick: bool, more: Sequence[str] = ()) -> list[str]:
    """The words for JMH, of a quick look or of all; the user's own (``more``) win, for JMH takes no option twice."""
    kept = {name: value for name, value in QUICK.items() if quick and name not in more}
    return [*(word for pair in kept.items() for word in pair), *more]


def read(file: Path) -> list[Score]:
    """The scores in a results file of JMH. BadInput if it is not one of this benchmark."""
    try:
        results = TypeAdapter(list[_Result]).validate_json(file.read_text(encoding="utf-8"))
        return [_score(result) for result in results]
    except (OSError, ValueError, KeyError) as error:
        raise BadInput(f"{file}: not a result of the benchmark: {error}", "run it again: make jmh") from error


def _score(result: _Result) -> Score:
    name, executor = result.benchmark.rpartition(".")[2], result.params["executor"]
    tasks = int(result.params["tasks"])
    expected = None
    if name == "waits":
        threads = {"pool8": 8, "pool200": 200, "processors": math.ceil(LIMITS.cpu), "virtual": tasks}[executor]
        expected = math.ceil(tasks / threads) * float(result.params["milliseconds"])
    as_published = name == "waits" or int(result.params["iterations"]) == PUBLISHED_ITERATIONS
    return Score(
        benchmark=name,
        executor=executor,
        milliseconds=result.metric.score,
        error=None if math.isnan(result.metric.error) else result.metric.error,
        n=sum(map(len, result.metric.raw)),
        published=PUBLISHED_MS.get((name, executor)) if as_published else None,
        expected=expected,
    )

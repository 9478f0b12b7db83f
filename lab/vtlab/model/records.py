"""Records of trials, JVMs and blocks: the lines of ``trials.jsonl``.

Times are epoch milliseconds, durations and latencies seconds, memory bytes, CPU cores or CPU seconds.
"""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, ConfigDict

from vtlab.model.experiment import Experiment
from vtlab.model.metric_names import MetricName

#: Version of the manifest and of the lines of ``trials.jsonl``.
VERSION: Literal[3] = 3

#: Begins a sentence of ``Block.differences`` about no variant alone.
ALL_VARIANTS = "the variants"

#: What the server's side of a trial is made of.
#: ``core_wait``: seconds per second that a thread of the server stood ready without a core, outside the periods in
#: which the quota throttled it.
ServerFigure = MetricName | Literal["in_flight_before", "core_wait"]
#: What the machine's and the load generator's side is made of. ``steal``: share of the cores' time that the hypervisor
#: gave to others.
MachineFigure = Literal["idle_cores", "generator_cpu", "generator_wait", "generator_throttled", "steal"]
#: What the threads that handle requests do at a place, by their stacks.
Activity = Literal[
    "database", "downstream", "db-pool", "client-pool", "executor", "lock", "wait", "computation", "server-queue"
]


class Record(BaseModel):
    """Base of all records: unknown keys are errors, so that a typo never passes for a value."""

    model_config = ConfigDict(extra="forbid")


class Latency(Record):
    """Client latency of the OK requests completed in a window, in seconds.

    A percentile is None where fewer than 10 samples lie beyond it; all are None where ``count`` is 0.
    """

    count: int
    mean: float | None
    p50: float | None
    p90: float | None
    p95: float | None
    p99: float | None
    p99_9: float | None
    max: float | None


class Histogram(Record):
    """Latencies in logarithmic buckets (``vtlab.model.histogram``)."""

    #: Number of the first bucket that is not empty. Bucket b holds [10^(b/100), 10^((b+1)/100)) microseconds.
    first: int
    #: From there to the last bucket that is not empty.
    counts: list[int]
    #: If not, a part had so many answers that a count may be off by half a thousandth of them.
    is_exact: bool


class Parts(Record):
    """Parts of a window, all of the same length: what a bootstrap of its percentiles draws from."""

    #: Length of a part in seconds.
    seconds: float
    #: OK answers completed in each.
    ok: list[int]
    #: Answers that took longer than the percentile of the whole window.
    above: dict[Literal["p50", "p90", "p95", "p99"], list[int]]


class Halves(Record):
    """Counts of both halves of a window."""

    #: Due (open load, with the dropped) or sent (closed load).
    arrived: tuple[int, int]
    #: Answered, failed or timed out.
    completed: tuple[int, int]


class Kind(Record):
    """One kind of request in a window."""

    #: ``GET /owners/{id}`` of a mix, the scenario of a script.
    name: str
    failed: int
    halves: Halves
    #: Its ``count`` are the OK answers of the kind.
    latency: Latency


class AloneKind(Record):
    """One kind of the OK iterations of a single user."""

    name: str
    #: Share of all that users send, by the workload's weights.
    share: float
    ok: int
    #: Seconds; None without an answer.
    mean: float | None


class Forms(Record):
    """Lengths and shapes of a sample of the answers in a window."""

    #: Kind (by its place), length (bytes, the lower end of its class, 10 classes a decade), shape (5 hexadecimal
    #: digits; empty: no JSON), answers. The most first, at most 24.
    rows: list[tuple[int, int, str, int]]
    #: Answers of further rows.
    others: int


class Answers(Record):
    """Answers in the window of a trial, or of a phase of typical load."""

    #: Latency of a script's HTTP answers; None of requests, whose latency the trial has.
    latency: Latency | None
    histogram: Histogram
    parts: Parts
    halves: Halves
    #: Empty where there is one kind; at most 20, the rest as ``others``.
    kinds: list[Kind]
    #: None where no body was read.
    forms: Forms | None


class Probe(Record):
    """Probes of the liveness of a variant in a window, five a second."""

    #: Due in the window, and sent.
    sent: int
    #: Due while 20 were unanswered.
    skipped: int
    #: Answered 200 to 299: there is a liveness endpoint.
    healthy: int
    #: Timed out after 15 s, refused or cut; or given up after a wait of over 1 s.
    unanswered: int
    #: Took over 1 s, or unanswered.
    over_second: int
    #: Seconds; 15 for a time-out. None where none was sent.
    longest: float | None
    #: Seconds, by slots of 200 ms from the begin of the window; None: skipped.
    times: list[float | None]


class InFlight(Record):
    """Requests of this trial in flight at the edges of its window, as the client counts them."""

    start: int
    end: int


class Counts(Record):
    """Counts of a user's script: its checks, or the requests that it sent."""

    passed: int
    failed: int

    @property
    def share_failed(self) -> float:
        """Share that failed; 0 where there were none."""
        total = self.passed + self.failed
        return self.failed / total if total else 0.0


class Trial(Record):
    """One variant under load, as k6 and Prometheus saw it: a trial, a warm-up cycle, a single-user phase, a phase of
    typical load, or one of light load (``light``), which serves the CPU demand and may be idle (``rate`` 0)."""

    variant: str
    phase: Literal["warmup", "single", "light", "measure", "typical"]
    position: int
    begin: int
    start: int
    end: int
    drained: int
    users: int
    #: Cores that it was allowed, where that was more than the experiment's limit (the first part of the warm-up).
    raised_cpu: float | None = None
    #: Whether the JIT compilers went before the threads that serve requests.
    compilers_first: bool = False
    #: False where the service has meters and Prometheus has no samples of the window: ``server`` has what the kernel
    #: counts alone (on one machine).
    is_scraped: bool = True
    #: Seconds of one round of a user (response and think time) over which users were spread, as the warm-up showed it;
    #: None where the experiment says it, and where rounds are short beside the window.
    round: float | None = None
    #: Arrivals per second that were asked for; None under closed load.
    rate: float | None = None
    started: int
    #: Answered, failed, or given up.
    completed: int
    ok: int
    failed: dict[str, int]
    failed_outside: int
    #: Completed ones that had no answer when the window ended, and were not waited for.
    given_up: int = 0
    #: OK requests per second of the window: those completed in it, or their parts within it (``k6/lib/record.ts``).
    throughput: float
    by_parts: bool = False
    latency: Latency
    dropped: int
    late_max: float
    #: Arrivals of an open load that were sent late by 20 ms and more, over the whole trial.
    late_arrivals: int = 0
    in_flight: InFlight
    #: Users of a closed load who waited for no answer, mean of the window: they think, or k6 is at work for them. None
    #: where that is not known.
    between: float | None = None
    #: Checks and requests of a user's script, in iterations that began in the window.
    checks: Counts | None = None
    requests: Counts | None = None
    #: Requests of a single user of a mix, by their kind.
    kinds: list[AloneKind] = []
    #: The metrics of the catalogue over exactly this window; None where nothing was scraped.
    server: dict[ServerFigure, float | None] = {}
    #: Pinnings of virtual threads in this window by the place that had them wait, ``class:line``; most first.
    pinned: dict[str, float] = {}
    #: The machine and the load generator in this window (``vtlab.host.machine``).
    machine: dict[MachineFigure, float | None] = {}
    #: Answers and probe are of trials and typical load.
    answers: Answers | None = None
    probe: Probe | None = None

    @property
    def window(self) -> float:
        """Length of the measured window in seconds."""
        return (self.end - self.start) / 1000

    @property
    def user_latency(self) -> Latency:
        """Latency as users feel it: of a script that of its HTTP requests."""
        return (self.answers.latency if self.answers else None) or self.latency

    @property
    def ok_answers(self) -> int:
        """OK answers of the window, those of a script's iterations one by one."""
        return sum(self.answers.histogram.counts) if self.answers else self.ok


class Instance(Record):
    """One JVM (or pod) of one block, and what it says of itself."""

    variant: str
    #: Names the process or pod uniquely: ``pid:start-time`` or the pod's uid.
    identity: str
    java: str
    gc: str
    processors: int
    #: Bytes that its heap may have; None where it does not say so.
    heap: float | None = None
    #: Cores; None when nothing limits it (``--no-cpu-limit``).
    cpu_limit: float | None
    started_in: float
    #: Archives of classes that the JVM was told of (ahead-of-time cache, CDS archive), by the names of their files:
    #: whether the running JVM has them mapped. None where that is not known.
    class_archives: dict[str, bool] | None = None
    #: Name of the node in a cluster; None on one machine.
    node: str | None = None
    #: Processors of the node, as number and model; None where one node has all variants, and where nobody knows.
    node_cpu: str | None = None
    #: The same identity, no restart and no OOM kill at the block's end.
    alive: bool = True
    #: How its process ended, in words that complete "it fails: …"; None where it did not, and where nobody knows.
    ended: str | None = None
    #: Kernel OOM kills in its cgroup.
    oom_kills: int = 0
    #: Bytes of its largest resident set, at the end of the block's measured part. None where that is not known.
    resident_peak: float | None = None


class Failure(Record):
    """Failure of a variant: it ended, ran out of memory, answered with errors, or did not drain. A result of the
    variant, not a reason to measure again."""

    variant: str
    #: In words that complete "virtual fails: …": ``out of heap memory (384m)``, ``12.5 % of the answers were errors``.
    reason: str
    #: In words: ``while it started``, ``warm-up cycle 3``, ``trial 2``.
    moment: str


class Place(Record):
    """Place where threads that handle requests stood, as a mean over the dumps."""

    activity: Activity
    #: The innermost line of the service's code and what it waits for there: ``Semaphore at OrderService:42``.
    place: str
    threads: float
    #: They run tasks of an executor: whose requests these are no dump says.
    is_task: bool = False
    #: Neither a resource nor a line of the service or of a library: the server itself waits, or nobody knows for what.
    is_unnamed: bool = False


class Diagnosis(Record):
    """Thread dumps of one variant in a trial that does not count."""

    dumps: int
    #: Threads that handled a request, mean.
    threads: float
    #: The place with the most threads first.
    places: list[Place]
    #: OK requests per second in that trial; None where it is not known.
    throughput: float | None = None
    #: Mean latency of the OK requests in that trial, as the client saw it.
    latency: float | None = None
    #: Threads of the server's pool that had no request, mean; None where it has no such pool.
    idle: float | None = None
    #: CPU seconds that the JVM spent on one dump, mean, and of what its limit allows in the window the share that all
    #: took. None where the JVM's threads do not tell.
    dump_cpu: float | None = None
    cpu_share: float | None = None
    #: Fewer dumps than a window is to have: more would have taken more CPU than they may.
    is_held_back: bool = False


class Block(Record):
    """One line of ``trials.jsonl``: one attempt at one block. Whether it counts is for ``vtlab.analysis.validity``."""

    version: Literal[3] = VERSION
    block: int
    attempt: int
    order: list[str]
    #: Whether k6's users agreed about when the phases after the warm-up began.
    agreed: bool = True
    #: What a pre-flight before the block showed that the variants do differently, in sentences.
    differences: list[str] = []
    warmup: list[Trial] = []
    single: list[Trial] = []
    #: Beside full load, after the trials: one phase of each variant.
    typical: list[Trial] = []
    #: Light load, in the first block that counts and has the variant.
    light: list[Trial] = []
    trials: list[Trial] = []
    #: Thresholds of a user's script, as in k6's document.
    thresholds: dict[str, dict[str, dict[str, bool]]] = {}
    instances: list[Instance] = []
    #: What broke of the lab's own parts or the machine ("k6 ended with exit code 1"): any fault rejects the block.
    faults: list[str] = []
    #: Variants that broke. What else fails a variant is read off its trials (``vtlab.analysis.validity``).
    failures: list[Failure] = []
    #: By variant.
    diagnosis: dict[str, Diagnosis] = {}
    #: How long the attempt took, with the start of the JVMs; None where that was not recorded.
    seconds: float | None = None
    #: How much of that was for what is measured once in a run: pre-flight, single users, a second set of trials, light
    #: load, thread dumps.
    once_seconds: float = 0.0
    #: How much was for the search of the load; with JVMs of its own from their start to their end.
    search_seconds: float = 0.0

    @property
    def seconds_without_search(self) -> float:
        """Seconds that another attempt at the block would take; 0 where not recorded."""
        return max(0.0, (self.seconds or 0.0) - self.search_seconds)

    @property
    def repeated_seconds(self) -> float:
        """Seconds that the attempt would have taken without what is measured once; 0 where not recorded."""
        return max(0.0, self.seconds_without_search - self.once_seconds)


def typical_trials(block: Block, experiment: Experiment) -> list[Trial]:
    """Returns the windows of a block under typical load: its trials, where that is the only load."""
    return block.typical if experiment.has_full_load else block.trials

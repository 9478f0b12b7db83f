"""Places of the threads that work for requests, by thread dumps: ``jcmd PID Thread.dump_to_file -format=json``.

Little's law holds for any place in the code: the mean number of threads there is throughput x seconds that a request
spends there. So a few dumps at random moments show where the time goes; no clock is needed inside the service.

A thread works for a request if its stack has a frame of the servlet container, or if it runs a task of an executor and
its stack has code of the service: whose request a task belongs to no dump says. Not counted: the endpoints of the
actuator, scheduled tasks, and idle threads.

What a thread does is read off its stack from the innermost frame outwards, up to the first frame of the service's code:
what lies further out has called the service and waits for it. Code of the service is what belongs neither to the JDK
nor to a library of ``vtlab.catalogue.libraries``.

JDK 25 writes each thread's state, JDK 21 does not. There a platform thread that is blocked on a monitor looks as one
that computes, unless the output of ``Thread.print`` of the same moment says otherwise; that command does not show
virtual threads. (Before JDK 24 a virtual thread that is blocked holds its carrier, so few can be.)
"""

from __future__ import annotations

import functools
import json
import math
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from vtlab.catalogue import libraries
from vtlab.errors import LabError
from vtlab.model.records import Activity, Diagnosis, Place

#: What a thread does that runs for all that is known, where the JVM does not say.
UNTOLD = "computation or a monitor"

#: What a thread waits for: that the client takes the answer; for what no frame says.
_CLIENT, _UNKNOWN = "the client", "unknown"
_SERVER = (*libraries.REQUEST, *libraries.CLIENT)

#: What nobody does while he is alone: a thread there queues.
QUEUES: tuple[Activity, ...] = ("lock", "db-pool", "client-pool")
#: What is one cause wherever the code does it from.
ANYWHERE: tuple[Activity, ...] = ("database", "downstream", "db-pool", "client-pool", "executor", "computation")
#: What only the holder of one of its connections can do.
OF_HOLDERS: dict[str, Activity] = {"db-pool": "database", "client-pool": "downstream"}

_FRAME = re.compile(r"^(?:[^($]*/)?(?P<name>[^(]+)\((?P<file>[^)]*)\)$")
_PRINTED = re.compile(r'^"[^\n]*" #(\d+)[^\n]*\n\s+java\.lang\.Thread\.State: (\w+)[^\n]*\n\s+at ([^\n]*)', re.M)


@dataclass(frozen=True)
class Frame:
    """One line of a stack."""

    #: Class and method: ``java.util.concurrent.Semaphore.acquire``.
    name: str
    line: int | None = None

    @property
    def type(self) -> str:
        """The simple name of the outermost class: ``OrderService`` for ``shop.OrderService$Cart.add``."""
        return re.sub(r"(?<=.)\$.*", "", self.name.rpartition(".")[0].rpartition(".")[2])

    def __str__(self) -> str:
        return self.type if self.line is None else f"{self.type}:{self.line}"

    def starts(self, prefixes: str | tuple[str, ...]) -> bool:
        return self.name.startswith(prefixes)

    @functools.cached_property
    def is_of_jdk(self) -> bool:
        return self.starts(libraries.JDK)

    @functools.cached_property
    def is_of_service(self) -> bool:
        if self.is_of_jdk or any(part in self.name for part in libraries.GENERATED):
            return False
        return self.starts(libraries.SAMPLES) or not self.starts(libraries.LIBRARIES)


@dataclass(frozen=True)
class Thread:
    """One thread of a dump, its innermost frame first."""

    name: str
    stack: tuple[Frame, ...]
    #: ``Thread.State``; None where the JVM does not say.
    state: str | None = None

    @property
    def waits(self) -> bool:
        if self.state is not None:
            return self.state in ("BLOCKED", "WAITING", "TIMED_WAITING")
        return bool(self.stack) and self.stack[0].starts(libraries.NOT_RUNNING)

    @property
    def works_for_a_request(self) -> bool:
        """Tells whether the thread serves a request, or runs a task for which a request may wait."""
        return self.serves_a_request or self.runs_a_task

    @functools.cached_property
    def serves_a_request(self) -> bool:
        if not self.stack:
            return self.name.startswith(libraries.REQUEST_THREAD)
        return not self._is_of_no_request and (
            self.waits_for_admission or any(frame.starts(libraries.REQUEST) for frame in self.stack)
        )

    @property
    def runs_a_task(self) -> bool:
        """Tells whether the thread runs a task with the service's code, and serves no request itself."""
        if self.serves_a_request or self._is_of_no_request:
            return False
        runs = any(frame.starts(libraries.TASK) for frame in self.stack)
        return runs and any(frame.is_of_service for frame in self.stack)

    @property
    def waits_for_admission(self) -> bool:
        """Tells whether the thread has a request that the server does not yet admit."""
        outside = next((frame for frame in self.stack if not frame.is_of_jdk), None)
        return self.waits and outside is not None and outside.starts(libraries.ADMISSION)

    @property
    def pool(self) -> str:
        """The name of the thread's pool: ``http-nio-8080-exec`` for ``http-nio-8080-exec-7``."""
        return self.name.rstrip("0123456789").rstrip("-")

    @property
    def is_of_server_pool(self) -> bool:
        return any(frame.starts(libraries.SERVER_POOL) for frame in self.stack)

    @property
    def is_idle(self) -> bool:
        """Tells whether the thread belongs to the server's pool and has no request."""
        return any(frame.starts(libraries.IDLE) for frame in self.stack)

    @property
    def _is_of_no_request(self) -> bool:
        return any(libraries.MONITORING in frame.name or frame.starts(libraries.SCHEDULED) for frame in self.stack)


@dataclass(frozen=True)
class Cause:
    """Cause for which a pool's holders, or the requests, take as long as they do."""

    activity: Activity
    #: The place where most of them do it; None where no single place has as many as it takes.
    place: str | None
    #: Share of the holders that does it; at most 1.
    share: float


def parse_dump(dump: str, printed: str = "") -> list[Thread]:
    """Parses the threads of one dump, in all containers. ``printed``: what ``Thread.print`` said just then, which has
    the state of platform threads where the dump has none. LabError for text that is no such dump."""
    states = {int(number): (state, top) for number, state, top in _PRINTED.findall(printed)}
    try:
        containers = json.loads(dump)["threadDump"]["threadContainers"]
        return [_thread(thread, states) for container in containers for thread in container["threads"]]
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise LabError(
            f"a thread dump has an unknown format ({type(error).__name__}: {error})",
            "use JDK 21 to 26: vtlab reads their jcmd Thread.dump_to_file -format=json",
        ) from None


def diagnose(dumps: Sequence[Sequence[Thread]]) -> Diagnosis | None:
    """Counts what the threads that work for requests do, as means over dumps; None without any dump."""
    if not dumps:
        return None
    counts = Counter(activity_of(thread) for dump in dumps for thread in dump if thread.works_for_a_request)
    places = [
        Place(**doing._asdict(), threads=count / len(dumps))
        for doing, count in sorted(counts.items(), key=lambda item: (-item[1], item[0]))
    ]
    return Diagnosis(dumps=len(dumps), threads=counts.total() / len(dumps), places=places, idle=_idle_threads(dumps))


class Doing(NamedTuple):
    """Activity of a thread and its place, as in ``Place``."""

    activity: Activity
    place: str
    is_task: bool = False
    is_unnamed: bool = False


def activity_of(thread: Thread) -> Doing:
    """Finds the activity of a thread that works for a request, and the innermost line of the service's code with the
    object of its wait: ``Semaphore at OrderService:42``, ``OrderService:42`` where it waits for nothing."""
    if not thread.stack:
        return Doing("wait", "a carrier")
    if thread.waits_for_admission:
        return Doing("server-queue", "Jetty's threads.max")
    activity, purpose = _activity(thread)
    outside = [frame for frame in thread.stack if not frame.is_of_jdk] or [thread.stack[0]]
    line = next((frame for frame in outside if frame.is_of_service), outside[0])
    is_unnamed = activity in ("lock", "wait") and (purpose == _UNKNOWN or (purpose != _CLIENT and line.starts(_SERVER)))
    return Doing(activity, f"{purpose} at {line}" if purpose else str(line), thread.runs_a_task, is_unnamed)


def _idle_threads(dumps: Sequence[Sequence[Thread]]) -> float | None:
    """Counts threads without a request, in the pools of which a thread had one in any dump, as a mean; None without
    such a pool: virtual threads have none, and an endpoint for the monitoring has a pool of its own."""
    pools = {t.pool for dump in dumps for t in dump if t.serves_a_request and t.is_of_server_pool}
    if not pools:
        return None
    return sum(t.is_idle and t.pool in pools for dump in dumps for t in dump) / len(dumps)


def holders(diagnosis: Diagnosis, pool: str | None = None) -> list[Place]:
    """Selects the places of threads that do not wait for a pool (``db-pool``, ``client-pool``, ``executor``). All, for
    None and for a resource that no thread waits for, as Tomcat's threads.

    Every holder is among them. So may be others, who neither hold nor wait. Requests that the server does not let begin
    hold nothing.
    """
    return [place for place in diagnosis.places if place.activity not in (pool, "server-queue")]


def cause(
    diagnosis: Diagnosis, pool: str | None = None, *, held: float | None = None, alone: float = 0.0
) -> Cause | None:
    """Finds what makes the holders of a pool take as long as they do, or requests (``pool`` None); None where no place
    has at least half of those in excess.

    ``held``: how many of the pool were held on average (default: as many as do not wait for it). ``alone``: how many
    would be at this throughput if each took as long as alone (throughput x hold alone; for requests throughput x
    response alone). With 0 all count as in excess.

    Whoever counts for a place is there for certain. Of those who do not wait for the pool, as many as it has no room
    for need not hold it. And as many as ``alone`` may be there without any load, but for queues: nobody queues alone.
    """
    candidates = holders(diagnosis, pool)
    total = math.fsum(place.threads for place in candidates)
    held = total if held is None else held
    excess = held - alone
    if excess <= 0 or not candidates:
        return None

    def certain(activity: Activity, threads: float) -> float:
        strangers = 0.0 if pool and OF_HOLDERS.get(pool) == activity else max(0.0, total - held)
        return threads - strangers - (0.0 if activity in QUEUES else alone)

    groups: defaultdict[tuple[Activity, str | None], float] = defaultdict(float)
    lines: defaultdict[tuple[Activity, str], float] = defaultdict(float)
    for place in candidates:
        groups[place.activity, None if place.activity in ANYWHERE else place.place] += place.threads
        lines[place.activity, place.place] += place.threads
    (activity, line), threads = max(groups.items(), key=lambda group: certain(group[0][0], group[1]))
    if certain(activity, threads) < excess / 2:
        return None
    if line is None:
        (_, largest), standing = max(
            ((line, count) for line, count in lines.items() if line[0] == activity), key=lambda item: item[1]
        )
        line = largest if certain(activity, standing) >= excess / 2 else None
    return Cause(activity, line, min(1.0, threads / held))


def _thread(thread: dict[str, Any], states: dict[int, tuple[str, str]]) -> Thread:
    stack = tuple(_frame(line) for line in thread["stack"])
    state = thread.get("state")
    if state is None and stack:
        printed = states.get(int(thread["tid"]))
        # It may have moved on between the two.
        if printed and _frame(re.sub(r"\([^(]*/", "(", printed[1])).name == stack[0].name:
            state = printed[0]
    return Thread(str(thread["name"]), stack, state)


@functools.lru_cache(maxsize=20_000)
def _frame(line: str) -> Frame:
    match = _FRAME.match(line)
    if match is None:
        raise ValueError(f"no frame of a stack: {line[:80]}")
    number = match["file"].rpartition(":")[2]
    name = match["name"] + ("<generated>" if match["file"] == "<generated>" else "")
    return Frame(name, int(number) if number.isdigit() else None)


def _activity(thread: Thread) -> tuple[Activity, str]:
    called = _before(thread.stack, lambda frame: frame.is_of_service or frame.starts(libraries.REQUEST))
    jdk = _before(thread.stack, lambda frame: not frame.is_of_jdk)
    pool, inside, remote = (
        _innermost(called, table) for table in (libraries.POOLS, libraries.EMBEDDED, libraries.REMOTE)
    )
    queries = [rule for rule in (inside, remote) if rule and rule.activity == "database"]
    socket = any(frame.starts(libraries.SOCKET) and not frame.starts(libraries.FILES) for frame in called)
    # A pool may try a connection while it lends it, or open one.
    is_tried = pool and (
        any(rule.depth < pool.depth for rule in queries) or (socket and pool.activity == "client-pool")
    )
    if pool and not is_tried:
        return pool.activity, pool.name
    if inside:
        return inside.activity, inside.name
    if thread.waits and (name := _lock(thread, jdk)):
        return "lock", name
    if remote and (thread.waits or socket):
        return remote.activity, remote.name
    if any(frame.starts(libraries.CLIENT) for frame in called) and (thread.waits or socket):
        return "wait", _CLIENT
    if thread.waits and (task := next((frame for frame in jdk if frame.starts(libraries.TASKS)), None)):
        return "executor", task.type
    if socket:
        return "downstream", "a socket"
    if thread.waits:
        return "wait", _entry(jdk)
    if any(frame.starts(libraries.FILES) for frame in jdk):
        return "wait", "a file"
    return "computation", "" if thread.state else UNTOLD


def _lock(thread: Thread, jdk: Sequence[Frame]) -> str | None:
    if thread.state == "BLOCKED":
        return jdk[-1].type if jdk else "monitor"
    if any(frame.starts(libraries.LOCKS) for frame in jdk) or (jdk and jdk[-1].starts(libraries.QUEUED)):
        return jdk[-1].type
    return None


def _entry(jdk: Sequence[Frame]) -> str:
    """Names the JDK method that the rest of the stack called to wait."""
    if any(frame.name.startswith("java.lang.Thread.sleep") for frame in jdk):
        return "Thread.sleep"
    if not jdk:
        return _UNKNOWN
    outermost = jdk[-1]
    if "$ConditionObject." in outermost.name:
        return "Condition"
    if outermost.type in ("Object", "Thread", "LockSupport"):
        return f"{outermost.type}.{outermost.name.rpartition('.')[2]}"
    return outermost.type


@dataclass(frozen=True)
class _Match:
    """A row of a table that a frame matches, and how far that is from the innermost frame."""

    depth: int
    activity: Activity
    name: str


def _innermost(frames: Sequence[Frame], table: Sequence[tuple[str, Activity, str]]) -> _Match | None:
    for depth, frame in enumerate(frames):
        for prefix, activity, name in table:
            if frame.starts(prefix):
                return _Match(depth, activity, name)
    return None


def _before(stack: Sequence[Frame], ends: Callable[[Frame], bool]) -> Sequence[Frame]:
    end = next((index for index, frame in enumerate(stack) if ends(frame)), len(stack))
    return stack[:end]

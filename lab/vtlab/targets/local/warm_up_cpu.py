"""More CPU for the first part of the warm-up: each variant's CPU quota is raised, and set back."""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor

import httpx

from vtlab.analysis.validity.jit_compiler import MOST_JIT
from vtlab.errors import BlockFault
from vtlab.host import cgroup_hierarchies
from vtlab.host.threads import Threads, compilers
from vtlab.services.process import VariantProcess
from vtlab.targets.verification import close

#: Cores that stay for k6, Prometheus and what the service needs beside it, while one variant at a time is loaded.
FOR_OTHERS = 0.5
#: Below so many times the limit it is not worth it.
_WORTH_IT = 1.2
#: The nice value of what goes first: a weight of 87 threads.
_FIRST = -20
#: Seconds for which JIT compilers may go on with what the load has left in their queues, and between two looks.
_COMPILED_WITHIN, _LOOK = 5.0, 0.5
#: How often the meters are read in the warm-up: as many scrapes as in eight minutes. Prometheus reads them once a
#: second, and what serves it would become hot, and be compiled, in the trials: by the log of the sample application's
#: JVM (JDK 25, Serial GC) C2 compiled 226 methods in the first 400 readings after 12,600 requests, and 8 to 44 in each
#: 100 from the 600th on.
_READINGS = 500


def cores(limit: float, available: float) -> float | None:
    """Returns the cores that a variant may use in the first part of its warm-up: all but ``FOR_OTHERS``; None where
    that is hardly more than its limit."""
    raised = available - FOR_OTHERS
    return raised if raised >= _WORTH_IT * limit else None


def available() -> float:
    """Returns the cores that vtlab, and so its variants, may use."""
    quota = cgroup_hierarchies.limit_of(os.getpid()).cpu
    present = len(os.sched_getaffinity(0))
    return present if quota is None else min(present, quota)


def allow(variants: Sequence[VariantProcess], cpu: float) -> None:
    """Sets the CPU quota of these variants, in cores. BlockFault where it cannot be read back as set from the control
    group of one that still runs."""
    for variant in variants:
        try:
            if variant.cgroup:
                variant.cgroup.set_cpu(cpu)
            enforced = cgroup_hierarchies.limit_of(variant.process.pid).cpu
        except OSError as error:
            if variant.end() is not None:
                continue
            raise BlockFault(f"{variant.variant}: its CPU limit cannot be set to {cpu:g} cores: {error}") from error
        # A process that ends meanwhile leaves its group, and has the limit of another.
        if not close(enforced, cpu) and variant.end() is None:
            allows = "no limit" if enforced is None else f"{enforced:g} cores"
            raise BlockFault(f"{variant.variant}: its control group has {allows}, {cpu:g} cores were set")


def prefer_compilers(pids: Sequence[int], is_preferred: bool) -> bool:
    """Raises or resets the priority of these processes' JIT compiler threads; returns whether that worked for all.
    Without the right to do so all stays as it is.

    Else a compiler gets the share of one thread among those that serve: under 1 CPU it is 0.15 cores beside ten busy
    platform threads, and up to 0.7 beside the one carrier of virtual threads. The one variant then is warm long
    before the other. (spring-petclinic with ten users, JDK 25.)
    """
    is_done = True
    for pid in pids:
        try:
            for thread in compilers(pid):
                os.setpriority(os.PRIO_PROCESS, thread, _FIRST if is_preferred else 0)
        except OSError:
            is_done = False
    return is_done


def read_meters(urls: Sequence[str]) -> None:
    """Reads the meters at these URLs so often that what serves them is compiled; of a service that ends, no further.

    By a connection each: in one that stays the JDK's HTTP server, as the agent has it, waits 40 ms for the client's
    acknowledgement before it sends the end of a page.
    """

    def read(url: str) -> None:
        with (
            httpx.Client(trust_env=False, timeout=10, headers={"Connection": "close"}) as client,
            contextlib.suppress(httpx.HTTPError),
        ):
            for _ in range(_READINGS):
                client.get(url)

    with ThreadPoolExecutor(len(urls)) as together:
        list(together.map(read, urls))


def await_compilers(pids: Sequence[int], patience: float = _COMPILED_WITHIN) -> None:
    """Returns when the JIT compilers of these processes rest, or after ``patience`` seconds."""
    readers = [Threads(pid, None) for pid in pids]
    end = time.monotonic() + patience
    before: list[float] | None = None
    while True:
        for reader in readers:
            reader.changes()
        now = [reader.jit_cpu or 0.0 for reader in readers]
        # The names of threads are known at the second reading.
        is_resting = before is not None and all(b - a <= MOST_JIT * _LOOK for a, b in zip(before, now, strict=True))
        if is_resting or time.monotonic() >= end:
            return
        before = now
        time.sleep(_LOOK)

"""A service that starts at once and answers like the sample application: for tests of everything around a service.

Standard library only, one process, one thread. Platform variants answer ``STUB_THREADS`` requests at a time, virtual
ones ``STUB_MOST``, or all. A test breaks it by the environment:

    STUB_DIE_AFTER=n      ends with exit code 9 at the n-th request      STUB_STATUS=500        answers that
    STUB_HANG_AFTER=n     answers no request from the n-th on            STUB_NOT_READY=1       is never ready
    STUB_EAT_AFTER=n      takes memory from the n-th request on          STUB_METERS=jvm,http   shows no other meters
    STUB_FAIL_EVERY=n     answers every n-th request with 500
    STUB_REFUSES_TO_START=words   prints them and ends with exit code 1
    STUB_PRINTS=n         prints n megabytes before anything else
    STUB_STARTS_AFTER=n   serves after n seconds                         STUB_ELSEWHERE=1       on ports of its own
    STUB_CERTIFICATE=file   requests come by TLS: a certificate and its key
"""

from __future__ import annotations

import asyncio
import math
import os
import ssl
import sys
import time
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

ENV = os.environ.get
VIRTUAL = ENV("SPRING_THREADS_VIRTUAL_ENABLED") == "true"
THREADS = int(ENV("STUB_THREADS", "20"))
METERS = set(ENV("STUB_METERS", "jvm,tomcat,http").split(","))
TICKS = os.sysconf("SC_CLK_TCK")
NEVER = math.inf

requests, answered, waited, active = 0, 0, 0.0, 0
eaten: list[bytearray] = []
slots = asyncio.Semaphore(int(ENV("STUB_MOST", str(10**6))) if VIRTUAL else THREADS)


def seconds(text: str) -> float:
    return float(text[:-2]) / 1000 if text.endswith("ms") else float(text[:-1])


def cpu_seconds() -> float:
    return time.process_time()


def limits() -> tuple[float, int]:
    """Returns the cores and bytes that its control group allows; -1 where there is no limit."""
    groups = [line.split(":", 2) for line in Path("/proc/self/cgroup").read_text().splitlines()]
    paths = {name: path for _, names, path in groups for name in names.split(",")}
    if "cpu" in paths:
        cpu, memory = Path(f"/sys/fs/cgroup/cpu{paths['cpu']}"), Path(f"/sys/fs/cgroup/memory{paths['memory']}")
        quota, period = ((cpu / f"cpu.cfs_{name}_us").read_text() for name in ("quota", "period"))
        return int(quota) / int(period), int((memory / "memory.limit_in_bytes").read_text())
    group = Path(f"/sys/fs/cgroup{paths['']}")
    quota, period = (group / "cpu.max").read_text().split()
    size = (group / "memory.max").read_text().strip()
    return (-1 if quota == "max" else int(quota) / int(period)), (-1 if size == "max" else int(size))


CPU, MEMORY = limits()
CORES = math.ceil(CPU) if CPU > 0 else os.cpu_count()


def metrics() -> str:
    pages = {
        "jvm": f'jvm_info{{version="25.0.0",vendor="stub"}} 1\njvm_gc_info{{name="Serial"}} 1\n'
        f"system_cpu_count {CORES}\n",
        "process": f"process_cpu_time_ns_total {1e9 * cpu_seconds():.0f}\n"
        f"process_resident_memory_bytes {4096 * int(Path('/proc/self/statm').read_text().split()[1])}\n",
        "cgroup": (f"cgroup_cpu_limit_cores {CPU}\n" if CPU > 0 else "") + f"cgroup_memory_limit_bytes {MEMORY}\n"
        "cgroup_cpu_periods_total 0\ncgroup_cpu_throttled_periods_total 0\ncgroup_cpu_throttled_time_seconds_total 0\n",
        "tomcat": f"tomcat_threads_config_max_threads {-1 if VIRTUAL else THREADS}\n"
        f"tomcat_threads_busy_threads {-1 if VIRTUAL else active}\n"
        "tomcat_connections_config_max_connections 8192\ntomcat_connections_current_connections 20\n",
        "http": f"http_server_requests_active_seconds_count {active}\n"
        f'http_server_requests_seconds_count{{uri="/thread"}} {answered}\n'
        f'http_server_requests_seconds_sum{{uri="/thread"}} {waited}\n',
    }
    return "".join(page for name, page in pages.items() if name in METERS)


async def work(path: str, duration: float) -> int:
    """Waits, or uses the CPU, for that long; returns the status of the answer."""
    global requests, answered, waited, active
    requests += 1
    if requests >= float(ENV("STUB_DIE_AFTER", NEVER)):
        os._exit(9)
    number = requests
    async with slots:
        active += 1
        if number >= float(ENV("STUB_HANG_AFTER", NEVER)):
            await asyncio.sleep(3600)
        began = time.monotonic()
        if requests >= float(ENV("STUB_EAT_AFTER", NEVER)):
            eaten.append(bytearray(b"x") * (32 << 20))
        if path == "/cpu":
            until = cpu_seconds() + duration
            while cpu_seconds() < until:
                pass
        else:
            await asyncio.sleep(duration)
        active -= 1
        answered += 1
        waited += time.monotonic() - began
    return 500 if number % float(ENV("STUB_FAIL_EVERY", NEVER)) == 0 else int(ENV("STUB_STATUS", "200"))


async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Answers the requests of one connection, one after the other."""
    while head := await reader.readline():
        while (await reader.readline()).strip():
            pass
        url = urlsplit(head.split()[1].decode())
        status, body = 200, "ok"
        if url.path == "/actuator/health/readiness":
            status = 503 if ENV("STUB_NOT_READY") else 200
        elif url.path == "/actuator/health/liveness":
            pass
        elif url.path == "/actuator/prometheus":
            body = metrics()
        else:
            status = await work(url.path, seconds(parse_qs(url.query).get("duration", ["0s"])[0]))
        content = "Content-Type: text/plain; version=0.0.4"
        writer.write(f"HTTP/1.1 {status} x\r\n{content}\r\nContent-Length: {len(body)}\r\n\r\n{body}".encode())
        await writer.drain()
    writer.close()


async def main() -> None:
    for _ in range(int(ENV("STUB_PRINTS", "0"))):
        print(f"{'a line of a talkative service ' * 33}\n" * 1000, flush=True)
    if ENV("STUB_REFUSES_TO_START"):
        sys.exit(ENV("STUB_REFUSES_TO_START"))
    await asyncio.sleep(float(ENV("STUB_STARTS_AFTER", "0")))
    tls = None
    if ENV("STUB_CERTIFICATE"):
        tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        tls.load_cert_chain(ENV("STUB_CERTIFICATE"))
    main_port = os.environ["SERVER_PORT"]
    for port in {main_port, ENV("MANAGEMENT_SERVER_PORT", main_port)}:
        listens = "0" if ENV("STUB_ELSEWHERE") else port
        secured = tls if port == main_port else None
        await asyncio.start_server(serve, os.environ["SERVER_ADDRESS"], int(listens), backlog=1024, ssl=secured)
    await asyncio.Event().wait()


if __name__ == "__main__":
    asyncio.run(main())

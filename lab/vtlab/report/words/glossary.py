"""The words of the report, explained where they are used."""

from __future__ import annotations

from vtlab.catalogue.resources import RESOURCES

#: The resources, and three limits that are no resource of the service.
_BOTTLENECKS = list(
    dict.fromkeys([*(name for name in RESOURCES if name != "load"), "memory", "database", "downstream"])
)

GLOSSARY: tuple[tuple[str, str], ...] = (
    (
        "variant",
        "One way to run the service: platform (an operating-system thread per request), virtual, or either with other"
        " settings, another JDK or another build.",
    ),
    (
        "workload",
        "What a user does in each round: one request, one of a weighted mix, or an iteration of a k6 script.",
    ),
    ("experiment", "A workload, a load, limits, variants and the settings they need."),
    (
        "trial",
        "One variant under load: warm-up, measured window, drain. It ends when the variant is idle or has exited.",
    ),
    (
        "full load",
        "Closed load: as many users as saturate at least one variant. Each sends its next request after the answer.",
    ),
    (
        "typical load",
        "Open load at one rate for all variants: six tenths of what the first variant serves under full load, or the"
        " rate that the call names. Requests arrive whether or not those before are answered, as from many users.",
    ),
    (
        "part",
        "Half a second of a measured window (longer in windows beyond 30 s). How the counts of the parts vary shows how"
        " exact a percentile is.",
    ),
    (
        "probe",
        "A light request beside the load, five times a second, as a kubelet's liveness probe sends it. If all probes"
        " take over 1 s for long, Kubernetes restarts the pod.",
    ),
    (
        "block",
        "Fresh JVMs for every variant, equal warm-up, then trials in a mirrored order that the seed draws."
        " The unit of replication.",
    ),
    (
        "run",
        "n blocks of one experiment under one set of limits: a fixed number (--blocks; below 6 it is a quick look) or"
        " as many as the verdict needs.",
    ),
    (
        "look",
        "After 2, 3, 4, 6, 9 and 12 blocks, a run without a fixed number can end. Its intervals are wider than those of"
        " a fixed number, made to catch the true ratio 95 times in 100 over all looks.",
    ),
    ("ratio", "The geometric mean over blocks of one variant's mean over the other's. 1 means no difference."),
    (
        "interval",
        "Where the ratio probably lies: a paired t interval on the log ratios of the blocks, made to catch the true"
        " ratio 95 times in 100.",
    ),
    (
        "margin",
        "The largest difference that is too small to matter, equal in both directions on a logarithmic scale. It is 5 %"
        " of capacity and cpu, 20 % or 2 ms of median and tail, 10 % or 8 MiB of memory.",
    ),
    (
        "criterion",
        "One thing that is judged: capacity (answers a second at full load), median and tail (latency, at each load),"
        " cpu (at typical load), memory, and probe.",
    ),
    (
        "outcome",
        "Of a criterion, beside the first variant: better or worse if the interval lies beyond the margin, same if it"
        " lies within, else undecided. A variant that fails decides all outcomes. Where there is no outcome, the report"
        " says why.",
    ),
    (
        "claim",
        "A criterion that decides when a run ends: capacity, and median and tail at typical load. The claims of a run"
        " share the 5 % of its intervals.",
    ),
    (
        "decision",
        "What follows from all outcomes: turn it on, leave it off, no difference, a trade-off, or no decision.",
    ),
    (
        "verdict",
        "The conclusions of a run: the outcomes of all criteria, and the decision for each pair of variants.",
    ),
    (
        "fails",
        "The variant does not survive the load. It failed in at least two blocks and in more than half of them, by"
        " errors, time-outs, lack of memory, or a restart. Ratios are over the blocks in which neither failed.",
    ),
    (
        "lower bound",
        "The better variant kept up with the whole load, so more load can show a larger difference. Tables write ≥"
        " or ≤.",
    ),
    (
        "overloaded",
        "Requests arrive faster than the variant answers them, and their number in flight grows. The latency then"
        " depends on the length of the window, so none is given.",
    ),
    (
        "bottleneck",
        f"What limits a variant: {', '.join(_BOTTLENECKS)}, load, or a place in the code. Load: the variant keeps up"
        " with all requests. Unknown: nothing measured explains its throughput. Two bottlenecks can act together.",
    ),
    (
        "db-pool, client-pool",
        "The pool of connections to the database, or to a service downstream: more connections would serve more"
        " requests. If a request under load holds a connection longer than alone, the bottleneck is inside the pool.",
    ),
    (
        "database, downstream",
        "The server at the other end of the pool: thread dumps show that requests wait for its answers.",
    ),
    (
        "memory",
        "The garbage collector takes time from requests, because the heap is too small for the live objects.",
    ),
    (
        "bound",
        "The most requests per second that a resource can serve: capacity / service demand. 200 threads and 5 s per"
        " request allow 40 requests per second.",
    ),
    (
        "modelled",
        "The throughput that mean value analysis expects under this load, from the service demands of a request. Near"
        " the limits of two resources it is below the bound of either.",
    ),
    ("validity check", "A condition that a block must meet to count. Rejected attempts stay in the raw data."),
    (
        "latency",
        "The time that the client waits, including connecting and queueing. Closed load (a fixed number of users)"
        " hides latency when a service slows down, so latency verdicts come from open load.",
    ),
)

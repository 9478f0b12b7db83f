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
        "One way to run the service: platform (a thread of the operating system per request), virtual, or either with"
        " other settings, another JDK or another build.",
    ),
    (
        "workload",
        "What each turn of a user does: one request, a mix of weighted requests, or an iteration of a k6 script.",
    ),
    ("experiment", "A workload, a load, limits, variants and the settings they need."),
    (
        "trial",
        "One variant under load: warm-up, measured window, drain. It ends when the variant is idle or has ended.",
    ),
    (
        "block",
        "Fresh JVMs for every variant, equal warm-up, then trials in a mirrored order, drawn by the seed."
        " The unit of replication.",
    ),
    (
        "run",
        "n blocks of one experiment under one set of limits: a fixed number (--blocks), of which fewer than 6 are a"
        " quick look, or as many as settle the verdict.",
    ),
    (
        "look",
        "After 2, 3, 4, 6, 9 and 12 blocks a run without a fixed number may end. The intervals of all looks together"
        " are made to catch the true ratio 95 times in 100, and wider than one of a fixed number of blocks.",
    ),
    ("ratio", "The geometric mean over blocks of one variant's mean over the other's. 1 means alike."),
    (
        "interval",
        "Where the ratio probably lies: a paired t interval on the log ratios of the blocks, made to catch the true"
        " ratio 95 times in 100.",
    ),
    ("margin", "Differences too small to matter: 5 %, the same to both sides on a logarithmic scale."),
    (
        "verdict",
        "On the primary metric only. The interval lies beyond the margin: faster or slower; inside it: equivalent; else"
        " inconclusive. Several runs in one report are corrected for their number (Holm, or the levels of their"
        " looks). Where a variant fails, that is the verdict.",
    ),
    (
        "fails",
        "The variant does not survive the load, or is not steady after its last warm-up cycle. It failed in at least"
        " two blocks and in more than half of them, by errors, time-outs, lack of memory, a restart, or no steady"
        " state. Ratios are over the blocks in which neither failed.",
    ),
    (
        "lower bound",
        "At least so many times: the better variant kept up with the whole load, so more load can show a larger"
        " difference.",
    ),
    (
        "overloaded",
        "Requests arrive faster than the variant answers them, and their number in flight grows. The latency then"
        " depends on the length of the window, so none is given.",
    ),
    (
        "bottleneck",
        f"What limits a variant: {', '.join(_BOTTLENECKS)}, load, or a place in the code. With load it keeps up with"
        " all that was sent. Unknown: nothing measured explains it. Two that limit it together are named together.",
    ),
    (
        "db-pool, client-pool",
        "The pool of connections to the database, or to a service downstream: more connections would serve more"
        " requests. Where they would not, as a connection is held longer than alone, the bottleneck is inside.",
    ),
    (
        "database, downstream",
        "What stands behind the pool: thread dumps show that requests wait for its answers.",
    ),
    (
        "memory",
        "The garbage collector takes the time that requests need, for the heap is too small for what lives in it.",
    ),
    (
        "bound",
        "By the operational laws no variant exceeds capacity / service demand of any resource: with 200 threads and"
        " 5 s per request, 40 requests per second.",
    ),
    (
        "modelled",
        "The throughput that mean value analysis expects of the load, from what a request takes of each resource"
        " without waiting for others. Near the limits of two resources it is below the bound of either.",
    ),
    ("validity check", "What a block must show before it counts. Rejected attempts stay in the raw data."),
    (
        "latency",
        "As the client sees it, connecting and queueing included. Closed load (a fixed number of users) hides"
        " latency when a service slows down, so latency verdicts come from open load.",
    ),
)

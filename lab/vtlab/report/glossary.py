"""The words of the report, explained where they are used."""

from __future__ import annotations

from vtlab.catalogue.resources import RESOURCES

GLOSSARY: tuple[tuple[str, str], ...] = (
    (
        "variant",
        "One way to run the image: platform (a thread of the operating system per request) or virtual.",
    ),
    ("workload", "What one request does: an endpoint of the service."),
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
    ("run", "n blocks of one experiment under one set of limits. Fewer than 6 blocks are a quick look."),
    ("ratio", "The geometric mean over blocks of one variant's mean over the other's. 1 means alike."),
    (
        "interval",
        "Where the ratio probably lies: a paired t interval on the log ratios of the blocks. Such intervals"
        " catch the true ratio 95 times in 100.",
    ),
    ("margin", "Differences too small to matter: 5 %, the same to both sides on a logarithmic scale."),
    (
        "verdict",
        "On the primary metric only. The interval lies beyond the margin: faster or slower; inside it:"
        " equivalent; else inconclusive. Several runs in one report are corrected for their number (Holm).",
    ),
    (
        "overloaded",
        "Requests arrive faster than the variant answers them and are dropped: its latency has no bound.",
    ),
    (
        "bottleneck",
        f"What limits a variant: {', '.join(name for name in RESOURCES if name != 'load')}, load (it keeps up with all"
        " that was sent), or unknown, where nothing measured explains it.",
    ),
    (
        "bound",
        "By the operational laws no variant exceeds capacity / service demand of any resource: with 200 threads and"
        " 5 s per request, 40 requests per second.",
    ),
    ("validity check", "What a block must show before it counts. Rejected attempts stay in the raw data."),
    (
        "latency",
        "As the client sees it, connecting and queueing included. Closed load (a fixed number of users) hides"
        " latency when a service slows down, so latency verdicts come from open load.",
    ),
)

"""What has no data in the dashboards where vtlab has published no verdict, as of a block by hand."""

from __future__ import annotations

#: Panel and letter: there is a pool of connections only where there is a database.
POOL = ("Queues inside the server", "C")
_BOTTLENECK = {("What limits each variant", letter) for letter in "AB"}
#: dashboard -> panel and letter of its queries without data, under closed load on a service without a database, where
#: vtlab has published no verdict.
WITHOUT_DATA = {
    # All but "one block: no verdict", and the ratios.
    "comparison": {
        *(("Verdict", letter) for letter in "ABCDEG"),
        *_BOTTLENECK,
        *((panel, "C") for panel in ("Throughput", "Latency, median", "Latency, 99th percentile")),
        *((panel, "C") for panel in ("CPU per request", "Memory")),
    },
    # An arrival rate is asked for under open load only.
    "load": {("Requests sent and arrivals asked for", "B")},
    # Bound and service demand.
    "saturation": {
        *_BOTTLENECK,
        *((f"Resources of {variant}", letter) for variant in ("platform", "virtual") for letter in "BC"),
        POOL,
    },
}

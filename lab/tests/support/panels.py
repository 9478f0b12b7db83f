"""Queries of the dashboards that have no data where vtlab published no verdict, as for a block by hand."""

from __future__ import annotations

from vtlab.dashboards.verdict import HOW_SURE

#: Panel and letter: there is a pool of connections only where there is a database.
POOL = ("Pool: database connections in use, and waiting", "A")
_BOTTLENECK = {("What limits each variant", letter) for letter in "AB"}
#: dashboard -> panel and letter of its queries without data, under closed load on a service without a database, where
#: vtlab has published no verdict.
WITHOUT_DATA = {
    # All but "one block: no verdict".
    "verdict": {
        *(("Verdict", letter) for letter in "ABD"),
        *((HOW_SURE, letter) for letter in "ABCD"),
        *_BOTTLENECK,
        *(("Ratios to the first variant", letter) for letter in "ABC"),
    },
    # Bound and service demand, what the service does not have, and arrivals, which open load has.
    "why": {
        *_BOTTLENECK,
        *((f"Resources of {variant}", letter) for variant in ("platform", "virtual") for letter in "DE"),
        POOL,
        ("Pool: database connections in use, and waiting", "B"),
        ("Requests sent and arrivals planned", "B"),
    },
}

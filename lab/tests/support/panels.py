"""Queries of the dashboards that have no data where vtlab published no verdict, as for a block by hand."""

from __future__ import annotations

#: Panel and letter: there is a pool of connections only where there is a database.
POOL = ("Pool: database connections in use, and waiting", "A")
_BOTTLENECK = {("What limits each variant", letter) for letter in "AB"}
#: dashboard -> panel and letter of its queries without data, under closed load on a service without a database, where
#: vtlab has published no verdict.
WITHOUT_DATA = {
    "verdict": {
        ("Outcomes", "A"),
        *(("Outcomes in numbers", letter) for letter in "ABCDEF"),
        *_BOTTLENECK,
        # Failed blocks.
        ("Figures of each variant", "H"),
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

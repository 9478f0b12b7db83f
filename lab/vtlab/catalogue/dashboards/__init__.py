"""The four dashboards in ``grafana-dashboards/``, which ``make generate`` writes.

| dashboard | uid | question |
|---|---|---|
| ``comparison.json`` | vtlab-comparison | the verdict, what limits each variant, the figures of each |
| ``saturation.json`` | vtlab-saturation | how near each resource is to its bound, where requests wait |
| ``jvm.json`` | vtlab-jvm | what the JVM does: threads of both kinds, collections, memory, compilation |
| ``load.json`` | vtlab-load | what was asked for, whether the load generator did it, what clients saw |

One module for each dashboard; what they share: ``panels`` (constructors of panels), ``queries`` (metrics with
Grafana's variables), ``frame`` (variables, links, time range), ``style`` (colours), and ``substitute``, for tests that
send the queries without Grafana. Figures of a run are over its measured windows, even where the time range shows more;
lines are what is scraped.
"""

"""The two dashboards in ``grafana-dashboards/``, which ``make generate`` writes.

| dashboard | uid | question |
|---|---|---|
| ``verdict.json`` | vtlab-verdict | which variant is better, by how much, how sure, and what limits each |
| ``why.json`` | vtlab-why | how near each resource is to its bound, and where requests wait |

One module for each dashboard (``why_rows`` has the closed rows of the second); what they share: ``panels``
(constructors of panels), ``queries`` (metrics with Grafana's variables), ``frame`` (variables, links, time range),
``style`` (colours), ``link`` (a run's time range), and ``substitute``, for tests that send the queries without Grafana.
Figures of a run are over its measured windows, even where the time range shows more; so are lines, but in closed rows.
"""

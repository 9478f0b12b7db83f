"""One row for each metric and each resource; rules and dashboards are generated from them."""

"""A cluster as the target of a run: the chart's Deployments under load from its k6 Jobs."""

"""Prometheus: its HTTP API, the queries over a window, and the verdict that vtlab publishes to it."""

"""Runs: creates them, measures them, stores their results, reports and publishes their verdicts."""

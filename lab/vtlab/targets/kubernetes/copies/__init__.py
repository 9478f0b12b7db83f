"""Copies of the user's service as the variants of a run."""

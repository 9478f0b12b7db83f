"""Targets, on which variants run: this machine or a cluster."""

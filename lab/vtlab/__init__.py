"""vtlab: compares a service with virtual threads on and off under a CPU limit, and says why."""

__version__ = "0.3.0"

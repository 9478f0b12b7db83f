"""Prerequisites of a run on this machine and in a cluster."""

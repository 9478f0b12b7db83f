"""Services that are measured: how each starts, and the companions beside it."""

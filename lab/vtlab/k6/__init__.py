"""The load generator: one call of k6, and the user's own k6 script."""

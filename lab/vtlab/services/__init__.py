"""How a service starts: the JVM of a variant, and the companions beside it."""

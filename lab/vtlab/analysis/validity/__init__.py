"""The validity checks: whether a block counts, which variants failed in it, and which of its figures hold."""

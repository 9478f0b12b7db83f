"""Measuring: one attempt at one block, its warm-up, and the search for a load."""

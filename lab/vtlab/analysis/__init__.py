"""Pure functions from records to a verdict."""

"""From records to a verdict, by pure functions."""

"""The installed release of the chart as the variants of a run."""

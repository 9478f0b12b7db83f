"""Services under measurement: how each starts, and its companions."""

"""Figures and sentences: what the report says, as plain text."""

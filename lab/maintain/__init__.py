"""Maintainers' code: generated files, the table of claims, the page of measured runs. No part of the wheel."""

"""Companions of the variants on this machine: a database, a second service, what the user names."""

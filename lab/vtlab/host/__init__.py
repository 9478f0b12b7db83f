"""This machine: processes, control groups, ports, tools, and its load."""

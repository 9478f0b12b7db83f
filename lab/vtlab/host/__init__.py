"""This machine: processes, control groups, ports, tools, and how busy it is."""

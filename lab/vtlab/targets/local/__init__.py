"""The lab on this machine: every part is a process of its own, each JVM in its own control group."""

"""The lab on this machine: every part is a separate process, each JVM in its own control group."""

"""Plan of a run: its blocks, their order, how long they take."""

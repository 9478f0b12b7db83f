"""What a run will do: its blocks, their order, how long they take."""

"""The Kubernetes API, as JSON: its calls, the objects of a run, the state of pods, the way to a port."""

"""Where variants run: this machine or a cluster."""

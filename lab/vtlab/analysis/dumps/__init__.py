"""Thread dumps: where the requests of a variant are, and where the time of one goes."""

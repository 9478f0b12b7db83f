"""Known problems of a service, found in its jar or in what was measured."""

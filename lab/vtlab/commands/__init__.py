"""The commands of vtlab, a file each: options in, calls of the packages below."""

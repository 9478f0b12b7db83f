"""Charts: each takes plain figures and returns one inline SVG that is also described in words."""

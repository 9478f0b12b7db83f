"""Pictures of the docs: SVG that ``make generate`` draws from committed data, light and dark."""

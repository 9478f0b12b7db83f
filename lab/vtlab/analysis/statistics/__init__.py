"""Confidence intervals of paired ratios, looks at a run before its end, and simulations of both."""

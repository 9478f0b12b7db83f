"""The six criteria: what they measure, their outcomes, and the decision that follows."""

"""Training logs: their families, lines, runs, and what the steps of a run have in common."""

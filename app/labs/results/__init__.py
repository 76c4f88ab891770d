"""What a run has found: analyzed, reported, compared."""

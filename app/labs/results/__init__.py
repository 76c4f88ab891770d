"""What a run has found: analyzed, reported, compared, sent to a board."""

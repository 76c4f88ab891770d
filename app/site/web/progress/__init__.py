"""A learner's progress."""

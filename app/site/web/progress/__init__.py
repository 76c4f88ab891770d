"""A learner's progress."""

FILE_LIMIT = 8 << 20  # bytes of a file of progress

"""Where a learner stands: exercises, chapters and next steps, as lists on many pages show them."""

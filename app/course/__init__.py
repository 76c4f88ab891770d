"""The course: kinds of exercises, what is in it, and what a learner knows of it."""

"""Classes: persons, assignments and grades, sign-in, and learning platforms."""

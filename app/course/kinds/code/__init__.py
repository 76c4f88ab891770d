"""The kinds about programs: write a function, find the buggy line; and what they share."""

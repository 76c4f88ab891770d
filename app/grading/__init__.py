"""Answers are judged: one that is stored, a file of them offline, and what programs hear."""

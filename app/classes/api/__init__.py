"""Classes over the JSON interface, with tokens of scope class or admin."""

from app.classes.api import assignments, classes, grades

PARTS = (classes, grades, assignments)

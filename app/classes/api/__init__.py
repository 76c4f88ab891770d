"""Classes over the JSON interface, with tokens of scope class or admin."""

from app.classes.api import assignments, classes, grades, groups, persons, points, roster

PARTS = (classes, roster, persons, groups, assignments, points, grades)

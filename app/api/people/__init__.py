"""Classes over the JSON interface, with tokens of scope class or admin."""

from app.api.people import assignments, classes, extensions, grades, overrides, persons, roster

PARTS = (classes, roster, persons, assignments, extensions, overrides, grades)

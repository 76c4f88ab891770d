"""Classes over the JSON interface, with tokens of scope class or admin."""

from app.api.people import assignments, classes, extensions, grades, overrides, roster

PARTS = (classes, roster, assignments, extensions, overrides, grades)

"""Classes over the JSON interface, with tokens of scope class or admin."""

from app.classes.api import (
    assignments,
    classes,
    copies,
    extensions,
    grade_rule,
    grades,
    groups,
    overrides,
    persons,
    roster,
    statistics,
)

PARTS = (classes, roster, persons, groups, assignments, copies, extensions, overrides, grades, grade_rule, statistics)

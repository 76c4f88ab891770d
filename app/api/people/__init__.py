"""Classes over the JSON interface, with tokens of scope class or admin."""

from app.api.people import (
    assignments,
    classes,
    copies,
    extensions,
    grade_rule,
    grades,
    overrides,
    persons,
    roster,
    statistics,
)

PARTS = (
    classes,
    roster,
    persons,
    assignments,
    copies,
    extensions,
    overrides,
    grades,
    grade_rule,
    statistics,
)

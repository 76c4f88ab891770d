"""In place of assignments, in a browser: there are none, so nothing is refused."""

from app.site.web.exercise.rules import FREE, AssignmentRules


def rules_of(*_: object) -> AssignmentRules:
    """What assignments say about a drawing: nothing."""
    return FREE


rules_with_banners = rules_of

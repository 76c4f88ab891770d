"""The classes, as a part that a site can do without."""

from app.classes import api
from app.classes.members import ClassMembers
from app.classes.pages import (
    account,
    assignment,
    assignment_editor,
    classes,
    extensions,
    grades,
    live,
    provider_sign_in,
    regrades,
    roster,
    roster_import,
    sign_in,
    student,
)
from app.classes.pages.lti import course, launch, launch_entry
from app.classes.pages.lti.launch import deliver_scores
from app.site.part import SitePart

# What is there is about persons: their grades, codes and files. The keys of LTI are for anyone.
_OF_PERSONS = "classes|assignments|join|sign-in|sign-out|me|lti"
PART = SitePart(
    pages=(
    classes, assignment, assignment_editor, provider_sign_in, sign_in, account, roster, roster_import,
    extensions, live, grades, student, regrades, launch, launch_entry, course,
),
    calls=api.PARTS,
    private=(rf"(?!{launch.KEYS}\Z)/(?:{_OF_PERSONS})(?:/|\Z)", "/api/v1/classes"),
    ways_in=(r"/(?:sign-in|join|lti)(?:/|\Z)",),
    files=dict.fromkeys(roster_import.PATHS, roster_import.BODY_LIMIT),
    tasks=deliver_scores,
    members=ClassMembers,
)  # fmt: skip

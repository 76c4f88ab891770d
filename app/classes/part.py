"""The classes, as a part that a site can do without."""

from app.classes import api
from app.classes.members import ClassMembers
from app.classes.pages import (
    account,
    assignment,
    assignment_editor,
    class_copy,
    classes,
    extensions,
    grade_files,
    grade_rule,
    grades,
    groups,
    join_page,
    live,
    member,
    member_data,
    overview,
    pools,
    provider_sign_in,
    regrades,
    roster,
    roster_import,
    settings,
    sign_in,
    student,
)
from app.classes.pages import statistics as class_statistics
from app.classes.pages.lti import course, deep_link, launch, registration
from app.classes.pages.lti.score_delivery import deliver_scores
from app.site.part import SitePart

# What is there is about persons: their grades, codes and files. The keys of LTI are for anyone.
_OF_PERSONS = "classes|assignments|join|sign-in|sign-out|me|lti"
PART = SitePart(
    pages=(
        classes, overview, settings, class_copy, assignment, join_page, sign_in, provider_sign_in, account,
        assignment_editor, roster, member, member_data, roster_import, extensions, groups, pools, live, grade_files,
        grade_rule, grades, class_statistics, student, regrades, launch, deep_link, registration, course,
    ),
    calls=api.PARTS,
    private=(rf"(?!{launch.KEYS}\Z)/(?:{_OF_PERSONS})(?:/|\Z)", "/api/v1/classes"),
    ways_in=(r"/(?:sign-in|join|lti)(?:/|\Z)",),
    files=dict.fromkeys(roster_import.PATHS, roster_import.BODY_LIMIT),
    tasks=deliver_scores,
    members=ClassMembers,
)  # fmt: skip

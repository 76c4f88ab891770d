"""The role of a person in a class, from the roles that a platform names.

The vocabularies are those of LTI 1.3 core, appendix A.2: roles in a context (a course), in an
institution and in the system, as URIs, and the short names of those in a context. The URNs of
LTI 1.1 say the same.
"""

import re
from collections.abc import Collection
from typing import NamedTuple

from app.classes.people.classes import Role

_MOST = 100  # roles that are read
_CONTEXT, _INSTITUTION, _SYSTEM = "membership", "institution", "system"
# http://purl.imsglobal.org/vocab/lis/v2/membership/Instructor#Grader, .../institution/person#Staff
_URI = re.compile(
    r"https?://purl\.imsglobal\.org/vocab/(?:lis|lti)(?:/v\d)?/(?:(?P<where>institution|system)/person"
    r"|membership(?:/(?P<principal>\w+))?)[#/](?P<name>[\w-]+)"
)
# urn:lti:role:ims/lis/Instructor/GuestInstructor, urn:lti:sysrole:ims/lis/SysAdmin
_URN = re.compile(r"urn:lti:(?P<where>|inst|sys)role:ims/lis/(?P<name>\w+)(?:/(?P<sub>[\w-]+))?")
_SHORT = re.compile(r"(?P<name>\w+)(?:[#/](?P<sub>[\w-]+))?")
_ASSISTANT = re.compile("TeachingAssistant|Grader$")
_TEACHERS = frozenset({"Instructor", "Administrator", "ContentDeveloper"})
_STUDENTS = frozenset({"Learner", "Member"})
_OTHERS = frozenset({"Manager", "Mentor", "Officer", "TeachingAssistant"})
# Roles of those who have none in the course, and do not learn there.
_OUTSIDERS = frozenset({
    "Administrator", "Faculty", "Instructor", "Staff", "Mentor", "Observer",
    "AccountAdmin", "Creator", "SysAdmin", "SysSupport",
})  # fmt: skip


class _Named(NamedTuple):
    """A role that a platform names: in what, and the *sub* role, if it is a narrower one."""

    where: str
    name: str
    sub: str = ""


def role_of(given: object) -> Role | None:
    """The role of a person in a class; None: they neither learn nor teach.

    So are observers, the test students of platforms, and administrators who are not in the course.
    A role in the course counts before those elsewhere; without any, one is a student.

    >>> role_of(["http://purl.imsglobal.org/vocab/lis/v2/membership#Instructor"]).word
    'teacher'
    >>> role_of(["http://purl.imsglobal.org/vocab/lis/v2/membership#Mentor"])
    """
    texts = given[:_MOST] if isinstance(given, list) else []
    roles = [found for one in texts if isinstance(one, str) and (found := _parsed(one))]
    if any(one.where == _SYSTEM and one.name == "TestUser" for one in roles):
        return None
    inside = [one for one in roles if one.where == _CONTEXT]
    if inside:
        return _in_course(inside)
    return None if any(one.name in _OUTSIDERS for one in roles) else Role.STUDENT


def _in_course(roles: Collection[_Named]) -> Role | None:
    """The role of one who has *roles* in the course."""
    if any(_ASSISTANT.match(one.sub or one.name) for one in roles):
        return Role.ASSISTANT  # platforms list it beside the role of an instructor
    names = {one.name for one in roles}
    if names & _TEACHERS:
        return Role.TEACHER
    return Role.STUDENT if names & _STUDENTS else None


def _parsed(text: str) -> _Named | None:
    if found := _URI.fullmatch(text):
        if found["where"]:
            return _Named(found["where"], found["name"])
        principal = found["principal"]
        return _Named(_CONTEXT, principal or found["name"], found["name"] if principal else "")
    if found := _URN.fullmatch(text):
        where = {"": _CONTEXT, "inst": _INSTITUTION, "sys": _SYSTEM}[found["where"]]
        return _Named(where, found["name"], found["sub"] or "")
    found = _SHORT.fullmatch(text)
    if found and found["name"] in _TEACHERS | _STUDENTS | _OTHERS:
        return _Named(_CONTEXT, found["name"], found["sub"] or "")
    return None

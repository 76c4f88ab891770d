"""The message of a launch, read into what we use of it: who, in which role, to what."""

import json
import re
import secrets
from collections.abc import Collection, Container, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from datetime import datetime, timedelta
from typing import NamedTuple
from zoneinfo import ZoneInfo

from itsdangerous import BadData, URLSafeTimedSerializer
from sqlalchemy import delete
from sqlalchemy.exc import IntegrityError
from sqlmodel import Session, col

from app.classes.people.assignment_copies import copies_of, copy_in_class, store_copies
from app.classes.people.assignments import Assignment, assignments_of
from app.classes.people.classes import Role, class_with, classes_of, number_of
from app.classes.people.persons import code_digest
from app.classes.people.policy import read_factor
from app.core.errors import InputError, refused_error
from app.server.db.people import ADDRESS_LIMIT, SUBJECT_LIMIT, ClassRow, NonceRow
from app.server.db.tables import NAME_LIMIT, now
from app.server.network.response_policy import origin_of

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


class _NamedRole(NamedTuple):
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
        if any(_ASSISTANT.match(one.sub or one.name) for one in inside):
            return Role.ASSISTANT  # platforms list it beside the role of an instructor
        names = {one.name for one in inside}
        if names & _TEACHERS:
            return Role.TEACHER
        return Role.STUDENT if names & _STUDENTS else None
    return None if any(one.name in _OUTSIDERS for one in roles) else Role.STUDENT


def _parsed(text: str) -> _NamedRole | None:
    if found := _URI.fullmatch(text):
        if found["where"]:
            return _NamedRole(found["where"], found["name"])
        principal = found["principal"]
        return _NamedRole(_CONTEXT, principal or found["name"], found["name"] if principal else "")
    if found := _URN.fullmatch(text):
        where = {"": _CONTEXT, "inst": _INSTITUTION, "sys": _SYSTEM}[found["where"]]
        return _NamedRole(where, found["name"], found["sub"] or "")
    found = _SHORT.fullmatch(text)
    if found and found["name"] in _TEACHERS | _STUDENTS | _OTHERS:
        return _NamedRole(_CONTEXT, found["name"], found["sub"] or "")
    return None


CLAIM = "https://purl.imsglobal.org/spec/lti/claim/"
DEEP_LINKING = "https://purl.imsglobal.org/spec/lti-dl/claim/"
GRADES = "https://purl.imsglobal.org/spec/lti-ags/claim/endpoint"
ROSTER = "https://purl.imsglobal.org/spec/lti-nrps/claim/namesroleservice"
LINE_ITEM_SCOPE = "https://purl.imsglobal.org/spec/lti-ags/scope/lineitem"
SCORE_SCOPE = "https://purl.imsglobal.org/spec/lti-ags/scope/score"
ROSTER_SCOPE = "https://purl.imsglobal.org/spec/lti-nrps/scope/contextmembership.readonly"
SCOPES = (LINE_ITEM_SCOPE, SCORE_SCOPE, ROSTER_SCOPE)

VERSION = "1.3.0"
RESOURCE_LINK = "LtiResourceLinkRequest"
DEEP_LINK = "LtiDeepLinkingRequest"
DEEP_LINK_ANSWER = "LtiDeepLinkingResponse"

LINE_ITEM_TYPE = "application/vnd.ims.lis.v2.lineitem+json"
LINE_ITEMS_TYPE = "application/vnd.ims.lis.v2.lineitemcontainer+json"
SCORE_TYPE = "application/vnd.ims.lis.v1.score+json"
ROSTER_TYPE = "application/vnd.ims.lti-nrps.v2.membershipcontainer+json"

TAG = "wallclock"  # of our line items
LAUNCH = "/lti/launch"


Fields = Mapping[str, object]
_LONGEST_GROUP = 300  # characters of a list of names
_LONGEST_DATA = 16_000  # characters that a platform gets back with a choice


@dataclass(frozen=True, slots=True, kw_only=True)
class Launch:
    """Who came from which course of a platform, and to open what.

    *role* is empty if they are neither student nor teacher. *group* is that of the course, such as
    a section, if the platform names one, and *time_factor* is of the time in exams. *assignment* is the number that our
    link has, or 0. *answer_to* is where the choice of a teacher is sent (deep linking); *origins*
    are those of the pages that may show ours in a frame.
    """

    platform: int
    deployment: str
    subject: str
    role: str
    name: str = ""
    outside_id: str = ""
    group: str = ""
    time_factor: float = 1.0
    context: str = ""
    title: str = ""
    link: str = ""
    link_title: str = ""
    assignment: int = 0
    lineitem: str = ""
    lineitems: str = ""
    memberships: str = ""
    answer_to: str = ""
    answer_data: str = ""
    several: bool = False
    origins: tuple[str, ...] = ()

    @property
    def teaches(self) -> bool:
        """Whether the person is a teacher of the course."""
        return self.role == Role.TEACHER.word


def read_launch(platform: int, claims: Fields, service: str) -> Launch:
    """The launch in verified *claims*; *service* is our own address.

    Raises:
        RefusedError: it is not a message of LTI 1.3 that we answer.
    """
    kind = _text_claim(claims, CLAIM + "message_type")
    if claims.get(CLAIM + "version") != VERSION or kind not in (RESOURCE_LINK, DEEP_LINK):
        raise refused_error(
            "the platform sent the message {kind!r} of version {claims!r}; this site answers "
            "{resource_link} and {deep_link} of version {version}",
            kind=kind[:60],
            claims=str(claims.get(CLAIM + "version"))[:20],
            resource_link=RESOURCE_LINK,
            deep_link=DEEP_LINK,
            version=VERSION,
        )
    _check_target(_text_claim(claims, CLAIM + "target_link_uri"), service)
    context, grades = _fields(claims, CLAIM + "context"), _fields(claims, GRADES)
    link = _fields(claims, CLAIM + "resource_link")
    choice = _fields(claims, DEEP_LINKING + "deep_linking_settings") if kind == DEEP_LINK else {}
    lineitems = _address_claim(grades, "lineitems")
    memberships = _address_claim(_fields(claims, ROSTER), "context_memberships_url")
    answer_to = _address_claim(choice, "deep_link_return_url")
    role = role_of(claims.get(CLAIM + "roles"))
    launch = Launch(
        platform=platform,
        deployment=_short(claims, CLAIM + "deployment_id"),
        subject=_text_claim(claims, "sub"),
        role=role.word if role else "",
        name=name_in(claims),
        outside_id=_outside_id(claims),
        group=_group(claims, _text_claim(context, "title")),
        time_factor=_time_factor(_fields(claims, CLAIM + "custom").get("time_factor")),
        context=_short(context, "id"),
        title=_clean_name(_text_claim(context, "title") or _text_claim(context, "label")),
        link=_short(link, "id"),
        link_title=_clean_name(_text_claim(link, "title")),
        assignment=_number(_fields(claims, CLAIM + "custom").get("assignment")),
        lineitem=_address_claim(grades, "lineitem"),
        lineitems=lineitems,
        memberships=memberships,
        answer_to=answer_to,
        answer_data=_data(choice),
        several=choice.get("accept_multiple", True) is not False,
        origins=_origins(
            (_address_claim(_fields(claims, CLAIM + "launch_presentation"), "return_url"), answer_to),
            (lineitems, memberships, _text_claim(claims, "iss")),
        ),
    )
    _check_launch(launch, choice, kind)
    return launch


def name_in(given: Fields) -> str:
    """The name of a person in claims or a roster; empty if the platform does not tell it."""
    parts = (_text_claim(given, "given_name"), _text_claim(given, "family_name"))
    return _clean_name(_text_claim(given, "name") or " ".join(part for part in parts if part))


def _check_launch(launch: Launch, choice: Fields, kind: str) -> None:
    if not launch.deployment:
        raise refused_error("the platform sent no deployment_id")
    if not launch.context:
        raise refused_error("the platform sent no course; open this link from within a course")
    if kind == RESOURCE_LINK and not launch.link:
        raise refused_error("the platform sent no resource link; open this link from the course")
    if kind == DEEP_LINK:
        if not launch.teaches:
            raise refused_error("only teachers of a course choose its assignments")
        if not launch.answer_to:
            raise refused_error("the platform sent no deep_link_return_url")
        accepted = choice.get("accept_types")
        if not isinstance(accepted, list) or "ltiResourceLink" not in accepted:
            raise refused_error("the platform does not accept links here: choose another kind of item")


def _check_target(target: str, service: str) -> None:
    if target and origin_of(target) != origin_of(service):
        raise refused_error(
            "the target of this launch is {target!r}, which is not on {service}; correct the "
            "address of the tool in the platform",
            target=target[:200],
            service=service,
        )


def _origins(*groups: Iterable[str]) -> tuple[str, ...]:
    found = (origin_of(url) for group in groups for url in group)
    return tuple(dict.fromkeys(filter(None, found)))


def _fields(values: Fields, name: str) -> Fields:
    found = values.get(name)
    return found if isinstance(found, dict) else {}


def _text_claim(values: Fields, name: str) -> str:
    found = values.get(name)
    return found if isinstance(found, str) else ""


def _short(values: Fields, name: str) -> str:
    """A text that names something; one that is not plain is refused, never cut or cleaned."""
    found = _text_claim(values, name)
    if len(found) > SUBJECT_LIMIT or not found.isprintable():
        raise refused_error(
            "{name} has more than {subject_limit} characters, or some that cannot be printed",
            name=name.rpartition("/")[2],
            subject_limit=SUBJECT_LIMIT,
        )
    return found


def _address_claim(values: Fields, name: str) -> str:
    found = _text_claim(values, name)
    return found if len(found) <= ADDRESS_LIMIT and origin_of(found) else ""


def _clean_name(text: str) -> str:
    printable = "".join(letter if letter.isprintable() else " " for letter in text)
    return " ".join(printable.split())[:NAME_LIMIT].rstrip()


def _outside_id(claims: Fields) -> str:
    """The person's id in other systems; Canvas fills the custom parameter that we ask for."""
    own = _short(_fields(claims, CLAIM + "custom"), "sis_user_id")
    given = _short(_fields(claims, CLAIM + "lis"), "person_sourcedid") or own
    return "" if given.startswith("$") else given  # a variable that the platform did not fill


def _group(claims: Fields, title: str) -> str:
    """The group of the person in the course, from the custom parameter *group*.

    Canvas fills it with a list of sections. Nobody is in several groups here; and the only section
    of a course has the name of the course, so it tells nobody apart.
    """
    said = _text_claim(_fields(claims, CLAIM + "custom"), "group")[:_LONGEST_GROUP]
    if said.startswith("["):
        try:
            names = json.loads(said)
        except ValueError:
            return ""
        said = names[0] if len(names) == 1 and isinstance(names[0], str) else ""
    found = _clean_name(said)
    return "" if found.startswith("$") or found == _clean_name(title) else found


def _time_factor(value: object) -> float:
    """The factor of the time in exams in a custom parameter; 1 where it is none that we take."""
    try:
        return read_factor(str(value)) if isinstance(value, str | int | float) else 1.0
    except InputError:  # such as the name of a variable that the platform did not fill
        return 1.0


def _number(value: object) -> int:
    """The number in a custom parameter, which platforms send as text."""
    text = str(value) if isinstance(value, str | int) and not isinstance(value, bool) else ""
    return int(text) if text.isascii() and text.isdecimal() and len(text) <= len(str(2**53)) else 0


def _data(choice: Fields) -> str:
    data = _text_claim(choice, "data")
    if len(data) > _LONGEST_DATA:
        raise refused_error(
            "the platform sent more than {longest_data:,} characters of data", longest_data=_LONGEST_DATA
        )
    return data


TICKET_LIFE = timedelta(minutes=10)  # a page of a course is read before its link is opened
CHOICE_LIFE = timedelta(hours=2)  # a teacher may make an assignment first
_BYTES = 12
_SALT = "wallclock.lti.ticket"


def seal_ticket(secret: str, launch: Launch) -> str:
    """A ticket for *launch*: another one each time."""
    serial = secrets.token_urlsafe(_BYTES)
    return URLSafeTimedSerializer(secret, salt=_SALT).dumps([serial, asdict(launch)])


def unseal_launch(secret: str, ticket: str, life: timedelta = TICKET_LIFE) -> Launch:
    """The launch that a ticket was made for; the ticket is not used up.

    Raises:
        RefusedError: the ticket is not ours, or too old.
    """
    opener = URLSafeTimedSerializer(secret, salt=_SALT)
    try:
        _, values = opener.loads(ticket, max_age=round(life.total_seconds()))
        known = {field.name for field in fields(Launch)}
        given = {name: value for name, value in values.items() if name in known}
        return Launch(**{**given, "origins": tuple(given["origins"])})
    except (BadData, TypeError, ValueError):
        minutes = round(life.total_seconds() / 60)
        raise refused_error(
            "this page was opened more than {minutes} minutes ago; reload the page of the course and open it again",
            minutes=minutes,
        ) from None


def use_once(session: Session, text: str, life: timedelta, at: datetime | None = None) -> None:
    """Note that *text* was used, for as long as it is valid. Commits.

    The database refuses a second row, so it holds between servers too.

    Raises:
        RefusedError: it was used before.
    """
    moment = at or now()
    session.connection().execute(delete(NonceRow).where(col(NonceRow.until) < moment))
    session.add(NonceRow(digest=code_digest(text), until=moment + life))
    try:
        session.commit()
    except IntegrityError:
        session.rollback()
        raise refused_error("this launch was used already; go back to the course and open it again") from None


def classes_before(session: Session, launch: Launch, persons: Collection[int], class_id: int = 0) -> Sequence[ClassRow]:
    """The classes with the assignment that a launch names, or a copy of it, the newest first.

    Those that one of *persons* teaches, without the class *class_id* that the course is now.
    """
    found = {
        number_of(row): row
        for person in persons
        for row, role in classes_of(session, person)
        if role is Role.TEACHER and number_of(row) != class_id
    }
    named = launch.assignment if launch.link else 0
    return [
        row for number, row in sorted(found.items(), reverse=True) if named and copy_in_class(session, number, named)
    ]


def copyable_assignments(session: Session, class_id: int, known: Container[str]) -> Sequence[Assignment]:
    """The assignments of a class that have an exercise which is still *known*."""
    return [one for one in assignments_of(session, class_id) if any(entry.exercise in known for entry in one.entries)]


def copy_course(session: Session, source: int, class_id: int, weeks: int, known: Container[str]) -> None:
    """Copy the assignments of the class *source* into another one; not committed.

    Old links of the course open the copies from then on: each knows what it is a copy of.
    """
    zone = ZoneInfo(class_with(session, class_id).zone)
    chosen = copyable_assignments(session, source, known)
    store_copies(session, class_id, copies_of(chosen, weeks, zone, known))

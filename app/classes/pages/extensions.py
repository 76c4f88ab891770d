"""/assignments/ID/extensions: later dates for single students, each with a reason."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Annotated
from zoneinfo import ZoneInfo

from fastapi import Form, Request, Response
from fastapi.responses import RedirectResponse
from sqlmodel import Session, select

from app.classes.pages.assignment_form import date_words
from app.classes.pages.class_head import ClassHead, assignment_url, class_head
from app.classes.pages.guard import Membership, in_assignment
from app.classes.people.assignments import Assignment
from app.classes.people.classes import Member, Role, members_of
from app.classes.people.local_time import in_words, on_the_calendar, read_moment
from app.classes.people.personal_dates import extend, first_end
from app.classes.people.policy import Policy, dates_of
from app.core.errors import InputError, sentence
from app.core.translation import translate
from app.server.aside import aside
from app.server.db.people import REASON_LIMIT, ExtensionRow
from app.server.db.session import open_session, open_writing_session
from app.server.network.routes import Router
from app.site import Here, Site
from app.site.web.frame.renderer import frame, render
from app.site.web.frame.visitor import FromHere, Visiting

router = Router(prefix="/assignments/{assignment:int}/extensions")
_DIGITS = 18  # of the number of a person
CHOOSER_FIELDS = 10_100  # one for each member


@dataclass(frozen=True, slots=True, kw_only=True)
class ExtensionLine:
    """An extension that holds."""

    person: int
    name: str
    until: str
    why: str
    by: str
    when: str


@dataclass(frozen=True, slots=True)
class Student:
    """A student to choose; *until*: the extension that they have."""

    person: int
    name: str
    until: str
    chosen: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class ExtensionForm:
    """The form, as it was sent."""

    persons: frozenset[int] = frozenset()
    until: str = ""
    why: str = ""
    problem: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class ExtensionsPage:
    """The extensions of an assignment, and the form for more."""

    head: ClassHead
    title: str
    href: str
    general: tuple[str, ...]
    groups: tuple[str, ...]
    exam: bool
    movable: bool
    lines: tuple[ExtensionLine, ...]
    students: tuple[Student, ...]
    sent: ExtensionForm
    words: str


@router.get("")
async def extensions(request: Request, site: Here, visiting: Visiting, assignment: int, person: str = "") -> Response:
    """The extensions of an assignment; with a *person*, that one is chosen in the form."""
    member, one = await in_assignment(request, site, visiting, assignment, Role.ASSISTANT)
    chosen = frozenset(chosen_numbers([person]))
    sent = ExtensionForm(persons=chosen, until=_suggested(one.policy, site.clock()))
    return await aside(_shown_extensions, request, site, member, one, sent)


@router.post("", dependencies=[FromHere])
async def give(request: Request, site: Here, visiting: Visiting, assignment: int) -> Response:
    """Extend the assignment for the students who are chosen."""
    member, one = await in_assignment(request, site, visiting, assignment, Role.ASSISTANT)
    async with request.form(max_fields=CHOOSER_FIELDS) as form:
        sent = ExtensionForm(
            persons=frozenset(chosen_numbers(str(value) for value in form.getlist("person"))),
            until=str(form.get("until", "")).strip(),
            why=" ".join(str(form.get("why", "")).split()),
        )
    try:
        await aside(_give, site, member, one, sent)
    except InputError as error:
        again = replace(sent, problem=sentence(str(error)))
        return await aside(_shown_extensions, request, site, member, one, again)
    return RedirectResponse(f"{assignment_url(assignment)}/extensions", 303)


@router.post("/end", dependencies=[FromHere])
async def end(
    request: Request, site: Here, visiting: Visiting, assignment: int, person: Annotated[str, Form()] = ""
) -> Response:
    """Take an extension back."""
    await in_assignment(request, site, visiting, assignment, Role.ASSISTANT)
    await aside(_end, site, assignment, chosen_numbers([person]))
    return RedirectResponse(f"{assignment_url(assignment)}/extensions", 303)


def chosen_numbers(texts: Iterable[str]) -> Sequence[int]:
    """The numbers of persons among *texts*."""
    return [int(text) for text in texts if text.isascii() and text.isdecimal() and len(text) <= _DIGITS]


def _give(site: Site, member: Membership, one: Assignment, sent: ExtensionForm) -> None:
    if not sent.persons:
        raise InputError(translate("nobody is chosen: tick at least one student"))
    if len(sent.why) > REASON_LIMIT or not sent.why.isprintable():
        raise InputError(
            translate("a reason has at most {reason_limit} printable characters", reason_limit=REASON_LIMIT)
        )
    until = read_moment(sent.until, one.policy.zone, ends=True).at
    with open_writing_session(site.engine) as session:
        everyone = {other.person: other for other in members_of(session, one.class_id)}
        students = {number for number, other in everyone.items() if other.role is Role.STUDENT}
        if sent.persons - students:
            raise InputError(translate("one of those who are chosen has left the class meanwhile"))
        _refuse_useless(one.policy, first_end(session, one, sent.persons), until, site)
        by = everyone[member.person.person].name
        extend(session, one.id, sorted(sent.persons), until, by, sent.why)
        session.commit()


def _suggested(policy: Policy, now: datetime) -> str:
    """Two days after the due date; if that is over, at the end of the day after tomorrow."""
    due = (policy.due or now).astimezone(policy.zone)
    later = max(due, now.astimezone(policy.zone)).replace(tzinfo=None) + timedelta(days=2)
    if due < now or policy.due is None:
        later = later.replace(hour=23, minute=59)
    return f"{later:%Y-%m-%dT%H:%M}"


def _refuse_useless(policy: Policy, first: datetime | None, until: datetime, site: Site) -> None:
    """Refuse an extension that would not move any date; without it, *first* is the first end."""
    if policy.sitting:
        return  # it is the moment by which the student stops, earlier or later
    if first is None:
        raise InputError(translate("this assignment has no due date: nothing can be extended"))
    if until <= first:
        words = on_the_calendar(first, policy.zone, site.clock())
        raise InputError(translate("everyone has until {words}; an extension must be later", words=words))


def _end(site: Site, assignment: int, persons: Sequence[int]) -> None:
    with open_writing_session(site.engine) as session:
        for person in persons:
            if row := session.get(ExtensionRow, (assignment, person)):
                session.delete(row)
        session.commit()


def _students(session: Session, class_id: int) -> Sequence[Member]:
    return [one for one in members_of(session, class_id) if one.role is Role.STUDENT]


def _shown_extensions(
    request: Request, site: Site, member: Membership, one: Assignment, sent: ExtensionForm
) -> Response:
    zone, now = one.policy.zone, site.clock()
    with open_session(site.engine) as session:
        students = _students(session, one.class_id)
        rows = session.exec(select(ExtensionRow).where(ExtensionRow.assignment == one.id)).all()
    given = {row.person: row for row in rows}
    page = ExtensionsPage(
        head=class_head(member, "Assignments"),
        title=one.title,
        href=f"{assignment_url(one.id)}/extensions",
        general=general_dates(one.policy, site),
        groups=tuple(
            f"{dates.group}: {'; '.join(general_dates(dates.policy(one.policy), site))}" for dates in one.groups
        ),
        exam=one.policy.sitting > 0,
        movable=any(policy.due or policy.closes or policy.sitting for policy in one.policies),
        lines=tuple(
            ExtensionLine(
                person=other.person,
                name=other.name,
                until=in_words(given[other.person].until, zone, now),
                why=given[other.person].why,
                by=given[other.person].by,
                when=on_the_calendar(given[other.person].at, zone, now),
            )
            for other in students
            if other.person in given
        ),
        students=_choices(students, given, sent, zone, site),
        sent=sent,
        words=date_words(sent.until, zone, now, ends=True),
    )
    around = frame(request, translate("Extensions of {title}", title=one.title), here="classes")
    return render("people/extensions.html", around, page, 422 if sent.problem else 200)


def general_dates(policy: Policy, site: Site) -> tuple[str, ...]:
    """The dates of everyone, in words."""
    dates = dates_of(policy)
    words = [("due", dates.due), ("closes", dates.closes)]
    if dates.due == dates.closes:
        words = words[:1]
    return tuple(f"{name} {in_words(at, policy.zone, site.clock())}" for name, at in words if at)


def _choices(
    students: Sequence[Member], given: Mapping[int, ExtensionRow], sent: ExtensionForm, zone: ZoneInfo, site: Site
) -> tuple[Student, ...]:
    return tuple(
        Student(
            one.person,
            one.name,
            on_the_calendar(given[one.person].until, zone, site.clock()) if one.person in given else "",
            one.person in sent.persons,
        )
        for one in students
    )

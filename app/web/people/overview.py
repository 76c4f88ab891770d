"""/classes/ID: the assignments of a class, for those who teach it; and its link on a slide."""

from dataclasses import dataclass
from datetime import datetime
from zoneinfo import ZoneInfo

from fastapi import Request, Response
from fastapi.responses import RedirectResponse
from markupsafe import Markup

from app.aside import aside
from app.db.session import open_session
from app.federation.delivery_status import Tie, ties_of
from app.network.routes import Router
from app.people.assignments import Assignment, assignments_of
from app.people.classes import Member, Role, members_of
from app.people.local_time import in_words
from app.people.overview import Turnout, turnouts
from app.people.policy import dates_of
from app.site import Here, Site
from app.translation import noted, translate
from app.web.frame.renderer import frame, render
from app.web.frame.visitor import Visiting
from app.web.people.class_head import ClassHead, assignment_url, class_head, class_url
from app.web.people.due_dates import due_page
from app.web.people.guard import Membership, in_class
from app.web.people.join_link import JoinLink, join_link, qr_code
from app.web.people.sign_in import asked_first

router = Router(prefix="/classes/{class_id:int}")

_STATES = {
    "before": noted("not open yet"),
    "unstarted": noted("open"),
    "open": noted("open"),
    "late": noted("past due"),
    "closed": noted("closed"),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class AssignmentCard:
    """An assignment as its teachers see it: when it counts, and how far the class is."""

    title: str
    href: str
    exercises: int
    points: float
    state: str
    dates: tuple[str, ...]
    exam: int
    turnout: Turnout


@dataclass(frozen=True, slots=True, kw_only=True)
class ClassPage:
    """A class, as those see it who teach it.

    *code_is_missing*: only this browser is signed in as its teacher, and there is no code for
    another one. *has_groups*: some may have dates of their own. *ties* are the courses of learning
    platforms that it is.
    """

    head: ClassHead
    teaches: bool
    link: JoinLink
    cards: tuple[AssignmentCard, ...]
    students: int
    code_is_missing: bool
    code_form: str
    has_groups: bool
    ties: tuple[Tie, ...]


@dataclass(frozen=True, slots=True)
class SlidePage:
    """The join link, large, and its QR code."""

    head: ClassHead
    link: JoinLink
    qr_code: Markup


@router.get("")
async def class_page(request: Request, site: Here, visiting: Visiting, class_id: int) -> Response:
    """A class: its assignments for those who teach it, and what is due for a student."""
    member = await in_class(request, site, visiting, class_id, Role.STUDENT)
    if member.role is Role.STUDENT:
        if asked := await aside(asked_first, site, member.person, class_url(class_id)):
            return RedirectResponse(asked, 303)
        return await due_page(request, site, member)
    return await aside(_taught, request, site, member)


@router.get("/slide")
async def slide(request: Request, site: Here, visiting: Visiting, class_id: int) -> Response:
    """The join link, to show in a classroom."""
    member = await in_class(request, site, visiting, class_id, Role.ASSISTANT)
    link = join_link(request, site, member)
    page = SlidePage(class_head(member), link, qr_code(link.href))
    around = frame(request, translate("Join {name}", name=member.row.name), here="classes")
    return render("people/slide.html", around, page)


def _taught(request: Request, site: Site, member: Membership) -> Response:
    with open_session(site.engine) as session:
        members = members_of(session, member.class_id)
        assignments = assignments_of(session, member.class_id)
        found = turnouts(session, site.secret, assignments, members)
        ties = tuple(ties_of(session, member.class_id))
    now = site.clock()
    page = ClassPage(
        head=class_head(member, "Assignments"),
        teaches=member.teaches,
        link=join_link(request, site, member),
        cards=tuple(_card(one, found[one.id], now) for one in assignments),
        students=sum(one.role is Role.STUDENT for one in members),
        code_is_missing=not ties and not any(_has_code(one, member) for one in members),
        code_form=f"/classes/{member.class_id}/people/{member.person.person}/code",
        has_groups=any(one.group for one in members) or any(one.groups for one in assignments),
        ties=ties,
    )
    return render("people/class_page.html", frame(request, member.row.name, here="classes"), page)


def _has_code(one: Member, member: Membership) -> bool:
    return one.person == member.person.person and one.has_code


def _card(assignment: Assignment, turnout: Turnout, now: datetime) -> AssignmentCard:
    policy = assignment.policy
    phase = dates_of(policy).phase(now, policy.grace)
    return AssignmentCard(
        title=assignment.title,
        href=assignment_url(assignment.id),
        exercises=assignment.length,
        points=assignment.points,
        state=translate(_STATES[phase]),
        dates=tuple(_dates(assignment, policy.zone, now)),
        exam=policy.sitting,
        turnout=turnout,
    )


def _dates(assignment: Assignment, zone: ZoneInfo, now: datetime) -> list[str]:
    """The dates that matter now, in words."""
    policy = assignment.policy
    if policy.opens and now < policy.opens:
        first = [translate("opens {moment}", moment=in_words(policy.opens, zone, now))]
    else:
        first = []
    if policy.due:
        due = [translate("due {moment}", moment=in_words(policy.due, zone, now))]
    else:
        due = [translate("no due date")]
    ends = policy.closes and policy.closes != policy.due
    last = []
    if policy.closes and ends:
        last = [translate("closes {moment}", moment=in_words(policy.closes, zone, now))]
    names = ", ".join(one.group for one in assignment.groups)
    others = [translate("other dates for {groups}", groups=names)] if names else []
    return [*first, *due, *last, *others]

"""/classes/ID: the assignments of a class, for those who teach it; and its link on a slide."""

from dataclasses import dataclass
from datetime import datetime
from zoneinfo import ZoneInfo

from fastapi.responses import RedirectResponse
from markupsafe import Markup

from app.classes.federation.delivery_status import Tie, ties_of
from app.classes.pages.assignment import DuePage, due_page
from app.classes.pages.class_head import assignment_url
from app.classes.pages.class_router import ClassRouter, ClassVisit
from app.classes.pages.join_link import JoinLink, join_link, qr_code
from app.classes.pages.sign_in import asked_first
from app.classes.people.activity import Turnout, turnouts
from app.classes.people.assignments import Assignment, assignments_of
from app.classes.people.classes import Role, members_of
from app.classes.people.local_time import in_words
from app.classes.people.policy import dates_of
from app.core.translation import noted, translate

router = ClassRouter("/classes/{class_id:int}", "Assignments", least=Role.ASSISTANT)

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

    link: JoinLink
    qr_code: Markup


router.register(DuePage, "due")


@router.page("", "class_page", least=Role.STUDENT)
def class_page(visit: ClassVisit) -> ClassPage | DuePage | RedirectResponse:
    """A class: its assignments for those who teach it, and what is due for a student."""
    if visit.member.role is Role.STUDENT:
        asked = asked_first(visit.site, visit.member.person, visit.class_href)
        return RedirectResponse(asked, 303) if asked else due_page(visit)
    members = members_of(visit.session, visit.class_id)
    assignments = assignments_of(visit.session, visit.class_id)
    found = turnouts(visit.session, visit.site.secret, assignments, members)
    ties = tuple(ties_of(visit.session, visit.class_id))
    visitor = visit.member.person.person
    return ClassPage(
        link=join_link(visit.request, visit.site, visit.member),
        cards=tuple(_card(one, found[one.id], visit.now) for one in assignments),
        students=sum(one.role is Role.STUDENT for one in members),
        code_is_missing=not ties and not any(one.person == visitor and one.has_code for one in members),
        code_form=f"{visit.class_href}/people/{visitor}/code",
        has_groups=any(one.group for one in members) or any(one.groups for one in assignments),
        ties=ties,
    )


@router.page("/slide", "slide", noted("Join {name}"))
def slide_page(visit: ClassVisit) -> SlidePage:
    """The join link, to show in a classroom."""
    link = join_link(visit.request, visit.site, visit.member)
    return SlidePage(link, qr_code(link.href))


def _card(assignment: Assignment, turnout: Turnout, now: datetime) -> AssignmentCard:
    policy = assignment.policy
    phase = dates_of(policy).phase(now, policy.grace)
    return AssignmentCard(
        title=assignment.title,
        href=assignment_url(assignment.id),
        exercises=assignment.length,
        points=assignment.points,
        state=translate(_STATES[phase]),
        dates=tuple(_card_dates(assignment, policy.zone, now)),
        exam=policy.sitting,
        turnout=turnout,
    )


def _card_dates(assignment: Assignment, zone: ZoneInfo, now: datetime) -> list[str]:
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

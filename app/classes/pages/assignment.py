"""/assignments/ID: the exercises of an assignment, each with the variant that counts."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime

from fastapi import Request, Response
from fastapi.responses import RedirectResponse

from app.classes.assignment_rules import tries_left, work_url
from app.classes.federation.delivery_status import Receipt, receipts
from app.classes.pages.class_head import ClassHead, assignment_url, class_head
from app.classes.pages.due_dates import points_words
from app.classes.pages.guard import Membership, in_assignment
from app.classes.pages.own_assignments import Mine, mine
from app.classes.pages.rules import rules_words
from app.classes.people.assignments import Assignment, AssignmentEntry
from app.classes.people.cells import Cell
from app.classes.people.classes import Role
from app.classes.people.personal_dates import begin_sitting
from app.core.errors import InputError, capitalized
from app.core.translation import noted, plural, translate
from app.server.aside import aside
from app.server.db.session import open_session, open_writing_session
from app.server.network.routes import Router
from app.site import Here, Site
from app.site.web.frame.renderer import frame, render
from app.site.web.frame.visitor import FromHere, Visiting

_GONE = noted("no longer in the course")
router = Router(prefix="/assignments/{assignment:int}")
_NEARLY = 1e-9  # of the points: they are sums of fractions


@dataclass(frozen=True, slots=True, kw_only=True)
class EntryView:
    """An exercise of an assignment; without *href* it cannot be opened."""

    title: str
    href: str
    kind: str
    mark: str
    says: tuple[str, ...]
    points: str


@dataclass(frozen=True, slots=True, kw_only=True)
class AssignmentPage:
    """An assignment for one student; *teaches*: one who is none looks at it.

    *receipts* say whether learning platforms have its points; *send* sends them again.
    """

    head: ClassHead
    title: str
    phase: str
    says: str
    why: str
    points: str
    rules: tuple[str, ...]
    entries: tuple[EntryView, ...]
    starts: str
    sitting: int
    ends: datetime | None
    teaches: bool
    receipts: tuple[Receipt, ...]
    send: str


@router.get("")
async def assignment_page(request: Request, site: Here, visiting: Visiting, assignment: int) -> Response:
    """The assignment for the person who is signed in."""
    member, found = await in_assignment(request, site, visiting, assignment, Role.STUDENT)

    def shown() -> Response:
        with open_session(site.engine) as session:
            one = mine(session, site, member, found)
            sent = tuple(receipts(session, found.id, member.person.person))
        page = _assignment_page(site, member, one, sent)
        return render("people/assigned.html", frame(request, found.title, here="classes"), page)

    return await aside(shown)


@router.post("/begin", dependencies=[FromHere])
async def begin_exam(request: Request, site: Here, visiting: Visiting, assignment: int) -> Response:
    """Start the exam of the person who is signed in."""
    member, found = await in_assignment(request, site, visiting, assignment, Role.STUDENT)
    await aside(_begin, site, member, found)
    return RedirectResponse(assignment_url(assignment), 303)


def _begin(site: Site, member: Membership, found: Assignment) -> None:
    with open_writing_session(site.engine) as session:
        phase = mine(session, site, member, found).phase
        if phase in ("before", "closed"):
            if phase == "before":
                says = translate("{title} has not opened yet", title=found.title)
            else:
                says = translate("{title} is closed", title=found.title)
            raise InputError(translate("{says}: it cannot be started", says=says))
        if found.policy.sitting:
            begin_sitting(session, found.id, member.person.person)


def _assignment_page(site: Site, member: Membership, one: Mine, sent: tuple[Receipt, ...]) -> AssignmentPage:
    assignment, teaches = one.assignment, member.role > Role.STUDENT
    phase = "open" if teaches and one.phase in ("before", "unstarted") else one.phase
    opened = phase in ("open", "late", "closed")
    runs = bool(assignment.policy.sitting) and phase in ("open", "late") and not teaches
    return AssignmentPage(
        head=class_head(member),
        title=assignment.title,
        phase=phase,
        says=capitalized(" · ".join(one.said())),
        why=one.why,
        points=f"{assignment.points:g} points" if teaches else points_words(one),
        rules=tuple(rules_words(one)),
        entries=tuple(_entries(site, member, one)) if opened else (),
        starts=f"{assignment_url(assignment.id)}/begin" if phase == "unstarted" else "",
        sitting=assignment.policy.sitting,
        ends=one.dates.closes if runs else None,
        teaches=teaches,
        receipts=sent,
        send=f"{assignment_url(assignment.id)}/send",
    )


def _entries(site: Site, member: Membership, one: Mine) -> Iterator[EntryView]:
    for entry in one.assignment.entries:
        exercise = site.catalog.by_id.get(entry.exercise)
        cell = one.cells.get(entry.exercise, Cell(0.0))
        yield EntryView(
            title=exercise.title if exercise else entry.exercise,
            href=work_url(site.secret, member.person, one.assignment, entry.exercise) if exercise else "",
            kind=translate(exercise.kind_title if exercise else _GONE),
            mark=_mark(one, entry, cell),
            says=tuple(_says(one, entry, cell)),
            points=_points(one, entry, cell),
        )


def _mark(one: Mine, entry: AssignmentEntry, cell: Cell) -> str:
    if not cell.tries:
        return "new"
    whole = not one.hidden and cell.points >= entry.points - _NEARLY
    return "solved" if whole else "tried"


def _points(one: Mine, entry: AssignmentEntry, cell: Cell) -> str:
    most = f"{entry.points:g} {'point' if entry.points == 1 else 'points'}"
    if one.hidden or not (cell.tries or cell.overridden):
        return most
    return f"{cell.points:.4g} of {most}"


def _says(one: Mine, entry: AssignmentEntry, cell: Cell) -> Iterator[str]:
    """What an exercise has, and why."""
    most = one.assignment.policy.attempts
    if one.hidden and cell.tries:
        yield "recorded"
    if most and one.phase in ("open", "late"):
        yield tries_left(max(0, most - cell.tries), most)
    elif cell.tries:
        yield plural("{number} answer", "{number} answers", cell.tries)
    if one.hidden:
        return
    if cell.late:
        yield translate("late")
    if entry.exercise in one.mended:
        yield one.mended[entry.exercise]
    if cell.overridden:
        why = one.given.get(entry.exercise, "")
        yield (translate("given by your teacher: {why}", why=why) if why else translate("given by your teacher"))

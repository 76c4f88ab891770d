"""/classes/ID for a student: what is due; /assignments/ID: its exercises, each with the variant that counts."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime

from app.classes.assignment_rules import tries_left, work_url
from app.classes.federation.delivery_status import Receipt, receipts
from app.classes.pages.class_head import assignment_url
from app.classes.pages.class_router import AssignmentVisit, ClassRouter, ClassVisit
from app.classes.pages.student_assignments import StudentAssignment, rules_words, student_assignment
from app.classes.people.assignments import AssignmentEntry, assignments_of
from app.classes.people.cells import Cell
from app.classes.people.classes import Role
from app.classes.people.personal_dates import begin_sitting
from app.core.errors import InputError, capitalized
from app.core.translation import noted, plural, translate

router = ClassRouter("/assignments/{assignment:int}", least=Role.STUDENT)
_GONE = noted("no longer in the course")
_NEARLY = 1e-9  # of the points: they are sums of fractions
_FAR = datetime.max.replace(tzinfo=UTC)


@dataclass(frozen=True, slots=True, kw_only=True)
class DueLine:
    """An assignment, when it counts for this student, and the points so far."""

    href: str
    title: str
    says: tuple[str, ...]
    is_open: bool
    points: str
    tried: int
    exercises: int
    is_exam: bool
    is_late: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class DuePage:
    """The assignments of a class for one student: to do, not open yet, and over."""

    due: tuple[DueLine, ...]
    later: tuple[DueLine, ...]
    past: tuple[DueLine, ...]
    earned: str


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
    """An assignment for one student; *looks*: one who is none looks at it.

    *receipts* say whether learning platforms have its points; *send* sends them again.
    """

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
    looks: bool
    receipts: tuple[Receipt, ...]
    send: str


@router.page("", "assigned")
def assignment_page(visit: AssignmentVisit) -> AssignmentPage:
    """The assignment for the person who is signed in."""
    one, looks = student_assignment(visit, visit.assignment), visit.member.role > Role.STUDENT
    assignment = one.assignment
    phase = "open" if looks and one.phase in ("before", "unstarted") else one.phase
    opened = phase in ("open", "late", "closed")
    runs = bool(assignment.policy.sitting) and phase in ("open", "late") and not looks
    return AssignmentPage(
        title=assignment.title,
        phase=phase,
        says=capitalized(" · ".join(one.dates_in_words())),
        why=one.why,
        points=f"{assignment.points:g} points" if looks else points_words(one),
        rules=tuple(rules_words(one)),
        entries=tuple(_entries(visit, one)) if opened else (),
        starts=f"{visit.href}/begin" if phase == "unstarted" else "",
        sitting=assignment.policy.sitting,
        ends=one.dates.closes if runs else None,
        looks=looks,
        receipts=tuple(receipts(visit.session, assignment.id, visit.member.person.person)),
        send=f"{visit.href}/send",
    )


@router.form("/begin", None)
def begin_exam(visit: AssignmentVisit) -> str:
    """Start the exam of the person who is signed in."""
    found, phase = visit.assignment, student_assignment(visit, visit.assignment).phase
    if phase in ("before", "closed"):
        if phase == "before":
            says = translate("{title} has not opened yet", title=found.title)
        else:
            says = translate("{title} is closed", title=found.title)
        raise InputError(translate("{says}: it cannot be started", says=says))
    if found.policy.sitting:
        begin_sitting(visit.session, found.id, visit.member.person.person)
    return visit.href


def due_page(visit: ClassVisit) -> DuePage:
    """The page of a class for a student."""
    all_of = [student_assignment(visit, one) for one in assignments_of(visit.session, visit.class_id)]
    shown = [one for one in all_of if not one.hidden and one.phase not in ("before", "unstarted")]
    possible = sum(one.assignment.points for one in shown)
    return DuePage(
        due=_due_lines(one for one in all_of if one.phase in ("open", "late", "unstarted")),
        later=_due_lines(one for one in all_of if one.phase == "before"),
        past=_due_lines(one for one in all_of if one.phase == "closed"),
        earned=f"{sum(one.points for one in shown):.4g} of {possible:g}" if possible else "",
    )


def points_words(one: StudentAssignment) -> str:
    """The points so far, in words; when they are shown, while they are hidden."""
    if one.phase in ("before", "unstarted"):
        return translate("{points:g} points", points=one.assignment.points)
    if one.hidden:
        return translate("points {hidden}", hidden=one.hidden)
    return translate("{earned:.4g} of {points:g} points", earned=one.points, points=one.assignment.points)


def _due_lines(those: Iterable[StudentAssignment]) -> tuple[DueLine, ...]:
    ordered = sorted(those, key=lambda one: (one.dates.due or _FAR, one.assignment.id))
    return tuple(map(_due_line, ordered))


def _due_line(one: StudentAssignment) -> DueLine:
    return DueLine(
        href=assignment_url(one.assignment.id),
        title=one.assignment.title,
        says=tuple(one.dates_in_words()),
        is_open=one.phase not in ("before", "unstarted"),
        points=points_words(one),
        tried=one.tried,
        exercises=len(one.assignment.entries),
        is_exam=bool(one.assignment.policy.sitting),
        is_late=one.phase == "late",
    )


def _entries(visit: ClassVisit, one: StudentAssignment) -> Iterator[EntryView]:
    for entry in one.assignment.entries:
        exercise = visit.site.catalog.by_id.get(entry.exercise)
        cell = one.cells.get(entry.exercise, Cell(0.0))
        yield EntryView(
            title=exercise.title if exercise else entry.exercise,
            href=work_url(visit.site.secret, visit.member.person, one.assignment, entry.exercise) if exercise else "",
            kind=translate(exercise.kind_title if exercise else _GONE),
            mark=_entry_mark(one, entry, cell),
            says=tuple(_entry_says(one, entry, cell)),
            points=_entry_points(one, entry, cell),
        )


def _entry_mark(one: StudentAssignment, entry: AssignmentEntry, cell: Cell) -> str:
    if not cell.tries:
        return "new"
    whole = not one.hidden and cell.points >= entry.points - _NEARLY
    return "solved" if whole else "tried"


def _entry_points(one: StudentAssignment, entry: AssignmentEntry, cell: Cell) -> str:
    most = f"{entry.points:g} {'point' if entry.points == 1 else 'points'}"
    if one.hidden or not (cell.tries or cell.overridden):
        return most
    return f"{cell.points:.4g} of {most}"


def _entry_says(one: StudentAssignment, entry: AssignmentEntry, cell: Cell) -> Iterator[str]:
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
    if entry.exercise in one.regrades:
        yield one.regrades[entry.exercise]
    if cell.overridden:
        why = one.by_hand.get(entry.exercise, "")
        yield (translate("given by your teacher: {why}", why=why) if why else translate("given by your teacher"))

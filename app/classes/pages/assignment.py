"""An assignment and its class: what is due, for a student; what stands there, for those who teach."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime

from fastapi.responses import RedirectResponse
from markupsafe import Markup
from sqlmodel import Session

from app.classes.federation.outbox import Receipt, Tie, receipts, ties_of
from app.classes.members import tries_left, work_url
from app.classes.pages.class_router import AssignmentVisit, ClassRouter, ClassVisit, JoinLink, join_link, qr_code
from app.classes.pages.sign_in import asked_first
from app.classes.people.activity import Turnout, turnouts
from app.classes.people.assignment_copies import dates_in_words, in_words, on_the_calendar
from app.classes.people.assignments import Assignment, AssignmentEntry, assignments_of
from app.classes.people.cells import Cell
from app.classes.people.classes import Member, Role, members_of
from app.classes.people.counted_answers import begin_sitting, dates_for, group_policy, time_factor_of
from app.classes.people.gradebook import NO_ANSWER, WHOLE, cells_of, is_excused, overrides_of, possible_in, total
from app.classes.people.policy import Dates, Phase, dates_of
from app.classes.people.regrade_run import raised_for
from app.classes.people.work import release_of
from app.core.errors import capitalize, input_error
from app.core.translation import noted, plural, translate
from app.server.db.people import ExtensionRow

_DUE = noted("due {moment}")
_ENDS = noted("ends {moment}")
_FINISH_BY = noted("start it, and finish by {moment}")
_MORE = noted("mended and judged again on {day}: an answer of yours is worth more")
_LESS = noted("mended and judged again on {day}: an answer of yours is worth less")
_VARIANTS = {
    "own": noted("The numbers in each exercise are your own: others have different ones."),
    "same": noted("Everyone in the class has the same numbers."),
    "many": noted("Answers with any numbers count: draw another variant as often as you like."),
}


_HINTS = {
    "off": noted("Hints are turned off."),
    "cost": noted("Each hint costs {percent:g} % of the points of its exercise."),
    "free": noted("Hints are free."),
}
_SOLUTION = {
    "off": noted("Worked solutions are not shown."),
    "due": noted("Worked solutions are shown after the due date."),
    "free": noted("After you look at a worked solution, answers to that exercise earn no points."),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class StudentAssignment:
    """An assignment for one student now.

    *cells* are by exercise; so are *by_hand*, why points were given by hand, and *regrades*, what a
    regrade has changed. *group_due* is when it is due for others of the same group. *hidden* says
    from when points are shown; empty if they are.
    """

    assignment: Assignment
    dates: Dates
    phase: Phase
    extended: datetime | None
    group_due: datetime | None
    why: str
    cells: Mapping[str, Cell]
    points: float
    possible: float
    excused: bool
    factor: float
    by_hand: Mapping[str, str]
    regrades: Mapping[str, str]
    hidden: str
    now: datetime

    @property
    def tried(self) -> int:
        """The exercises with an answer that counts."""
        return sum(cell.tries > 0 for cell in self.cells.values())

    @property
    def is_open(self) -> bool:
        """Whether its exercises can be seen."""
        return self.phase not in ("before", "unstarted")

    @property
    def points_in_words(self) -> str:
        """The points so far; when they are shown, while they are hidden."""
        if self.excused:
            why = self.by_hand.get(WHOLE, "")
            return translate("excused: {why}", why=why) if why else translate("excused")
        if not self.is_open:
            return translate("{points:g} points", points=self.assignment.points)
        if self.hidden:
            return translate("points {hidden}", hidden=self.hidden)
        return translate("{earned:.4g} of {points:g} points", earned=self.points, points=self.possible)

    def moment(self, at: datetime) -> str:
        """*at* in the zone of the class."""
        return in_words(at, self.assignment.policy.zone, self.now)

    def dates_in_words(self) -> Iterator[str]:
        """The dates that matter now, in words."""
        dates = self.dates
        if self.phase == "before" and dates.opens:
            yield translate("opens {moment}", moment=self.moment(dates.opens))
        if self.phase == "closed":
            if dates.closes:
                yield translate("closed {moment}", moment=self.moment(dates.closes))
            else:
                yield translate("closed")
            return
        yield self._ends()
        if self.extended and self.group_due:
            yield translate(
                "extended for you (for others {moment})",
                moment=on_the_calendar(self.group_due, self.assignment.policy.zone, self.now),
            )
        elif self.extended:
            yield translate("extended for you")
        if dates.closes and dates.closes != dates.due:
            yield translate("closes {moment}", moment=self.moment(dates.closes))

    def _ends(self) -> str:
        """Until when answers count in full."""
        if not self.dates.due:
            return translate("no due date")
        form = _DUE
        if self.assignment.policy.sitting:
            form = _FINISH_BY if self.phase == "unstarted" else _ENDS
        return translate(form, moment=self.moment(self.dates.due))


def student_assignment(visit: ClassVisit, assignment: Assignment) -> StudentAssignment:
    """How *assignment* stands for the visitor, as a student."""
    session, member, now = visit.session, visit.member, visit.now
    person = member.person.person
    dates = dates_for(session, assignment, person)
    extension = session.get(ExtensionRow, (assignment.id, person))
    student = Member(
        class_id=visit.class_id,
        person=person,
        learner=member.person.learner,
        role=Role.STUDENT,
        name=member.person.name,
    )
    cells = cells_of(session, visit.site.secret, assignment, [student])
    return StudentAssignment(
        assignment=assignment.personal(member.person.learner),
        dates=dates,
        phase=dates.phase(now, assignment.policy.grace),
        extended=extension.until if extension else None,
        group_due=group_policy(session, assignment, person).due,
        why=extension.why if extension else "",
        cells={exercise: cell for (_, exercise), cell in cells.items()},
        points=total(cells, person, assignment),
        possible=possible_in(cells, person, assignment),
        excused=is_excused(cells, person, assignment),
        factor=time_factor_of(session, assignment, person),
        by_hand={name: rows[0].why for name, rows in overrides_of(session, assignment, person).items()},
        regrades=_regrade_notes(session, assignment, member.person.learner, now),
        hidden=_hidden(assignment, dates, now),
        now=now,
    )


def _regrade_notes(session: Session, assignment: Assignment, learner: str, now: datetime) -> Mapping[str, str]:
    """What regrades changed, by exercise; the last one that did."""
    zone, said = assignment.policy.zone, dict[str, str]()
    for one in raised_for(session, assignment, learner):
        day = on_the_calendar(one.at, zone, now)
        says = translate(_MORE if one.after > one.before else _LESS, day=day)
        said.setdefault(one.exercise, says)
    return said


def _hidden(assignment: Assignment, dates: Dates, now: datetime) -> str:
    released = release_of(assignment, dates)
    if assignment.policy.show_points or released is None or now > released:
        return ""
    return translate("shown after {moment}", moment=on_the_calendar(released, assignment.policy.zone, now))


def rules_words(one: StudentAssignment) -> Iterator[str]:
    """What counts, what costs points, and what is shown when."""
    policy = one.assignment.policy
    if policy.attempts:
        yield plural(
            "The first answer to each exercise can count.",
            "The first {number} answers to each exercise can count; the best of them does.",
            policy.attempts,
        )
    else:
        yield translate("The best answer to each exercise counts; try as often as you like.")
    yield translate(_VARIANTS[policy.variants])
    yield from _late_rule(one)
    yield translate(_HINTS["off" if policy.sitting else policy.hints], percent=100 * policy.hint_cost)
    yield translate(_SOLUTION[policy.solution])
    if one.hidden:
        yield translate("Verdicts and points are {hidden}.", hidden=one.hidden)


def _late_rule(one: StudentAssignment) -> Iterator[str]:
    policy, dates = one.assignment.policy, one.dates
    if policy.sitting or dates.due is None:
        return
    if dates.closes == dates.due:
        yield translate("After the due date, nothing counts.")
        return
    until = translate(", until {moment}", moment=one.moment(dates.closes)) if dates.closes else ""
    if policy.late:
        yield translate(
            "Late answers lose {percent:g} % of the points a day begun{until}.", percent=100 * policy.late, until=until
        )
    else:
        yield translate("Late answers lose no points{until}.", until=until)


router = ClassRouter("/assignments/{assignment:int}", least=Role.STUDENT)
_GONE = noted("no longer in the course")
_NEARLY = 1e-9  # of the points: they are sums of fractions
_FAR = datetime.max.replace(tzinfo=UTC)


@dataclass(frozen=True, slots=True, kw_only=True)
class DuePage:
    """The assignments of a class for one student: to do, not open yet, and over."""

    due: tuple[StudentAssignment, ...]
    later: tuple[StudentAssignment, ...]
    past: tuple[StudentAssignment, ...]
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
        says=capitalize(" · ".join(one.dates_in_words())),
        why=one.why,
        points=f"{assignment.points:g} points" if looks else one.points_in_words,
        rules=tuple(rules_words(one)),
        entries=tuple(_entries(visit, one)) if opened else (),
        starts=f"{visit.href}/begin" if phase == "unstarted" else "",
        sitting=round(assignment.policy.sitting * one.factor),
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
        raise input_error("{says}: it cannot be started", says=says)
    if found.policy.sitting:
        begin_sitting(visit.session, found.id, visit.member.person.person)
    return visit.href


def due_page(visit: ClassVisit) -> DuePage:
    """The page of a class for a student."""
    all_of = [student_assignment(visit, one) for one in assignments_of(visit.session, visit.class_id)]
    shown = [one for one in all_of if not one.hidden and one.is_open]
    possible = sum(one.possible for one in shown)
    return DuePage(
        due=_ordered(one for one in all_of if one.phase in ("open", "late", "unstarted")),
        later=_ordered(one for one in all_of if one.phase == "before"),
        past=_ordered(one for one in all_of if one.phase == "closed"),
        earned=f"{sum(one.points for one in shown):.4g} of {possible:g}" if possible else "",
    )


def _ordered(those: Iterable[StudentAssignment]) -> tuple[StudentAssignment, ...]:
    """*those* by their due dates."""
    return tuple(sorted(those, key=lambda one: (one.dates.due or _FAR, one.assignment.id)))


def _entries(visit: ClassVisit, one: StudentAssignment) -> Iterator[EntryView]:
    for entry in one.assignment.entries:
        exercise = visit.site.catalog.by_id.get(entry.exercise)
        cell = one.cells.get(entry.exercise, NO_ANSWER)
        whole = not one.hidden and cell.points >= entry.points - _NEARLY
        yield EntryView(
            title=exercise.title if exercise else entry.exercise,
            href=work_url(visit.site.secret, visit.member.person, one.assignment, entry.exercise) if exercise else "",
            kind=translate(exercise.kind_title if exercise else _GONE),
            mark="new" if not cell.tries else "solved" if whole else "tried",
            says=tuple(_entry_says(one, entry, cell)),
            points=_entry_points(one, entry, cell),
        )


def _entry_points(one: StudentAssignment, entry: AssignmentEntry, cell: Cell) -> str:
    if cell.excused:
        return translate("excused")
    most = f"{entry.points:g} {'point' if entry.points == 1 else 'points'}"
    if one.hidden or not (cell.tries or cell.overridden):
        return most
    return f"{cell.points:.4g} of {most}"


_BY_HAND = {
    False: (noted("given by your teacher: {why}"), noted("given by your teacher")),
    True: (noted("excused: {why}"), noted("excused")),
}


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
    if cell.excused or cell.overridden:
        why = one.by_hand.get(entry.exercise, "")
        form, plain = _BY_HAND[cell.excused]
        yield translate(form, why=why) if why else translate(plain)


_overview_router = ClassRouter("/classes/{class_id:int}", "Assignments", least=Role.ASSISTANT)

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

    assignment: Assignment
    state: str
    dates: tuple[str, ...]
    turnout: Turnout


@dataclass(frozen=True, slots=True, kw_only=True)
class ClassPage:
    """A class, as those see it who teach it.

    *code_is_missing*: only this browser is signed in as its teacher, and no code lets another one in. *has_groups*:
    some may have dates of their own. *ties* are the courses of learning platforms that it is.
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


_overview_router.register(DuePage, "due")


@_overview_router.page("", "class_page", least=Role.STUDENT)
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


@_overview_router.page("/slide", "slide", noted("Join {name}"))
def slide_page(visit: ClassVisit) -> SlidePage:
    """The join link, to show in a classroom."""
    link = join_link(visit.request, visit.site, visit.member)
    return SlidePage(link, qr_code(link.href))


def _card(assignment: Assignment, turnout: Turnout, now: datetime) -> AssignmentCard:
    policy = assignment.policy
    ahead = replace(policy, opens=policy.opens if policy.opens and now < policy.opens else None)
    groups = ", ".join(one.group for one in assignment.groups)
    return AssignmentCard(
        assignment=assignment,
        state=translate(_STATES[dates_of(policy).phase(now, policy.grace)]),
        dates=(
            *([] if policy.due else [translate("no due date")]),
            *dates_in_words(ahead, now),
            *([translate("other dates for {groups}", groups=groups)] if groups else []),
        ),
        turnout=turnout,
    )


router.routes += _overview_router.routes

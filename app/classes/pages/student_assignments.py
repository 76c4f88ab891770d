"""An assignment as it stands for one student: dates, points and why, and its rules in words."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime

from sqlmodel import Session, col, select

from app.classes.pages.class_router import ClassVisit
from app.classes.pages.guard import Membership
from app.classes.people.assignment_copies import in_words, on_the_calendar
from app.classes.people.assignments import Assignment
from app.classes.people.cells import Cell
from app.classes.people.classes import Member, Role
from app.classes.people.counted_answers import dates_for, group_policy
from app.classes.people.gradebook import cells_of
from app.classes.people.policy import Dates, Phase, Policy
from app.classes.people.regrade_run import raised_for
from app.classes.people.work import release_of
from app.core.translation import noted, plural, translate
from app.server.db.people import ExtensionRow, MemberRow, OverrideRow

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
    by_hand: Mapping[str, str]
    regrades: Mapping[str, str]
    hidden: str
    now: datetime

    @property
    def points(self) -> float:
        """The points of the assignment."""
        return sum(cell.points for cell in self.cells.values())

    @property
    def tried(self) -> int:
        """The exercises with an answer that counts."""
        return sum(cell.tries > 0 for cell in self.cells.values())

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
            yield translate("extended for you (for others {moment})", moment=self._day(self.group_due))
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

    def _day(self, at: datetime) -> str:
        return on_the_calendar(at, self.assignment.policy.zone, self.now)


def student_assignment(visit: ClassVisit, assignment: Assignment) -> StudentAssignment:
    """How *assignment* stands for the visitor, as a student."""
    session, member, now = visit.session, visit.member, visit.now
    person = member.person.person
    dates = dates_for(session, assignment, person)
    extension = session.get(ExtensionRow, (assignment.id, person))
    cells = cells_of(session, visit.site.secret, assignment, [_as_member(session, member)])
    return StudentAssignment(
        assignment=assignment.personal(member.person.learner),
        dates=dates,
        phase=dates.phase(now, assignment.policy.grace),
        extended=extension.until if extension else None,
        group_due=group_policy(session, assignment, person).due,
        why=extension.why if extension else "",
        cells={exercise: cell for (_, exercise), cell in cells.items()},
        by_hand=_reasons_by_hand(session, assignment, person),
        regrades=_regrade_notes(session, assignment, member.person.learner, now),
        hidden=_hidden(assignment, dates, now),
        now=now,
    )


def _as_member(session: Session, member: Membership) -> Member:
    row = session.get(MemberRow, (member.class_id, member.person.person))
    return Member(
        class_id=member.class_id,
        person=member.person.person,
        learner=member.person.learner,
        role=Role.STUDENT,
        name=member.person.name,
        outside_id=row.outside_id if row else "",
        has_code=bool(row and row.code_digest),
    )


def _reasons_by_hand(session: Session, assignment: Assignment, person: int) -> Mapping[str, str]:
    """Why points were given by hand, by exercise."""
    rows = (
        select(OverrideRow)
        .where(OverrideRow.assignment == assignment.id, OverrideRow.person == person)
        .order_by(col(OverrideRow.id))
    )
    return {row.exercise: row.why for row in session.exec(rows)}


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
    yield _hints_rule(policy)
    yield _solution_rule(policy)
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


def _hints_rule(policy: Policy) -> str:
    if policy.sitting or policy.hints == "off":
        return translate("There are no hints.")
    if policy.hints == "cost":
        return translate("Each hint costs {percent:g} % of the points of its exercise.", percent=100 * policy.hint_cost)
    return translate("Hints are free.")


def _solution_rule(policy: Policy) -> str:
    if policy.solution == "off":
        return translate("Worked solutions are not shown.")
    if policy.solution == "due":
        return translate("Worked solutions are shown after the due date.")
    return translate("After you look at a worked solution, answers to that exercise earn no points.")

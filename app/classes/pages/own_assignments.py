"""An assignment as it stands for one student: dates, points, and why."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime

from sqlmodel import Session, col, select

from app.classes.pages.guard import Membership
from app.classes.people.assignments import Assignment
from app.classes.people.cells import Cell
from app.classes.people.classes import Member, Role
from app.classes.people.gradebook import cells_of
from app.classes.people.local_time import in_words, on_the_calendar
from app.classes.people.personal_dates import dates_for, group_policy
from app.classes.people.policy import Dates, Phase
from app.classes.people.regrade_run import raised_for
from app.classes.people.work import release_of
from app.core.translation import noted, translate
from app.server.db.people import ExtensionRow, MemberRow, OverrideRow
from app.site import Site

_DUE = noted("due {moment}")
_ENDS = noted("ends {moment}")
_FINISH_BY = noted("start it, and finish by {moment}")
_MORE = noted("mended and judged again on {day}: an answer of yours is worth more")
_LESS = noted("mended and judged again on {day}: an answer of yours is worth less")


@dataclass(frozen=True, slots=True, kw_only=True)
class Mine:
    """An assignment for one student now.

    *cells* are by exercise; so are *given*, why points were given by hand, and *mended*, what a
    regrade has changed. *usual* is when it is due for others of the same group. *hidden* says
    from when points are shown; empty if they are.
    """

    assignment: Assignment
    dates: Dates
    phase: Phase
    extended: datetime | None
    usual: datetime | None
    why: str
    cells: Mapping[str, Cell]
    given: Mapping[str, str]
    mended: Mapping[str, str]
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

    def worded(self, at: datetime) -> str:
        """*at* in the zone of the class."""
        return in_words(at, self.assignment.policy.zone, self.now)

    def said(self) -> Iterator[str]:
        """The dates that matter now, in words."""
        dates = self.dates
        if self.phase == "before" and dates.opens:
            yield translate("opens {moment}", moment=self.worded(dates.opens))
        if self.phase == "closed":
            if dates.closes:
                yield translate("closed {moment}", moment=self.worded(dates.closes))
            else:
                yield translate("closed")
            return
        yield self._ends()
        if self.extended and self.usual:
            yield translate("extended for you (for others {moment})", moment=self._day(self.usual))
        elif self.extended:
            yield translate("extended for you")
        if dates.closes and dates.closes != dates.due:
            yield translate("closes {moment}", moment=self.worded(dates.closes))

    def _ends(self) -> str:
        """Until when answers count in full."""
        if not self.dates.due:
            return translate("no due date")
        form = _DUE
        if self.assignment.policy.sitting:
            form = _FINISH_BY if self.phase == "unstarted" else _ENDS
        return translate(form, moment=self.worded(self.dates.due))

    def _day(self, at: datetime) -> str:
        return on_the_calendar(at, self.assignment.policy.zone, self.now)


def mine(session: Session, site: Site, member: Membership, assignment: Assignment) -> Mine:
    """How *assignment* stands for *member*."""
    person, now = member.person.person, site.clock()
    dates = dates_for(session, assignment, person)
    extension = session.get(ExtensionRow, (assignment.id, person))
    cells = cells_of(session, site.secret, assignment, [_as_member(session, member)])
    return Mine(
        assignment=assignment.personal(member.person.learner),
        dates=dates,
        phase=dates.phase(now, assignment.policy.grace),
        extended=extension.until if extension else None,
        usual=group_policy(session, assignment, person).due,
        why=extension.why if extension else "",
        cells={exercise: cell for (_, exercise), cell in cells.items()},
        given=_given(session, assignment, person),
        mended=_mended(session, assignment, member.person.learner, now),
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


def _given(session: Session, assignment: Assignment, person: int) -> Mapping[str, str]:
    """Why points were given by hand, by exercise."""
    rows = (
        select(OverrideRow)
        .where(OverrideRow.assignment == assignment.id, OverrideRow.person == person)
        .order_by(col(OverrideRow.id))
    )
    return {row.exercise: row.why for row in session.exec(rows)}


def _mended(session: Session, assignment: Assignment, learner: str, now: datetime) -> Mapping[str, str]:
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

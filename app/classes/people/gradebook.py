"""The points of a class: a pure function of what is stored, the points given by hand among it."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from types import MappingProxyType

from sqlmodel import Session, col, select

from app.classes.people.assignments import Assignment, assignments_of
from app.classes.people.cells import AssignmentAnswers, Cell, Key
from app.classes.people.classes import Member, class_with
from app.classes.people.members import students_in
from app.core.errors import NotFoundError, input_error, nearest
from app.core.translation import noted, translate
from app.server.db.people import REASON_LIMIT, AssignmentRow, ClassRow, OverrideRow, PersonRow
from app.server.db.tables import NAME_LIMIT

WHOLE = ""  # the exercise of an override that is of the whole assignment
NO_ANSWER = Cell(0.0)
Cells = Mapping[Key, Cell]
MOST_WEIGHT = 1_000.0
MOST_LOWEST = 100


@dataclass(frozen=True, slots=True)
class StudentPoints:
    """The points of a student in each of *assignments*; None: nothing was begun or given, or all is excused.

    *possible*: the most that the student can have in each, without what is excused. *lowest*: how many assignments
    are left out of the overall grade.
    """

    assignments: Sequence[Assignment]
    points: Sequence[float | None]
    possible: Sequence[float]
    lowest: int = 0

    @classmethod
    def of(
        cls, person: int, assignments: Sequence[Assignment], cells: Mapping[int, Cells], lowest: int = 0
    ) -> "StudentPoints":
        """The points of *person*, from the *cells* of each of *assignments*."""
        points = [points_in(cells[one.id], person, one) for one in assignments]
        return cls(assignments, points, [possible_in(cells[one.id], person, one) for one in assignments], lowest)

    @property
    def total(self) -> float:
        """The sum."""
        return sum(one or 0.0 for one in self.points)

    @property
    def overall(self) -> float | None:
        """The overall grade, in percent."""
        earned = {one.id: points or 0.0 for one, points in zip(self.assignments, self.points, strict=True)}
        possible = {one.id: most for one, most in zip(self.assignments, self.possible, strict=True)}
        return overall_percent(self.assignments, earned, self.lowest, possible)


@dataclass(frozen=True, slots=True, kw_only=True)
class GradebookColumn:
    """A column after those of the assignments: in the page, the file, JSON and the command.

    It is called *name* in JSON, *sort* in addresses, *head* in files, and *title* on the page. *says*
    describes it to programs. A column *of_class* is not in the table of a single assignment.
    """

    name: str
    sort: str
    head: str
    title: str
    value: Callable[[StudentPoints], float | None]
    says: str = ""
    is_percent: bool = False
    of_class: bool = False


# A column is added here alone.
COLUMNS = (
    GradebookColumn(name="total", sort="total", head="total", title=noted("Total"), value=lambda one: one.total),
    GradebookColumn(
        name="overall_percent",
        sort="overall",
        head="overall %",
        title=noted("Overall"),
        value=lambda one: one.overall,
        says="by weight, without the lowest; null: no assignment has points and a weight",
        is_percent=True,
        of_class=True,
    ),
)


@dataclass(frozen=True, slots=True)
class Grades:
    """The students of a class, its assignments, and the cells of each assignment.

    *lowest*: assignments of each student that are left out of the overall grade.
    """

    members: Sequence[Member]
    assignments: Sequence[Assignment]
    cells: Mapping[int, Cells]
    lowest: int = 0

    def of(self, person: int) -> StudentPoints:
        """The points of *person*."""
        return StudentPoints.of(person, self.assignments, self.cells, self.lowest)

    def described(self) -> Mapping[str, object]:
        """The grades as JSON has them."""
        return {
            "assignments": [
                {"id": one.id, "title": one.title, "points": one.points, "weight": one.weight}
                for one in self.assignments
            ],
            "lowest": self.lowest,
            "people": [self._described(member) for member in self.members],
        }

    def _described(self, member: Member) -> Mapping[str, object]:
        own = self.of(member.person)
        return {
            **member.named(),
            "group": member.group,
            "points": {str(one.id): points for one, points in zip(self.assignments, own.points, strict=True)},
            "excused": [one.id for one in self.assignments if is_excused(self.cells[one.id], member.person, one)],
            **{column.name: column.value(own) for column in COLUMNS},
        }


def grades_of(
    session: Session,
    secret: str,
    class_id: int,
    group: str | None = None,
    chosen: Callable[[Sequence[Member]], Sequence[Member]] = lambda students: students,
) -> Grades:
    """The grades of every student of a class, or of one *group* of it, or of those *chosen* of them.

    Raises:
        InputError: the class has no such group.
    """
    assignments = assignments_of(session, class_id)
    students = chosen(students_in(session, class_id, group))
    book = gradebook_of(session, secret, assignments, students)
    return Grades(students, assignments, book, class_with(session, class_id).lowest)


def gradebook_of(
    session: Session, secret: str, assignments: Iterable[Assignment], members: Sequence[Member]
) -> Mapping[int, Cells]:
    """The cells of *members* in each of *assignments*, by its number."""
    return {one.id: cells_of(session, secret, one, members) for one in assignments}


def cells_of(session: Session, secret: str, assignment: Assignment, members: Iterable[Member]) -> Cells:
    """The cells of *members* in an assignment; one without points by hand or an answer that counts has none."""
    answers = AssignmentAnswers.read(session, secret, assignment, members)
    found = answers.cells(session)
    learners = {person: learner for learner, person in answers.persons.items()}
    for row in overrides_in_force(session, assignment.id):
        key, learner = (row.person, row.exercise), learners.get(row.person)
        if learner and (row.exercise == WHOLE or answers.drawings.has(learner, row.exercise)):
            cell = found.get(key, NO_ANSWER)
            found[key] = cell._replace(points=row.points or 0.0, overridden=not row.excused, excused=row.excused)
    return found


def best_answer_times(
    session: Session, secret: str, assignment: Assignment, members: Iterable[Member]
) -> Mapping[Key, datetime]:
    """When the answers were given that earned what *members* have, without points by hand."""
    return dict(AssignmentAnswers.read(session, secret, assignment, members).times(session))


def total(cells: Cells, person: int, assignment: Assignment) -> float:
    """The points of *person* in an assignment."""
    return points_in(cells, person, assignment) or 0.0


def points_in(cells: Cells, person: int, assignment: Assignment) -> float | None:
    """The points of *person* in an assignment: those given by hand for all of it, or the sum.

    None if nothing was begun or given, but for what is excused.
    """
    if whole := cells.get((person, WHOLE)):
        return None if whole.excused else whole.points
    found = [cell.points for cell in cells_of_person(cells, person, assignment) if not cell.excused]
    return sum(found) if found else None


def possible_in(cells: Cells, person: int, assignment: Assignment) -> float:
    """The most that *person* can have in an assignment: its points, without those that are excused.

    Points by hand for all of it are of all of it.
    """
    if whole := cells.get((person, WHOLE)):
        return 0.0 if whole.excused else assignment.points
    excused = [
        entry.points for entry in assignment.entries if (cell := cells.get((person, entry.exercise))) and cell.excused
    ]
    return max(0.0, assignment.points - sum(excused)) if excused else assignment.points


def is_excused(cells: Cells, person: int, assignment: Assignment) -> bool:
    """Whether *person* is excused from all of an assignment."""
    if whole := cells.get((person, WHOLE)):
        return whole.excused
    found = cells_of_person(cells, person, assignment)
    return len(found) >= assignment.length and all(cell.excused for cell in found)


def cells_of_person(cells: Cells, person: int, assignment: Assignment) -> Sequence[Cell]:
    """The cells of *person* for the exercises of an assignment, in their order."""
    get = cells.get
    return [cell for entry in assignment.entries if (cell := get((person, entry.exercise)))]


def points_by_hand(session: Session, assignment: Assignment) -> Mapping[Key, float]:
    """The points in an assignment that were given by hand, and hold."""
    rows = overrides_in_force(session, assignment.id)
    return {(row.person, row.exercise): row.points for row in rows if row.points is not None}


@dataclass(frozen=True, slots=True)
class GradeRule:
    """How a class adds up; *lowest*: how many assignments are left out for each student.

    *weights* are by the number of the assignment; one without weighs as much as its points.
    """

    lowest: int
    weights: Mapping[int, float | None]


def grade_rule_of(row: ClassRow, assignments: Sequence[Assignment]) -> GradeRule:
    """The rule of a class that has these *assignments*."""
    own = {one.id: one.weight for one in assignments if one.weight is not None}
    return GradeRule(row.lowest, own)


def overall_percent(
    assignments: Sequence[Assignment],
    points: Mapping[int, float],
    lowest: int,
    possible: Mapping[int, float] = MappingProxyType({}),
) -> float | None:
    """The weighted mean of the shares of the points of a student, in percent.

    The *lowest* shares are left out, of equal ones the heaviest; the best one always counts. The most that the student
    can have in an assignment is *possible*, or its points. None if no assignment has points and a weight.

        percent = 100 * sum(weight * points / possible) / sum(weight)
    """
    most = {one.id: possible.get(one.id, one.points) for one in assignments}
    weights = {one.id: most[one.id] if one.weight is None else one.weight for one in assignments}
    shares = [
        (points.get(one.id, 0.0) / most[one.id], weights[one.id])
        for one in assignments
        if most[one.id] > 0 and weights[one.id] > 0
    ]
    shares.sort(key=lambda entry: (entry[0], -entry[1]))
    kept = shares[min(lowest, len(shares) - 1) :] if shares else []
    whole = sum(weight for _, weight in kept)
    return 100 * sum(share * weight for share, weight in kept) / whole if kept else None


def change_grade_rule(session: Session, row: ClassRow, rule: GradeRule) -> None:
    """Let a class add up by *rule*; not committed.

    Raises:
        InputError: a number is out of range.
        NotFoundError: an assignment is not in the class.
    """
    if not 0 <= rule.lowest <= MOST_LOWEST:
        raise input_error(
            "from 0 to {most} assignments can be left out, not {count}", most=MOST_LOWEST, count=rule.lowest
        )
    assignments = session.exec(
        select(AssignmentRow).where(AssignmentRow.class_id == row.id).order_by(col(AssignmentRow.id)).with_for_update()
    ).all()
    if unknown := rule.weights.keys() - {one.id for one in assignments}:
        raise NotFoundError(translate("this class has no assignment {number}", number=min(unknown)))
    row.lowest = rule.lowest
    session.add(row)
    for one in assignments:
        weight = rule.weights.get(one.id or 0)
        if weight is not None and not 0 <= weight <= MOST_WEIGHT:
            raise input_error(
                "{title}: a weight is from 0 to {most:,.0f}, not {weight:g}",
                title=one.title,
                most=MOST_WEIGHT,
                weight=weight,
            )
        one.weight = weight
        session.add(one)
    session.flush()


def grade_rule_in_words(assignments: Sequence[Assignment], lowest: int) -> Sequence[str]:
    """The rule of a class, a sentence for each part of it."""
    if any(one.weight is not None for one in assignments):
        weights = ", ".join(f"{one.title} {one.points if one.weight is None else one.weight:g}" for one in assignments)
        first = translate("Overall is the mean of the shares of the points, by weight: {weights}.", weights=weights)
    else:
        first = translate("Overall is the share of the points of all assignments.")
    if not lowest:
        return [first]
    return [
        first,
        translate("The assignments with the lowest share are left out for each student: {count}.", count=lowest),
    ]


@dataclass(frozen=True, slots=True)
class Override:
    """Points for an exercise or for the whole, or that it is *excused*; neither: those of the answers hold again."""

    person: int
    exercise: str
    points: float | None
    excused: bool = False


def override(session: Session, assignment: Assignment, given: Iterable[Override], by: str, why: str) -> None:
    """Give points by hand, or excuse; not committed.

    Raises:
        InputError: there is no reason, or the assignment or the student does not have the exercise.
    """
    reason = " ".join(why.split())
    if not reason:
        raise input_error("give a reason: the student sees it beside the points")
    if len(reason) > REASON_LIMIT or not reason.isprintable():
        raise input_error("a reason has at most {reason_limit} printable characters", reason_limit=REASON_LIMIT)
    names = [entry.exercise for entry in assignment.entries]
    for one in given:
        if one.points is not None or one.excused:
            _refuse_undrawn(session, assignment, one)
        if one.exercise not in (WHOLE, *names):
            near = nearest(one.exercise, names)
            raise input_error(
                "the assignment has no exercise {exercise!r}{near}", exercise=one.exercise[:80], near=near
            )
        session.add(
            OverrideRow(
                assignment=assignment.id,
                person=one.person,
                exercise=one.exercise,
                points=None if one.excused else one.points,
                excused=one.excused,
                by=by[:NAME_LIMIT],
                why=reason,
            )
        )
    session.flush()


def _refuse_undrawn(session: Session, assignment: Assignment, one: Override) -> None:
    """Refuse points for an exercise of a pool that the student does not have."""
    pooled = any(entry.pool and entry.exercise == one.exercise for entry in assignment.entries)
    person = session.get(PersonRow, one.person) if pooled else None
    if person is not None and one.exercise not in assignment.drawn(person.learner):
        raise input_error("{exercise} was not drawn for this student", exercise=one.exercise)


def overrides_in_force(session: Session, assignment: int) -> Sequence[OverrideRow]:
    """The overrides of an assignment that hold, by person and exercise."""
    rows = session.exec(select(OverrideRow).where(OverrideRow.assignment == assignment).order_by(col(OverrideRow.id)))
    last = {(row.person, row.exercise): row for row in rows}
    return [last[cell] for cell in sorted(last) if last[cell].points is not None or last[cell].excused]


def overrides_of(session: Session, assignment: Assignment, person: int) -> Mapping[str, Sequence[OverrideRow]]:
    """Every override of *person* in an assignment, by exercise; the last one first."""
    rows = session.exec(
        select(OverrideRow)
        .where(OverrideRow.assignment == assignment.id, OverrideRow.person == person)
        .order_by(col(OverrideRow.id).desc())
    )
    found: dict[str, list[OverrideRow]] = {}
    for row in rows:
        found.setdefault(row.exercise, []).append(row)
    return found

"""A class to try things on: invented students, whose answers are judged like any others."""

import json
import random
from collections.abc import AsyncIterator, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, time, timedelta
from zoneinfo import ZoneInfo

from sqlalchemy import insert
from sqlmodel import Session

from app.classes.people.assignments import Assignment, AssignmentEntry, assignment_with, create_assignment
from app.classes.people.classes import Role, create_class, enroll, number_of, renew_seat_code
from app.classes.people.counted_answers import extend, variant_seed
from app.classes.people.members import INVENTED
from app.classes.people.persons import new_person
from app.classes.people.policy import Policy
from app.core.errors import InputError
from app.course.content.catalog import Catalog
from app.course.kinds import Answer, Exercise
from app.course.sandbox.runner import Runner
from app.server.db.people import IdentityRow
from app.server.db.tables import Attempt, AttemptRow

_NAME = "Demo: arithmetic of training"
_ZONE = ZoneInfo("Europe/Berlin")
_FIRST = ("Amber", "Blue", "Coral", "Dusty", "Early", "Fern", "Gray", "Hazel")
_SECOND = ("Heron", "Lynx", "Otter")
_HERE = 9  # students who are answering at the moment
_EXERCISES = 5  # of an assignment
_TRIES = 4  # after which a student gives up
_COMMON = 0.6  # share of the most common mistake
_DAY, _MINUTE = timedelta(days=1), timedelta(minutes=1)
_MIDNIGHT = time(23, 59)


@dataclass(frozen=True, slots=True)
class Demo:
    """A class of invented students; its teacher signs in with *code*."""

    class_id: int
    name: str
    code: str
    students: int
    answers: int


@dataclass(frozen=True, slots=True)
class _Student:
    """An invented student: how often an answer is right, 0 to 1, and how much is done."""

    person: int
    learner: str
    skill: float
    diligence: float
    here: bool


async def create_demo(session: Session, catalog: Catalog, secret: str, runner: Runner, now: datetime) -> Demo:
    """A new class with three assignments: one that is over, one that is due tomorrow, an exam.

    The students, their answers and the teacher are invented; they are deleted with the class. Not
    committed.

    Raises:
        InputError: there are fewer than two chapters with exercises that need no sandbox.
    """
    chosen = _chapters(catalog)
    row = create_class(session, secret, _NAME, _ZONE.key, pseudonyms=True)
    row.demo = True
    class_id = number_of(row)
    since = now - 30 * _DAY
    teacher = _invented(session, class_id, "Demo teacher", Role.TEACHER, since)
    code = renew_seat_code(session, enroll(session, class_id, teacher[0], Role.TEACHER))
    luck = random.Random(len(catalog.exercises))
    students = list(_students(session, class_id, since, luck))
    given = list(_assignments(session, class_id, chosen, now))
    rows: list[Attempt] = []
    for student in students:
        for assignment, begins in given:
            found = _answers(catalog, secret, assignment, student, luck)
            at = _start(assignment, student, begins, now, luck)
            async for attempt in _demo_answers(found, runner, student, at, now, luck):
                rows.append(attempt)
    session.connection().execute(insert(AttemptRow), [vars(row) for row in rows])
    late = students[-1].person
    extend(session, given[0][0].id, [late], now + 2 * _DAY, "Demo teacher", "at a conference")
    return Demo(class_id, row.name, code, len(students), len(rows))


def _chapters(catalog: Catalog) -> Sequence[tuple[str, Sequence[Exercise]]]:
    """The first chapters that have exercises to be judged without the sandbox, and those."""
    found = [(topic.title, [one for one in topic.path if not one.runs_code][:_EXERCISES]) for topic in catalog.topics]
    found = [chapter for chapter in found if chapter[1]]
    if len(found) < 2:  # noqa: PLR2004
        raise InputError("a demo needs exercises of two chapters, and this server has fewer")
    return found[:3]


def _invented(session: Session, class_id: int, name: str, role: Role, since: datetime) -> tuple[int, str]:
    """The number and the learner of a new person in the class *since* then, who is marked as invented."""
    person = new_person(session, name)
    number = number_of(person)
    subject = f"{class_id}:{number}"
    session.add(IdentityRow(issuer=INVENTED, subject=subject, person=number))
    enroll(session, class_id, number, role, name).joined = since
    return number, person.learner


def _students(session: Session, class_id: int, since: datetime, luck: random.Random) -> Iterator[_Student]:
    names = [f"{first} {second}" for first in _FIRST for second in _SECOND]
    for place, name in enumerate(names):
        number, learner = _invented(session, class_id, name, Role.STUDENT, since)
        skill, diligence = luck.uniform(0.35, 0.95), luck.choice((0.4, 0.8, 1.0, 1.0))
        yield _Student(number, learner, skill, diligence, place < _HERE)


def _assignments(
    session: Session, class_id: int, chosen: Sequence[tuple[str, Sequence[Exercise]]], now: datetime
) -> Iterator[tuple[Assignment, datetime]]:
    """The assignments that have opened, and since when they are answered; the exam has not."""
    today = now.astimezone(_ZONE).date()

    def day(offset: int) -> datetime:
        return datetime.combine(today + offset * _DAY, _MIDNIGHT, _ZONE)

    over = Policy(opens=day(-15), due=day(-7), closes=day(-3), late=0.2, hints="cost")
    current = Policy(opens=day(-6), due=day(1), closes=day(1), attempts=5)
    exam = Policy(opens=day(6), due=day(7), closes=day(7), hints="off", show_points=False, sitting=45)
    for policy, (title, exercises) in zip((over, current), chosen, strict=False):
        entries = [AssignmentEntry(one.id, float(one.level)) for one in exercises]
        number = create_assignment(session, class_id, title, policy, entries)
        yield assignment_with(session, number), policy.opens or now
    entries = [AssignmentEntry(one.id, 10.0) for one in chosen[-1][1]]
    create_assignment(session, class_id, "Midterm exam", exam, entries)


def _answers(
    catalog: Catalog, secret: str, assignment: Assignment, student: _Student, luck: random.Random
) -> Iterator[tuple[Exercise, int, Answer]]:
    """What a student answers, in order."""
    for entry in assignment.entries:
        if luck.random() > student.diligence:
            return
        exercise = catalog.exercise(entry.exercise)
        seed = variant_seed(secret, assignment.id, exercise.id, student.learner)
        wrong = [answer for answer, _ in exercise.mistakes(seed)]
        tries = 0
        while wrong and tries < _TRIES and luck.random() > student.skill:
            tries += 1
            # The first mistake of a file is the one that most make.
            yield exercise, seed, wrong[0] if luck.random() < _COMMON else luck.choice(wrong)
        if tries < _TRIES:
            yield exercise, seed, exercise.right_answer(seed)


def _start(assignment: Assignment, student: _Student, begins: datetime, now: datetime, luck: random.Random) -> datetime:
    """When a student begins: mostly on the last days, and some are at it now."""
    due = assignment.policy.due or now
    if student.here and due > now:
        return now - luck.uniform(8, 25) * _MINUTE
    last = min(due + _DAY, now - 60 * _MINUTE)
    return begins + (last - begins) * luck.triangular(0.0, 1.0, 0.9)


async def _demo_answers(
    found: Iterator[tuple[Exercise, int, Answer]],
    runner: Runner,
    student: _Student,
    at: datetime,
    now: datetime,
    luck: random.Random,
) -> AsyncIterator[Attempt]:
    """The answers as they are stored, some minutes apart; none in the future."""
    for exercise, seed, answer in found:
        seconds = luck.uniform(30, 240)
        at += timedelta(seconds=seconds)
        if at > now:
            return
        verdict = await exercise.grade(seed, answer, runner, student.learner)
        yield Attempt(
            learner=student.learner,
            exercise=exercise.id,
            seed=seed,
            answer=answer if isinstance(answer, str) else json.dumps(answer, ensure_ascii=False),
            correct=verdict.correct,
            score=verdict.score,
            hints=luck.choice((0, 0, 0, 1)),
            digest=exercise.digest,
            drawn=json.dumps(dict(exercise.draw(seed).shown), ensure_ascii=False),
            seconds=round(seconds, 1),
            mistake=verdict.mistake or None,
            at=at,
        )

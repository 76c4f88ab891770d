"""Extensions that move a date, drawings that count, and why an answer earned what it did."""

import hashlib
import hmac
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
from sqlmodel import Session, select

from app.classes.federation.outbox import shares_of
from app.classes.people.assignments import (
    Assignment,
    AssignmentEntry,
    assignment_with,
    change_groups,
    create_assignment,
)
from app.classes.people.classes import create_class, enroll, members_of, number_of
from app.classes.people.counted_answers import (
    Drawings,
    EarlyExtensionError,
    ExerciseSeeds,
    _part,
    begin_sitting,
    dates_for,
    dates_of_everyone,
    drop_extension,
    extend,
    extensions_of,
    first_end,
    former_learners,
    give_extension,
    given_in,
    variant_seed,
)
from app.classes.people.gradebook import WHOLE, Override, override
from app.classes.people.members import put_into_group, set_time_factor
from app.classes.people.persons import new_person
from app.classes.people.policy import CountableAnswer, GroupDates, Policy, dates_of
from app.core.errors import InputError
from app.server.db.people import ExtensionRow, MergeRow, RegradeRow, SittingRow
from app.server.db.tables import AttemptRow
from tests.each import each

SECRET, RING = "a secret of sixteen characters and more", "collectives/ring-all-reduce-time"
DUE = datetime(2036, 10, 2, 21, 59, tzinfo=UTC)
SECOND, DAY = timedelta(seconds=1), timedelta(days=1)


def week(session: Session, policy: Policy, people: int = 2) -> tuple[Assignment, list[int]]:
    """An assignment of four points, and the numbers of the students of its class."""
    class_id = number_of(create_class(session, SECRET, "Systems"))
    persons = [number_of(new_person(session, f"Student {number}")) for number in range(people)]
    for person in persons:
        enroll(session, class_id, person)
    number = create_assignment(session, class_id, "Week", policy, [AssignmentEntry(RING, 4.0)])
    return assignment_with(session, number), persons


def test_an_extension_is_later_than_the_date_that_it_moves(session: Session) -> None:
    assignment, (ada, alan) = week(session, Policy(due=DUE, closes=DUE + DAY))
    for until in (DUE, DUE - SECOND):
        with pytest.raises(EarlyExtensionError, match="an extension must be later") as early:
            give_extension(session, assignment, [ada], until, "Grace", "", DUE)
        assert early.value.first == DUE
    give_extension(session, assignment, [alan, ada], DUE + SECOND, "Grace", "ill", DUE)
    rows = [(member.person, row.until, row.why) for member, row in extensions_of(session, assignment)]
    assert rows == [(ada, DUE + SECOND, "ill"), (alan, DUE + SECOND, "ill")]
    give_extension(session, assignment, [ada], DUE + DAY, "Grace", "", DUE)
    session.flush()
    assert session.get_one(ExtensionRow, (assignment.id, ada)).until == DUE + DAY
    assert drop_extension(session, assignment.id, ada)
    session.flush()
    assert not drop_extension(session, assignment.id, ada)
    assert [member.person for member, _ in extensions_of(session, assignment)] == [alan]


def test_without_a_due_date_the_close_is_moved_and_without_both_nothing(session: Session) -> None:
    closing, (ada, _) = week(session, Policy(closes=DUE))
    assert first_end(session, closing, [ada], DUE - DAY) == DUE
    with pytest.raises(EarlyExtensionError):
        give_extension(session, closing, [ada], DUE, "Grace", "", DUE)
    give_extension(session, closing, [ada], DUE + SECOND, "Grace", "", DUE)
    endless, (ada, _) = week(session, Policy())
    assert first_end(session, endless, [ada], DUE) is None
    with pytest.raises(InputError, match="no due date: nothing can be extended"):
        give_extension(session, endless, [ada], DUE, "Grace", "", DUE)


def test_in_an_exam_an_extension_takes_no_time_away(session: Session) -> None:
    assignment, (ada, _) = week(session, Policy(due=DUE, closes=DUE, sitting=45))
    with pytest.raises(EarlyExtensionError, match="an extension must be later"):
        give_extension(session, assignment, [ada], DUE - DAY, "Grace", "", DUE - DAY)
    assert extensions_of(session, assignment) == []


@each(("why", "is_one"), [("x" * 500, True), ("x" * 501, False), ("a\nb", False), ("", True)])
def test_a_reason_has_a_limit(session: Session, why: str, is_one: bool) -> None:
    assignment, (ada, _) = week(session, Policy(due=DUE))
    if is_one:
        give_extension(session, assignment, [ada], DUE + DAY, "Grace", why, DUE)
    else:
        with pytest.raises(InputError, match="at most 500 printable characters"):
            give_extension(session, assignment, [ada], DUE + DAY, "Grace", why, DUE)


@each("secret", ["s" * 16, "s" * 64, "s" * 65, "é" * 40])
def test_a_seed_is_an_hmac_however_long_the_secret(secret: str) -> None:
    seeds = ExerciseSeeds(secret, 7, RING)
    for learner in ("", "ada", "é" * 99):
        mac = hmac.new(secret.encode(), f"variant:7:{RING}:{learner}".encode(), hashlib.sha256).digest()
        assert variant_seed(secret, 7, RING, learner) == int.from_bytes(mac[:8]) % 2**31
        assert seeds.of(learner) == variant_seed(secret, 7, RING, learner)


def test_the_drawings_that_count_are_one_s_own_the_class_s_or_any(session: Session) -> None:
    assignment, _ = week(session, Policy())
    own, other, shared = (variant_seed(SECRET, assignment.id, RING, learner) for learner in ("ada", "bo", ""))

    def counting(variants: str, former: dict[str, set[str]] | None = None) -> list[bool]:
        rules = replace(assignment, policy=Policy(variants=variants))  # type: ignore[arg-type]
        drawings = Drawings(SECRET, rules, former or {})
        return [drawings.counts("ada", RING, seed) for seed in (own, other, shared, 1)]

    assert counting("own") == [True, False, False, False]
    assert counting("own", {"ada": {"bo"}}) == [True, True, False, False]
    assert counting("own", {"bo": {"ada"}}) == [True, False, False, False]
    assert counting("same") == [False, False, True, False]
    assert counting("many") == [True, True, True, True]


@each(
    ("policy", "answer", "counted", "part", "why"),
    [
        (Policy(due=DUE), CountableAnswer(DUE, 1, 0, False), 1, 1.0, ""),
        (Policy(due=DUE, late=0.25), CountableAnswer(DUE + 301 * SECOND, 1, 0, False), 1, 0.75, "late: 25 % less"),
        (Policy(hints="cost"), CountableAnswer(DUE, 1, 3, False), 1, 0.7, "hints: 30 % less"),
        (
            Policy(due=DUE, late=0.5, hints="cost"),
            CountableAnswer(DUE + DAY, 1, 1, False),
            1,
            0.45,
            "late: 50 % less; hints: 10 % less",
        ),
        (Policy(attempts=2), CountableAnswer(DUE, 1, 0, False), 2, 1.0, ""),
        (Policy(attempts=2), CountableAnswer(DUE, 1, 0, False), 3, 0.0, "beyond the 2 that count"),
        (Policy(), CountableAnswer(DUE, 1, 0, True), 1, 0.0, "after the solution was shown"),
    ],
)
def test_an_answer_says_what_took_the_rest_of_its_points(
    policy: Policy, answer: CountableAnswer, counted: int, part: float, why: str
) -> None:
    found, says = _part(policy, dates_of(policy), answer, counted)
    assert found == pytest.approx(part)
    assert says == why


def test_an_answer_that_does_not_count_earns_nothing_and_says_why() -> None:
    policy = Policy(opens=DUE - DAY, closes=DUE, grace=0)
    told = [
        _part(policy, dates_of(policy), CountableAnswer(at, 1, 0, False), 1) for at in (DUE - 2 * DAY, DUE + SECOND)
    ]
    assert [part for part, _ in told] == [0.0, 0.0]
    assert len({why for _, why in told} - {""}) == 2


def test_platforms_get_a_share_from_nothing_to_all_of_those_who_answered(session: Session) -> None:
    assignment, (ada, alan, bo) = week(session, Policy(variants="many"), people=3)
    learners = {member.person: member.learner for member in members_of(session, assignment.class_id)}
    for person, score, at in ((ada, 0.5, DUE), (ada, 0.25, DUE + DAY), (alan, 0.0, DUE)):
        session.add(
            AttemptRow(
                learner=learners[person],
                exercise=RING,
                seed=1,
                answer="1",
                correct=False,
                score=score,
                digest="d",
                drawn="{}",
                at=at,
            )
        )
    session.flush()

    def shares(*persons: int) -> dict[int, tuple[float, datetime | None]]:
        found = shares_of(session, SECRET, assignment.id, DUE, persons or None)
        return {person: (one.share, one.answered) for person, one in found.items()}

    assert shares() == {ada: (0.5, DUE), alan: (0.0, DUE)}
    assert shares(ada) == {ada: (0.5, DUE)}
    assert shares(bo) == {}
    for person, points in ((ada, 9.0), (bo, -1.0)):
        override(session, assignment, [Override(person, WHOLE, points)], "Grace", "asked")
    assert shares() == {ada: (1.0, DUE), alan: (0.0, DUE), bo: (0.0, None)}


def test_an_extension_is_later_than_the_first_end_of_those_who_get_it(session: Session) -> None:
    one, (ada, bo) = week(session, Policy(due=DUE, closes=DUE + DAY))
    put_into_group(session, one.class_id, [bo], "Mon")
    change_groups(session, one, [GroupDates(group="Mon", due=DUE - DAY)])
    one = assignment_with(session, one.id)
    assert [first_end(session, one, those, DUE) for those in ([ada], [bo], [ada, bo])] == [DUE, DUE - DAY, DUE - DAY]


def test_an_exam_ends_for_who_has_not_begun_it_as_if_they_did_now_and_with_its_window(session: Session) -> None:
    minutes = timedelta(minutes=60)
    exam, (ada, bo) = week(session, Policy(opens=DUE - DAY, due=DUE, closes=DUE, sitting=60))
    set_time_factor(session, enroll(session, exam.class_id, bo), 1.5)
    begin_sitting(session, exam.id, ada)
    began = session.get_one(SittingRow, (exam.id, ada))
    began.began = DUE - 3 * minutes
    session.flush()
    begin_sitting(session, exam.id, ada)
    assert session.get_one(SittingRow, (exam.id, ada)).began == DUE - 3 * minutes, "the first start stays"

    def end(person: int, now: datetime) -> datetime | None:
        return first_end(session, exam, [person], now)

    assert end(ada, DUE - DAY) == DUE - 2 * minutes
    assert [end(bo, at) for at in (DUE - 2 * DAY, DUE - DAY / 2)] == [
        DUE - DAY + 1.5 * minutes,
        DUE - DAY / 2 + 1.5 * minutes,
    ]
    assert end(bo, DUE - minutes / 2) == DUE


def test_dates_of_everyone_are_those_of_each_who_has_others(session: Session) -> None:
    one, (ada, bo, cy, dan) = week(session, Policy(due=DUE), people=4)
    put_into_group(session, one.class_id, [bo, cy], "Mon")
    change_groups(session, one, [GroupDates(group="Mon", due=DUE - DAY)])
    extend(session, one.id, [ada, cy], DUE + DAY)
    session.flush()
    one = assignment_with(session, one.id)
    found = dates_of_everyone(session, one)
    assert {person: dates.due for person, dates in found.items()} == {ada: DUE + DAY, bo: DUE - DAY, cy: DUE + DAY}
    assert all(dates_for(session, one, person) == dates for person, dates in found.items())
    assert dates_for(session, one, dan).due == DUE


def store(session: Session, learner: str, seed: int, at: datetime, **other: object) -> AttemptRow:
    row = AttemptRow(
        learner=learner, exercise=RING, seed=seed, answer="1", correct=False, score=0.25, digest="d", drawn="{}", at=at
    )
    for name, value in other.items():
        setattr(row, name, value)
    session.add(row)
    session.flush()
    return row


def test_the_answers_of_a_member_are_judged_by_the_latest_regrade_and_told_in_order(session: Session) -> None:
    one, (ada, _) = week(session, Policy(due=DUE, attempts=2))
    member = next(each for each in members_of(session, one.class_id) if each.person == ada)
    seed = variant_seed(SECRET, one.id, RING, member.learner)
    store(session, member.learner, seed, DUE, carried=True)
    store(session, member.learner, seed + 1, DUE)
    first, *_ = (store(session, member.learner, seed, DUE + place * SECOND) for place in range(201))
    for place, (score, correct) in enumerate(((1.0, True), (0.75, True), (0.5, False))):
        at = DUE + (3 - place) * DAY
        row = RegradeRow(attempt=first.id or 0, digest=f"d{place}", score=score, correct=correct, at=at)
        session.add(row)
    session.flush()
    told = given_in(session, SECRET, one, member)[RING]
    assert len(told) == 200, "the last ones"
    assert (told[0].at, told[-1].at) == (DUE + SECOND, DUE + 200 * SECOND)
    assert [answer.earned for answer in told[:2]] == [0.25, 0.0], "two count"
    for later in session.exec(select(AttemptRow).where(AttemptRow.learner == member.learner, AttemptRow.at > DUE)):
        session.delete(later)
    session.flush()
    (answer,) = given_in(session, SECRET, one, member)[RING]
    assert (answer.score, answer.before, answer.correct, answer.earned) == (1.0, 0.25, True, 1.0)


def test_where_any_drawing_counts_answers_do_since_the_student_is_in_this_class(session: Session) -> None:
    one, (ada, _) = week(session, Policy(variants="many"))
    earlier, _ = week(session, Policy())
    enroll(session, earlier.class_id, ada).joined = DUE - 9 * DAY
    enroll(session, one.class_id, ada).joined = DUE
    session.flush()
    member = next(each for each in members_of(session, one.class_id) if each.person == ada)
    for at in (DUE - SECOND, DUE):
        store(session, member.learner, 7, at)
    assert [answer.at for answer in given_in(session, SECRET, one, member)[RING]] == [DUE]


def test_whose_answers_became_those_of_another_goes_on_until_it_is_undone(session: Session) -> None:
    ada, bo, cy = (new_person(session, name) for name in ("Ada", "Bo", "Cy"))
    for kept, gone, moved in ((bo, cy, "{}"), (ada, bo, "{}"), (cy, ada, "")):
        session.add(MergeRow(kept=number_of(kept), gone=number_of(gone), moved=moved))
        session.flush()
    found = former_learners(session)
    assert {one.name: found.get(one.learner) for one in (ada, bo, cy)} == {
        "Ada": {bo.learner, cy.learner}, "Bo": {cy.learner}, "Cy": None,
    }  # fmt: skip
    session.exec(select(MergeRow).where(MergeRow.kept == number_of(ada))).one().undone = DUE
    session.flush()
    assert ada.learner not in former_learners(session)
